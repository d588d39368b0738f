"""``tacit verify``: chain, certificates, snapshot, files and receipts, all against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from tacit.errors import InvalidInputError, KeyFileError, LedgerError
from tacit.ledger import Entry, Ledger
from tacit.remark import Remark
from tacit.study.books.books import Books, Cohort, Information, Intent, Shares, record_of
from tacit.study.books.records import refuse_nonsense
from tacit.study.digest_keys import DigestKeys
from tacit.study.entry_kinds import check_entry, read_books, read_on
from tacit.study.folder import (
    Configuration,
    Layout,
    StudyKeys,
    engine_of,
    find_copies,
    is_there,
)
from tacit.study.journal import Traces
from tacit.study.proofs.claims import unit_of
from tacit.study.proofs.replay import Replay, ReplayError
from tacit.study.releases.release import ReleaseWriter, open_cohorts
from tacit.study.reports.receipts import remarks_on_erased
from tacit.study.setup.creation import public_facts
from tacit.study.verification.papers import KeptPaper, PaperCheck
from tacit.tables import Cells
from tacit.tables.delivery.engine import Engine, Records
from tacit.tables.delivery.release_reader import digests_of

ONLY_HASHED = (
    *("time", "by", "reason", "organisation", "table", "made_by"),
    *("known_in", "corrected", "file"),
)
"""Fields of entries that follow from nothing else: whoever rewrites the chain can change them."""

PROVED_NEAR = 1e-5
"""In units of the cost: a release that is no farther from the best needs no note."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a replay found.

    Attributes:
        entries: how many were read.
        releases: how many of them were releases.
        problems: everything that is not as it should be.
        notes: what could not be checked, and why.
        proved_gaps: release -> its cost, the mean or the worst level's as it was asked, is within
            this of the best for its problem as it was posed, by the engine's bound. Releases
            judged by information or by shares are not among them.
        analysable: releases whose gap is to the best one that reads nothing but what was asked.
    """

    entries: int
    releases: int
    problems: tuple[Remark, ...]
    notes: tuple[Remark, ...]
    proved_gaps: dict[int, float]
    analysable: tuple[int, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "entries": self.entries,
            "releases": self.releases,
            "is_whole": self.is_whole,
            "problems": [each.as_dict() for each in self.problems],
            "notes": [each.as_dict() for each in self.notes],
            "proved_gaps": {str(number): gap for number, gap in self.proved_gaps.items()},
            "analysable": list(self.analysable),
            "only_hashed": list(ONLY_HASHED),
        }


def verify_study(folder: str | Path, receipt: str | Path | None = None) -> Verification:
    """Replay a study's ledger, and check its snapshot, its files and a receipt against it.

    Works on a study that cannot be opened because its ledger was tampered with.
    """
    layout, configuration = Layout(Path(folder)), Configuration.read(Path(folder))
    paper = None if receipt is None else KeptPaper.read(Path(receipt))
    study = configuration.study
    engine = engine_of(configuration)
    with Ledger.open(configuration.ledger or layout.ledger) as ledger:
        problems = [Remark("chain_broken", {"reason": each}) for each in ledger.verify(study)]
        if paper is not None and problems and not _is_in(ledger, study, paper):
            sought = {"paper": str(paper.path), "entry": paper.entry}
            problems.append(Remark("paper_not_in_ledger", sought))
        if problems:  # nothing that such a ledger says can be relied on
            return Verification(0, 0, tuple(problems), (), {})
        traces, mark_problems = _find_traces(layout, engine, study)  # before the ledger is read
        try:
            entries = ledger.entries(study)
            replay = _begin(entries[0])
        except LedgerError as error:  # sealed, and yet nothing that this version can read
            return Verification(0, 0, (Remark("ledger_unreadable", _reason(error)),), (), {})
        problems += mark_problems + _replay(replay, entries[1:])
        if replay.books.head == entries[-1].head:
            lost = traces.lost(replay.books, ledger, study)
            problems += lost.remarks("entry_missing")
    problems += _folder_problems(layout, engine, replay.books)
    problems += _question_problems(layout, engine, replay.books)
    keys, key_problems = _find_keys(layout, study, replay.books)
    problems += key_problems
    unfinished = replay.books.unfinished_erasure
    if unfinished is None:
        problems += _snapshot_problems(layout, engine, replay.books, keys)
    else:  # the snapshot is neither what it was nor what it has to be
        problems += [Remark("erasure_unfinished", {"records": len(unfinished.id_hashes)})]
    more, notes = _file_problems(replay.books, keys)
    notes += _copy_notes(layout, replay.books, keys)
    if not problems:
        more += _draw_problems(layout, engine, study, replay.books)
    if paper is not None:
        check = PaperCheck(paper, keys)
        check.against(replay.books, entries)
        more, notes = [*more, *check.problems], [*notes, *check.notes]
    if replay.books.accepted:
        notes.append(Remark("rollback_accepted"))
    notes += remarks_on_erased(replay.books.n_erased, replay.books.n_left)
    notes += _unproved(replay)
    return Verification(
        len(entries),
        len(replay.books.releases),
        (*problems, *more),
        tuple(notes),
        replay.proved_gaps,
        tuple(k for k in replay.proved_gaps if replay.books.releases[k].request.analysable),
    )


def _reason(error: Exception) -> dict[str, str]:
    """What an error says, as the value of a remark."""
    return {"reason": str(error)}


def _is_in(ledger: Ledger, study: str, paper: KeptPaper) -> bool:
    return paper.study == study and ledger.contains(study, paper.entry, paper.hash)


def _find_traces(layout: Layout, engine: Engine[Any], study: str) -> tuple[Traces, list[Remark]]:
    """What the folder shows of entries, and what is wrong with its high-water mark."""
    try:
        return Traces.find(layout, engine, study), []
    except InvalidInputError as error:
        return Traces({}, ()), [Remark("mark_damaged", _reason(error))]


def _begin(created: Entry) -> Replay:
    """A replay of which only the first entry is read."""
    books = read_books([created])
    with refuse_nonsense(created):
        replay = Replay(books)
        replay.begin_cohort(books)
    return replay


def _replay(replay: Replay, entries: list[Entry]) -> list[Remark]:
    """Read entries one after another; what is wrong with them."""
    problems: list[Remark] = []
    try:
        for entry in entries:
            problems += _follow(replay, entry)
    except ReplayError as error:
        problems.append(Remark("replay_stopped", _reason(error)))
    return problems


def _follow(replay: Replay, entry: Entry) -> list[Remark]:
    """Read one entry; what is wrong with it.

    Raises:
        ReplayError: it makes no sense after the entries before it.
    """
    try:
        after = read_on(replay.books, [entry])
        problems = check_entry(replay, after, entry)
    except LedgerError as error:  # names the entry, and what to do
        raise ReplayError(str(error)) from error
    replay.books = after
    return [Remark("entry_wrong", {"entry": entry.number, "reason": each}) for each in problems]


def _unproved(replay: Replay) -> Iterator[Remark]:
    """Releases that are not proved to be near the best."""
    for number, intent in replay.books.releases.items():
        gap = replay.proved_gaps.get(number)
        near = PROVED_NEAR * unit_of(intent.request, intent.record.value)
        if number in replay.unsolved:
            yield Remark("not_solved_again", {"release": number})
        elif isinstance(intent.request.utility, Information):
            yield Remark("judged_by_information", {"release": number})
        elif isinstance(intent.request.utility, Shares):
            yield Remark("judged_by_shares", {"release": number})
        elif gap is not None and gap > near:
            yield Remark("proved_within", {"release": number, "gap": gap})


def _folder_problems(layout: Layout, engine: Engine[Any], books: Books) -> list[Remark]:
    """Whether the folder is what the ledger says of it."""
    problems = []
    if books.is_closed and layout.key.exists():
        problems.append(Remark("key_not_destroyed"))
    for cohort in books.cohorts:
        problems += _cohort_problems(layout.of_cohort(cohort.number), engine, books, cohort)
    return problems


def _cohort_problems(
    place: Layout, engine: Engine[Any], books: Books, cohort: Cohort
) -> list[Remark]:
    """Whether the snapshot of a cohort has the public facts that the ledger has."""
    try:
        records = engine.open(place.snapshot)
        facts, n_erased = public_facts(records), records.n_erased
    except (InvalidInputError, OSError, ValueError, KeyError, BadZipFile) as error:
        return [Remark("snapshot_unreadable", _reason(error))]
    said = dict(cohort.record) | {"attributes": books.created.attributes}
    wrong = [name for name, found in facts.items() if said[name] != found]
    if books.unfinished_erasure is None and n_erased != cohort.n_erased:
        wrong.append("erased records")
    return [Remark("snapshot_differs", {"fact": name}) for name in wrong]


def _question_problems(layout: Layout, engine: Engine[Any], books: Books) -> list[Remark]:
    """Whether what was asked, in words, is what was answered."""
    try:
        cells = Cells(engine.open(layout.snapshot).encoding.attributes)
    except (InvalidInputError, OSError, ValueError):  # said already
        return []
    problems, columns = [], {each.name for each in books.created.attributes}
    for number, intent in books.releases.items():
        said = intent.record.question
        if said.external is not None:
            continue
        names = [said.name] if said.name in columns else said.name.split(",")
        try:
            asked = cells.of_attributes(names) if said.sql is None else cells.evaluate(said.sql)
            is_same = record_of(asked) == said
        except InvalidInputError:
            is_same = False
        if not is_same:
            reason = "its words ask for something else than its table answers"
            problems.append(Remark("entry_wrong", {"entry": number, "reason": reason}))
    return problems


def _find_keys(layout: Layout, study: str, books: Books) -> tuple[DigestKeys | None, list[Remark]]:
    """Keys that check files and papers, and what is wrong with the study's key."""
    try:
        return DigestKeys.find(layout, study, books), []
    except KeyFileError as error:
        return None, [Remark("key_damaged", _reason(error))]


