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

    def __str__(self) -> str:
        """The code and the values, for a front that has no words of its own for it."""
        values = ", ".join(f"{name} {value}" for name, value in self.values.items())
        return self.code.replace("_", " ") + (f": {values}" if values else "")

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"code": self.code, **self.values}
