"""Papers that leave a study: receipts for people, and a certificate beside each release file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
    validate_call,
)

from tacit.auditing.disclosure import Disclosure, disclosure_lines
from tacit.errors import InvalidInputError
from tacit.information import entropy
from tacit.information.laws import ROW_SUM_TOL, bits_up, limit_in_words
from tacit.ledger.entry import canonical_json
from tacit.limits import EVERYONE, find, times_promise
from tacit.markup import html_table
from tacit.problem import DISTORTIONS, INFORMATION, MEAN, SHARES, Distortion
from tacit.remark import Remark
from tacit.sampling import keyed_digest
from tacit.storage import atomic_file
from tacit.study.books.records import HoldingRecord
from tacit.study.reports.risk import Risk
from tacit.tables.delivery.release_file import csv_text

if TYPE_CHECKING:  # a recipient who reads a certificate has no ledger
    from tacit.ledger import Entry
    from tacit.study.books.books import Books, Intent

PAPER_FORMAT = 5
"""Of papers and pages: a page that looks different is another format; no other one is read."""

_MOST_DRAWN = 24
"""The law of a request with more levels or answers is not drawn, and not in a receipt."""

_LEAST_FORGONE, _LEAST_CUT = 1e-3, 1e-3
"""Parts of its worth, and bits: a release that misses less by a limit is not remarked on."""

_ROUNDED = 1e-12
"""Shares that are nearer are the same."""

CERTIFICATE_SUFFIX = ".certificate.json"

NO_SEAL = "none: the study's key was missing"

_checked = validate_call(config=ConfigDict(strict=True, allow_inf_nan=False))
"""Refuses values of a remark that are not those of its kind: papers come from outside."""


class Paper(BaseModel):
    """What every paper says: which entry of which study's ledger it speaks of.

    Attributes:
        format: of the paper.
        study: the study's id.
        entry: number of the entry in the ledger.
        hash: that seals it.
        time: when it was recorded.
        in_words: what it says.
        seal: keyed digest of all the rest, by which the study knows its own papers even when its
            ledger has lost the entry; ``None`` where the study's key was missing.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    format: int = PAPER_FORMAT
    study: str
    entry: int
    hash: str
    time: str
    in_words: str
    seal: str | None = None

    def sealed(self, key: bytes | None) -> Self:
        """The same paper with its seal."""
        return self if key is None else self.model_copy(update={"seal": self._seal(key)})

    def _seal(self, key: bytes) -> str:
        return seal_of(self.model_dump(mode="json"), key)

    def write(self, path: Path) -> None:
        """As JSON, whole or not at all."""
        with atomic_file(path) as file:
            file.write(self.model_dump_json(indent=2).encode() + b"\n")

    def _as_page(self, template: str) -> str:
        from tacit.study.reports.page import json_inside, render

        data = json_inside(self.model_dump_json())
        return render(template, paper=self, json=data, no_seal=NO_SEAL)


class EntryReceipt(Paper):
    """For the custodian: a receipt of an entry that is no release, such as a limit.

    Attributes:
        kind: of the entry.
    """

    kind: str

    def as_html(self) -> str:
        """One page that opens anywhere; it holds the receipt for machines, too."""
        return self._as_page("entry.html")


class ReleasePaper(Paper):
    """What papers about a release say.

    Attributes:
        party: who received it.
        request: what was asked.
        measure: how answers are judged.
        party_bits: what the party holds about one record after it, at most.
        records: how many rows the file has.
        digest: of the file's content, keyed; ``None`` until the file was written.
        remarks: what whoever reads the answers should know.
        cohort: whom the file is about; ``None`` where the study had only one cohort when it was
            recorded.
    """

    party: str
    request: str
    measure: str
    party_bits: float
    records: int
    digest: str | None
    remarks: tuple[Remark, ...] = ()
    cohort: int | None = None

    @field_validator("remarks", mode="before")
    @classmethod
    def _read_remarks(cls, said: object) -> tuple[Remark, ...]:
        if not isinstance(said, list | tuple):
            raise ValueError("remarks are a list")
        return tuple(map(_read_remark, said))

    @field_serializer("remarks")
    def _write_remarks(self, remarks: tuple[Remark, ...]) -> list[dict[str, Any]]:
        return [each.as_dict() for each in remarks]


