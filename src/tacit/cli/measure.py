"""The command ``tacit measure``: what files that are out already tell, by any tool."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tacit.cli.columns import columns_in_shell, parse_column
from tacit.cli.display import plain, show_json, show_remarks, show_rows, waiting
from tacit.cli.options import AsJson
from tacit.errors import InvalidInputError
from tacit.words.remarks import remark_in_words, remarks_for_machines

if TYPE_CHECKING:
    from tacit.measuring import Measured


def measure(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="Everybody, a row for each person.")
    ],
    id_column: Annotated[
        str, typer.Option("--id", metavar="COLUMN", help="The column that tells people apart.")
    ],
    secret: Annotated[
        str,
        typer.Option(metavar="COLUMN", help="What must not be found out; as init takes columns."),
    ],
    held: Annotated[
        list[str],
        typer.Option(metavar="PARTY=FILE", help="A file that a party has; again for each."),
    ],
    known: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="A column that others may know already; repeatable."),
    ] = None,
    same: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARTY:COLUMN=KNOWN",
            help="A column of its file that stands for a known one of another name; repeatable.",
        ),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARTY=KEYS",
            help="A table of ids and of the keys that its file has instead; repeatable.",
        ),
    ] = None,
    pool: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARTY+PARTY", help="Look at this pool only; repeatable. Default: all pairs."
        ),
    ] = None,
    ids: Annotated[
        Literal["hidden", "shown"],
        typer.Option(help="Whether the parties see whose row is whose."),
    ] = "hidden",
    min_cell: Annotated[
        int, typer.Option(metavar="ROWS", min=2, help="Fewer rows than this are few.")
    ] = 10,
    no_learner: Annotated[
        bool, typer.Option("--no-learner", help="Counts only: quicker, and they overfit.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with a picture, too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """What files that are out tell about a secret, party by party and pooled.

    Needs no study and no trust in anybody's noise; nothing is recorded.
    """
    from tacit.measuring import measure
    from tacit.words.measured import measured_heading, measured_headline, measured_rows

    if html is not None and html.suffix != ".html":
        raise InvalidInputError(f"--html {html}: give a name that ends in .html")
    files: dict[str, list[str]] = {}
    for party, file in _pairs("held", held):
        files.setdefault(party, []).append(file)
    stands_for: dict[str, dict[str, str]] = {}
    for where, column in _pairs("same", same or ()):
        party, colon, name = where.partition(":")
        if not colon:
            raise InvalidInputError(f"--same {where}={column}: give party:column=known")
        stands_for.setdefault(party, {})[name] = column
    with columns_in_shell(), waiting("measuring"):
        found = measure(
            table,
            id=id_column,
            secret=parse_column(secret),
            known=known or (),
            held=files,
            same=stands_for,
            link=dict(_pairs("link", link or ())),
            pool=pool,
            ids_shown=ids == "shown",
            min_cell=min_cell,
            learner=not no_learner,
        )
    if html is not None:
        html.write_text(_page(found), encoding="utf-8")
    if as_json:
        show_json(found.as_dict() | {"remarks": remarks_for_machines(found.remarks)})
        return
    print(plain(measured_headline(found)))
    show_rows(measured_heading(found), measured_rows(found))
    show_remarks(found.remarks)


def _pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        left, sign, right = text.partition("=")
        if not (left and sign and right):
            raise InvalidInputError(f"--{option} {text}: two names with = between them are needed")
        pairs.append((left, right))
    return pairs


def _page(found: Measured) -> str:
    """The same as one page: headline, picture, table, remarks."""
    from tacit.markup import html_table
    from tacit.measuring import measured_figure
    from tacit.plots import svg_of
    from tacit.words.measured import measured_heading, measured_headline, measured_rows

    headline = escape(measured_headline(found))
    has_curves = any(each.right is not None for each in found.coalitions)
    picture = svg_of(measured_figure(found)) if has_curves else ""
    svg = picture[picture.index("<svg") :] if picture else ""
    table = html_table(
        f"{found.secret}: figures before the files in brackets",
        measured_heading(found),
        measured_rows(found),
    )
    notes = "".join(f"<p>note: {escape(remark_in_words(each))}</p>" for each in found.remarks)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>tacit measure</title>\n'
        "<style>body{font-family:sans-serif;margin:2em}td,th{padding:.3em .7em;text-align:right}"
        "td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto}</style>\n"
        f'<h1>{headline}</h1>\n<figure role="img" aria-label="{headline}">{svg}</figure>\n'
        f"{table}\n{notes}\n</html>\n"
    )
