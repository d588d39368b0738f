"""Schemes to audit."""

from __future__ import annotations

import pytest

from tacit.auditing import Audit, audit
from tacit.scheme import Scheme
from tests.auditing.chains import RECORDS, SURE, released


@pytest.fixture(scope="session")
def exact_scheme() -> Scheme:
    return released()


@pytest.fixture(scope="session")
def bounded_scheme() -> Scheme:
    return released(memory=2)


@pytest.fixture(scope="session")
def bounded_audit(bounded_scheme: Scheme) -> Audit:
    return audit(bounded_scheme, records=RECORDS, confidence=SURE)
