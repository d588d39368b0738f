"""A study: one table, the parties that ask for parts of it, and what they were given."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from warnings import warn

from tacit.auditing import Audit, audit
from tacit.errors import InvalidInputError, KeyFileError
from tacit.information.laws import as_positive_bits
from tacit.limits import Bound, Limit, Whom, as_times, find, replaced
from tacit.problem import MEAN, Costs
from tacit.remark import Remark
from tacit.sampling import StudyKey
from tacit.solvers import Progress as DesignProgress
from tacit.solvers import work_done
from tacit.storage import locked
from tacit.study.books.books import Books, Erasure, Intent, Request
from tacit.study.books.records import (
    FIRST_COHORT,
    NO_LEVELS,
    ApprovalRecord,
    ClosedRecord,
    Measure,
    Record,
)
from tacit.study.digest_keys import DigestKeys
from tacit.study.disclosures import list_variables, shown_disclosures
from tacit.study.entry_kinds import describe_entry, log_entry, read_around
from tacit.study.erasure import (
    ErasureReport,
    ListedRecords,
    find_listed,
    finish_erasure,
    record_erasure,
    refuse_unknown,
    report_erasure,
    unfinished_error,
)
from tacit.study.extension import MIN_COHORT, extend_study
from tacit.study.folder import (
    Configuration,
    StudyKeys,
    follow_link,
    is_there,
    refuse_changed_snapshot,
    refuse_own_files,
)
from tacit.study.journal import Journal
from tacit.study.releases.release import (
    Answer,
    ReleaseWriter,
    cohort_file,
    deliver_release,
    draft_all,
    find_intent,
    open_cohorts,
    record_intents,
    refuse_foreign_file,
)
from tacit.study.reports.limits import StandingLimit, list_limits
from tacit.study.reports.log import LogEntry
from tacit.study.reports.receipts import (
    Certificate,
    EntryReceipt,
    Receipt,
    certificate_path,
    entry_receipt,
    receipt_of,
    remarks_on_cut,
    remarks_on_source,
    remarks_on_time,
)
from tacit.study.reports.report import StudyReport
from tacit.study.reports.risk import Risk
from tacit.study.reports.statement import PartyStatement, read_statement
from tacit.study.reports.status import (
    SmallCell,
    StudyStatus,
    limits_below_own,
    limits_too_high,
    read_status,
    reset_remarks,
    small_cells,
    table_remarks,
)
from tacit.study.requests.plan import (
    LimitMeaning,
    LimitPlan,
    explain_limit,
    make_plans,
    missing_times,
)
from tacit.study.requests.quote import (
    COMPARE_WORK,
    CURVE_WORK,
    Quote,
    quote_draft,
    quote_recorded,
)
from tacit.study.requests.risk import complete_receipt, tell_held
from tacit.study.requests.surface import RequestSurface, trace_requests
from tacit.study.setup.creation import Plan, create_study
from tacit.study.setup.limits import (
    UNCHANGED,
    changed_limit,
    check_limits,
    check_max_error,
    check_text,
)
from tacit.study.verification.verify import Verification, verify_study
from tacit.tables import Attribute, Cells, Column, Declaration, Question
from tacit.tables.delivery.engine import Records
from tacit.tables.delivery.links import Links
from tacit.tables.delivery.registry import LOCAL
from tacit.tables.delivery.release_file import Progress, check_target, guards_any
from tacit.tables.encoding.cohort import NothingNewError
from tacit.tables.sources.source import AnyTable, find_source


def _warn(remark: Remark) -> None:
    warn(str(remark), stacklevel=3)


def _several(values: str | Column | Collection[Any]) -> tuple[Any, ...]:
    """A text, or a column, where several are due is one."""
    return (values,) if isinstance(values, str | Column) else tuple(values)


class Study:
    """A table of records that parties ask for, again and again.

    What was promised and released stands in the ledger. The folder has the key, the encoded table
    and one small number for each record.

    Attributes:
        configuration: what the folder says about itself.
        remarks: on its table, for the custodian who has just made it; empty for one that is opened.
        snapshot: the encoded table that it began with.
    """

    configuration: Configuration
    remarks: tuple[Remark, ...]
    snapshot: Records

    def __init__(self, journal: Journal) -> None:
        """Use ``create`` or ``open``."""
        self._journal = journal
        self._layout = journal.layout
        self.configuration = journal.configuration
        self.remarks = ()
        self.snapshot = journal.engine.open(journal.layout.snapshot)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        table: AnyTable,
        *,
        id: str | Sequence[str],  # noqa: A002 - the name that custodians know
        private: str | Column | Sequence[str | Column],
        external: str | Column | Sequence[str | Column] = (),
        everyone: float | None = None,
        public_id: bool = False,
        organisation: str | None = None,
        memory: int = 64,
        ledger: str | None = None,
        accept_reset: bool = False,
        again: bool = False,
        accept: str | Collection[str] = (),
        min_records: int = 50,
        engine: str = LOCAL,
        master: str | None = None,
        data: str | None = None,
    ) -> Self:
        """Make a study of a table.

        Args:
            folder: to make.
            table: a .csv, .parquet, .arrow, .feather, .xlsx or .duckdb file, a folder/ of .parquet
                files, or ``postgresql://...#table``; or a data frame of pandas, polars, PyArrow or
                DuckDB, without its index; for the engine ``spark`` also
                ``spark:table`` of its catalog, or the address of a folder of Parquet files.
            id: the column, or columns, whose values tell records apart.
            private: attributes, each a ``Column`` or, where every value is a level, its name.
            external: more columns that may be asked for, declared in the same way.
            everyone: limit in bits about one record on all parties together.
            public_id: whether raw ids may stand in release files.
            organisation: whose table it is, for receipts and reports.
            memory: the most states that a record's past is remembered by.
            ledger: address of the ledger, ``postgresql://...`` or ``sqlite:///...``, or
                ``"folder"`` for a file in the study's folder; by default the one that the variable
                TACIT_LEDGER names, else a file in the user's data folder. A second study of the
                same people is noticed only within one ledger.
            accept_reset: whether a ledger that knows these records under another study may take
                them again, and so begin to count their bits anew.
            again: make a study anew of which nothing was released: the one in this folder, if it
                is there, and those of the ledger that have some of these records end.
            accept: codes of consequences that are accepted: ``"rows"`` where several rows may be
                one person's, ``"ids"`` where ids that differ only by case are different persons'.
            min_records: refuse a smaller table: whoever knows its counts learns more than the
                limits say, from everybody else's rows.
            engine: what reads and writes the records: ``local``, or ``spark`` for a cluster.
            master: the cluster's address for the engine ``spark``, as Spark writes it; by default
                what Spark's own settings say.
            data: address of an empty folder for records and states, on a file system that Spark
                reaches: ``hdfs://...``, ``s3a://...``; by default they are in the study's folder.
        """
        plan = Plan(
            table=find_source(table),
            columns=Declaration(
                _several(id),
                tuple(map(Column.of, _several(private))),
                tuple(map(Column.of, _several(external))),
            ),
            is_id_public=public_id,
            organisation=organisation,
            memory=memory,
            everyone=everyone,
            ledger=ledger,
            accept_reset=accept_reset,
            again=again,
            accept=_several(accept),
            min_records=min_records,
            engine=engine,
            master=master,
            data=data,
        )
        create_study(Path(folder), plan)
        study = cls.open(folder)
        study.remarks = (*plan.remarks, *table_remarks(study._journal.books))
        return study

    @classmethod
    def open(
        cls, folder: str | Path, *, accept_rollback: bool = False, by: str | None = None
    ) -> Self:
        """A study that was made before.

        Args:
            folder: where it is.
            accept_rollback: go on although the ledger has lost entries that the folder was used
                with. What they released is then not counted: whoever received it may hold more
                than the limits say. The first change records that this was accepted.
            by: who makes changes; the entries of the ledger say it.
        """
        journal = Journal.open(Path(folder), accept_rollback=accept_rollback, by=by)
        try:
            return cls(journal)
        except BaseException:
            journal.ledger.close()
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

    def __repr__(self) -> str:
        """Which study it is, and how far it has come."""
        books, folder = self._journal.books, str(self._layout.folder)
        closed = ", closed" * books.is_closed
        records = sum(cohort.record.records for cohort in books.cohorts)
        return (
            f"Study({folder!r}: {records:,} records, parties: {len(books.titles)}, "
            f"releases: {len(books.releases)}{closed})"
        )

    def _repr_html_(self) -> str:
        """What every party and coalition holds of its limit, as a table for notebooks."""
        return self.status().as_table(repr(self))

    def extend(
        self,
        table: AnyTable,
        *,
        min_cohort: int = MIN_COHORT,
        skip_known: bool = False,
        accept_corrections: bool = False,
        readmit: str | Sequence[str] = (),
        accept_reset: bool = False,
        accept: str | Collection[str] = (),
    ) -> list[Remark]:
        """Let records that came since join, as a cohort of their own.

        The cohort has its own public counts, and its own releases: a request that was answered
        before is answered for it when it is repeated. Parties and limits are the study's, and
        every limit holds in every cohort. Which cohort a record is in is public.

        Args:
            table: as for ``create``, with the same columns.
            min_cohort: refuse fewer new records: whoever knows the counts of a small cohort learns
                more than the limits say, from everybody else's rows.
            skip_known: leave out records whose ids are in the study, or were erased from it,
                instead of refusing the table.
            accept_corrections: erase records whose private values are others than in the study,
                and let them join again with those. Answers that were given about them stand, so
                that who holds these and new ones may hold up to twice the limits about such a
                record, and once more each further time.
            readmit: ids that were erased and may join again, at the same price; of several
                columns, with commas between.
            accept_reset: whether a ledger that knows these records under another study may take
                them, and so begin to count their bits anew.
            accept: as for ``create``.

        Returns:
            Remarks for the custodian.

        Raises:
            InvalidInputError: records are known, a value has no level in the study, or there are
                too few; nothing was changed.
        """
        self._journal.settle_rollback()
        if accept_corrections and self._journal.books.unfinished_erasure is not None:
            self.finish_erasure()  # of the same call, which was killed
        remarks: list[Remark] = []
        try:
            extend_study(
                self._journal,
                self._writer(),
                find_source(table),
                min_cohort=min_cohort,
                skip_known=skip_known,
                accept_corrections=accept_corrections,
                readmit=_several(readmit),
                accept_reset=accept_reset,
                accept=_several(accept),
                finish_erasure=self.finish_erasure,
                remark=remarks.append,
            )
        except NothingNewError:
            return [*remarks, UNCHANGED]
        books = self._journal.books
        joined = books.look_at(len(books.cohorts))
        return [*remarks, *reset_remarks([joined.cohort]), *table_remarks(joined)]

    def close(self) -> None:
        """Close the connections to the ledger; the study can be opened again."""
        self._journal.ledger.close()

    @property
    def ledger_shown(self) -> str:
        """Address of the ledger, without passwords."""
        return self._journal.ledger.url_shown

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The private attributes."""
        return self.snapshot.encoding.attributes

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns that can be asked for."""
        return (*(each.name for each in self.attributes), *self._journal.books.cohort.externals)

    def count_rows(self, number: int) -> int:
        """How many rows the file of a release has if it is written now: without erased records."""
        books = self._journal.refresh()
        return books.cohorts[books.releases[number].record.cohort - FIRST_COHORT].n_left

    # -- who may learn what -----------------------------------------------------------------

    def set_limit(
        self,
        whom: str,
        bits: float | None = None,
        times: float | None = None,
        *,
        title: str | None = None,
    ) -> list[Remark]:
        """Say what some parties may learn about a record, over all that they ever receive.

        What is not named stays as it is; ``inf`` takes an amount away. A party is let in by a limit
        of its own, and leaves when its bits are taken away, which is refused where it holds
        something: that stays counted for ever.

        Args:
            whom: ``lab-a`` for one party; ``lab-a+lab-b``, ``any 2`` or ``everyone`` for parties
                that pool what they hold.
            bits: on average over the records.
            times: after any answer, no combination of levels is more times as likely as before.
            title: what a single party is called in lists and on pages.

        Returns:
            Remarks for the custodian.

        Raises:
            InfeasibleError: the limit is below what is held already; nothing was changed.
        """
        on = Whom.parse(whom)

        def record(books: Books) -> Record | None:
            self._journal.refuse_closed(books)
            changed = changed_limit(books, on, bits, times, title)
            is_same = changed.limit == find(books.limits, on)
            is_same &= changed.title == (None if on.party is None else books.titles.get(on.party))
            return None if is_same else changed

        is_recorded = self._journal.append("limit", record)
        books = self._journal.books
        now = find(books.limits, on)
        return [
            *([] if is_recorded else [UNCHANGED]),
            *([] if now is None else limits_too_high(books, [now])),
            *([] if now is None or on.party is None else limits_below_own(books, [on.party])),
        ]

    def removals(self, name: str) -> int:
        """How many parties of this name were removed: another one of the name is not the same."""
        books = self._journal.refresh()
        return books.removals.get(name, 0)

    def set_approval(self, name: str, *, is_required: bool) -> list[Remark]:
        """Say whether a custodian has to approve what a party asks for by itself.

        It concerns the service, where parties ask; what a custodian releases is approved by that.
        """

        def record(books: Books) -> Record | None:
            self._journal.refuse_closed(books)
            party = books.find_party(name)
            is_new = (party in books.approvals) != is_required
            return ApprovalRecord(party=party, is_required=is_required) if is_new else None

        is_recorded = self._journal.append("approval", record)
        return [] if is_recorded else [UNCHANGED]

    def missing_times(self, party: str) -> list[Remark]:
        """What it means on this table that a party has no limit in times, and one to give it."""
        books = self._journal.refresh()
        return missing_times(books, books.find_party(party))

    def bound_on(self, whom: str) -> Bound:
        """What the limit on some parties leaves to them; a party also keeps those around it."""
        books, on = self._journal.refresh(), Whom.parse(whom)
        limit = find(books.limits, on)
        if limit is None:
            return Bound()
        return Bound().within(limit) if on.party is None else books.least_on(on.party)

    def explain_limit(self, bits: float, times: float = inf) -> list[LimitMeaning]:
        """How well each attribute could be told within a limit."""
        if bits < inf:
            as_positive_bits(bits, name="the limit")
        if times < inf:
            as_times(times, name="the limit")
        return explain_limit(self._journal.refresh(), bits, times)

    def plan(
        self,
        asked: Sequence[str | Sequence[str]] = (),
        *,
        sql: Sequence[str] = (),
        correct: float | None = None,
        parties: int = 0,
        limit: float | None = None,
        times: float | None = None,
        limits: Sequence[Limit] = (),
    ) -> LimitPlan:
        """What limits would buy, before they are set. Records and spends nothing.

        Of several cohorts, it is of the one where answers would be worth least; ``others`` has
        the rest.

        Args:
            asked: requests, each a private attribute, several of them, or an external column.
            sql: more requests, as expressions over the private attributes' levels.
            correct: a share of right answers, to find the bits that each request needs for it.
            parties: how many new parties take the requests in turn, each once or more.
            limit: of each of them; by default an equal share of the limits on coalitions.
            times: the same in times; where a limit on everybody who asks is smaller, that counts.
            limits: in the place of those in force on the same coalitions.
        """
        books = self._journal.refresh()
        planned = replaced(books.limits, *limits)
        check_limits(books, planned)

        def read(books: Books) -> list[Question]:
            columns = (self._question(books, each, None) for each in asked)
            return [*columns, *(self._question(books, None, each) for each in sql)]

        return make_plans(
            books.with_records,
            read,
            correct=correct,
            parties=parties,
            limit=limit,
            times=times,
            limits=planned,
        )

    # -- asking -----------------------------------------------------------------------------

    def quote(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        sql: str | None = None,
        utility: str | Costs = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[str, float] = NO_LEVELS,
        analysable: bool = False,
        bits: float | None = None,
        again: bool = False,
        cohort: int | None = None,
        compare: bool = False,
        watch: DesignProgress | None = None,
    ) -> Quote:
        """What a request would cost and be worth; arguments as for ``release``. Spends nothing.

        Of several cohorts that lack an answer, it is of the one where it would be worth least.

        With ``compare``, the curve also shows the other form, analysable or adaptive, and what the
        party's cap, or the one that is suggested to it, costs.
        """
        self._journal.refuse_rollback(self._journal.find_lost())
        books = self._journal.refresh()
        measure = Measure.of_utility(utility, objective, ceilings)

        def read(books: Books) -> Request:
            return self._request(books, party, asked, sql, measure, bits, analysable)

        views = books.with_records if cohort is None else [books.look_at(cohort)]
        recorded = [each.find(read(each).identity) for each in views]
        if not again and recorded[0] is not None and None not in recorded:
            return quote_recorded(views[0], recorded[0])
        until = work_done() + (COMPARE_WORK if compare else CURVE_WORK)
        answers = [
            (each, read(each), None if again else found)
            for each, found in zip(views, recorded, strict=True)
        ]
        drafts = draft_all(answers, watch=watch)
        books, worst = min(drafts, key=lambda each: (each[1].is_constant, each[1].gain))
        disclosed = shown_disclosures((each, best.disclosures(each)) for each, best in drafts)
        return quote_draft(books, worst, disclosed, until, compare=compare)

    def trace_surface(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        sql: str | None = None,
        utility: str | Costs = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[str, float] = NO_LEVELS,
        analysable: bool = False,
        limit: float | None = None,
        everyone: float | None = None,
    ) -> RequestSurface:
        """What a request would be worth under other limits, D(ε, δ). Records and spends nothing.

        Of several cohorts, it is of the one where it would be worth least; ``others`` has the rest.

        Args:
            party: who would ask; arguments not named here as for ``release``.
            limit: bits that the party may hold after it; by default its own limit.
            everyone: the same for all parties together; by default the limit in force.
        """
        for name, bits in (("limit", limit), ("everyone", everyone)):
            if bits is not None:
                as_positive_bits(bits, name=name)
        measure = Measure.of_utility(utility, objective, ceilings)

        def read(books: Books) -> Request:
            return self._request(books, party, asked, sql, measure, None, analysable)

        return trace_requests(self._journal.refresh().with_records, read, limit, everyone)

    def release(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        out: str | Path,
        sql: str | None = None,
        utility: str | Costs = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[str, float] = NO_LEVELS,
        analysable: bool = False,
        bits: float | None = None,
        max_error: float | None = None,
        again: bool = False,
        cohort: int | None = None,
        reason: str | None = None,
        accept: Collection[str] = (),
        overwrite: bool = False,
        watch: DesignProgress | None = None,
        progress: Progress | None = None,
        notify: Callable[[Remark], None] = _warn,
    ) -> Certificate:
        """Answer a request: record the best release within all limits, sample it, write the file.

        The same request gets the same release again, at no cost. A study of several cohorts has a
        release and a file for each; those that lack one are recorded together, or none is.

        Args:
            party: who asks.
            asked: a private attribute, several of them, or an external column.
            out: the file to write, .parquet or .csv.
            sql: an expression over the private attributes' levels, instead of ``asked``.
            utility: ``"hamming"``, ``"absolute"``, ``"squared"``, ``"information"``, a table of
                ``Costs``, or, for an analysable release, ``"shares"``: the largest variance of
                the estimated shares of levels is made small.
            objective: ``"mean"`` for the least mean cost, ``"worst-level"`` for the least mean
                cost at the level where it is largest.
            ceilings: level, by its label -> the largest mean cost that is allowed there.
            analysable: the best release whose answers depend on nothing but what is asked, so that
                recipients can analyse subgroups; or a copy of such answers, where that is as good.
            bits: what the party may learn from it; by default all that is left to it.
            max_error: refuse an answer whose cost is above this: the mean, or the worst level's.
            again: a new release, although the same request was answered before.
            cohort: the only one to answer for; by default all. The file of a later cohort, K, is
                then ``out`` with ``.cohort-K`` before its ending.
            reason: why, for the ledger and the receipt; of a release that was recorded before, the
                first reason stays.
            accept: ``("disclosure",)`` to release it although it gives away, with 90 % certainty or
                more, who has a level that fewer than half of the records have.
            overwrite: whether ``out`` may replace a file that is not this release's own.
            watch: called while a release is searched for (by information, for the worst level,
                within ceilings), with the value and the bound of the best one so far, and the
                seconds since the start; an exception that it raises ends the request, and nothing
                is spent.
            progress: called with steps done and steps in all while the file is written.
            notify: called with what the custodian should know; by default a warning.

        Returns:
            The recipient's certificate, as it was written beside the file, of the first cohort that
            was asked for; ``receipt`` makes the custodian's receipt of its ``entry``, and
            ``receipts_beside`` has the other cohorts.

        Raises:
            InfeasibleError: a limit is in the way; nothing was spent.
            CeilingError: no release within the limits keeps the ceilings; nothing was spent.
            AcceptanceError: it discloses who has a rare level; nothing was spent.
            InvalidInputError: ``out`` is a file that is not this release's own; nothing was spent.
            RolledBackError: the ledger has lost entries; nothing was spent.
            DeliveryError: the release is recorded but its file was not written.
        """
        target, journal = follow_link(Path(out)), self._journal
        later = journal.books.cohorts[1:] if cohort is None else ()
        files = [target, *(cohort_file(target, each.number) for each in later)]
        for file in files:
            check_target(file)
            refuse_own_files(self._layout, self.configuration, file)
        # Looked for before the ledger is read, which then knows what others are writing there.
        existing = [] if overwrite else list(filter(is_there, files))
        measure = Measure.of_utility(utility, objective, ceilings)
        if max_error is not None:
            check_max_error(max_error, measure)
        if reason is not None:
            check_text(reason, "the reason")
        journal.settle_rollback(certificate_path(target))
        writer = self._writer()

        def read(books: Books) -> Request:
            return self._request(books, party, asked, sql, measure, bits, analysable)

        def file_of(number: int) -> Path:
            return target if cohort is not None else cohort_file(target, number)

        if existing:
            answers = self._find_answers(journal.books, read, cohort, again=again)
            of_file = {file_of(books.cohort.number): found for books, _, found in answers}
            for file in existing:
                if file in of_file:
                    refuse_foreign_file(journal, writer, of_file[file], file)
        intents = self._find_or_record(
            read,
            cohort,
            max_error=max_error,
            again=again,
            reason=reason,
            accept=accept,
            watch=watch,
            confirm=None,
        )
        if len(writer.cohorts) < len(journal.books.cohorts):  # one has joined meanwhile
            writer = self._writer()
        certificates = []
        for intent in intents:
            file = file_of(intent.record.cohort)
            certificates.append(deliver_release(journal, writer, intent, file, progress))
            record = intent.record
            for remark in remarks_on_time(record.is_out_of_time, record.value, record.bound):
                notify(remark)
            if guards_any(file, record.letters):
                notify(Remark("guarded_labels", {"file": str(file)}))
        return certificates[0]

    def remarks_on(self, number: int) -> tuple[Remark, ...]:
        """What a custodian should know of a release, by its number in the ledger, and nobody else.

        Whose answers it hands on, and which limit cut the bits that it was asked for.
        """
        intent = self._journal.books.releases[number]
        record = intent.record
        cut = remarks_on_cut(record.party, record.holdings, record.value, record.blind)
        return (*remarks_on_source(intent.source), *cut)

    def receipts_beside(self, number: int) -> tuple[Receipt, ...]:
        """Receipts, without seals, of the releases that answer the same request for other cohorts.

        Args:
            number: of a release in the ledger.
        """
        books = self._journal.books
        if len(books.cohorts) == 1:
            return ()
        intent = books.releases[number]
        same = [each.find(intent.record.identity) for each in books.by_cohort]
        mine = intent.record.cohort
        others = [each for each in same if each is not None and each.record.cohort != mine]
        return tuple(receipt_of(books, each) for each in others)

    def record(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        sql: str | None = None,
        utility: str | Costs = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[str, float] = NO_LEVELS,
        analysable: bool = False,
        bits: float | None = None,
        max_error: float | None = None,
        again: bool = False,
        cohort: int | None = None,
        reason: str | None = None,
        accept: Collection[str] = (),
        watch: DesignProgress | None = None,
        confirm: Callable[[], None] | None = None,
    ) -> int:
        """Record the best release for a request, or find the one that was recorded before.

        This spends its bits; ``deliver`` writes its file. Arguments and errors as for ``release``.

        Args:
            confirm: called before the bits are spent; an exception that it raises ends the request.

        Returns:
            Its number in the ledger; of several cohorts that of the first, and ``receipts_beside``
            has the others.
        """
        measure = Measure.of_utility(utility, objective, ceilings)
        if max_error is not None:
            check_max_error(max_error, measure)
        if reason is not None:
            check_text(reason, "the reason")
        self._journal.settle_rollback()
        self._writer()  # nothing is spent on a study whose key or snapshot is damaged

        def read(books: Books) -> Request:
            return self._request(books, party, asked, sql, measure, bits, analysable)

        intents = self._find_or_record(
            read,
            cohort,
            max_error=max_error,
            again=again,
            reason=reason,
            accept=accept,
            watch=watch,
            confirm=confirm,
        )
        return intents[0].entry.number

    def deliver(
        self, number: int, out: str | Path, *, progress: Progress | None = None
    ) -> Certificate:
        """Write the file of a release that was recorded, by its number in the ledger.

        The file is the same whenever and wherever it is written. Spends nothing.

        Returns:
            The recipient's certificate, as it was written beside the file.
        """
        target = follow_link(Path(out))
        check_target(target)
        refuse_own_files(self._layout, self.configuration, target)
        self._journal.settle_rollback(certificate_path(target))
        writer, intents = self._writer(), self._journal.books.releases
        if number not in intents:
            raise InvalidInputError(f"entry {number} of the ledger is no release: give one")
        return deliver_release(self._journal, writer, intents[number], target, progress)

    def check_request(
        self,
        party: str,
        asked: str | Sequence[str] | None = None,
        *,
        sql: str | None = None,
        utility: str | Costs = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[str, float] = NO_LEVELS,
        analysable: bool = False,
        bits: float | None = None,
    ) -> None:
        """Refuse what cannot be asked, before anything is designed; arguments as for ``release``.

        Raises:
            InvalidInputError: the party, a column, a level or a measure is unknown, or does not
                fit the others.
        """
        if bits is not None:
            as_positive_bits(bits, name="bits")
        measure = Measure.of_utility(utility, objective, ceilings)
        self._request(self._journal.refresh(), party, asked, sql, measure, bits, analysable)

    def _find_or_record(
        self,
        read: Callable[[Books], Request],
        cohort: int | None,
        *,
        max_error: float | None,
        again: bool,
        reason: str | None,
        accept: Collection[str],
        watch: DesignProgress | None,
        confirm: Callable[[], None] | None,
    ) -> list[Intent]:
        """The releases that answer a request, one for each cohort: recorded before, or now."""
        journal = self._journal
        # What others append from here on is noticed when the intents are appended.
        answers = self._find_answers(journal.books, read, cohort, again=again)
        *_, found = zip(*answers, strict=True)
        if None not in found:
            return list(found)
        return record_intents(
            journal,
            answers,
            lambda books: self._find_answers(books, read, cohort, again=again),
            max_error=max_error,
            reason=reason,
            accept=accept,
            watch=watch,
            confirm=confirm,
        )

    @staticmethod
    def _find_answers(
        books: Books, read: Callable[[Books], Request], cohort: int | None, *, again: bool
    ) -> list[Answer]:
        """A request in each cohort that is asked about, and what was recorded for it.

        Where nobody is left, nothing new is recorded; what was recorded is delivered, empty.
        """
        answers: list[Answer] = []
        for each in books.by_cohort if cohort is None else [books.look_at(cohort)]:
            request = read(each)
            found = find_intent(each, request, again=again)
            if found is not None or each.cohort.n_left:
                answers.append((each, request, found))
        if not answers:
            raise InvalidInputError(
                f"all records of cohort {cohort} were erased: there is nobody to answer about"
            )
        return answers

    def _request(
        self,
        books: Books,
        party: str,
        asked: str | Sequence[str] | None,
        sql: str | None,
        measure: Measure,
        bits: float | None,
        analysable: bool,
    ) -> Request:
        """A request as the books understand it; refused where they do not."""
        if books.is_closed:
            self._journal.refuse_closed(books)
        known = books.find_party(party)
        question = self._question(books, asked, sql)
        request = Request(known, question, measure, bits, analysable)
        _ = request.ceilings, request.utility  # what does not fit the question is refused here
        return request

    def _question(
        self, books: Books, asked: str | Sequence[str] | None, sql: str | None
    ) -> Question:
        if (asked is None) == (sql is None):
            both = "both attributes and an SQL expression are asked for"
            seen = "neither attributes nor an SQL expression is asked for" if sql is None else both
            raise InvalidInputError(f"{seen}: give one of the two")
        names = (asked,) if isinstance(asked, str) else tuple(asked or ())
        externals = books.cohort.externals
        if len(names) == 1 and names[0] in externals:
            return externals[names[0]]
        cells = Cells(self.attributes)
        if sql is not None:
            return cells.evaluate(sql)
        return cells.of_attributes(names)

    def _writer(self) -> ReleaseWriter:
        """Writes releases with the study's key and snapshots, which are checked byte by byte."""
        journal, books = self._journal, self._journal.books
        if books.is_closed:
            journal.refuse_closed(books)
        if books.unfinished_erasure is not None:
            raise unfinished_error(books.unfinished_erasure)
        keys = StudyKeys.load(self._layout, journal.study, books.created)
        cohorts = [self.snapshot]
        if len(books.cohorts) > 1:
            cohorts += open_cohorts(self._layout, journal.engine, books)[1:]
        for records, cohort in zip(cohorts, books.cohorts, strict=True):
            refuse_changed_snapshot(records, keys.snapshot, cohort)
        return ReleaseWriter(
            keys, self._layout, journal.engine, cohorts, books.created.is_id_public
        )

    def link(self, party: str, ids: AnyTable, *, out: str | Path) -> Links:
        """Write which pseudonym each id of a table has in the party's files.

        For a party that wants to link rows of its own. It tells the party which of its ids are in
        the study, and nothing else; nothing is recorded.

        Args:
            party: whose pseudonyms.
            ids: a table with the study's id columns, as the party sent it.
            out: the file to write, .csv or .parquet: the ids that are in the study, and ``record``.
        """
        target = Path(out)
        check_target(target)
        refuse_own_files(self._layout, self.configuration, target)
        known = self._journal.books.find_party(party)
        if self._journal.books.created.is_id_public:
            raise InvalidInputError(
                "ids are public in this study: its files name records by their ids, link by these"
            )
        writer = self._writer()
        keys = (
            writer.keys.pseudonym_key(known, k + FIRST_COHORT) for k in range(len(writer.cohorts))
        )
        by_cohort = zip(writer.cohorts, keys, strict=True)
        found = Links.join([writer.engine.link(each, ids, key) for each, key in by_cohort])
        found.write(target)
        return found

    # -- erasing ----------------------------------------------------------------------------

    def find_listed(self, ids: AnyTable) -> ListedRecords:
        """What ``erase`` would do with a list of ids. Records and changes nothing.

        Args:
            ids: a table with the study's id columns; other columns are not read.
        """
        self._journal.settle_rollback()
        return find_listed(self._journal, self._writer(), ids)

    def erase(
        self,
        ids: AnyTable,
        *,
        skip_unknown: bool = False,
        confirm: Callable[[ListedRecords], None] | None = None,
    ) -> ErasureReport:
        """Erase the records with these ids: from the folder, the ledger and all later files.

        Designs, counts and what parties hold stay as they are. The ledger keeps how many were
        erased, and keyed hashes of their ids. Killed at any moment, the same call finishes it.

        Args:
            ids: a table with the study's id columns; other columns are not read.
            skip_unknown: go on although ids of the list were never in the study, or are empty.
            confirm: called before anything is erased; an exception that it raises ends it.

        Raises:
            InvalidInputError: an id was never in the study or is empty, or no record would be left;
                nothing was erased.
        """
        finished = self.finish_erasure()
        listed = self.find_listed(ids)
        if not skip_unknown:
            refuse_unknown(listed)
        if not listed.persons:
            return finished
        if confirm is not None:
            confirm(listed)
        record_erasure(self._journal, listed.persons, is_correction=False)
        done = self.finish_erasure()
        return replace(done, records=finished.records + done.records)

    def finish_erasure(self) -> ErasureReport:
        """Finish an erasure that was interrupted, without its list of ids."""
        self._journal.settle_rollback()
        with locked(self._layout.folder):  # nobody writes a release meanwhile
            unfinished = self._journal.refresh().unfinished_erasure
            if unfinished is not None:
                self._remove_records(unfinished)
        self._journal.ledger.clear_replaced()  # also what a killed call has left
        return report_erasure(self._layout, self._journal.books, unfinished)

    def _remove_records(self, erasure: Erasure) -> None:
        books = self._journal.books
        self._journal.refuse_closed(books)
        keys = StudyKeys.load(self._layout, self.configuration.study, books.created)
        finish_erasure(self._journal, keys, erasure)
        self.snapshot = self._journal.engine.open(self._layout.snapshot)

    # -- looking ----------------------------------------------------------------------------

    def status(self) -> StudyStatus:
        """Parties, coalitions, bits used and left."""
        lost = self._journal.find_lost()
        return read_status(
            self.configuration.study, self._journal.books, lost.remarks("entry_lost")
        )

    def limits(self) -> tuple[StandingLimit, ...]:
        """Every standing limit, also on coalitions that hold nothing yet."""
        return list_limits(self._journal.refresh())

    def log(self) -> tuple[LogEntry, ...]:
        """Every entry of the ledger: who got what, when and why."""
        intents = self._journal.refresh().releases
        logged = map(log_entry, self._journal.ledger.entries(self.configuration.study))
        files = {
            number: each.delivery.file
            for number, each in intents.items()
            if each.delivery is not None
        }
        return tuple(
            replace(each, arguments={**each.arguments, "out": files[each.number]})
            if each.number in files
            else each
            for each in logged
        )

    def report(self) -> StudyReport:
        """One document for a record of processing: columns, limits, releases and reasons."""
        status = self.status()
        books = self._journal.books
        created = books.created
        [first] = self._journal.ledger.entries(self.configuration.study)[:1]
        return StudyReport(
            organisation=created.organisation,
            table=created.table,
            made=first.time,
            columns={each.name: each.labels for each in created.attributes},
            external=tuple(books.externals),
            is_id_public=created.is_id_public,
            status=status,
            limits=list_limits(books),
            releases=tuple(receipt_of(books, each) for each in books.releases.values()),
        )

    def risk(self, parties: Sequence[str]) -> Risk:
        """What parties could tell together about a record, by all that they hold now.

        Of several cohorts, about a record of the one of which they hold most.

        Raises:
            InvalidInputError: none of them holds anything.
        """
        books = self._journal.refresh()
        known = frozenset(map(books.find_party, parties))
        most = max(books.by_cohort, key=lambda each: each.proved_account.upper_bits(known))
        return tell_held(most, parties)

    def statement(self, party: str) -> PartyStatement:
        """What a party may know of its own account: nothing of others."""
        return read_statement(self._journal.refresh(), party)

    def small_cells(self, below: int = 10) -> list[SmallCell]:
        """Cells with few records, also by level of an external column: these counts are public."""
        return small_cells(self._journal.books, below)

    def audit(self, *, records: int = 20_000, seed: int = 0, cohort: int = FIRST_COHORT) -> Audit:
        """What each party, each coalition and everyone learned, with an executed attack.

        Of the whole record, and of every column and question that was asked, in one cohort.
        """
        books = self._journal.refresh().look_at(cohort)
        return audit(
            books.scheme(books.proved_account),
            about=list(list_variables(books)),
            table_records=int(books.counts.sum()),
            records=records,
            seed=seed,
        )

    def audit_cohorts(self, *, records: int = 20_000, seed: int = 0) -> dict[int, Audit]:
        """The same in every cohort that has a release; where there is none, in the first."""
        told = [each.number for each in self.status().cohorts if each.releases]
        numbers = told or [FIRST_COHORT]  # which says that there is nothing to audit
        return {each: self.audit(records=records, seed=seed, cohort=each) for each in numbers}

    def receipt(self, number: int) -> Receipt | EntryReceipt:
        """The receipt of a release by its number in the ledger, or of any other entry.

        Sealed with the study's key, or with what was kept of it when it was destroyed; a study
        whose key is missing gives receipts without a seal.

        Raises:
            KeyFileError: there is a key, and it is damaged, open to others or not this study's.
        """
        books = self._journal.refresh()
        keys = DigestKeys.find(self._layout, self.configuration.study, books)
        return self._unsealed_receipt(books, number).sealed(None if keys is None else keys.paper)

    def _unsealed_receipt(self, books: Books, number: int) -> Receipt | EntryReceipt:
        if number in books.releases:
            entries = self._journal.ledger.entries(self.configuration.study)
            before, after = read_around(entries, number)
            return complete_receipt(receipt_of(books, books.releases[number]), before, after)
        if not 1 <= number <= books.head.number:
            known = ", ".join(map(str, books.releases)) or "none yet"
            raise InvalidInputError(
                f"there is no entry {number}: the ledger ends at {books.head.number}, "
                f"its releases are {known}"
            )
        entry = self._journal.ledger.entries(self.configuration.study, number - 1)[0]
        return entry_receipt(entry, describe_entry(entry))

    def verify(self, receipt: str | Path | None = None) -> Verification:
        """Replay the ledger: chain, certificates, snapshot, files; and a receipt, if given."""
        return verify_study(self._layout.folder, receipt)

    def destroy_key(self) -> None:
        """End the study for good: no more releases, everything stays verifiable."""

        def keep(keys: StudyKeys, books: Books) -> None:
            DigestKeys.of(keys, books).keep(self._layout)

        def record(books: Books) -> Record | None:
            if books.is_closed:  # from another copy of the folder, or we were killed
                with suppress(KeyFileError):  # its key may be gone, or half gone
                    study = self.configuration.study
                    keep(StudyKeys.load(self._layout, study, books.created), books)
                return None
            keep(self._writer().keys, books)
            return ClosedRecord(releases=len(books.releases))

        self._journal.append("closed", record)
        StudyKey.destroy(self._layout.key)
