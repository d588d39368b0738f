"""Making a study: table in, folder and first ledger entry out, all of it or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from math import ceil, log
from pathlib import Path
from secrets import token_hex
from shutil import rmtree
from typing import Any

from tacit.errors import InvalidInputError, Suggestion
from tacit.information.laws import as_positive_bits
from tacit.ledger import HASH_DIGITS, Ledger, Sketch, default_ledger
from tacit.ledger.database import absolute_address
from tacit.ledger.entry import SUPERSEDED
from tacit.ledger.user_ledger import IN_FOLDER
from tacit.remark import Remark
from tacit.sampling import StudyKey
from tacit.storage import atomic_folder, scratch_folder
from tacit.study.books.records import (
    STUDY_FORMAT,
    AttributeRecord,
    CohortRecord,
    CreatedRecord,
    ErasureRecord,
    ExternalRecord,
    other_studies,
)
from tacit.study.folder import (
    Configuration,
    Layout,
    StudyKeys,
    TableRead,
    discarding_after_errors,
    engine_of,
    find_engine,
    is_study,
)
from tacit.study.journal import Journal, update_high_water_mark
from tacit.study.setup.limits import check_text
from tacit.tables import Declaration
from tacit.tables.delivery.engine import Engine, Records
from tacit.tables.sources.source import AnyTable, Source, find_source

_SKETCHED_IDS = 4096
"""Hashes kept of a study's ids; see ``least_overlap_noticed``."""

_NONCE_BYTES = 16

_SLIPS_THROUGH = 0.01
"""Chance that the least overlap goes unnoticed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a custodian says about a study before it is made; see ``Study.create``."""

    table: Source
    columns: Declaration
    is_id_public: bool
    organisation: str | None
    memory: int
    everyone: float | None
    ledger: str | None
    accept_reset: bool
    again: bool
    accept: Collection[str]
    min_records: int
    engine: str
    master: str | None
    data: str | None
    remarks: list[Remark] = field(default_factory=list)  # gathered while the table is read

    def __post_init__(self) -> None:
        if self.everyone is not None:
            as_positive_bits(self.everyone, name="everyone")
        if self.organisation is not None:
            check_text(self.organisation, "the organisation")
        if self.memory < 1:
            raise InvalidInputError(f"memory is {self.memory}: remember at least one state")
        if self.is_id_public and len(self.columns.ids) > 1:
            raise InvalidInputError(
                f"ids of {len(self.columns.ids)} columns cannot be public: a release file has one "
                "column for them; use pseudonyms, or one id column"
            )

    @property
    def records_engine(self) -> Engine[Any]:
        """What reads and writes the records."""
        return find_engine(self.engine, self.master, self.data)


def create_study(folder: Path, plan: Plan) -> None:
    """Make the study's folder and register it in its ledger."""
    if not folder.parent.is_dir():
        raise InvalidInputError(f"there is no folder {folder.parent}: make it first")
    try:
        _remove_unregistered(folder)
        with ExitStack() as aside:
            if plan.again and is_study(folder):
                aside.enter_context(_making_anew(folder))
            address = default_ledger() if plan.ledger is None else plan.ledger
            if address == IN_FOLDER:
                _create_with_own_ledger(folder, plan)
            else:
                _create_in_ledger(folder, plan, absolute_address(address))
    except OSError as error:
        raise InvalidInputError(
            f"{folder} cannot be written ({error.strerror or error}): free some space, check the "
            "permissions, or choose another place"
        ) from error


def least_overlap_noticed(n_records: int) -> int:
    """How many records of a study must be in another one of its ledger to be noticed, 99 %.

    Neither study is larger than ``n_records``. Of m ids in both, a sketch of k hashes sees none
    with probability exp(-k m / n).
    """
    if n_records <= _SKETCHED_IDS:
        return 1
    return ceil(n_records * -log(_SLIPS_THROUGH) / _SKETCHED_IDS)


