"""What a reader should know beside a result, as data: a front puts it in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about a result.

    Attributes:
        code: what it says, as one word.
        values: what it says it of, by name, as plain data.
    """

    code: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"code": self.code, **self.values}