def _snapshot_problems(
    layout: Layout, engine: Engine[Any], books: Books, keys: DigestKeys | None
) -> list[Remark]:
    """Whether every snapshot says what it said when its cohort joined, without erased records."""
    if keys is None:
        return []
    problems = []
    for cohort in books.cohorts:
        try:
            snapshot = engine.open(layout.of_cohort(cohort.number).snapshot)
            snapshot.check(keys.snapshot, cohort.snapshot_digest)
        except InvalidInputError as error:
            problems.append(Remark("snapshot_changed", _reason(error)))
    return problems


def _file_problems(books: Books, keys: DigestKeys | None) -> tuple[list[Remark], list[Remark]]:
    """What is wrong with the release files, and what could not be checked."""
    if keys is None:
        return [], [Remark("files_not_checked")]
    problems, notes, earlier = [], [], books.before_erasures
    old = [intent for each in earlier for intent in each.releases.values()]
    for number, intent in books.releases.items():
        if intent.delivery is None:
            notes.append(Remark("not_delivered", {"release": number}))
            continue
        if intent.entry.hash not in keys.releases:
            problems.append(Remark("released_after_close", {"release": number}))
            continue
        file = Path(intent.delivery.file)
        if not is_there(file):
            notes.append(Remark("file_gone", {"release": number, "file": str(file)}))
            continue
        if _written([intent], file, keys):
            continue
        about = {"release": number, "file": str(file)}
        if found := _written([*books.releases.values()], file, keys):
            notes.append(Remark("file_replaced", about | {"now": found[0].entry.number}))
        elif _written([each.releases[number] for each in earlier], file, keys):
            notes.append(Remark("erased_in_file", about))
        elif found := _written(old, file, keys):
            notes.append(Remark("file_replaced", about | {"now": found[0].entry.number}))
        else:
            problems.append(Remark("file_changed", about))
    return problems, notes


