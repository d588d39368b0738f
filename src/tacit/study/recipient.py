"""For recipients: what a release file says about frequencies, with its certificate beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInputError
from tacit.estimation import Contrast, Estimate
from tacit.estimation.column import without_rare_letters
from tacit.estimation.recipient import check_confidence, estimate_counts
from tacit.remark import Remark
from tacit.study.reports.receipts import Certificate
from tacit.tables.delivery.release_reader import count_letters, digest_of

_MANY = 250
_MOST_WORK = _MANY**3
"""Levels twice, times letters: the bounds on all levels take about a minute then."""


@dataclass(frozen=True, slots=True)
class LevelEstimate:
    """How frequent a level is among the records of the file.

    Attributes:
        level: what was asked.
        share: unbiased estimate; ``None`` where the release hardly determines it.
        low: end of its interval, or of what is possible at all.
        high: the other end.
    """

    level: str
    share: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class RecipientEstimate:
    """What a release file says about frequencies.

    Attributes:
        request: what was asked.
        n: how many records the file has.
        confidence: of each interval.
        levels: every level of what was asked.
        contrasts: sums and differences of shares that the release determines, where it does not
            determine every level.
        remarks: for the reader.
    """

    request: str
    n: int
    confidence: float
    levels: tuple[LevelEstimate, ...]
    contrasts: tuple[str, ...]
    remarks: tuple[Remark, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"remarks": [each.as_dict() for each in self.remarks]}


def estimate_file(path: str | Path, *, confidence: float = 0.95) -> RecipientEstimate:
    """Frequencies of what was asked, from a release file and the certificate beside it."""
    file = Path(path)
    if not file.is_file():
        raise InvalidInputError(f"there is no file {file}: give a release file, .parquet or .csv")
    certificate = Certificate.beside(file)
    _refuse_too_many(file, certificate)
    counts = count_letters(
        file, certificate.letters, certificate.time_shares, has_guards=certificate.has_guards
    )
    _refuse_altered(file, certificate)
    check_confidence(confidence)
    counts, channel = without_rare_letters(counts, np.array(certificate.p_rhat_given_r))
    found = estimate_counts(counts, channel, confidence, "rows")
    levels = tuple(_levels(certificate, found))
    is_told = all(level.share is not None for level in levels)
    return RecipientEstimate(
        certificate.request,
        found.n,
        confidence,
        levels,
        () if is_told else tuple(_contrast(certificate, each) for each in found.contrasts),
        tuple(_remarks(certificate, found, is_told)),
    )


def _refuse_too_many(file: Path, certificate: Certificate) -> None:
    """Levels and letters whose bounds would take hours."""
    n_levels, n_letters = len(certificate.labels), len(certificate.p_rhat_given_r[0])
    if n_levels**2 * n_letters > _MOST_WORK:
        raise InvalidInputError(
            f"the certificate of {file} has {n_levels:,} levels and {n_letters:,} letters, too "
            f"many to estimate from: ask the custodian for fewer levels, about {_MANY} at most"
        )


def _refuse_altered(file: Path, certificate: Certificate) -> None:
    """A file whose content is not what the certificate was made for."""
    key = bytes.fromhex(certificate.digest_key)
    if digest_of(file, key, has_guards=certificate.has_guards) != certificate.digest:
        raise InvalidInputError(
            f"{file} is not the file that the certificate was made for: do not rely on it, and ask "
            "the custodian for both again"
        )


def _levels(certificate: Certificate, found: Estimate) -> Iterator[LevelEstimate]:
    for r, level in enumerate(certificate.labels):
        is_known = found.is_known(r)
        low, high = found.intervals[r] if is_known else found.bounds[r]
        share = float(found.frequencies[r]) if is_known else None
        yield LevelEstimate(level, share, float(low), float(high))


def _contrast(certificate: Certificate, contrast: Contrast) -> str:
    terms = [
        f"{'-' if weight < 0 else '+'} {'' if abs(weight) == 1 else f'{abs(weight):.4g} x '}{label}"
        for weight, label in zip(contrast.weights, certificate.labels, strict=True)
        if weight != 0
    ]
    low, high = contrast.interval
    named = " ".join(terms).removeprefix("+ ")
    return f"{named} = {contrast.value:.4f} ({low:.4f} to {high:.4f})"


def _remarks(certificate: Certificate, found: Estimate, is_told: bool) -> Iterator[Remark]:
    if not found.is_consistent:
        yield Remark("unlikely_letters")
    if not is_told:
        yield Remark("some_levels_only_together")
    yield from (Remark("said_in_certificate", {"text": text}) for text in certificate.remarks)
    yield Remark("subgroups_differ")