def _remove_unregistered(folder: Path) -> None:
    """Remove a folder whose making was killed just before its ledger knew of it.

    One that was ever used has a mark or states: its ledger may have lost it.
    """
    layout = Layout(folder)
    if not layout.configuration.exists() or layout.high_water.exists() or layout.states.exists():
        return
    configuration = Configuration.read(folder)
    if configuration.ledger is None:
        return
    with closing(Ledger.open(configuration.ledger)) as ledger:
        is_registered = configuration.study in ledger.studies()
    if not is_registered:
        engine_of(configuration).discard(layout.snapshot)
        rmtree(folder)


@contextmanager
def _making_anew(folder: Path) -> Iterator[None]:
    """Put a study aside of which nothing was released, and end it once there is a new one."""
    journal = Journal.open(folder)
    with closing(journal.ledger):
        journal.refuse_rollback(journal.find_lost())  # a ledger that has forgotten releases
        if journal.books.releases:
            raise InvalidInputError(
                f"{folder} cannot be made anew: releases of it are counted "
                f"({len(journal.books.releases):,} in its ledger); go on with it"
            )
        with scratch_folder(folder) as aside:
            folder.rename(aside / folder.name)
            try:
                yield
            except BaseException:
                (aside / folder.name).rename(folder)
                raise
            journal.engine.discard(Layout(aside / folder.name).snapshot)
        # Where the new one has other records, or another ledger, it did not say so.
        if journal.configuration.ledger is not None and journal.refresh().successor is None:
            ended = {"successor": Configuration.read(folder).study}
            journal.ledger.append(journal.study, SUPERSEDED, ended, head=journal.books.head)


def _create_with_own_ledger(folder: Path, plan: Plan) -> None:
    with (
        atomic_folder(folder) as partial,
        discarding_after_errors(plan.records_engine, Layout(partial)),
        closing(Ledger.create(Layout(partial).ledger)) as own,
    ):
        configuration = _fill_folder(partial, plan, None)
        registration = _registration(Layout(partial), plan, configuration, own)
        registration.enter(own, Layout(partial))


def _create_in_ledger(folder: Path, plan: Plan, address: str) -> None:
    Ledger.check(address)  # before a table is read that may be long
    with ExitStack() as opened:
        with (
            atomic_folder(folder) as partial,
            discarding_after_errors(plan.records_engine, Layout(partial)),
        ):
            configuration = _fill_folder(partial, plan, address)
            shared = opened.enter_context(closing(Ledger.create(address)))
            registration = _registration(Layout(partial), plan, configuration, shared)
        # Last, because a registration cannot be taken back: a folder without one is no loss.
        try:
            registration.enter(shared, Layout(folder))
        except BaseException:
            if configuration.study not in shared.studies():  # it knows these records, say
                plan.records_engine.discard(Layout(folder).snapshot)
                rmtree(folder)
            raise


@dataclass(frozen=True, slots=True)
class _Registration:
    """All that a ledger is told of a new study."""

    study: str
    sketch: Sketch
    created: CreatedRecord
    accepts_reset: bool
    is_again: bool

    def enter(self, ledger: Ledger, layout: Layout) -> None:
        overlaps = ledger.overlapping(self.sketch)
        ended = [each for each in overlaps if self.is_again and not each.is_released]
        known = [each for each in overlaps if self.accepts_reset and each not in ended]
        created = self.created.model_copy(update={"known_in": other_studies(known)})
        entered = ledger.register(
            self.study,
            self.sketch,
            created.model_dump(mode="json"),
            accepting=[overlap.study for overlap in known],
            superseding={overlap.study: overlap.head for overlap in ended},
        )
        update_high_water_mark(layout, entered.head)


def _fill_folder(partial: Path, plan: Plan, address: str | None) -> Configuration:
    """Snapshot, key and configuration."""
    layout = Layout(partial)
    snapshot = plan.records_engine.count(
        plan.table,
        plan.columns,
        layout.snapshot,
        accept=plan.accept,
        remark=plan.remarks.append,
    )
    _refuse_few(snapshot.n_records, plan)
    StudyKey.create(layout.key)
    configuration = Configuration(
        made_by=version("tacit"),
        study=uuid.uuid4().hex,
        **dict(TableRead.of(plan.table)),
        engine=plan.engine,
        master=plan.master,
        data=plan.data,
        ledger=address,
    )
    configuration.write(partial)
    return configuration