class Receipt(ReleasePaper):
    """For the custodian: names other parties, so it is not for the recipient.

    Attributes:
        file: where the release was written first.
        party_limit: bits about one record that the party may hold in all, as it was set.
        around_limit: a lower limit on a coalition around the party, which it has to keep, too;
            ``None`` if there is none.
        entropy_bits: H(X), all there is to learn about a record.
        value: mean cost of the answers, that of the worst level, bits about R, or n times the
            largest variance of an estimated share among n records.
        blind: the same for a blind guess; ``None`` for shares.
        bound: no release within the limits does better.
        everyone_bits: what all parties together hold at most.
        everyone_limit: the limit on all parties together at that time; ``None`` for none.
        everyone_times: the same in times; ``None`` for none.
        holdings: every limited coalition that the release fed.
        objective: ``"mean"`` or ``"worst-level"``: what ``value``, ``blind`` and ``bound`` are.
        ceilings: level -> the largest mean cost that was allowed there.
        analysable: whether the answers were to depend on nothing but what was asked.
        level_errors: level -> mean cost of the answers where it is true; none where answers only
            inform.
        organisation: whose table it is, where the study says it.
        table: name of the table.
        private: names of the private columns.
        reason: why it was released, as the custodian said it.
        levels: of what was asked.
        answers: what each column of ``channel`` is.
        channel: law of the answer given the level, [level, answer]; ``None`` where it is too
            large to be drawn: the certificate has it.
        held_before: what each of ``holdings`` held before it, at most. This and ``risks`` are
            ``None`` where a receipt stands in a list of releases, and is no paper.
        risks: what the party can tell about a person after it, and the coalition that is nearest
            to its limit.
        disclosures: levels that few records have and that it gave away, to its party or to one of
            the coalitions, and that they could not tell before, most complete first.
    """

    file: str | None
    party_limit: float
    around_limit: float | None
    entropy_bits: float
    value: float
    blind: float | None
    bound: float | None
    everyone_bits: float
    everyone_limit: float | None
    everyone_times: float | None
    holdings: tuple[HoldingRecord, ...]
    objective: str
    ceilings: dict[str, float]
    analysable: bool
    level_errors: dict[str, float]
    organisation: str | None
    table: str
    private: tuple[str, ...]
    reason: str | None
    levels: tuple[str, ...]
    answers: tuple[str, ...]
    channel: list[list[float]] | None
    disclosures: tuple[Disclosure, ...]
    held_before: tuple[float, ...] | None = None
    risks: tuple[Risk, ...] | None = None

    @model_validator(mode="after")
    def _draws_what_it_names(self) -> Self:
        shape = [len(self.answers)] * len(self.levels)
        if self.channel is not None and [len(row) for row in self.channel] != shape:
            raise ValueError("channel has another shape than levels and answers")
        if self.held_before is not None and len(self.held_before) != len(self.holdings):
            raise ValueError("held_before is not of the coalitions in holdings")
        return self

    @property
    def disclosed(self) -> list[str]:
        """What it gave away about few people, a line each."""
        return disclosure_lines(self.disclosures, "can name")

    @property
    def shown_holdings(self) -> list[HoldingRecord]:
        """Who holds what of which limit after it, the party itself first."""
        return [holding for holding, _ in self.shown_budgets]

    @property
    def shown_budgets(self) -> list[tuple[HoldingRecord, float]]:
        """The same, each with what it held before, 0 where that is not said."""
        before = self.held_before or (0.0,) * len(self.holdings)
        pairs = zip(self.holdings, before, strict=True)
        first_own = sorted(pairs, key=lambda pair: pair[0].parties != (self.party,))
        return [(self._with_standing_limit(holding), bits) for holding, bits in first_own]

    def _with_standing_limit(self, holding: HoldingRecord) -> HoldingRecord:
        """The limit recorded with a release is lower than the party's if fewer bits were asked."""
        if holding.parties != (self.party,):
            return holding
        limit = self.party_limit if self.around_limit is None else self.around_limit
        return holding.model_copy(update={"limit": limit})

    @property
    def limit_in_words(self) -> str:
        """The party's limit, as it was set."""
        limit = f"limit of {self.party}, as set: {limit_in_words(self.party_limit)} bits in all"
        if self.around_limit is not None:
            around = limit_in_words(self.around_limit)
            limit = (
                f"{limit}; a coalition around it may hold only {around}, and so may {self.party}"
            )
        times = [each.times for each in self.holdings if each.parties == (self.party,)]
        promised = [times_promise(each) for each in times if each is not None]
        return "; ".join([limit, *promised])

    def __repr__(self) -> str:
        """Which release it is of, what it is worth, and what its party holds."""
        return (
            f"Receipt(release {self.entry}: {self.request} for {self.party}, {self.records:,} "
            f"records; {self.in_words}; {self.party} held at most {bits_up(self.party_bits)} bits)"
        )

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """What every coalition held of its limit, as a table for notebooks."""
        rows = [
            (each.name, bits_up(each.bits), limit_in_words(each.limit))
            for each in self.shown_holdings
        ]
        return html_table(repr(self), ("bits about one record", "held", "limit"), rows)

    def as_html(self) -> str:
        """One page that opens anywhere; it holds the receipt for machines, too."""
        return self._as_page("receipt.html")


