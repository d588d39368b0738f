"""Remarks as people read them."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.remark import Remark
from tacit.words.remarks import remark_in_words


def in_words(remarks: Iterable[Remark]) -> list[str]:
    return list(map(remark_in_words, remarks))
