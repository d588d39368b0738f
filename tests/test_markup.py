"""Tables in HTML."""

from __future__ import annotations

from tacit.markup import html_table


def test_texts_are_escaped() -> None:
    table = html_table("a < b", ["x & y"], [["<i>"], ["2"]])
    assert table == (
        "<table>\n<caption>a &lt; b</caption>\n<tr><th>x &amp; y</th></tr>\n"
        "<tr><td>&lt;i&gt;</td></tr>\n<tr><td>2</td></tr>\n</table>"
    )
