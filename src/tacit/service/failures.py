"""Errors as a service tells them: one table of status codes, one form for machines."""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from math import isfinite
from typing import Any

from tacit.errors import (
    AcceptanceError,
    CeilingError,
    DeliveryError,
    InfeasibleError,
    InvalidInputError,
    KeyFileError,
    LedgerError,
    RolledBackError,
    TacitError,
    UnconvergedError,
)

STATUS: dict[type[Exception], HTTPStatus] = {
    InfeasibleError: HTTPStatus.CONFLICT,
    AcceptanceError: HTTPStatus.CONFLICT,
    InvalidInputError: HTTPStatus.UNPROCESSABLE_ENTITY,
    RolledBackError: HTTPStatus.CONFLICT,
    LedgerError: HTTPStatus.SERVICE_UNAVAILABLE,
    DeliveryError: HTTPStatus.SERVICE_UNAVAILABLE,
    KeyFileError: HTTPStatus.SERVICE_UNAVAILABLE,
    UnconvergedError: HTTPStatus.SERVICE_UNAVAILABLE,
    OSError: HTTPStatus.SERVICE_UNAVAILABLE,
    TacitError: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""Status of each kind of error; the first kind that an error belongs to counts."""

_DATA: dict[type[Exception], tuple[str, ...]] = {
    InfeasibleError: ("coalition", "limit_bits", "held_bits", "bits_short", "limited_by"),
    AcceptanceError: ("code", "figures"),
    CeilingError: ("level", "ceiling", "reachable"),
}
"""What an error carries, by the names of its attributes."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What a caller is told instead of an answer.

    Attributes:
        status: HTTP's.
        kind: in one word, for machines.
        message: for people.
        details: for machines.
    """

    status: int
    kind: str
    message: str
    details: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"error": {"kind": self.kind, "message": self.message, **self.details}}


class FailureError(Exception):
    """Ends a request with what the caller is told."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


REFUSED = Failure(
    HTTPStatus.CONFLICT,
    "Refused",
    "this request is not answered as it is; ask for fewer bits or something else, or ask the "
    "custodian",
)
"""All that a party learns of a request that was not answered: why is for the custodian."""

NOT_LOGGED_IN = Failure(HTTPStatus.UNAUTHORIZED, "NotLoggedIn", "log in first, or send a token")
NOT_FOUND = Failure(HTTPStatus.NOT_FOUND, "NotFound", "there is no such thing here")
"""Also where there is one that the caller may not see."""

TOO_MANY = Failure(
    HTTPStatus.TOO_MANY_REQUESTS, "TooManyAttempts", "too many attempts: wait a minute"
)
FORGED = Failure(
    HTTPStatus.FORBIDDEN, "Forged", "the form is too old or from elsewhere: load the page again"
)


def failure_of(error: Exception) -> Failure:
    """What the custodian is told of an error, with all that it carries."""
    status = next(
        (status for kind, status in STATUS.items() if isinstance(error, kind)),
        HTTPStatus.INTERNAL_SERVER_ERROR,
    )
    if not isinstance(error, TacitError):
        what = type(error).__name__
        return Failure(status, what, f"this failed inside tacit ({what}): see the server's log")
    details = {
        name: as_plain(getattr(error, name))
        for kind, names in _DATA.items()
        if isinstance(error, kind)
        for name in names
    }
    suggestions = [as_plain(each.as_dict()) for each in error.suggestions]
    return Failure(status, type(error).__name__, str(error), details | {"suggestions": suggestions})


def as_plain(value: Any) -> Any:
    """As JSON can hold it: infinity becomes none."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): as_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [as_plain(each) for each in value]
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
