"""What a study writes into its ledger: one model for each kind of entry."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import CorruptLedgerError
from tacit.ledger import Entry
from tacit.scheme import Collusion

STUDY_FORMAT = 1
"""Of a study's folder and of its entries; larger numbers are from newer versions."""


class Record(BaseModel):
    """The body of an entry."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def of(cls, entry: Entry) -> Self:
        """The body of an entry that is in the ledger."""
        try:
            return cls.model_validate(entry.body)
        except ValidationError as error:
            raise CorruptLedgerError(
                f"entry {entry.number} of study {entry.study} is no {entry.kind!r} entry that this "
                f"version of tacit can read: {error.error_count()} fields do not fit"
            ) from error


class ToldRecord(Record):
    """The body of an entry that is no release, and so has no receipt of that kind."""

    @property
    def in_words(self) -> str:
        """For people."""
        raise NotImplementedError


class ExternalRecord(Record):
    """An external column's public law: records by cell and level, [x, r]."""

    labels: tuple[str, ...]
    numbers: tuple[float | None, ...] | None
    counts: list[list[int]]


class AttributeRecord(Record):
    """A private attribute as everybody may know it."""

    name: str
    labels: tuple[str, ...]


class CreatedRecord(ToldRecord):
    """A study begins. Digests and the check of the key are keyed, for what they digest is private.

    Attributes:
        format: of everything that a study writes.
        made_by: version of tacit.
        records: how many there are.
        attributes: axes of the cells, in C order.
        counts: records in each cell x.
        externals: external column -> its law.
        memory: the most states that a record's past is remembered by.
        everyone: bits about one record that all parties may hold together; ``None`` for no limit.
        is_id_public: whether release files carry raw ids.
        key_check: tells this study's key from others.
        snapshot_digest: of the encoded table.
    """

    format: int
    made_by: str
    records: int
    attributes: tuple[AttributeRecord, ...]
    counts: list[int]
    externals: dict[str, ExternalRecord]
    memory: int
    everyone: float | None
    is_id_public: bool
    key_check: str
    snapshot_digest: str

    @property
    def in_words(self) -> str:
        """For people."""
        names = ", ".join(attribute.name for attribute in self.attributes)
        begins = f"a study of {self.records:,} records begins, private are {names}"
        limit = "" if self.everyone is None else f"; everyone may learn {self.everyone:.12g} bits"
        return begins + limit


class PartyRecord(ToldRecord):
    """A party joins, or its limit changes: bits about one record, over all that it ever holds."""

    party: str
    limit: float

    @property
    def in_words(self) -> str:
        """For people."""
        return f"{self.party} may learn {self.limit:.12g} bits about a record"


class PolicyRecord(ToldRecord):
    """Limits on coalitions, in the place of those before."""

    everyone: float | None = None
    any_size: int | None = None
    bits: float | None = None
    groups: tuple[tuple[tuple[str, ...], float], ...] = ()

    @classmethod
    def of_policy(cls, policy: Collusion) -> PolicyRecord:
        """The record of a policy."""
        groups = sorted((tuple(sorted(group)), bits) for group, bits in policy.groups.items())
        return cls(
            everyone=policy.everyone,
            any_size=policy.any_size,
            bits=policy.bits,
            groups=tuple(groups),
        )

    @property
    def in_words(self) -> str:
        """For people."""
        parts = [] if self.everyone is None else [f"everyone: {self.everyone:.12g} bits"]
        if self.any_size is not None:
            parts.append(f"any {self.any_size} parties: {self.bits:.12g} bits")
        parts += [f"{' + '.join(group)}: {bits:.12g} bits" for group, bits in self.groups]
        return "limits on coalitions: " + ("; ".join(parts) or "none")

    @property
    def newcomers(self) -> dict[str, float]:
        """Parties that a group lets in, unless they have a limit: each may hold what it may."""
        least_last = sorted(self.groups, key=lambda group: -group[1])
        return {party: bits for parties, bits in least_last for party in parties}

    @property
    def policy(self) -> Collusion:
        """The policy of a record."""
        return Collusion(self.everyone, self.any_size, self.bits, dict(self.groups))


class QuestionRecord(Record):
    """What was asked: a function of the cell, or an external column by its name."""

    name: str
    labels: tuple[str, ...]
    numbers: tuple[float | None, ...] | None
    external: str | None = None
    sql: str | None = None
    letter_of_cell: tuple[int, ...] | None = None


class MeasureRecord(Record):
    """How answers are judged: a word, or a table of costs [rhat, r]."""

    kind: str
    costs: tuple[tuple[float, ...], ...] | None = None


class HoldingRecord(Record):
    """A coalition that a release feeds: its limit, and what it holds at most after it."""

    parties: tuple[str, ...]
    limit: float
    bits: float
    is_covered: bool
    multiplier: float


class IntentRecord(Record):
    """A release, recorded before the first letter is drawn; its integer channel is the payload.

    Attributes:
        identity: requests with the same identity get the same release.
        party: who receives it.
        question: what was asked.
        measure: how answers are judged.
        bits: what the party was to learn at most; ``None`` for all that was left to it.
        letters: what each answer is called.
        time_shares: how many channels take turns, disclosed as ``t``.
        p_rhat_given_r: what the recipient may know, [r, (t, rhat)].
        next_state: state after it, [m, letter]; -1 where that cannot occur.
        holdings: every limited coalition that the release feeds.
        everyone_bits: what all parties together hold at most after it.
        value: mean cost of the answers, or bits about R.
        blind: the same for answers that do not look at the record.
        bound: no release does better that keeps the design's reserve below these limits; ``None``
            where no proof is known.
    """

    identity: str
    party: str
    question: QuestionRecord
    measure: MeasureRecord
    bits: float | None
    letters: tuple[str, ...]
    time_shares: int
    p_rhat_given_r: list[list[float]]
    next_state: list[list[int]]
    holdings: tuple[HoldingRecord, ...]
    everyone_bits: float
    value: float
    blind: float
    bound: float | None


class DeliveredRecord(ToldRecord):
    """A release's file was written; the digest is keyed and does not depend on the format."""

    intent: int
    digest: str
    file: str

    @property
    def in_words(self) -> str:
        """For people."""
        return f"the file of release {self.intent} was written"


class ClosedRecord(ToldRecord):
    """The key was destroyed: no more releases."""

    releases: int

    @property
    def in_words(self) -> str:
        """For people."""
        return f"the key was destroyed after {self.releases} releases"


_TOLD: dict[str, type[ToldRecord]] = {
    "created": CreatedRecord,
    "party": PartyRecord,
    "policy": PolicyRecord,
    "delivered": DeliveredRecord,
    "closed": ClosedRecord,
}


def entry_in_words(entry: Entry) -> str:
    """What an entry that is no release says, for people."""
    return _TOLD[entry.kind].of(entry).in_words