class Certificate(ReleasePaper):
    """For the recipient: all that is needed to estimate from the file, and nothing of others.

    Attributes:
        labels: letters of what was asked.
        letters: letters in the file's column ``rhat``.
        p_rhat_given_r: law of the answer given the truth, [r, rhat].
        digest_key: under which ``digest`` was made.
        csv_letters: ``letters`` as a CSV file shows them: with an apostrophe before what a
            spreadsheet would run as a formula.
        is_analysable: whether an answer depends on nothing but the truth: then p_rhat_given_r holds
            in every subgroup.
        least_given_r: where it is not analysable, the least p(rhat | r) of any subgroup.
        most_given_r: and the greatest.
        worst_answer: bits that the party's worst single answer has at most, all that it received
            included: after any answer, no combination of levels is more than 2**bits times as
            likely as before.
        times: no combination of levels may be more times as likely; ``None`` for no such limit.
    """

    labels: tuple[str, ...] = Field(min_length=1)
    letters: tuple[str, ...] = Field(min_length=1)
    p_rhat_given_r: list[list[float]]
    digest_key: str = Field(pattern=r"^([0-9a-f]{2})+$")
    csv_letters: tuple[str, ...]
    is_analysable: bool
    least_given_r: list[list[float]] | None
    most_given_r: list[list[float]] | None
    worst_answer: float
    times: float | None

    def __repr__(self) -> str:
        """Which release it is of, and how large its law is: that may be 100,000 numbers."""
        return (
            f"Certificate(release {self.entry}: {self.request} for {self.party}, {self.records:,} "
            f"records; {len(self.labels):,} levels, {len(self.letters):,} letters)"
        )

    __str__ = __repr__

    @model_validator(mode="after")
    def _has_a_range_unless_analysable(self) -> Self:
        ends = self.least_given_r, self.most_given_r
        if self.is_analysable == any(end is not None for end in ends):
            raise ValueError("least_given_r and most_given_r go with is_analysable")
        for end in ends:
            if not self.is_analysable and [len(row) for row in end or ()] != self._shape:
                raise ValueError("the range has another shape than labels and letters")
        return self

    @property
    def _shape(self) -> list[int]:
        return [len(self.letters)] * len(self.labels)

    @model_validator(mode="after")
    def _has_one_law_for_each_label(self) -> Self:
        if [len(row) for row in self.p_rhat_given_r] != self._shape:
            raise ValueError("p_rhat_given_r has another shape than labels and letters")
        for row in self.p_rhat_given_r:
            if min(row) < 0 or abs(sum(row) - 1) > ROW_SUM_TOL:
                raise ValueError("a row of p_rhat_given_r is no law")
        return self

    @classmethod
    def beside(cls, release: Path) -> Self:
        """The certificate of a release file."""
        path = certificate_path(release)
        try:
            content = path.read_bytes()
            refuse_other_format(path, _Head.model_validate_json(content).format)
            return cls.model_validate_json(content)
        except FileNotFoundError as error:
            raise InvalidInputError(
                f"{path.name} is not beside {release}: ask the custodian for the release's "
                "certificate and put it there"
            ) from error
        except OSError as error:
            raise InvalidInputError(f"{path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise InvalidInputError(
                f"{path} is no certificate of this version of tacit: ask the custodian for it again"
            ) from error


class _Head(BaseModel):
    """What every format of papers says."""

    format: int


def refuse_other_format(path: Path, found: int) -> None:
    """Refuse a paper of another version."""
    if found != PAPER_FORMAT:
        raise InvalidInputError(
            f"{path} has format {found}, and this version of tacit reads {PAPER_FORMAT} only: read "
            "it with the version that made it, or ask the custodian for it again"
        )


