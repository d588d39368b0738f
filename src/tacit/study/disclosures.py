"""What releases of a study disclose: to their party, and to every limited coalition around it.

It follows from the recorded designs and the public counts, never from what was drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tacit.accounting import Account
from tacit.auditing import (
    Disclosure,
    class_variable,
    disclosed_levels,
    list_disclosures,
    most_complete_first,
)
from tacit.auditing.disclosure import Levels
from tacit.limits import Parties
from tacit.scheme import Variable
from tacit.study.books.books import Books
from tacit.tables import Question


def list_variables(books: Books, *more: Question) -> Iterator[Variable]:
    """Every column that can be asked for, and whatever else was asked; each is large on its own."""
    attributes = books.created.attributes
    shape = [len(each.labels) for each in attributes]
    for axis, each in enumerate(attributes):
        levels = np.indices(shape, sparse=True)[axis]
        codes = np.broadcast_to(levels, shape).reshape(-1)
        yield Variable(each.name, np.eye(shape[axis])[codes], each.labels)
    asked = [intent.request.question for intent in books.intents.values()]
    known = {each.name for each in attributes}
    others = {each.name: each for each in (*books.externals.values(), *asked, *more)}
    for name, question in others.items():
        if name not in known:
            yield Variable(name, question.p_r_given_x, question.labels)


def find_disclosures(
    books: Books,
    after: Account,
    coalitions: Collection[Parties],
    *asked: Question,
    before: Account | None = None,
) -> tuple[Disclosure, ...]:
    """Levels that coalitions can tell, and could not before, as the ledger names parties.

    Of a coalition whose law is not carried, what is carried within it counts.

    Args:
        books: of the study, for one cohort.
        after: what coalitions hold.
        coalitions: whose answers count.
        asked: what is asked now, beside all columns of the study and what was asked before.
        before: what they held then; nothing by default.
    """
    variables = [*list_variables(books, *asked)]
    held = _levels_told(books, after, coalitions, variables)
    if before is None:
        return list_disclosures(held)
    news = [each for each, levels in held.items() if levels]
    return list_disclosures(held, _levels_told(books, before, news, variables))


def _levels_told(
    books: Books, account: Account, coalitions: Collection[Parties], variables: Sequence[Variable]
) -> dict[Parties, Levels]:
    """What each coalition can tell."""
    memory, records = account.memory, books.cohort.record.records
    on_classes = [class_variable(each, books.p_x, memory.class_of_x) for each in variables]
    return {
        each: disclosed_levels(
            memory.known_laws(each & memory.present)[0], on_classes, records, sorted(each)
        )
        for each in coalitions
    }


def recorded_disclosures(by_cohort: Iterable[Books]) -> tuple[Disclosure, ...]:
    """What every party and every limited coalition can tell now, as releases recorded it."""
    found = []
    for books in by_cohort:
        held: dict[Parties, dict[tuple[str, str], Disclosure]] = {}
        for intent in books.intents.values():
            for each in intent.record.disclosures:
                held.setdefault(frozenset(each.whom), {})[each.column, each.level] = each
        found.append((books, list_disclosures(held)))
    return shown_disclosures(found)


def shown_disclosures(
    by_cohort: Iterable[tuple[Books, Iterable[Disclosure]]],
) -> tuple[Disclosure, ...]:
    """Disclosures for people: with their cohort."""
    return most_complete_first(
        replace(each, cohort=books.cohort_shown) for books, found in by_cohort for each in found
    )
