"""A study in one file: everything that cannot be computed again, and its chain in the ledger.

Putting it back only ever adds to a ledger: entries that were appended after the backup stay.
"""

from __future__ import annotations

import re
import tarfile
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shutil import copyfileobj, move
from typing import Any

from tacit.errors import InvalidInputError
from tacit.ledger import Ledger
from tacit.ledger.database import absolute_address, parse_address, shown_address
from tacit.ledger.user_ledger import IN_FOLDER
from tacit.remark import Remark
from tacit.storage import atomic_file, atomic_folder, scratch_folder
from tacit.study.books.books import Books
from tacit.study.entry_kinds import read_books
from tacit.study.erasure import erase_again, refuse_unfinished
from tacit.study.folder import Configuration, Layout, StudyKeys, engine_of, refuse_own_files
from tacit.study.journal import Journal, Traces, refuse_unregistered, update_high_water_mark
from tacit.tables.encoding.snapshot import is_snapshot_file

_COHORT = re.compile(r"(cohorts/[1-9][0-9]{0,8}/)?(snapshot/)?(.+)")
"""A file of a cohort: its folder, which the first one lacks, and its name."""


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds.

    Attributes:
        study: the study's id.
        entries: how many ledger entries.
        has_key: whether the secret key is in it.
        records_at: address of the folder with the records and states, which are not in it; ``None``
            where they are.
    """

    study: str
    entries: int
    has_key: bool
    records_at: str | None

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Restoration:
    """What was put back.

    Attributes:
        study: the study's id.
        entries: how many entries the ledger had lost.
        files: files that the folder had lost.
        ledger: where the ledger is, without passwords.
        remarks: on entries that the ledger has lost and that the backup does not hold, or may not,
            and on records that were erased again.
    """

    study: str
    entries: int
    files: tuple[str, ...]
    ledger: str
    remarks: tuple[Remark, ...]

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self) | {"remarks": [each.as_dict() for each in self.remarks]}


def back_up(folder: str | Path, file: str | Path) -> Backup:
    """Write a study's backup to a new file that only its owner can read.

    Raises:
        InvalidInputError: the file is there already: an older backup is never replaced.
        RolledBackError: the ledger has lost entries, so that an older backup is worth more.
    """
    folder, file = Path(folder), Path(file)
    layout, configuration = Layout(folder), Configuration.read(folder)
    _check_new(layout, configuration, file)
    with scratch_folder(file) as scratch:
        copy = scratch / layout.ledger.name
        with closing(Ledger.open(configuration.ledger or layout.ledger)) as ledger:
            refuse_unregistered(layout, configuration.study, ledger)
            _refuse_rollback(layout, configuration, ledger)
            with closing(Ledger.create(copy, salt=ledger.salt)) as copied:
                n_entries = copied.add_missing(configuration.study, ledger)
        with atomic_file(file, mode=0o600) as target, tarfile.open(fileobj=target, mode="w") as tar:
            for name, path in _files(layout):
                tar.add(path, name)
            tar.add(copy, layout.ledger.name)
    return Backup(configuration.study, n_entries, layout.key.exists(), configuration.data)


def restore(file: str | Path, folder: str | Path, *, ledger: str | None = None) -> Restoration:
    """Put back what a folder and its ledger have lost; a folder that is not there is made.

    Files and entries that are there stay as they are. The key of a study that was closed
    meanwhile stays destroyed. Records that were erased since the backup was made, as the ledger
    says, are erased again; of a closed study, whose key they would be found by, the snapshot is not
    put back then.

    Args:
        file: what ``back_up`` has written.
        folder: of the study.
        ledger: for a folder that is made: another address of the ledger than before, as for
            ``Study.create``, on another machine, say.
    """
    file, folder = Path(file), Path(folder)
    if not folder.parent.is_dir():
        raise InvalidInputError(f"there is no folder {folder.parent}: make it first")
    if ledger is not None and Layout(folder).configuration.exists():
        raise InvalidInputError(
            f"{folder} is there, and its study.json says where its ledger is: another place "
            "for the ledger is for a folder that is to be made"
        )
    with scratch_folder(folder) as scratch:
        _unpack(file, scratch)
        unpacked = Layout(scratch)
        configuration = Configuration.read(scratch)
        if ledger is not None:
            configuration = _moved(configuration, ledger)
            configuration.write(scratch)
        if Layout(folder).configuration.exists():
            _check_same(file, configuration, Configuration.read(folder), folder)
            return _put_back(unpacked, Layout(folder), configuration)
        with atomic_folder(folder) as partial:
            restored = _put_back(unpacked, Layout(partial), configuration)
        address = parse_address(configuration.ledger or Layout(folder).ledger)
        return replace(restored, ledger=shown_address(address))


def _moved(configuration: Configuration, ledger: str) -> Configuration:
    address = None if ledger == IN_FOLDER else absolute_address(ledger)
    return configuration.model_copy(update={"ledger": address})


def _put_back(backup: Layout, layout: Layout, configuration: Configuration) -> Restoration:
    """The ledger first: it says whether the key was destroyed meanwhile.

    So does the folder, where the ledger was rolled back. The mark of an entry that is still lost
    stays as it is.
    """
    study, address = configuration.study, configuration.ledger or layout.ledger
    with (
        closing(Ledger.open(backup.ledger)) as copied,
        closing(Ledger.create(address, salt=copied.salt)) as ledger,
    ):
        if study in ledger.studies():
            _refuse_older(backup, layout, read_books(ledger.entries(study)))
        n_entries = ledger.add_missing(study, copied)
        n_known = len(read_books(copied.entries(study)).erasures)
        books, lost = _read(layout, configuration, ledger)
    unwanted = {backup.high_water}
    is_closed = books.is_closed or layout.digest_keys.exists()
    is_stale = n_known < len(books.erasures)  # it brings erased records back
    if is_closed:
        snapshots = (path for _, path in _files(backup) if path.parent.name == backup.snapshot.name)
        unwanted |= {backup.key, *(snapshots if is_stale else ())}
    files = tuple(_put_files_back(backup, layout, unwanted))
    if not lost.entries:
        update_high_water_mark(layout, books.head, books.accepted)
    remarks = lost.remarks("entry_still_lost")
    if n_entries == books.head.number:  # the ledger knew nothing of this study
        remarks += (Remark("known_from_backup_alone"),)
    if is_stale and not is_closed:
        remarks += _erase_again(layout, configuration, books)
    return Restoration(study, n_entries, files, ledger.url_shown, remarks)


def _refuse_older(backup: Layout, layout: Layout, books: Books) -> None:
    """Refuse a backup without records that have joined since, where the folder lost them, too."""
    for cohort in () if books.is_closed else books.cohorts:
        places = (each.of_cohort(cohort.number).snapshot for each in (backup, layout))
        if not any(place.exists() for place in places):
            raise InvalidInputError(
                f"the backup is older than cohort {cohort.number} of the study "
                f"({cohort.n_left:,} records of {cohort.record.table}, entry {cohort.joined} of "
                "the ledger), and the folder has lost these records, too: without them nothing can "
                "be released, so that nothing was changed; restore a backup that was made after "
                "they joined"
            )


def _erase_again(layout: Layout, configuration: Configuration, books: Books) -> tuple[Remark, ...]:
    """Erase what was erased since the backup was made."""
    keys = StudyKeys.load(layout, configuration.study, books.created)
    n_records = erase_again(layout, engine_of(configuration), keys, books)
    return (Remark("erased_again", {"records": n_records}),) if n_records else ()


def _put_files_back(backup: Layout, layout: Layout, unwanted: Collection[Path]) -> Iterator[str]:
    for name, path in _files(backup):
        target = layout.folder / name
        if not (target.exists() or path in unwanted):
            _make_folder(layout.folder, target.parent)
            move(path, target)
            yield name


def _files(layout: Layout) -> Iterator[tuple[str, Path]]:
    """What a backup holds of a folder: states are computed again when they are needed."""
    for path in _own_files(layout):
        if path.exists():
            yield path.name, path
    for place in (layout, *map(Layout, sorted(layout.cohorts.glob("[0-9]*")))):
        for path in (place.table, *sorted(place.snapshot.rglob("*"))):
            name = path.relative_to(layout.folder).as_posix()
            if path.exists() and _is_of_cohort(name):
                yield name, path


def _is_of_cohort(name: str) -> bool:
    """Whether a backup holds a file of this name for a cohort."""
    found = _COHORT.fullmatch(name)
    if found is None:
        return False
    _, in_snapshot, file = found.groups()
    return is_snapshot_file(file) if in_snapshot else file == "table.json"


def _make_folder(top: Path, folder: Path) -> None:
    """A folder below ``top``, and those between, for their owner alone."""
    for each in reversed([folder, *folder.parents]):
        if each.is_relative_to(top):
            each.mkdir(mode=0o700, exist_ok=True)


def _own_files(layout: Layout) -> tuple[Path, ...]:
    kept = layout.high_water, layout.digest_keys, layout.copies
    return layout.configuration, layout.key, *kept


def _check_new(layout: Layout, configuration: Configuration, file: Path) -> None:
    refuse_own_files(layout, configuration, file)
    if file.exists():
        raise InvalidInputError(f"{file} exists already: give every backup a name of its own")
    if not file.parent.is_dir():
        raise InvalidInputError(f"there is no folder {file.parent}: make it, or choose another")


def _read(layout: Layout, configuration: Configuration, ledger: Ledger) -> tuple[Books, Traces]:
    """A study's books, and traces of entries that its ledger has lost."""
    study = configuration.study
    engine = engine_of(configuration)
    traces = Traces.find(layout, engine, study)  # before the ledger is read
    books = read_books(ledger.entries(study))
    return books, traces.lost(books, ledger, study)