def seal_of(content: dict[str, Any], key: bytes) -> str:
    """The seal of a paper: HMAC over all that it says, but for the seal."""
    said = {name: value for name, value in content.items() if name != "seal"}
    return keyed_digest(key, [canonical_json(said).encode()])


def certificate_path(release: Path) -> Path:
    """Where the certificate of a release file lies."""
    return release.with_name(release.name + CERTIFICATE_SUFFIX)


def receipt_of(books: Books, intent: Intent) -> Receipt:
    """The custodian's receipt of a release."""
    if intent.record.cohort != books.cohort.number:
        books = books.look_at(intent.record.cohort)
    record, delivery, common = intent.record, intent.delivery, _common(books, intent)
    common["remarks"] += remarks_on_source(intent.source)
    common["remarks"] += remarks_on_cut(record.party, record.holdings, record.value, record.blind)
    common["remarks"] += remarks_on_time(record.is_out_of_time, record.value, record.bound)
    levels, answers = record.question.labels, record.letters
    everyone = find(intent.limits, EVERYONE)
    return Receipt(
        **common,
        digest=intent.digest,
        file=None if delivery is None else delivery.file,
        party_limit=intent.party_limit,
        around_limit=intent.around_limit,
        entropy_bits=entropy(books.p_x),
        value=record.value,
        blind=record.blind,
        bound=record.bound,
        everyone_bits=record.everyone_bits,
        everyone_limit=None if everyone is None else everyone.bits,
        everyone_times=None if everyone is None else everyone.times,
        holdings=record.holdings,
        objective=record.measure.objective,
        ceilings=record.measure.ceilings,
        analysable=record.analysable,
        level_errors=record.level_errors,
        organisation=books.created.organisation,
        table=books.cohort.record.table,
        private=tuple(each.name for each in books.created.attributes),
        reason=record.reason,
        levels=levels,
        answers=answers,
        disclosures=record.disclosures,
        channel=record.p_rhat_given_r if max(len(answers), len(levels)) <= _MOST_DRAWN else None,
    )


def entry_receipt(entry: Entry, in_words: str) -> EntryReceipt:
    """The custodian's receipt of an entry that is no release.

    Args:
        entry: as the ledger has it.
        in_words: what it says, see ``describe_entry``.
    """
    return EntryReceipt(
        study=entry.study,
        entry=entry.number,
        hash=entry.hash,
        time=entry.time,
        in_words=in_words,
        kind=entry.kind,
    )


def certificate_of(books: Books, intent: Intent, digest: str, digest_key: bytes) -> Certificate:
    """The recipient's certificate of a release."""
    if intent.record.cohort != books.cohort.number:
        books = books.look_at(intent.record.cohort)
    least, most = books.range_given_r(intent)
    is_analysable = np.array_equal(least, most)
    own = _own_holding(intent)
    return Certificate(
        **_common(books, intent),
        digest=digest,
        labels=intent.request.question.labels,
        letters=intent.record.letters,
        p_rhat_given_r=intent.record.p_rhat_given_r,
        digest_key=digest_key.hex(),
        csv_letters=tuple(map(csv_text, intent.record.letters)),
        is_analysable=is_analysable,
        least_given_r=None if is_analysable else least.tolist(),
        most_given_r=None if is_analysable else most.tolist(),
        worst_answer=own.worst_answer,
        times=own.times,
    )


def _own_holding(intent: Intent) -> HoldingRecord:
    """What the party of a release holds after it."""
    party = (intent.record.party,)
    return next(each for each in intent.record.holdings if each.parties == party)


def _common(books: Books, intent: Intent) -> dict[str, Any]:
    cohort = books.cohort
    left = cohort.record.records - cohort.n_erased
    record, measure = intent.record, intent.record.measure
    return {
        "study": intent.entry.study,
        "entry": intent.entry.number,
        "hash": intent.entry.hash,
        "time": intent.entry.time,
        "party": record.party,
        "request": record.question.name,
        "measure": measure.kind,
        "in_words": value_in_words(measure.kind, record.value, record.blind, measure.objective),
        "party_bits": _own_holding(intent).bits,
        "records": left,
        "remarks": remarks_on(intent.request.question.external)
        + remarks_on_erased(cohort.n_erased, left),
        "cohort": cohort.number if intent.n_cohorts > 1 else None,
    }


