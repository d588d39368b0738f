"""One text for one JSON value, so that a hash of the text is a hash of the value."""

from __future__ import annotations

import json

from tacit.errors import CorruptLedgerError, InvalidInputError


def canonical_json(value: object) -> str:
    """The value as ASCII JSON with sorted keys and no blanks; floats read back exactly.

    Raises:
        InvalidInputError: the value would be read back as another one: NaN, infinity, keys that
            are not text, tuples, or anything that JSON does not know.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
        is_faithful = json.loads(text) == value
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"a ledger entry cannot hold this value: {error}") from error
    if not is_faithful:
        raise InvalidInputError(
            "a ledger entry would read back as another value: "
            "use text as keys and lists instead of tuples"
        )
    return text


def parse_json(text: str) -> object:
    """The value behind a stored text.

    Raises:
        CorruptLedgerError: the text is no JSON.
    """
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptLedgerError(
            f"the ledger holds a text that is no JSON ({error}): restore it from a backup"
        ) from error
    return value