def _refuse_rollback(layout: Layout, configuration: Configuration, ledger: Ledger) -> None:
    journal = Journal(layout, configuration, ledger)
    journal.refuse_rollback(journal.find_lost())
    refuse_unfinished(journal.books)


def _check_same(file: Path, backup: Configuration, there: Configuration, folder: Path) -> None:
    if backup.study != there.study:
        raise InvalidInputError(
            f"{file} is a backup of study {backup.study}, and {folder} is study {there.study}: "
            "choose another folder"
        )
    if backup.ledger != there.ledger:
        raise InvalidInputError(
            f"the ledger of {folder} is not where it was when {file} was made: "
            "restore into a new folder"
        )


def _unpack(file: Path, scratch: Path) -> None:
    """Only plain files of the names that a backup has: an archive may hold any path."""
    layout = Layout(scratch)
    known = {path.name for path in (*_own_files(layout), layout.ledger)}
    try:
        with tarfile.open(file, mode="r:") as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                is_known = member.name in known or _is_of_cohort(member.name)
                if content is None or not is_known:
                    raise _no_backup(file)
                target = scratch / member.name
                _make_folder(scratch, target.parent)
                target.touch(mode=0o600)
                with target.open("wb") as written:
                    copyfileobj(content, written)
    except (OSError, tarfile.TarError) as error:
        raise InvalidInputError(f"{file} cannot be read as a backup: {error}") from error
    if not (layout.configuration.exists() and layout.ledger.exists()):
        raise _no_backup(file)


def _no_backup(file: Path) -> InvalidInputError:
    return InvalidInputError(f"{file} is no backup: give a file that a backup has written")
