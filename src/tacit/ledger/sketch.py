"""Do two studies share records? Answered from a few keyed hashes of each study's ids.

A second study of the same records would start with fresh limits. So a ledger keeps a bottom-k
sketch of every study: the k smallest keyed hashes of its ids. The key is the ledger's salt:
sketches of one ledger can be compared, and a leaked sketch alone does not tell who is in the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacit.errors import CorruptLedgerError, InvalidInputError
from tacit.ledger.entry import RELEASES, Head, canonical_json, parse_json

HASH_DIGITS = 16
"""Hexadecimal digits of one hash: 64 bits, so that unequal ids practically never share one."""

_HASH = re.compile(rf"[0-9a-f]{{{HASH_DIGITS}}}")
_ABOVE_EVERY_HASH = "g"


@dataclass(frozen=True, slots=True)
class Overlap:
    """An earlier study with ids that another one has, too.

    Attributes:
        study: its name in the ledger.
        share: estimated share of the smaller study's ids that are in both.
        made: when it began, ISO-8601 in UTC.
        table: name of the table that it was made of; ``None`` where its first entry names none.
        kinds: of its entries.
        head: its last entry.
    """

    study: str
    share: float
    made: str
    table: str | None
    kinds: frozenset[str]
    head: Head

    @property
    def is_released(self) -> bool:
        """Whether anything was released of it."""
        return bool(self.kinds & RELEASES)


@dataclass(frozen=True, slots=True)
class Sketch:
    """The smallest keyed hashes of a study's ids.

    Attributes:
        n_records: how many different ids the study has.
        smallest: hashes of ``HASH_DIGITS`` lower-case hexadecimal digits, ascending, distinct; all
            of the study's if there are ``n_records`` of them.
        nonce: a random text. When the sketch is replaced, because records were erased, it goes,
            too: without it, the seal that entry 1 names does not tell whether a hash was in the
            sketch.
    """

    n_records: int
    smallest: tuple[str, ...]
    nonce: str

    def __post_init__(self) -> None:
        if not 1 <= len(self.smallest) <= self.n_records:
            raise InvalidInputError(
                f"a sketch of {self.n_records} records has {len(self.smallest)} hashes: "
                "give at least 1 and at most one per record"
            )
        if not all(_HASH.fullmatch(digits) for digits in self.smallest):
            raise InvalidInputError(f"a sketch's hashes have {HASH_DIGITS} lower-case hex digits")
        if not all(low < high for low, high in pairwise(self.smallest)):
            raise InvalidInputError("a sketch's hashes must be ascending and distinct")

    def share_in_both(self, other: Sketch) -> float:
        """Estimated share of the smaller study's ids that the other study has too, 0 to 1.

        Up to the hash where the shorter-reaching sketch ends both are complete, and the ids below
        it are a random sample: about k n_small / n_large ids of the smaller study. So a study that
        is k times smaller than the other can slip through. Of m ids in both, none is seen with
        probability about exp(-k m / n_large).
        """
        ceiling = min(self._complete_up_to, other._complete_up_to)
        smaller, larger = sorted((self, other), key=lambda sketch: sketch.n_records)
        sample = {digits for digits in smaller.smallest if digits <= ceiling}
        return len(sample.intersection(larger.smallest)) / len(sample) if sample else 0.0

    @property
    def _complete_up_to(self) -> str:
        is_whole = len(self.smallest) == self.n_records
        return _ABOVE_EVERY_HASH if is_whole else self.smallest[-1]

    @property
    def as_text(self) -> str:
        """For the ledger, as canonical JSON."""
        return canonical_json({"smallest": list(self.smallest), "nonce": self.nonce})

    @classmethod
    def parse(cls, study: str, n_records: int, text: str) -> Sketch:
        """The sketch of a study as the ledger has it.

        Raises:
            CorruptLedgerError: the text is not one that ``as_text`` gives.
        """
        try:
            stored: Any = parse_json(text)
            return cls(n_records, tuple(stored["smallest"]), stored["nonce"])
        except (CorruptLedgerError, InvalidInputError, TypeError, KeyError):
            raise CorruptLedgerError(
                f"the registration of study {study!r} is damaged: restore the ledger from a backup"
            ) from None
