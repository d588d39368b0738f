"""Checks a receipt or certificate against the ledger and its seal."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from tacit.errors import InvalidInputError
from tacit.ledger import Entry
from tacit.remark import Remark
from tacit.study.books.books import Books, Intent
from tacit.study.digest_keys import DigestKeys
from tacit.study.entry_kinds import describe_entry, read_around
from tacit.study.reports.receipts import (
    EntryReceipt,
    Paper,
    Receipt,
    certificate_of,
    entry_receipt,
    receipt_of,
    refuse_other_format,
    seal_of,
)
from tacit.study.requests.risk import complete_receipt

_EMBEDDED = re.compile(r'<script type="application/json" id="receipt">(.*?)</script>', re.DOTALL)

_SAME = 1e-9
"""Figures in ``_COMPUTED`` are computed again, and may differ by rounding on another machine."""

_COMPUTED = ("entropy_bits", "held_before", "risks")

_MOST_SHOWN = 60
_MOST_NAMED = 20


class _Head(BaseModel):
    """What every paper has that a ledger can be asked for."""

    model_config = ConfigDict(strict=True)

    format: int
    study: str
    entry: int
    hash: str


@dataclass(frozen=True, slots=True)
class KeptPaper:
    """A receipt (JSON or HTML) or a certificate that somebody kept.

    Attributes:
        path: where it was found.
        content: all that it says.
        page: text of the HTML page that it stands in; ``None`` for JSON.
    """

    path: Path
    content: dict[str, Any]
    page: str | None

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a file.

        Raises:
            InvalidInputError: it is no paper, or one of another version.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInputError(f"cannot read the receipt {path}: {error}") from error
        embedded = _EMBEDDED.search(text)
        try:
            content = json.loads(embedded.group(1) if embedded else text)
            head = _Head.model_validate(content)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{path} is no receipt: give a receipt of a study, or a certificate"
            ) from error
        refuse_other_format(path, head.format)
        return cls(path, content, text if embedded else None)

    @property
    def study(self) -> str:
        """The study's id."""
        return str(self.content["study"])

    @property
    def entry(self) -> int:
        """Number of the entry that it speaks of."""
        return int(self.content["entry"])

    @property
    def hash(self) -> str:
        """Hash of that entry."""
        return str(self.content["hash"])

    @property
    def seal(self) -> str | None:
        """Its seal, if it carries one."""
        seal = self.content.get("seal")
        return seal if isinstance(seal, str) else None

    @property
    def is_certificate(self) -> bool:
        """Whether it is for a recipient."""
        return "p_rhat_given_r" in self.content

    def is_genuine(self, key: bytes | None) -> bool | None:
        """Whether its seal is the study's; ``None`` where that cannot be told."""
        if key is None or self.seal is None:
            return None
        try:
            made = seal_of(self.content, key)
        except InvalidInputError:  # it says something that no paper can
            return False
        return hmac.compare_digest(made.encode(), self.seal.encode(errors="replace"))


