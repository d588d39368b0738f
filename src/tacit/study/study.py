"""A study: one table, the parties that ask for parts of it, and what they were given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self
from warnings import warn

from tacit.auditing import Audit, audit
from tacit.errors import DeliveryError, HeadMovedError, InvalidInputError, KeyFileError
from tacit.information import entropy
from tacit.ledger import Head, Ledger
from tacit.policy import Limit
from tacit.sampling import StudyKey
from tacit.scheme import Policy
from tacit.study.books.books import Books, Intent
from tacit.study.books.records import (
    ClosedRecord,
    DeliveredRecord,
    PartyRecord,
    PolicyRecord,
    Record,
)
from tacit.study.folder import Configuration, Layout
from tacit.study.guards import (
    refuse_changed_snapshot,
    refuse_own_files,
    refuse_unregistered,
    source_remarks,
)
from tacit.study.releases.dispatch import Dispatch
from tacit.study.reports.receipts import (
    EntryReceipt,
    Receipt,
    certificate_of,
    certificate_path,
    entry_receipt,
    receipt_of,
)
from tacit.study.reports.standing import (
    SmallCell,
    Standing,
    limits_too_high,
    lower_around,
    small_cells,
    standing,
    table_remarks,
    too_high,
)
from tacit.study.requests.draft import intent_record
from tacit.study.requests.question import Wish, Words
from tacit.study.requests.quote import Quote, quoted, quoted_again
from tacit.study.requests.refusals import Place, drafted
from tacit.study.requests.utilities import Measure
from tacit.study.rollback import Traces, raise_mark, rolled_back
from tacit.study.setup.creation import Plan, found
from tacit.study.setup.digest_keys import (
    DigestKeys,
    load_key,
    paper_key,
    release_digest_key,
    snapshot_digest_key,
)
from tacit.study.setup.limits import (
    UNCHANGED,
    check_limit,
    check_max_error,
    check_party,
    check_policy,
    let_in,
    refuse_below,
)
from tacit.study.setup.names import check_new_names, spelled, spelled_policy
from tacit.study.verification.verify import Verification, verify_study
from tacit.tables import Attribute, Cells, Column, Question
from tacit.tables.delivery.engine import Progress, Records
from tacit.tables.delivery.registry import ENGINES, LOCAL
from tacit.tables.delivery.release_file import check_target, guards_any


class Study:
    """A table of records that parties ask for, again and again.

    What was promised and released stands in the ledger. The folder has the key, the encoded table
    and one small number for each record.

    Attributes:
        configuration: what the folder says about itself.
        remarks: on its table, for the custodian who has just made it; empty for one that is opened.
        snapshot: the encoded table.
    """

    def __init__(
        self, layout: Layout, configuration: Configuration, ledger: Ledger, *, accept_rollback: bool
    ) -> None:
        """Use ``create`` or ``open``."""
        self._layout = layout
        self._ledger = ledger
        self._accept_rollback = accept_rollback
        self.configuration = configuration
        self.remarks: tuple[str, ...] = ()
        self._engine = ENGINES[configuration.engine]
        self.snapshot: Records = self._engine.open(layout.snapshot)
        first, *entries = ledger.entries(configuration.study)
        self._books = Books.begin(first).read_on(entries)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        table: str,
        *,
        id: str | Sequence[str],  # noqa: A002 - the name that custodians know
        private: Sequence[str | Column],
        external: Sequence[str | Column] = (),
        everyone: float | None = None,
        public_id: bool = False,
        memory: int = 64,
        ledger: str | None = None,
        accept_reset: bool = False,
        min_records: int = 50,
        engine: str = LOCAL,
    ) -> Self:
        """Make a study of a table.

        Args:
            folder: to make.
            table: a .csv, .parquet or .duckdb file, or ``postgresql://...#table``.
            id: the column, or columns, whose values tell records apart.
            private: attributes, each a ``Column`` or, where every value is a level, its name.
            external: more columns that may be asked for, declared in the same way.
            everyone: limit in bits about one record on all parties together.
            public_id: whether raw ids may stand in release files.
            memory: the most states that a record's past is remembered by.
            ledger: address of the ledger, ``postgresql://...`` or ``sqlite:///...``, or
                ``"folder"`` for a file in the study's folder; by default the one that the variable
                TACIT_LEDGER names, else a file in the user's data folder. A second study of the
                same people is noticed only within one ledger.
            accept_reset: whether a ledger that knows these records under another study may take
                them again, and so begin to count their bits anew.
            min_records: refuse a smaller table: whoever knows its counts learns more than the
                limits say, from everybody else's rows.
            engine: what reads and writes the records, by its name in ``ENGINES``.
        """
        if everyone is not None:
            check_limit("everyone", everyone)
        ids = (id,) if isinstance(id, str) else tuple(id)
        plan = Plan(
            table,
            ids,
            tuple(map(Column.of, private)),
            tuple(map(Column.of, external)),
            public_id,
            memory,
            everyone,
            ledger,
            accept_reset,
            min_records,
            engine,
        )
        found(Path(folder), plan)
        study = cls.open(folder)
        study.remarks = (*plan.remarks, *table_remarks(study._books))
        return study

    @classmethod
    def open(cls, folder: str | Path, *, accept_rollback: bool = False) -> Self:
        """A study that was made before.

        Args:
            folder: where it is.
            accept_rollback: go on although the ledger has lost entries that the folder was used
                with. What they released is then not counted: whoever received it may hold more
                than the limits say. The first change records that this was accepted.
        """
        layout = Layout(Path(folder))
        configuration = Configuration.read(layout.folder)
        ledger = Ledger.open(configuration.ledger or layout.ledger)
        try:
            refuse_unregistered(layout, configuration, ledger)
            return cls(layout, configuration, ledger, accept_rollback=accept_rollback)
        except BaseException:
            ledger.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to the ledger; the study can be opened again."""
        self._ledger.close()

    @property
    def ledger_shown(self) -> str:
        """Address of the ledger, without passwords."""
        return self._ledger.url_shown

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The private attributes."""
        return self.snapshot.encoding.attributes

    @property
    def policy(self) -> Policy:
        """Limits on coalitions."""
        return self._refreshed().policy

    # -- who may learn what -----------------------------------------------------------------

    def set_party(self, name: str, limit: float) -> list[str]:
        """Let a party in, or change its limit: bits about one record, over all it ever holds.

        Returns:
            Remarks for the custodian.
        """
        check_limit(f"the limit of {name}", limit)
        party = self.spelling(name)

        def record(books: Books) -> Record | None:
            self._refuse_closed(books)
            if party not in books.limits:
                check_new_names([party], books.limits)
            own = frozenset({party})
            refuse_below(Limit(limit, group=own), own, books.proved)
            is_new = books.limits.get(party) != limit
            return PartyRecord(party=party, limit=limit) if is_new else None

        is_recorded = self._append("party", record)
        return [
            *([] if is_recorded else [UNCHANGED]),
            *too_high(f"the limit of {party}", limit, entropy(self._books.p_x)),
            *lower_around(self._books, [party]),
        ]

    def set_collusion(self, policy: Policy) -> list[str]:
        """Put limits on coalitions, in the place of those before.

        Returns:
            Remarks for the custodian.
        """
        return self.change_collusion(lambda _: policy)

    def change_collusion(self, change: Callable[[Policy], Policy]) -> list[str]:
        """Make other limits on coalitions out of those that are in force when it is recorded.

        Returns:
            Remarks for the custodian.
        """
        known = self._refreshed().limits

        def record(books: Books) -> Record | None:
            self._refuse_closed(books)
            policy = spelled_policy(change(books.policy), books.limits)
            check_policy(books, policy)
            return None if policy == books.policy else PolicyRecord.of_policy(policy)

        is_recorded = self._append("policy", record)
        stored = PolicyRecord.of_policy(self._books.policy)
        return [
            *([] if is_recorded else [UNCHANGED]),
            *limits_too_high(self._books),
            *let_in(stored, known),
        ]

    def spelling(self, name: str) -> str:
        """The name of a party as it is recorded, or as it would be."""
        return spelled(name, self._refreshed().limits)

    # -- asking -----------------------------------------------------------------------------

    def quote(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        sql: str | None = None,
        utility: str = "hamming",
        bits: float | None = None,
        again: bool = False,
    ) -> Quote:
        """What a request would cost and be worth; arguments as for ``release``. Spends nothing."""
        self._refuse_rollback(self._lost())
        books = self._refreshed()
        wish = self._wish(books, Words(party, asked, sql, utility, bits))
        found = books.find(wish.identity)
        if found is not None and not again:
            return quoted_again(books, found)
        return quoted(books, drafted(books, wish, Place(self._layout.folder)))

    def release(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        out: str | Path,
        sql: str | None = None,
        utility: str = "hamming",
        bits: float | None = None,
        max_error: float | None = None,
        again: bool = False,
        progress: Progress | None = None,
        notify: Callable[[str], None] = warn,
    ) -> Receipt:
        """Answer a request: record the best release within all limits, sample it, write the file.

        The same request gets the same release again, at no cost.

        Args:
            party: who asks.
            asked: private attributes, or an external column.
            out: the file to write, .parquet or .csv.
            sql: an expression over the private attributes' levels, instead of ``asked``.
            utility: ``"hamming"``, ``"absolute"``, ``"squared"``, ``"information"``, or the path
                of a table of costs.
            bits: what the party may learn from it; by default all that is left to it.
            max_error: refuse an answer whose mean cost is above this.
            again: a new release, although the same request was answered before.
            progress: called with steps done and steps in all.
            notify: called with what the custodian should know beside the receipt.

        Raises:
            NotWithinLimitsError: a limit is in the way; nothing was spent.
            RolledBackError: the ledger has lost entries; nothing was spent.
            DeliveryError: the release is recorded but its file was not written.
        """
        target, source = Path(out), self.configuration.source
        check_target(target)
        refuse_own_files(source, target)
        check_max_error(max_error, utility)
        self._settle_rollback(certificate_path(target))
        dispatch = self._dispatch()
        words = Words(party, asked, sql, utility, bits)
        intent = self._found(words, again)
        if intent is None:  # a release that was made before needs no source: the snapshot counts
            for remark in source_remarks(self._layout, self._engine, self.snapshot, source):
                notify(remark)
            intent = self._recorded(words, target, max_error, again)
        receipt = self._delivered(dispatch, intent, target, progress)
        if guards_any(target, intent.record.letters):
            notify(f"in {target}, an apostrophe stands before labels that a spreadsheet would run")
        return receipt

    def _wish(self, books: Books, words: Words) -> Wish:
        self._refuse_closed(books)
        party = spelled(words.party, books.limits)
        check_party(books, party, self._layout.folder)
        if words.bits is not None:
            check_limit("bits", words.bits)
        question = self._question(books, words.asked, words.sql)
        wish = Wish(party, question, Measure.read(words.utility), words.bits)
        _ = wish.utility  # costs that do not fit the question are refused here
        return wish

    def _question(
        self, books: Books, asked: str | Sequence[str] | None, sql: str | None
    ) -> Question:
        if (asked is None) == (sql is None):
            both = "both attributes and an SQL expression are asked for"
            seen = "neither attributes nor an SQL expression is asked for" if sql is None else both
            raise InvalidInputError(f"{seen}: give one of the two, as in diagnosis or --sql '...'")
        if isinstance(asked, str) and asked in books.externals:
            return books.externals[asked]
        cells = Cells(self.attributes)
        if sql is not None:
            return cells.evaluate(sql)
        names = asked.split(",") if isinstance(asked, str) else list(asked or ())
        return cells.of_attributes(names)

    # -- releasing --------------------------------------------------------------------------

    def _found(self, words: Words, again: bool) -> Intent | None:
        """The request's release, if it was recorded before.

        One whose file was never written is taken up, even where a new one is asked for.
        """
        books = self._refreshed()
        found = books.find(self._wish(books, words).identity)
        is_new = found is None or (again and found.delivery is not None)
        return None if is_new else found

    def _recorded(self, words: Words, target: Path, max_error: float | None, again: bool) -> Intent:
        """The request's release in the ledger: designed and appended.

        Designed outside any lock, and appended only while nothing else has been; another process
        may have recorded the same request meanwhile, and then that is it.
        """
        while True:
            found = self._found(words, again)
            if found is not None:
                return found
            books = self._books
            draft = drafted(
                books, self._wish(books, words), Place(self._layout.folder, target), max_error
            )
            record = intent_record(draft, books.past)
            try:
                entry = self._ledger.append(
                    self.configuration.study,
                    "intent",
                    record.model_dump(mode="json"),
                    draft.channel.to_bytes(),
                    head=books.head,
                )
            except HeadMovedError:
                continue
            self._mark_intent(entry.head)
            return self._books.intents[entry.number]

    def _mark_intent(self, head: Head) -> None:
        try:
            raise_mark(self._layout, head, self._refreshed().accepted)
        except OSError as error:
            raise DeliveryError(
                f"the release is recorded but {self._layout.high_water} cannot be written "
                f"({error.strerror}): mend that and run the same command again, which costs nothing"
            ) from error

    def _delivered(
        self, dispatch: Dispatch, intent: Intent, target: Path, progress: Progress | None
    ) -> Receipt:
        """Write the file and its certificate, and record that they were."""
        digest = dispatch.write(self._books, intent, target, progress)
        sealing = paper_key(dispatch.key, self.configuration.study)
        paper = certificate_of(
            self._books, intent, digest, release_digest_key(dispatch.key, intent)
        ).sealed(sealing)
        try:
            paper.write(certificate_path(target))
        except OSError as error:
            raise DeliveryError(
                f"{certificate_path(target)} cannot be written ({error.strerror}): "
                "mend that and run the same command again, which costs nothing"
            ) from error

        def record(books: Books) -> Record | None:
            if books.intents[intent.number].delivery is not None:
                return None
            return DeliveredRecord(intent=intent.number, digest=digest, file=str(target.resolve()))

        self._append("delivered", record)
        return receipt_of(self._books, self._books.intents[intent.number]).sealed(sealing)

    def _dispatch(self) -> Dispatch:
        """Key and snapshot, checked to be this study's, byte by byte."""
        configuration = self.configuration
        self._refuse_closed(self._refreshed())
        key = load_key(self._layout, configuration.study, self._books)
        seal_key = snapshot_digest_key(key, configuration.study)
        refuse_changed_snapshot(self.snapshot, seal_key, self._books.created)
        is_id_public = self._books.created.is_id_public
        return Dispatch(
            configuration.study, self._layout, self._engine, self.snapshot, key, is_id_public
        )

    # -- looking ----------------------------------------------------------------------------

    def status(self) -> Standing:
        """Parties, coalitions, bits used and left."""
        return standing(self.configuration.study, self._refreshed(), self._lost().in_words)

    def small_cells(self, below: int = 10) -> list[SmallCell]:
        """Cells with few records, also by level of an external column: these counts are public."""
        return small_cells(self._books, below)

    def audit(self, *, records: int = 20_000, seed: int = 0) -> Audit:
        """What each party, each coalition and everyone learned, with an executed attack."""
        return audit(self._refreshed().audited_scheme, records=records, seed=seed)

    def receipt(self, number: int) -> Receipt | EntryReceipt:
        """The receipt of a release by its number in the ledger, or of any other entry.

        Sealed with the study's key, or with what was kept of it when it was destroyed; a study
        whose key is missing gives receipts without a seal.

        Raises:
            KeyFileError: there is a key, and it is damaged, open to others or not this study's.
        """
        books = self._refreshed()
        keys = DigestKeys.find(self._layout, self.configuration.study, books)
        return self._unsealed_receipt(books, number).sealed(None if keys is None else keys.paper)

    def _unsealed_receipt(self, books: Books, number: int) -> Receipt | EntryReceipt:
        if number in books.intents:
            return receipt_of(books, books.intents[number])
        if not 1 <= number <= books.head.number:
            known = ", ".join(map(str, books.intents)) or "none yet"
            raise InvalidInputError(
                f"there is no entry {number}: the ledger ends at {books.head.number}, "
                f"its releases are {known}"
            )
        return entry_receipt(self._ledger.entries(self.configuration.study, number - 1)[0])

    def verify(self, receipt: str | Path | None = None) -> Verification:
        """Replay the ledger: chain, certificates, snapshot, files; and a receipt, if given."""
        return verify_study(self._layout.folder, receipt)

    def destroy_key(self) -> None:
        """End the study for good: no more releases, everything stays verifiable."""

        def keep(key: StudyKey, books: Books) -> None:
            DigestKeys.of(key, self.configuration.study, books).keep(self._layout)

        def record(books: Books) -> Record | None:
            if books.is_closed:  # from another copy of the folder, or we were killed
                with suppress(KeyFileError):  # its key may be gone, or half gone
                    keep(load_key(self._layout, self.configuration.study, books), books)
                return None
            keep(self._dispatch().key, books)
            return ClosedRecord(releases=len(books.intents))

        self._append("closed", record)
        StudyKey.destroy(self._layout.key)

    # -- the ledger -------------------------------------------------------------------------

    def _refreshed(self) -> Books:
        """The books with everything that was appended since."""
        entries = self._ledger.entries_since(self.configuration.study, self._books.head)
        self._books = self._books.read_on(entries)
        return self._books

    def _append(self, kind: str, record: Callable[[Books], Record | None]) -> bool:
        """Append what ``record`` makes of the latest books, unless it makes nothing of them.

        Returns:
            Whether anything was appended.
        """
        self._settle_rollback()
        return self._append_now(kind, record)

    def _append_now(self, kind: str, record: Callable[[Books], Record | None]) -> bool:
        while True:
            books = self._refreshed()
            made = record(books)
            if made is None:
                return False
            body = made.model_dump(mode="json")
            try:
                entry = self._ledger.append(self.configuration.study, kind, body, head=books.head)
            except HeadMovedError:
                continue
            raise_mark(self._layout, entry.head, self._refreshed().accepted)
            return True

    def _lost(self, certificate: Path | None = None) -> Traces:
        """Traces of entries that the ledger has lost."""
        study = self.configuration.study
        traces = Traces.find(
            self._layout, self._engine, study, certificate
        )  # before the ledger is read
        return traces.lost(self._refreshed(), self._ledger, study)

    def _refuse_rollback(self, lost: Traces) -> None:
        """Refuse to go on with a ledger that has lost entries, unless that was accepted."""
        if lost and not self._accept_rollback:
            raise rolled_back(lost, self._ledger.url_shown, self._books.head, self._layout)

    def _settle_rollback(self, certificate: Path | None = None) -> None:
        """Before a change: refuse a ledger that has lost entries, or record that it is accepted."""
        lost = self._lost(certificate)
        self._refuse_rollback(lost)
        if lost:
            self._append_now("rollback", lambda _: lost.record)
        else:  # entries may have been appended elsewhere, or just before a crash
            raise_mark(self._layout, self._books.head, self._books.accepted)

    def _refuse_closed(self, books: Books) -> None:
        if books.is_closed:
            raise InvalidInputError(
                f"{self._layout.folder} is closed, its key was destroyed: nothing can be changed "
                "or released any more; tacit verify, status, audit and receipt still work"
            )