def _copy_notes(layout: Layout, books: Books, keys: DigestKeys | None) -> list[Remark]:
    """What files that releases were written to under other names still hold of erased records."""
    if keys is None or not books.erasures:
        return []
    notes, earlier = [], books.before_erasures
    try:
        copies = find_copies(layout)
    except InvalidInputError as error:
        return [Remark("copies_unknown", _reason(error))]
    for number, names in copies.items():
        intent = books.releases.get(number)
        for file in map(Path, names if intent is not None else ()):
            if not is_there(file) or _written([*books.releases.values()], file, keys):
                continue
            about = {"release": number, "file": str(file)}
            if _written([each.releases[number] for each in earlier], file, keys):
                notes.append(Remark("erased_in_file", about))
            else:
                notes.append(Remark("copy_changed", about))
    return notes


def _draw_problems(layout: Layout, engine: Engine[Any], study: str, books: Books) -> list[Remark]:
    """What takes the key: whether erased records are gone, and every release, drawn again, is what
    was delivered.
    """
    if books.is_closed or not layout.key.exists():
        return []
    keys = StudyKeys.load(layout, study, books.created)
    cohorts = open_cohorts(layout, engine, books)
    writer = ReleaseWriter(keys, layout, engine, cohorts, books.created.is_id_public)
    still_there = _still_there(engine, keys, books, cohorts)
    try:
        return [*still_there, *writer.problems(books)]
    except InvalidInputError as error:
        return [*still_there, Remark("not_drawn_again", _reason(error))]


def _still_there(
    engine: Engine[Any], keys: StudyKeys, books: Books, cohorts: Sequence[Records]
) -> list[Remark]:
    """How many erased records a snapshot still has, unless they are being erased."""
    if not books.erasures or books.unfinished_erasure is not None:
        return []
    found = (
        engine.known(records, keys.ids, books.erased_ids_of(cohort))
        for records, cohort in zip(cohorts, books.cohorts, strict=True)
    )
    n_back = sum(map(len, found))
    return [Remark("erased_still_there", {"records": n_back})] if n_back else []


def _written(intents: Sequence[Intent], file: Path, keys: DigestKeys) -> list[Intent]:
    """Of some releases, those whose content a file has, as it is written now."""
    known = [each for each in intents if each.digest and each.entry.hash in keys.releases]
    if not known:
        return []
    try:
        digests = digests_of(file, [keys.releases[each.entry.hash] for each in known])
    except InvalidInputError:
        return []
    return [each for each, found in zip(known, digests, strict=True) if each.digest == found]
