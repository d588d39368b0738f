"""What a sheet of an Excel file says of its cells beside their values.

The reader of Excel files gives nothing but values: a cell that is covered by another, an error and
a formula without a saved value are all empty there. A sheet is XML in a ZIP archive.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from posixpath import join, normpath
from zipfile import BadZipFile, ZipFile

_WORKBOOK = "xl/workbook.xml"
_LINKS = "xl/_rels/workbook.xml.rels"

_PREFIX = rb"(?:\w+:)?"
_MERGED = re.compile(rb"<" + _PREFIX + rb'mergeCell\s[^>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_CELL = rb"<" + _PREFIX + rb"c\s([^>]*)>"
_VALUE = rb"<" + _PREFIX + rb"v(?:\s[^>]*)?>"
_FORMULA = rb"(?:<" + _PREFIX + rb"f(?:\s[^>]*)?(?:/>|>[^<]*</" + _PREFIX + rb"f>))"
_ERROR = re.compile(
    rb"<" + _PREFIX + rb'c\s([^>]*\bt="e"[^>]*)>' + _FORMULA + rb"?" + _VALUE + rb"([^<]*)<"
)
_UNFILLED = re.compile(
    _CELL + _FORMULA + rb"(?:<" + _PREFIX + rb"v\s*/>|" + _VALUE + rb"\s*<|</" + _PREFIX + rb"c>)"
)
_NEGATIVE = re.compile(_CELL + _FORMULA + rb"?" + _VALUE + rb"-")
_AT = re.compile(rb'\br="([A-Z]+)(\d+)"')
_IS_TEXT = re.compile(rb'\bt="str"')


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A cell: its row and column, both from 0."""

    row: int
    column: int

    def __str__(self) -> str:
        """As Excel calls it, such as B2."""
        letters, left = "", self.column + 1
        while left:
            left, sign = divmod(left - 1, 26)
            letters = chr(ord("A") + sign) + letters
        return f"{letters}{self.row + 1}"


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """Cells of a sheet that are read as empty, or may be read as what they are not.

    Attributes:
        merged: first and last cell of each range that is merged.
        unfilled: formulas whose values were not saved.
        negative: numbers below 0, which dates may not be.
        errors: errors, such as #N/A, by their places.
    """

    merged: list[tuple[Place, Place]] = field(default_factory=list)
    unfilled: list[Place] = field(default_factory=list)
    negative: list[Place] = field(default_factory=list)
    errors: dict[Place, str] = field(default_factory=dict)


def read_marks(path: Path, sheet: str) -> Marks:
    """The marks of a sheet; none where the archive is of another make than Excel's."""
    try:
        with ZipFile(path) as archive:
            xml = archive.read(_part_of(archive, sheet))
    except (BadZipFile, KeyError):
        return Marks()
    return Marks(
        merged=[(_place(*found[:2]), _place(*found[2:])) for found in _MERGED.findall(xml)],
        # The value of a formula may be an empty text.
        unfilled=[
            place
            for found in _UNFILLED.finditer(xml)
            if not _IS_TEXT.search(found[1])
            for place in _places(found[1])
        ],
        negative=[place for found in _NEGATIVE.finditer(xml) for place in _places(found[1])],
        errors={
            place: unescape(found[2].decode())
            for found in _ERROR.finditer(xml)
            for place in _places(found[1])
        },
    )


def _part_of(archive: ZipFile, sheet: str) -> str:
    """The file in the archive that a sheet is in."""
    workbook, links = archive.read(_WORKBOOK).decode(), archive.read(_LINKS).decode()
    targets = {each["Id"]: each["Target"] for each in _tags(links, "Relationship")}
    link_of = {
        each["name"]: link
        for each in _tags(workbook, "sheet")
        for key, link in each.items()
        if key.endswith(":id")
    }
    return normpath(join("/xl", targets[link_of[sheet]])).lstrip("/")


def _tags(xml: str, name: str) -> Iterator[dict[str, str]]:
    """The attributes of every tag of this name."""
    for tag in re.findall(rf"<(?:\w+:)?{name}\s([^>]*)>", xml):
        yield {
            key: unescape(double or single)
            for key, double, single in re.findall(r"""([\w:]+)=(?:"([^"]*)"|'([^']*)')""", tag)
        }


def _places(attributes: bytes) -> Iterator[Place]:
    found = _AT.search(attributes)
    if found is not None:
        yield _place(found[1], found[2])


def _place(letters: bytes, row: bytes) -> Place:
    column = 0
    for letter in letters:
        column = 26 * column + letter - ord("A") + 1
    return Place(int(row) - 1, column - 1)
