"""Papers that leave a study: receipts for people, and a certificate beside each release file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tacit.errors import InvalidInputError
from tacit.study.records import HoldingRecord, entry_in_words
from tacit.study.utilities import Measure
from tacit.study.wording import bits_up, value_in_words
from tacit.tables.whole_file import whole_file

if TYPE_CHECKING:  # a recipient who reads a certificate has no ledger
    from tacit.ledger import Entry
    from tacit.study.books import Books, Intent

PAPER_FORMAT = 1
CERTIFICATE_SUFFIX = ".certificate.json"

_EMBEDDED = re.compile(r'<script type="application/json" id="receipt">(.*?)</script>', re.DOTALL)


class Paper(BaseModel):
    """What every paper says: which entry of which study's ledger it speaks of.

    Attributes:
        format: of the paper.
        study: the study's id.
        entry: number of the entry in the ledger.
        hash: that seals it.
        time: when it was recorded.
        in_words: what it says.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    format: int = PAPER_FORMAT
    study: str
    entry: int
    hash: str
    time: str
    in_words: str

    def write(self, path: Path) -> None:
        """As JSON, whole or not at all."""
        with whole_file(path) as file:
            file.write(self.model_dump_json(indent=2).encode() + b"\n")

    def _as_page(self, template: str) -> str:
        from jinja2 import Environment, PackageLoader

        environment = Environment(
            loader=PackageLoader("tacit.study"), autoescape=True, trim_blocks=True
        )
        environment.filters["bits_up"] = bits_up
        # "</" would end the script element early.
        data = self.model_dump_json().replace("</", "<\\/")
        return environment.get_template(template).render(paper=self, json=data)


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
        remarks: what whoever reads the answers should know; papers of 0.1 have none.
    """

    party: str
    request: str
    measure: str
    party_bits: float
    records: int
    digest: str | None
    remarks: tuple[str, ...] = ()


class Receipt(ReleasePaper):
    """For the custodian: names other parties, so it is not for the recipient.

    Attributes:
        file: where the release was written last.
        value: mean cost of the answers, or bits about R.
        blind: the same for a blind guess.
        bound: no release within the limits does better.
        everyone_bits: what all parties together hold at most.
        holdings: every limited coalition that the release fed.
    """

    file: str | None
    value: float
    blind: float
    bound: float | None
    everyone_bits: float
    holdings: tuple[HoldingRecord, ...]

    def as_html(self) -> str:
        """One page that opens anywhere; it holds the receipt for machines, too."""
        return self._as_page("receipt.html")


class Certificate(ReleasePaper):
    """For the recipient: all that is needed to estimate from the file, and nothing of others.

    Attributes:
        labels: letters of what was asked.
        letters: letters in the file's column ``rhat``.
        time_shares: how many channels take turns; the file has a column ``t`` where several do.
        p_rhat_given_r: law of the answer given the truth, [r, (t, rhat)].
        digest_key: under which ``digest`` was made.
    """

    labels: tuple[str, ...]
    letters: tuple[str, ...]
    time_shares: int
    p_rhat_given_r: list[list[float]]
    digest_key: str = Field(pattern=r"^([0-9a-f]{2})+$")

    @model_validator(mode="after")
    def _has_one_row_for_each_label(self) -> Self:
        n_letters = self.time_shares * len(self.letters)
        rows = [len(row) for row in self.p_rhat_given_r]
        if rows != [n_letters] * len(self.labels):
            raise ValueError("p_rhat_given_r has another shape than labels and letters")
        return self

    @classmethod
    def beside(cls, release: Path) -> Self:
        """The certificate of a release file."""
        path = certificate_path(release)
        try:
            return cls.model_validate_json(path.read_bytes())
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


class Sealed(BaseModel):
    """What every paper has that a ledger can be asked for."""

    study: str
    entry: int
    hash: str

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a receipt (JSON or HTML) or a certificate."""
        try:
            text = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"cannot read the receipt {path}: {error}") from error
        embedded = _EMBEDDED.search(text)
        try:
            return cls.model_validate(json.loads(embedded.group(1) if embedded else text))
        except ValueError as error:
            raise InvalidInputError(
                f"{path} is no receipt: give a file made by tacit receipt, or a certificate"
            ) from error


def certificate_path(release: Path) -> Path:
    """Where the certificate of a release file lies."""
    return release.with_name(release.name + CERTIFICATE_SUFFIX)


def receipt_of(books: Books, intent: Intent) -> Receipt:
    """The custodian's receipt of a release."""
    record, delivery = intent.record, intent.delivery
    return Receipt(
        **_common(books, intent),
        digest=None if delivery is None else delivery.digest,
        file=None if delivery is None else delivery.file,
        value=record.value,
        blind=record.blind,
        bound=record.bound,
        everyone_bits=record.everyone_bits,
        holdings=record.holdings,
    )


def entry_receipt(entry: Entry) -> EntryReceipt:
    """The custodian's receipt of an entry that is no release."""
    return EntryReceipt(
        study=entry.study,
        entry=entry.number,
        hash=entry.hash,
        time=entry.time,
        in_words=entry_in_words(entry),
        kind=entry.kind,
    )


def certificate_of(books: Books, intent: Intent, digest: str, digest_key: bytes) -> Certificate:
    """The recipient's certificate of a release."""
    return Certificate(
        **_common(books, intent),
        digest=digest,
        labels=intent.wish.question.labels,
        letters=intent.record.letters,
        time_shares=intent.record.time_shares,
        p_rhat_given_r=intent.record.p_rhat_given_r,
        digest_key=digest_key.hex(),
    )


def _common(books: Books, intent: Intent) -> dict[str, Any]:
    record = intent.record
    own = next(each.bits for each in record.holdings if each.parties == (record.party,))
    return {
        "study": intent.entry.study,
        "entry": intent.number,
        "hash": intent.entry.hash,
        "time": intent.entry.time,
        "party": record.party,
        "request": record.question.name,
        "measure": record.measure.kind,
        "in_words": value_in_words(Measure.of_record(record.measure), record.value, record.blind),
        "party_bits": own,
        "records": int(books.counts.sum()),
        "remarks": intent.wish.question.remarks,
    }
