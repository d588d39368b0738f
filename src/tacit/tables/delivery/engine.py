"""The protocol of delivery engines: the only code that handles single records.

A study holds the ledger, the designs and the counts, none of which grow with the records. Records
are reached through an engine only, which the study finds by its name in ``registry.ENGINES``.
Whatever the engine, the same release has the same content: each letter and each state is a function
of the release's key, its channel and the record's place in the snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DeliveryError
from tacit.remark import Remark
from tacit.tables.delivery.links import Links
from tacit.tables.delivery.release_file import Progress, RecordedRelease
from tacit.tables.encoding.codes import Encoding
from tacit.tables.encoding.cohort import Admission
from tacit.tables.encoding.column import Declaration
from tacit.tables.sources.source import AnyTable


class MissingStatesError(DeliveryError):
    """The states before a release are not stored: write them with ``remember`` first."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the states written to {folder} cannot be read again: check the disk and "
            "ask for the same release again, which costs nothing"
        )


@dataclass(frozen=True, slots=True)
class StateStore:
    """Where a study keeps one small number per record and release: the record's state.

    Attributes:
        folder: for the engine to use as it likes; private to the study's owner.
        seal_key: under which states are sealed. What is not sealed by it is never believed.
    """

    folder: Path
    seal_key: bytes


