"""The overview of a study: what happened so far, and what needs attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tacit.auditing.inference import WHOLE
from tacit.problem import DISTORTIONS
from tacit.study import Receipt, Study, StudyStatus
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


def list_concerns(study: Study, status: StudyStatus, waiting: int) -> list[dict[str, str]]:
    """What needs attention, each in words and with the page to go to."""
    return [{"in_words": words, "page": page} for words, page in _concerns(study, status, waiting)]


def _concerns(study: Study, status: StudyStatus, waiting: int) -> Iterator[tuple[str, str]]:
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
    for settled in status.settled:
        yield settled.in_words, _entry(settled.release)
    for party, line in _settled_together(study, status):
        yield f"what {party} holds {line}", "/study/audits"
    for remark in status.remarks:
        page = "/study/ledger" if remark.code.startswith("entry") else "/study/policy"
        yield remark_in_words(remark), page


def _entry(number: int) -> str:
    return f"/study/ledger/{number}"


def _settled_together(study: Study, status: StudyStatus) -> Iterator[tuple[str, str]]:
    """Facts that are certain to single parties by several answers; looked for only where all
    together know any.
    """
    by_one: dict[str, set[str]] = {}
    for settled in status.settled:
        by_one.setdefault(settled.party, {WHOLE}).update(settled.certain)
    holders = [each for each in status.parties if each.held > 0]
    if not holders or not study.risk([each.parties[0] for each in holders]).settled:
        return
    for each in holders:
        risk = study.risk(each.parties)
        about = {told.about for told in risk.told if told.certain != {}}
        if not about <= by_one.get(each.name, set()):
            yield from ((each.name, line) for line in risk.settled)
