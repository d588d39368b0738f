"""Eight processes fire a thousand requests at one study: no overspending, no waiting forever."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from time import monotonic

import pytest

from tacit.limits import Limit
from tacit.study import StudyStatus
from tacit.study.books.records import CopyRecord, DeliveredRecord, IntentRecord
from tests.processes import forks
from tests.study.clinic import entries_of, make_clinic, releases_of, set_limits
from tests.study.requesting import PARTIES, PARTY_BITS, fire

WRITERS = 8
REQUESTS = 125
PATIENCE = 600
"""Seconds for all requests together. A deadlock would use them up; a slow machine would not."""

SAME_BITS = 1e-9
"""A bound on what a party holds counts the roundings of releases to others, too."""

LIMITS = [
    Limit("everyone", 0.04),
    Limit("+".join(sorted(PARTIES[:2])), 0.06),
    Limit("+".join(sorted(PARTIES[2:4])), 0.06),
]


@pytest.mark.slow
def test_nobody_overspends_or_waits_forever(tmp_path: Path, ledger: str) -> None:
    folder = tmp_path / "clinic"
    with make_clinic(tmp_path, ledger) as study:
        for party in PARTIES:
            study.set_limit(party, PARTY_BITS)
        set_limits(study, LIMITS)
        outcomes = fire_all(folder)
        assert set(outcomes) == {"receipt", "refused"}, outcomes
        assert outcomes.total() == WRITERS * REQUESTS
        status = study.status()
        assert study.verify().problems == ()
    assert_no_limit_is_exceeded(status)
    assert_every_intent_is_counted_once(folder, status)


def fire_all(folder: Path) -> Counter[str]:
    """Let all writers loose at the same moment; how often each outcome came."""
    barrier = forks().Barrier(WRITERS)
    pipes = [forks().Pipe(duplex=False) for _ in range(WRITERS)]
    writers = [
        forks().Process(target=fire, args=(folder, seed, REQUESTS, barrier, pipes[seed][1]))
        for seed in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    patient_until = monotonic() + PATIENCE
    for writer in writers:
        writer.join(max(0, patient_until - monotonic()))
    ended = [writer.exitcode for writer in writers]
    for writer in writers:
        writer.kill()
    assert ended == [0] * WRITERS  # None for one that waits
    told = [receiver.recv() for receiver, _ in pipes]
    for end in chain.from_iterable(pipes):
        end.close()
    return sum(told, Counter())


def assert_no_limit_is_exceeded(status: StudyStatus) -> None:
    assert status.undelivered == ()
    assert status.coalitions[0].name == "everyone"  # the nearest to its limit
    for holding in (*status.parties, *status.coalitions):
        assert holding.held < holding.limit


def assert_every_intent_is_counted_once(folder: Path, status: StudyStatus) -> None:
    """One intent for each request, one delivery for each intent, and budgets are their sum."""
    intents = {
        entry.number: (CopyRecord if entry.kind == "copy" else IntentRecord).of(entry)
        for entry in releases_of(folder)
    }
    assert len({intent.identity for intent in intents.values()}) == len(intents)
    delivered = [
        DeliveredRecord.of(entry).intent
        for entry in entries_of(folder)
        if entry.kind == "delivered"
    ]
    assert sorted(delivered) == list(intents)
    held = {
        holding.parties: holding.bits
        for intent in intents.values()
        for holding in intent.holdings
        if len(holding.parties) == 1
    }
    now = {each.parties: each.held for each in status.parties if each.held}
    assert now == pytest.approx(held, abs=SAME_BITS)
    assert status.coalitions[0].held == list(intents.values())[-1].everyone_bits


def test_the_helpers_notice_overspending_and_spending_twice(tmp_path: Path) -> None:
    with make_clinic(tmp_path, everyone=0.3) as study:
        for party in PARTIES[:2]:
            study.set_limit(party, 0.3)
            study.release(party, "age", out=tmp_path / f"{party}.csv", bits=0.1)
        status = study.status()
        assert_no_limit_is_exceeded(status)
        assert_every_intent_is_counted_once(tmp_path / "clinic", status)
        spent = replace(status.parties[0], limit=status.parties[0].held)
        with pytest.raises(AssertionError):
            assert_no_limit_is_exceeded(replace(status, parties=(spent,)))
        study.release(PARTIES[1], "age", out=tmp_path / "a.csv", bits=0.1, again=True)
        with pytest.raises(AssertionError):
            assert_every_intent_is_counted_once(tmp_path / "clinic", study.status())
