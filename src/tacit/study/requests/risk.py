"""What the asking party could tell about a record after a release that is not recorded yet."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.auditing import Inference, infer_held
from tacit.scheme import Scheme, Step, Variable
from tacit.study.books.books import Books
from tacit.study.requests.draft import Draft


def infer_after(
    books: Books, drafted: Draft, variables: Sequence[Variable]
) -> tuple[Inference, ...]:
    """What the party could tell about each variable, and last about the whole record."""
    party = drafted.request.party
    step = Step(
        party,
        drafted.channel.law,
        drafted.design.class_of_x,
        drafted.transition,
        drafted.after.everyone_bits,
    )
    steps = [*books.scheme(drafted.before).steps, step]
    scheme = Scheme.resume(books.p_x, drafted.after.memory, steps, books.policy)
    return infer_held(scheme, {party}, variables)