def remarks_on(external: str | None) -> tuple[Remark, ...]:
    """What whoever gets an answer should know; nothing unless it is about an external column."""
    return () if external is None else (Remark("external_column", {"column": external}),)


def remarks_on_erased(n_erased: int, n_left: int) -> tuple[Remark, ...]:
    """Why files have fewer rows than the tables that they are of."""
    return (Remark("records_erased", {"records": n_erased, "left": n_left}),) if n_erased else ()


def remarks_on_time(is_out: bool, value: float, bound: float | None) -> tuple[Remark, ...]:
    """That the clock ended the search, and how good a release it may have missed."""
    return (Remark("out_of_time", {"value": value, "bound": bound}),) if is_out else ()


def remarks_on_cut(
    party: str, holdings: Sequence[HoldingRecord], value: float, blind: float | None
) -> tuple[Remark, ...]:
    """Which limit left a party fewer bits than it asked for, where more would be worth something.

    For the custodian: the limit may be on others, too.

    Args:
        party: who asks.
        holdings: every limited coalition that the release feeds, after it.
        value: what its answers are worth.
        blind: the same of a blind guess.
    """
    [own] = [each for each in holdings if each.parties == (party,)]
    binding = max(holdings, key=lambda each: each.multiplier)
    bits, gain = own.limit - own.bits, abs(value - (blind or 0.0))
    if binding is own or bits * binding.multiplier < _LEAST_FORGONE * gain or bits < _LEAST_CUT:
        return ()
    told = {"bits": bits, "coalition": binding.name, "limit": binding.limit}
    return (Remark("bits_cut", told),)


def remarks_on_source(source: Intent | None) -> tuple[Remark, ...]:
    """That answers are those of an earlier release. For the custodian: parties are not told."""
    return () if source is None else (Remark("copied", {"release": source.entry.number}),)


def remark_in_words(remark: Remark) -> str:
    """A remark of a paper, for people."""
    return _WORDS[remark.code](**remark.values)


def _read_remark(said: object) -> Remark:
    """A remark as a paper has it; raises ValueError where tacit makes no such remark."""
    match said:
        case Remark():
            return said
        case {"code": str(code), **values} if code in _WORDS:
            remark = Remark(code, {str(name): value for name, value in values.items()})
            remark_in_words(remark)  # raises if its values are not those of its kind
            return remark
    raise ValueError("a remark that no paper has")


@_checked
def _external_in_words(column: str) -> str:
    """What an answer about an external column is: the channel reads the private attributes only."""
    return f"{column} is predicted from the private attributes; nobody's own {column} is read"


@_checked
def _out_of_time_in_words(value: float, bound: float | None) -> str:
    """What it means that the clock ended the search for a better release."""
    more = ""
    if bound is not None:
        unit = " bits" if bound >= value else ""
        more = f", by at most {bits_up(abs(bound - value))}{unit}"
    return f"the search for the best release ran out of time: a better one may exist{more}"


@_checked
def _erased_in_words(records: int, left: int) -> str:
    """What a reader of counts and files should know after an erasure."""
    were = "1 record was" if records == 1 else f"{records:,} records were"
    rows = "1 row" if left == 1 else f"{left:,} rows"
    return (
        f"{were} erased: files that are written now have {rows}; counts, limits and designs "
        "stay those of the table that the study was made of"
    )


@_checked
def _cut_in_words(bits: float, coalition: str, limit: float) -> str:
    return f"cut by {bits_up(bits)} bits: {coalition} may hold no more than {limit_in_words(limit)}"


@_checked
def _copied_in_words(release: int) -> str:
    """What it means that answers are handed on."""
    return (
        f"these are the answers of release {release}, handed to one more party: nothing is drawn, "
        "and everyone together learns nothing new"
    )


_WORDS: dict[str, Callable[..., str]] = {
    "bits_cut": _cut_in_words,
    "copied": _copied_in_words,
    "external_column": _external_in_words,
    "out_of_time": _out_of_time_in_words,
    "records_erased": _erased_in_words,
}
"""Kind of a remark in papers -> its words, from its values."""