class Records(Protocol):
    """The records of a study, frozen when it began, as an engine keeps them.

    Record i has the i-th smallest id. Digests are the same in every engine; seals need not be. A
    record that was erased leaves its place empty, and the others keep theirs. In the digest, its
    cell is the number of cells, and its id an empty text.
    """

    @property
    def n_records(self) -> int:
        """How many places there are, empty ones included."""
        ...

    @property
    def n_erased(self) -> int:
        """How many places are empty."""
        ...

    @property
    def encoding(self) -> Encoding:
        """How the table became cells."""
        ...

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records were in each cell when they were frozen, [x]."""
        ...

    def external_counts(self, name: str) -> NDArray[np.int64]:
        """How many of them had each level of an external column, [x, r]."""
        ...

    def sketch(self, salt: bytes, k: int) -> list[str]:
        """The ``k`` smallest salted hashes of the normalised ids."""
        ...

    def digest(self, key: bytes) -> str:
        """Keyed digest of what the records are."""
        ...

    def seal(self, key: bytes) -> str:
        """Keyed digest that is quick to check, of how the engine keeps them."""
        ...

    def check(self, key: bytes, digest: str) -> None:
        """Raise InvalidInputError unless the records have this digest."""
        ...

    def check_seal(self, key: bytes, seal: str) -> None:
        """Raise InvalidInputError unless the records have this seal."""
        ...


SomeRecords = TypeVar("SomeRecords", bound=Records)


class Engine(Protocol[SomeRecords]):
    """Encodes and counts records, draws their letters, writes release files and states."""

    def count(
        self,
        source: AnyTable,
        columns: Declaration,
        folder: Path,
        *,
        accept: Collection[str] = (),
        remark: Callable[[Remark], None] | None = None,
    ) -> SomeRecords:
        """Read a table, encode its records, count them by cell and freeze them.

        Args:
            source: names the table.
            columns: to read, and what each is for.
            folder: where the records will be; it must not exist.
            accept: codes of what the custodian accepts about ids: ``rows`` where several of them
                may name one person, ``ids`` where some differ only by case.
            remark: called with what the custodian should know about the table.
        """
        ...

    def count_cohort(
        self,
        source: AnyTable,
        cohorts: Sequence[SomeRecords],
        folder: Path,
        admission: Admission,
        *,
        remark: Callable[[Remark], None],
    ) -> SomeRecords:
        """Read a table, encode its records that are in no cohort yet as those were, freeze them.

        Whether a record is known is decided by its normalised id, see ``tables.encoding.ids``.

        Args:
            source: names the table.
            cohorts: all records that are known.
            folder: where the records will be; it must not exist.
            admission: who may join. Known records that are to be corrected are erased from their
                cohorts afterwards.
            remark: called with what the custodian should know about the table.

        Raises:
            NothingNewError: every record is known or was erased, and all of them are to be left
                out or are exactly one of the cohorts.
            InvalidInputError: a value has no level, or records are known or were erased: the
                message names them by the numbers of their rows.
        """
        ...

    def open(self, folder: Path) -> SomeRecords:
        """The records that ``count`` or ``count_cohort`` has frozen in a folder."""
        ...

    def discard(self, folder: Path) -> None:
        """Remove the records in a folder, if there are any: no ledger knows them."""
        ...

    def link(
        self, records: SomeRecords, ids: AnyTable, pseudonym_key: Callable[[int], bytes]
    ) -> Links:
        """Which pseudonyms the ids of a table have.

        Args:
            records: whose ids.
            ids: names a table with the same id columns; other columns are not read.
            pseudonym_key: attempt -> key of a party's pseudonyms, as releases take it.
        """
        ...

    def remembered(self, folder: Path) -> list[str]:
        """Names of the releases of which states lie in a folder, sorted."""
        ...

    def keeps(self, records: SomeRecords, states: StateStore, release: RecordedRelease) -> bool:
        """Whether the states after a release are kept, just as they were written."""
        ...

    def remember(
        self,
        records: SomeRecords,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
    ) -> None:
        """Write the states after a release, without its file.

        Args:
            records: whose states.
            states: where to.
            before: the release just before it, whose states are kept; ``None`` for the first.
            release: the one to draw.

        Raises:
            MissingStatesError: the states before it are not kept.
            DeliveryError: the states cannot be written.
        """
        ...

    def deliver(
        self,
        records: SomeRecords,
        states: StateStore,
        before: RecordedRelease | None,
        release: RecordedRelease,
        target: Path,
        *,
        expected: str | None = None,
        progress: Progress | None = None,
    ) -> str:
        """Write the states after a release and its file, and return the file's content digest.

        ``target`` is replaced once the new file is whole; its ending decides the format.

        Args:
            records: whose letters.
            states: where states are kept.
            before: the release just before it, whose states are kept; ``None`` for the first.
            release: the one to draw.
            target: the file.
            expected: the digest when the release was delivered before; ``None`` the first time.
            progress: called with steps done and steps in all.

        Raises:
            MissingStatesError: the states before it are not kept.
            DeliveryError: a file could not be written, or its content is not the expected one.
                What was there before still is.
        """
        ...

    def redraw(
        self, records: SomeRecords, states: StateStore, releases: Sequence[RecordedRelease]
    ) -> Iterator[tuple[str, bool]]:
        """Draw every release of a study again, from the first, and write nothing.

        After a copy, states are as before it: the release that it is a copy of comes behind it,
        and only that one's states are compared.

        Yields:
            For each release, the content digest that its file must have, and whether the states
            kept after it, if any, are the right ones.
        """
        ...

    def forget(self, states: StateStore, names: Sequence[str]) -> None:
        """Remove the states kept after the releases of these names, if there are any."""
        ...

    def known(self, records: SomeRecords, key: bytes, id_hashes: Collection[str]) -> set[str]:
        """Those of the keyed hashes that are of a record's id.

        A hash is the first 32 hexadecimal digits of HMAC-SHA-256, under the key, of the typed id
        (``encoding.ids``).
        """
        ...

    def erase(
        self, records: SomeRecords, states: StateStore, key: bytes, id_hashes: Collection[str]
    ) -> None:
        """Erase the records whose ids have these keyed hashes, and all states.

        Nobody else reads or writes the records or the states meanwhile. The engine guarantees:

        - When it returns, neither the records nor the folder of states hold anything that depends
          on the ids, cells or states of the erased records, temporary files included. All states
          are gone: they are computed again when they are needed.
        - The other records keep their places. So the same letters are drawn for them, and each has
          the same pseudonym: pseudonyms of empty places still count where two are equal.
        - Later deliveries and redraws leave erased records out; sketches and links do, too.
        - ``counts`` and ``external_counts`` stay what they were.
        - Killed at any moment, the same call finishes it. Hashes that no record has are ignored.
        """
        ...
