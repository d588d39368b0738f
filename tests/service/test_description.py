"""Requests made up from the whole OpenAPI description: whatever is sent, the server never fails."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok

from tests.service.server import Server, ended

EXAMPLES = 8
"""Of each operation and kind; the same ones on every run (``tests/__init__.py``)."""

CLOSE = "/api/study/close"
"""Tried last: a closed study answers little."""


@pytest.mark.slow
def test_no_request_makes_the_server_fail(clinic: Server) -> None:
    with clinic.party("lab-a") as party, clinic.custodian() as custodian:
        described = party.get("/api/openapi.json").json()
        assert custodian.get("/api/openapi.json").json() == described
        cases = made_up(described)
        for client in (party, custodian):
            assert {200, 404, 422} <= try_cases(client, cases)
        jobs = [ended(custodian, each) for each in custodian.get("/api/jobs").json()]
    assert {each["task"] for each in jobs} >= {"audit", "plan", "quote", "release", "verify"}
    failed = [each for each in jobs if each["state"] == "failed"]
    assert failed
    assert [each for each in failed if each["error"]["status"] >= 500] == []


def made_up(described: dict[str, Any]) -> list[Case]:
    """Requests that fit the description and requests that do not, to every operation."""
    found = schemathesis.openapi.from_dict(described).get_all_operations()
    operations = [each.ok() for each in found if isinstance(each, Ok)]
    assert len(operations) == sum(len(each) for each in described["paths"].values()) > 25
    return [
        case
        for operation in sorted(operations, key=lambda each: each.path == CLOSE)
        for mode in GenerationMode
        for case in drawn(operation.as_strategy(generation_mode=mode))
    ]


def drawn(cases: SearchStrategy[Case]) -> list[Case]:
    """The same examples on every run."""
    found: list[Case] = []

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(case=cases)
    def draw(case: Case) -> None:
        found.append(case)

    draw()
    return found


def try_cases(client: httpx.Client, cases: list[Case]) -> set[int]:
    """The status codes of answers to made-up requests."""
    codes, headers = set[int](), {"Authorization": client.headers["authorization"]}
    for case in cases:
        answer = case.call(base_url=str(client.base_url), headers=headers)
        assert answer.status_code < 500, answer.text
        codes.add(answer.status_code)
    return codes