def _refuse_few(n_records: int, plan: Plan) -> None:
    """A table so small that everybody else's rows tell much about a person."""
    if n_records < plan.min_records:
        shown = find_source(plan.table).shown
        raise InvalidInputError(
            f"{shown} has {n_records:,} records and {plan.min_records:,} is the fewest: limits are "
            "on what a person's own rows tell, and in a small table whoever knows the counts "
            "learns much more from everybody else's rows; add records, or accept that",
            suggestions=[Suggestion("create", {"min_records": n_records})],
        )


def _registration(
    layout: Layout, plan: Plan, configuration: Configuration, ledger: Ledger
) -> _Registration:
    snapshot = plan.records_engine.open(layout.snapshot)
    keys = StudyKeys.of(layout.key, configuration.study)
    created = _created(snapshot, plan, configuration, keys)
    plan.remarks.extend(_remarks_on_erased(ledger))
    sketch = sketch_ids([snapshot], ledger.salt)
    return _Registration(configuration.study, sketch, created, plan.accept_reset, plan.again)


def _remarks_on_erased(ledger: Ledger) -> list[Remark]:
    """That the ledger no longer knows people who were erased from its studies."""
    erasures = [ErasureRecord.of(entry) for entry in ledger.entries_of_kind("erasure")]
    erased = sum(each.records for each in erasures)
    return [Remark("erased_elsewhere", {"records": erased})] if erased else []


def sketch_ids(cohorts: Sequence[Records], salt: bytes) -> Sketch:
    """What a ledger keeps of a study's ids, to notice another study of the same people."""
    n_records = sum(each.n_records - each.n_erased for each in cohorts)
    smallest = _smallest(each.sketch(salt, _SKETCHED_IDS) for each in cohorts)
    # Different ids may be the same when normalised; of a large table that is not counted.
    n_different = len(smallest) if n_records <= _SKETCHED_IDS else n_records
    return Sketch(n_different, smallest, token_hex(_NONCE_BYTES))


def _smallest(hashes: Iterable[list[str]]) -> tuple[str, ...]:
    """The smallest of the smallest hashes of several tables, shortened."""
    shortened = {hashed[:HASH_DIGITS] for each in hashes for hashed in each}
    return tuple(sorted(shortened)[:_SKETCHED_IDS])


def _created(
    snapshot: Records, plan: Plan, configuration: Configuration, keys: StudyKeys
) -> CreatedRecord:
    return CreatedRecord(
        format=STUDY_FORMAT,
        made_by=configuration.made_by,
        **dict(cohort_record(snapshot, plan.table, keys)),
        attributes=public_facts(snapshot)["attributes"],
        memory=plan.memory,
        everyone=plan.everyone,
        is_id_public=plan.is_id_public,
        key_check=keys.check,
        organisation=plan.organisation,
    )


def cohort_record(snapshot: Records, table: AnyTable, keys: StudyKeys) -> CohortRecord:
    """What the ledger is to say of records that join a study, or begin it."""
    facts = public_facts(snapshot)
    return CohortRecord(
        records=facts["records"],
        counts=facts["counts"],
        externals=facts["externals"],
        snapshot_digest=snapshot.digest(keys.snapshot),
        snapshot_seal=snapshot.seal(keys.snapshot),
        table=Path(find_source(table).shown).name,
    )


def public_facts(snapshot: Records) -> dict[str, Any]:
    """What the first entry says of the table, and everybody may know."""
    encoding = snapshot.encoding
    return {
        "records": snapshot.n_records,
        "attributes": tuple(
            AttributeRecord(name=attribute.name, labels=attribute.labels)
            for attribute in encoding.attributes
        ),
        "counts": snapshot.counts.tolist(),
        "externals": {
            external.name: ExternalRecord(
                labels=external.labels,
                numbers=external.numbers,
                counts=snapshot.external_counts(external.name).tolist(),
            )
            for external in encoding.externals
        },
    }