def time_in_words(time: str) -> str:
    """When an entry was recorded, to the second; as it stands there if that is no time."""
    try:
        when = datetime.fromisoformat(time)
    except ValueError:
        return time
    if when.utcoffset() != timedelta(0):
        return time
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True, slots=True)
class _Units:
    """How values of a measure are said.

    Attributes:
        unit: a value with its unit.
        worth: what answers of a value are.
        guess: what a blind guess of a value does.
        judged: how answers are judged.
        name: of a column of values.
    """

    unit: Callable[[float], str]
    worth: Callable[[float], str]
    guess: Callable[[float], str]
    judged: str
    name: str


_COSTS = _Units(
    unit=lambda value: f"a cost of {value:.4f} on average",
    worth=lambda value: f"answers cost {value:.3g} on average",
    guess=lambda blind: f"costs {blind:.3g}",
    judged="what each answer costs where each level is true",
    name="Mean cost",
)

_OTHERS = {
    INFORMATION: _Units(
        unit=lambda value: f"{value:.4f} bits about what was asked",
        worth=lambda value: f"each answer tells {value:.3f} bits about what was asked",
        guess=lambda _: "tells none",
        judged="bits that an answer tells about what was asked",
        name="Bits about what is asked",
    ),
    SHARES: _Units(
        unit=lambda value: f"{sqrt(value):.4f} / sqrt(n), the largest standard error of a share",
        worth=lambda value: (
            "the share of every level among n records is estimated with a standard error of at "
            f"most {sqrt(value):.3g} / sqrt(n)"
        ),
        guess=lambda _: "estimates none",
        judged="how exactly the share of every level can be estimated",
        name="Number of records times the variance of a share",
    ),
}


def _units_of(kind: str) -> _Units:
    named = DISTORTIONS.get(kind)
    return _OTHERS.get(kind, _COSTS) if named is None else _units_of_distortion(named)


def _units_of_distortion(named: Distortion) -> _Units:
    return _Units(
        unit=lambda value: named.in_words.format(value=f"{value:.4f}"),
        worth=lambda value: f"answers are {named.in_words.format(value=f'{value:.3g}')}",
        guess=lambda blind: named.guess_in_words.format(value=f"{blind:.3g}"),
        judged=named.judged,
        name="Right answers, of 100" if named.is_share else "Mean error",
    )


def measure_in_words(kind: str) -> str:
    """How answers are judged: the measure's name, and what it means."""
    judged = _units_of(kind).judged
    return f"{kind}: {judged}" if judged else kind


def worth_name(kind: str) -> str:
    """What heads a column of values."""
    return _units_of(kind).name


def value_in_units(kind: str, value: float) -> str:
    """What answers are worth, with its unit."""
    return _units_of(kind).unit(value)


def value_in_words(kind: str, value: float, blind: float | None, objective: str = MEAN) -> str:
    """What answers are worth, beside a blind guess; ``None`` where that is worth nothing."""
    worth = worth_in_words(kind, value, blind, objective)
    if blind is not None and is_share(kind):
        n = _out_of(1 - value, 1 - blind)
        return f"{worth}; a blind guess gets {round(n * (1 - blind)):,} of {n:,}"
    return f"{worth}; a blind guess {_units_of(kind).guess(blind or 0.0)}"


def worth_in_words(
    kind: str,
    value: float,
    blind: float | None,
    objective: str = MEAN,
    beside: Sequence[float] = (),
) -> str:
    """What answers are worth; as fine as it takes to tell them from a blind guess.

    Shares are of one number here and in the words of ``beside``, values in the same column.
    """
    if objective != MEAN:
        return f"at the worst level, {worth_in_words(kind, value, blind, beside=beside)}"
    if blind is not None and is_share(kind):
        n = max(_out_of(1 - each, 1 - blind) for each in (value, *beside))
        return f"about {round(n * (1 - value)):,} of {n:,} values correct"
    return _units_of(kind).worth(value)


def is_share(kind: str) -> bool:
    """Whether a value is the share of wrong answers."""
    return kind in DISTORTIONS and DISTORTIONS[kind].is_share


def _out_of(share: float, guess: float) -> int:
    """10, or the power of 10 that tells both shares well enough, and from each other."""
    if min(share, guess) > 1 - _ROUNDED:  # all records have the same level
        return 100
    tens = all(abs(10 * each - round(10 * each)) < 0.15 for each in (share, guess))
    for n in (10, 100, 1_000) if tens else (100, 1_000):
        is_told_apart = round(n * share) != round(n * guess)
        if is_told_apart and (0 < round(n * share) < n or share in (0, 1)):
            return n
    return 10_000
