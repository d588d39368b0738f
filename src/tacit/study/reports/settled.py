"""Facts about people that single answers of recorded releases settle.

They follow from the recorded designs and public counts: one pass over the states of the memory, and
no law of a coalition. What several answers settle together is for quotes, receipts and audits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.arrays import Array
from tacit.auditing import certain_levels
from tacit.auditing.text import settled_in_words
from tacit.scheme import Variable
from tacit.scheme.views import class_sums, parent_classes
from tacit.study.books.books import Books, Intent

_MOST_NAMED = 2
"""So many facts of a release are named; of more, the one about the fewest records."""


@dataclass(frozen=True, slots=True)
class SettledFacts:
    """What single answers of a release settle.

    Attributes:
        release: its number in the ledger.
        party: who received it.
        request: what it answers.
        cohort: whom it is about.
        records: how many the cohort has.
        certain: private attribute, or what was asked -> level -> share of the records that are
            known to have it.
    """

    release: int
    party: str
    request: str
    cohort: int
    records: int
    certain: dict[str, dict[str, float]]

    @property
    def in_words(self) -> str:
        """The fact about the fewest records, and how many more there are."""
        facts = [
            (round(share, 9), about != self.request, about, level)
            for about, levels in self.certain.items()
            for level, share in levels.items()
        ]
        facts.sort(key=lambda fact: fact[:2])
        said = [
            settled_in_words(about, level, share, self.records) for share, _, about, level in facts
        ]
        others = said[1:] if len(said) <= _MOST_NAMED else [f"{len(said) - 1} more such facts"]
        tells = f"an answer of release {self.release} tells {self.party} {said[0]}"
        return "; ".join([tells, *others])

    def as_dict(self) -> dict[str, Any]:
        """For machines, with the words that people read."""
        return asdict(self) | {"in_words": self.in_words}


def settled_by_answers(books: Books) -> tuple[SettledFacts, ...]:
    """Every release of which an answer settles a fact, in the order of the ledger."""
    found = [each for cohort in books.by_cohort for each in _settled_in_cohort(cohort)]
    return tuple(sorted(found, key=lambda each: each.release))


def _settled_in_cohort(books: Books) -> Iterator[SettledFacts]:
    """Those of a cohort, from p(m given class) before each release, [m, class]."""
    classes, states = np.zeros(len(books.counts), dtype=np.intp), np.ones((1, 1))
    p_x, copies = books.p_x, [each for each in books.intents.values() if each.source is not None]
    for intent in books.cohort.drawn:
        states = states[:, parent_classes(classes, intent.class_of_x)]
        classes = intent.class_of_x
        told = states[..., None] * intent.channel.law  # p(m, letter | class), [m, class, letter]
        certain = {
            variable.name: levels
            for variable in _variables(books, intent, p_x)
            if (levels := certain_levels(variable, told.sum(axis=0).T))
        }
        if certain:
            same = [each for each in copies if each.drawn.entry == intent.entry]
            for each in (intent, *same):
                yield SettledFacts(
                    each.entry.number,
                    books.shown_name(each.request.party),
                    intent.request.question.name,
                    books.cohort.number,
                    books.cohort.record.records,
                    certain,
                )
        states = _states_after(told, intent)


def _variables(books: Books, intent: Intent, p_x: Array) -> Iterator[Variable]:
    """Every private attribute, and what was asked, with p(class, level), [class, level]."""
    classes, n_classes = intent.class_of_x, int(intent.class_of_x.max()) + 1

    def counted(name: str, labels: tuple[str, ...], levels: NDArray[np.intp]) -> Variable:
        pairs = classes * len(labels) + levels
        sums = np.bincount(pairs, weights=p_x, minlength=n_classes * len(labels))
        joint = sums.astype(np.float64).reshape(n_classes, len(labels))
        return Variable(name, joint, labels)

    question, attributes = intent.request.question, books.created.attributes
    shape = [len(each.labels) for each in attributes]
    for each, codes in zip(attributes, np.indices(shape, sparse=True), strict=True):
        yield counted(each.name, each.labels, np.broadcast_to(codes, shape).reshape(-1))
    if question.name in {each.name for each in attributes}:
        return
    if question.external is None:
        yield counted(question.name, question.labels, question.r_of_x)
    else:
        sums = [class_sums(classes, p_x * p_r) for p_r in question.p_r_given_x.T]
        yield Variable(question.name, np.stack(sums, axis=1), question.labels)


def _states_after(told: Array, intent: Intent) -> Array:
    """p(m given class) after a release, from p(m, letter given class) before it."""
    before, letter = np.nonzero(intent.next_state >= 0)
    after = np.zeros((int(intent.next_state.max()) + 1, told.shape[1]))
    np.add.at(after, intent.next_state[before, letter], told[before, :, letter])
    return after
