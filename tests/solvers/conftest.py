"""What the solvers' tests share."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.solvers.solutions")  # its failures show both sides
