"""The overview of a study: what happened so far, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.auditing.disclosure import disclosure_lines
from tacit.problem import DISTORTIONS
from tacit.study import Receipt, StudyStatus
from tacit.study.books.records import FIRST_COHORT
from tacit.words.remarks import remark_in_words


def timeline(releases: Sequence[Receipt]) -> list[dict[str, Any]]:
    """Every release: what its answers are worth, and what everybody holds after it ([TVC] Fig. 6).

    Of several cohorts, what is held is that of the one where it is most.
    ``right`` and ``guessed`` are shares of right answers, of the release and of a blind guess;
    ``None`` where answers are judged in another way.
    """
    held: dict[str, dict[int, float]] = {}
    everyone: dict[int, float] = {}
    told = []
    for each in releases:
        cohort = each.cohort or FIRST_COHORT
        held.setdefault(each.party, {})[cohort] = each.party_bits
        everyone[cohort] = each.everyone_bits
        is_share = each.measure in DISTORTIONS and DISTORTIONS[each.measure].is_share
        told.append(
            {
                "entry": each.entry,
                "time": each.time,
                "party": each.party,
                "request": each.request,
                "cohort": each.cohort,
                "in_words": each.in_words,
                "is_delivered": each.digest is not None,
                "right": 1 - each.value if is_share else None,
                "guessed": None if each.blind is None or not is_share else 1 - each.blind,
                "everyone_bits": max(everyone.values()),
                "party_bits": {party: max(bits.values()) for party, bits in held.items()},
            }
        )
    return told


def list_concerns(status: StudyStatus, waiting: int) -> list[dict[str, str]]:
    """What needs attention, each in words and with the page to go to."""
    return [{"in_words": words, "page": page} for words, page in _concerns(status, waiting)]


def _concerns(status: StudyStatus, waiting: int) -> Iterator[tuple[str, str]]:
    for line in disclosure_lines(status.disclosures, "can name"):
        yield line, "/study/audits"
    if waiting:
        yield (
            (
                "1 request waits for approval"
                if waiting == 1
                else f"{waiting} requests wait for approval"
            ),
            "/study/approvals",
        )
    for number in status.undelivered:
        yield f"release {number} is recorded, but its file was never written", _entry(number)
    for remark in status.remarks:
        page = "/study/ledger" if remark.code.startswith("entry") else "/study/limits"
        yield remark_in_words(remark), page


def _entry(number: int) -> str:
    return f"/study/ledger/{number}"
