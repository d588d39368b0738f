"""Several processes on one ledger, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tacit.errors import HeadMovedError
from tacit.ledger import Ledger
from tests.ledger.chains import STUDY, chain
from tests.ledger.workers import append_often, append_once, create, register
from tests.processes import forks

WRITERS = 8
APPENDS = 40


def test_no_append_is_lost_or_doubled(ledger: Ledger, url: str) -> None:
    chain(ledger, 1)
    barrier = forks().Barrier(WRITERS)
    run_all(append_often, [(url, barrier, APPENDS)] * WRITERS)
    entries = ledger.entries(STUDY)[1:]
    assert [entry.number for entry in entries] == list(range(2, 2 + WRITERS * APPENDS))
    assert ledger.verify(STUDY) == []
    assert set(Counter(entry.body["writer"] for entry in entries).values()) == {APPENDS}
    assert {entry.body["number"] for entry in entries} == set(range(APPENDS))


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    chain(ledger, 1)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: append_once(ledger, {"number": number}), range(20)))
    assert {entry.body["number"] for entry in ledger.entries(STUDY, after=1)} == set(range(20))


def test_threads_create_ledgers_of_their_own(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.sqlite" for number in range(4)]
    with ThreadPoolExecutor(4) as threads:
        ledgers = list(threads.map(Ledger.create, files))
    for ledger in ledgers:
        assert len(chain(ledger, 2)) == 2
        ledger.close()


def test_a_head_is_used_once(ledger: Ledger, url: str) -> None:
    """Two that have read the same head: one appends, the other has to read on."""
    head = chain(ledger, 1)[0].head
    with Ledger.open(url) as other:
        ledger.append(STUDY, "release", {"by": "one"}, head=head)
        try:
            other.append(STUDY, "release", {"by": "other"}, head=head)
        except HeadMovedError:
            other.append(STUDY, "release", {"by": "other"}, head=other.head(STUDY))
    assert [entry.body.get("by") for entry in ledger.entries(STUDY)] == [None, "one", "other"]


def test_a_ledger_is_created_once(url: str) -> None:
    barrier = forks().Barrier(WRITERS)
    run_all(create, [(url, barrier)] * WRITERS)
    with Ledger.open(url) as ledger:
        assert ledger.studies() == []


def test_of_studies_over_the_same_records_one_is_registered(ledger: Ledger, url: str) -> None:
    barrier = forks().Barrier(WRITERS)
    pipes = [forks().Pipe(duplex=False) for _ in range(WRITERS)]
    run_all(register, [(url, barrier, f"study-{i}", pipe[1]) for i, pipe in enumerate(pipes)])
    outcomes = [receiver.recv() for receiver, _ in pipes]
    for receiver, sender in pipes:
        receiver.close()
        sender.close()
    assert sum(outcomes) == 1
    assert ledger.studies() == [f"study-{outcomes.index(True)}"]
    assert ledger.verify(ledger.studies()[0]) == []


def run_all(target: object, arguments: list[tuple[object, ...]]) -> None:
    processes = [forks().Process(target=target, args=given) for given in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