@dataclass(slots=True)
class PaperCheck:
    """What is wrong with a paper, and what could not be checked.

    Attributes:
        paper: what came back.
        keys: that tell genuine papers and files, where there are any.
        problems: what is wrong.
        notes: what could not be checked, and why.
    """

    paper: KeptPaper
    keys: DigestKeys | None
    problems: list[Remark] = field(default_factory=list)
    notes: list[Remark] = field(default_factory=list)

    def against(self, books: Books, entries: list[Entry]) -> None:
        """Compare everything that the paper shows with what the ledger says now."""
        paper = self.paper
        if paper.study != entries[0].study:
            self._blame("paper_of_other_study", study=_shown(paper.study))
            return
        if not 1 <= paper.entry <= len(entries) or entries[paper.entry - 1].hash != paper.hash:
            self._blame_missing()
            return
        self._check_seal()
        intent = books.releases.get(paper.entry)
        if intent is not None:
            self._compare(self._of_release(books, intent, entries))
        elif entries[paper.entry - 1].kind in ("intent", "copy"):
            self._note("paper_not_compared")
            return
        else:
            entry = entries[paper.entry - 1]
            self._compare(entry_receipt(entry, describe_entry(entry)))
        self._check_page()

    def _blame(self, code: str, **values: Any) -> None:
        self.problems.append(Remark(code, {"paper": str(self.paper.path), **values}))

    def _note(self, code: str, **values: Any) -> None:
        self.notes.append(Remark(code, {"paper": str(self.paper.path), **values}))

    def _blame_missing(self) -> None:
        """Say that the ledger lacks the entry.

        The seal decides whether the ledger lost it or the paper is forged. Without a key, or
        without a seal, both are possible.
        """
        entry = self.paper.entry
        match self.paper.is_genuine(self._paper_key):
            case True:
                self._blame("entry_lost_by_ledger", entry=entry)
            case False:
                self._blame("paper_forged", entry=entry)
            case None if self.paper.seal is None:
                self._blame("unsealed_paper_not_in_ledger", entry=entry)
            case None:
                self._blame("sealed_paper_not_in_ledger", entry=entry)

    def _check_seal(self) -> None:
        paper = self.paper
        is_genuine = paper.is_genuine(self._paper_key)
        if is_genuine is False:
            self._blame("paper_seal_wrong")
        elif paper.seal is None:
            self._note("paper_unsealed")
        elif is_genuine is None:
            self._note("paper_seal_not_checked")

    @property
    def _paper_key(self) -> bytes | None:
        return None if self.keys is None else self.keys.paper

    def _of_release(self, books: Books, intent: Intent, entries: list[Entry]) -> Paper:
        """The paper as it would be made now, except where a genuine paper may differ."""
        said = self.paper.content
        books = self._at_time_of_paper(books.look_at(intent.record.cohort))
        intent = books.intents[intent.entry.number]
        delivery = intent.delivery
        if not self.paper.is_certificate:
            around = read_around(entries, intent.entry.number)
            made = complete_receipt(receipt_of(books, intent), *around)
            if delivery is None or said.get("digest") is not None or said.get("file") is not None:
                return made
            self._note("paper_before_delivery", release=intent.entry.number)
            return made.model_copy(update={"digest": None, "file": None})
        # A crash between the certificate and the entry that records it leaves such a certificate.
        digest = str(said.get("digest")) if intent.digest is None else intent.digest
        if delivery is None:
            self._note("paper_digest_not_compared", release=intent.entry.number)
        return certificate_of(books, intent, digest, self._digest_key(intent))

    def _at_time_of_paper(self, books: Books) -> Books:
        """The books before erasures that the paper does not know of, by its count of records."""
        for before in books.before_erasures:
            if before.cohort.n_left == self.paper.content.get("records"):
                erased = books.cohort.n_erased - before.cohort.n_erased
                self._note("paper_before_erasure", records=erased)
                return before
        return books

    def _digest_key(self, intent: Intent) -> bytes:
        found = None if self.keys is None else self.keys.releases.get(intent.entry.hash)
        if found is not None:
            return found
        self._note("paper_digest_key_not_compared")
        try:
            return bytes.fromhex(self.paper.content["digest_key"])
        except (KeyError, TypeError, ValueError):
            return b"\0"

    def _compare(self, made: Paper) -> None:
        """Name every field that differs from the paper as the ledger would have it."""
        expected = made.model_dump(mode="json")
        expected["seal"] = self.paper.content.get("seal")  # it was checked before
        found = list(_differences(self.paper.content, expected))
        for name, said, so in found[:_MOST_NAMED]:
            self._blame("paper_differs", field=name, said=said, ledger=so)
        if len(found) > _MOST_NAMED:
            self._blame("paper_differs_more", fields=len(found) - _MOST_NAMED)

    def _check_page(self) -> None:
        """Whether the page that people read is what its data say."""
        paper = self.paper
        if paper.page is None:
            return
        model = Receipt if "holdings" in paper.content else EntryReceipt
        try:
            page = model.model_validate(paper.content).as_html()
        except ValidationError:
            self._blame("page_forged")
            return
        pairs = zip_longest(paper.page.splitlines(), page.splitlines(), fillvalue="")
        shown, right = next((pair for pair in pairs if pair[0] != pair[1]), (None, None))
        if shown is not None:
            self._blame("page_changed", shown=_shown(shown), right=_shown(right))


def _differences(found: Any, expected: Any, name: str = "") -> Iterator[tuple[str, str, str]]:
    """Where, what is said there, and what should be."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in dict.fromkeys([*expected, *found]):
            below = f"{name}.{key}" if name else str(key)
            if key not in found:
                yield below, "nothing", _shown(expected[key])
            elif key not in expected:
                yield below, _shown(found[key]), "nothing"
            else:
                yield from _differences(found[key], expected[key], below)
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        for k, (said, so) in enumerate(zip(found, expected, strict=True)):
            yield from _differences(said, so, f"{name}[{k}]")
    elif not _is_same(found, expected, name):
        yield name, _shown(found), _shown(expected)


def _is_same(found: object, expected: object, name: str) -> bool:
    if name.startswith(_COMPUTED) and isinstance(found, float) and isinstance(expected, float):
        return abs(found - expected) <= _SAME * max(1.0, abs(expected))
    # 1 and 1.0 are one number in JSON; true is none.
    is_bool = isinstance(found, bool), isinstance(expected, bool)
    return found == expected and is_bool[0] == is_bool[1]


def _shown(value: object) -> str:
    """A value of a paper on one line."""
    text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
