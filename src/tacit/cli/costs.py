"""Tables of costs, in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.errors import InvalidInputError

if TYPE_CHECKING:
    from tacit.problem import Costs


def read_costs(path: Path) -> Costs:
    """The table of costs in a JSON or CSV file."""
    from tacit.problem import Costs

    try:
        text = path.read_text(encoding="utf-8")
        return Costs(json.loads(text) if path.suffix == ".json" else _csv_rows(text))
    except OSError as error:
        raise InvalidInputError(f"the costs {path} cannot be read: {error.strerror}") from None
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}") from None
    except ValueError as error:  # no JSON, or no UTF-8
        raise InvalidInputError(
            f"{path} is no table of costs ({error}): give JSON, or lines of numbers with commas"
        ) from None


def _csv_rows(text: str) -> list[list[str]]:
    return [line.split(",") for line in text.splitlines() if line.strip()]
