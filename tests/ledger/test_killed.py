"""``kill -9`` at any moment leaves a whole chain, on SQLite and on PostgreSQL."""

from __future__ import annotations

from multiprocessing.connection import Connection

import pytest

from tacit.ledger import Ledger
from tests.ledger.chains import STUDY, chain
from tests.ledger.workers import (
    append_forever,
    die_while_appending,
    die_while_creating,
    die_while_registering,
    is_killed,
)
from tests.processes import forks

MOST_STEPS = 200


def test_killed_while_creating(url: str) -> None:
    """Creating again goes on from nothing, and in the end there is a ledger."""
    step = 1
    while is_killed(die_while_creating, url, step):
        step += 1
        assert step < MOST_STEPS
    assert step > 20
    with Ledger.open(url) as ledger:
        assert len(chain(ledger, 3)) == 3


def test_killed_while_registering(ledger: Ledger, url: str) -> None:
    """A study and its first entry are there together or not at all."""
    step = 1
    while is_killed(die_while_registering, url, step):
        assert ledger.studies() == []
        step += 1
        assert step < MOST_STEPS
    assert step > 8
    assert [entry.kind for entry in ledger.entries(STUDY)] == ["created"]


def test_killed_while_appending(ledger: Ledger, url: str) -> None:
    """An entry is there or not, and nobody who comes later waits for the dead."""
    entries = chain(ledger, 2)
    step = 1
    while is_killed(die_while_appending, url, step):
        assert ledger.entries(STUDY) == entries
        entries.append(ledger.append(STUDY, "party", {}, head=entries[-1].head))
        step += 1
        assert step < MOST_STEPS
    assert step > 6
    assert ledger.entries(STUDY)[:-1] == entries
    assert ledger.verify(STUDY) == []


@pytest.mark.parametrize("acknowledged", [1, 2, 5, 9, 20])
def test_killed_at_any_moment(ledger: Ledger, url: str, acknowledged: int) -> None:
    """What was acknowledged is there, and at most one entry more."""
    chain(ledger, 1)
    receiver, sender = forks().Pipe(duplex=False)
    process = forks().Process(target=append_forever, args=(url, sender))
    process.start()
    sender.close()
    numbers = [receiver.recv() for _ in range(acknowledged)]
    process.kill()
    process.join()
    numbers += remaining(receiver)
    receiver.close()
    assert ledger.verify(STUDY) == []
    assert ledger.head(STUDY).number in {numbers[-1], numbers[-1] + 1}
    assert ledger.append(STUDY, "party", {}, head=ledger.head(STUDY)).body == {}


def remaining(receiver: Connection) -> list[int]:
    """What was sent before the sender died."""
    numbers = []
    while True:
        try:
            numbers.append(receiver.recv())
        except EOFError:
            return numbers
