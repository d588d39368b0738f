"""The replay itself: it imports nothing of tacit, it is right, and it notices what is wrong."""

from __future__ import annotations

import ast
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from math import log2
from pathlib import Path
from typing import Any

import pytest

from tests.redteam import limits, raw_ledger, replay, true_law, worth
from tests.redteam.limits import Limits
from tests.redteam.raw_ledger import MAGIC, RawLedger, Row, Table, read_ledger, read_table
from tests.redteam.replay import replay as replayed
from tests.redteam.replay import replay_ledger
from tests.redteam.studies import make_hospital
from tests.study.exact import exact_bits

INDEPENDENT = (limits, raw_ledger, replay, true_law, worth)


def test_nothing_of_tacit_is_imported() -> None:
    ours = {module.__name__ for module in INDEPENDENT}
    for module in INDEPENDENT:
        assert module.__file__ is not None
        names = _imported(ast.parse(Path(module.__file__).read_text()))
        assert names
        for name in names:
            assert name.partition(".")[0] != "tacit", (module, name)
            assert not name.startswith("tests") or name in ours, (module, name)


def _imported(tree: ast.AST) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None
            found.append(node.module)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("__import__", "exec", "eval")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with limits on pairs, and somebody who came back."""
    place = tmp_path_factory.mktemp("replayed")
    with make_hospital(place, external=["ward"], everyone=0.9, memory=3) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.4)
        study.set_limit("everyone", 0.9)
        study.set_limit("any 2", 0.5)
        study.release("lab-a", "diagnosis", bits=0.15, out=place / "a.csv", accept=["disclosure"])
        study.release("lab-b", "age", bits=0.2, out=place / "b.csv", accept=["disclosure"])
        study.release("lab-a", "age", bits=0.1, out=place / "c.csv", accept=["disclosure"])
        study.release("lab-b", "ward", bits=0.08, out=place / "d.csv", accept=["disclosure"])
    return place / "clinic"


def test_a_study_as_it_is(folder: Path) -> None:
    found = replayed(folder)
    assert found.faults == []
    assert found.undecided == 0
    assert found.compared > 20
    last = found.held[max(found.held)]
    for coalition, bits in last.items():  # every history, by tacit's own reading of the ledger
        assert bool(bits.low.overlaps(exact_bits(folder, coalition)))


def test_a_ledger_on_a_server(tmp_path: Path, postgres_url: str) -> None:
    with make_hospital(tmp_path, ledger=postgres_url) as study:
        study.set_limit("lab-a", 0.4)
        study.release(
            "lab-a", "diagnosis", bits=0.15, out=tmp_path / "a.csv", accept=["disclosure"]
        )
    found = replayed(tmp_path / "clinic")
    assert found.faults == []
    assert found.compared > 2


def test_answers_that_are_judged_by_the_worst_level(tmp_path: Path) -> None:
    with make_hospital(tmp_path, memory=3) as study:
        for party in ("lab-a", "lab-b"):
            study.set_limit(party, 0.4)
            for asked in ("diagnosis", "age"):
                study.release(
                    party,
                    asked,
                    bits=0.15,
                    objective="worst-level",
                    out=tmp_path / f"{party}-{asked}.csv",
                    accept=["disclosure"],
                )
    found = replayed(tmp_path / "clinic")
    assert found.faults == []
    assert len(found.held) == 4


def test_fewer_letters_leave_a_bracket_around_the_truth(folder: Path) -> None:
    exact, merged = replayed(folder), replayed(folder, most_seen=4)
    last = max(exact.held)
    for coalition, bits in exact.held[last].items():
        around = merged.held[last][coalition]
        assert bool(around.low <= bits.low.upper())
        assert bool(around.high >= bits.low.lower())
    everyone = merged.held[last][frozenset({"lab-a", "lab-b"})]
    assert bool(everyone.low < everyone.high)


# -- what a replay has to notice -----------------------------------------------------------------


def forged(ledger: RawLedger, number: int, edit: Callable[[dict[str, Any]], object]) -> RawLedger:
    """The ledger with another body of one entry, and all hashes as they should be."""
    rows: list[Row] = []
    for row in ledger.rows:
        previous = rows[-1].hash if rows else row.previous
        body = row.body
        if row.number == number:
            edit(body)
        text = json.dumps(body, sort_keys=True, separators=(",", ":"))
        changed = replace(row, text=text, previous=previous)
        rows.append(replace(changed, hash=changed.seal))
    return replace(ledger, rows=rows)


def numbers_of(ledger: RawLedger, kind: str) -> list[int]:
    return [row.number for row in ledger.rows if row.kind == kind]


def test_a_bound_below_the_truth(folder: Path) -> None:
    ledger = read_ledger(folder)
    last = numbers_of(ledger, "intent")[-1]

    def lower(body: dict[str, Any]) -> None:
        for holding in body["holdings"]:
            holding["bits"] -= 1e-9

    faults = replay_ledger(forged(ledger, last, lower)).faults
    assert any("the bound on lab-a + lab-b" in fault for fault in faults), faults


def test_a_limit_below_what_is_held(folder: Path) -> None:
    ledger = read_ledger(folder)
    pairs = next(row.number for row in ledger.rows if row.body.get("whom") == "any 2")
    faults = replay_ledger(forged(ledger, pairs, lambda body: body.update(bits=0.2))).faults
    assert any("the limit of lab-a + lab-b is 0.2" in fault for fault in faults), faults


@pytest.mark.parametrize("name", ["value", "blind"])
def test_another_worth(folder: Path, name: str) -> None:
    ledger = read_ledger(folder)
    first = numbers_of(ledger, "intent")[0]
    edited = forged(ledger, first, lambda body: body.update({name: body[name] - 1e-6}))
    [fault] = replay_ledger(edited).faults
    assert f"release {first}: {name} is" in fault


def test_another_law_for_the_recipient(folder: Path) -> None:
    ledger = read_ledger(folder)
    first = numbers_of(ledger, "intent")[0]

    def swap(body: dict[str, Any]) -> None:
        body["p_rhat_given_r"].reverse()

    [fault] = replay_ledger(forged(ledger, first, swap)).faults
    assert "its recipient is told another law" in fault


def test_an_entry_whose_hash_is_another(folder: Path) -> None:
    ledger = read_ledger(folder)
    rows = [*ledger.rows[:3], replace(ledger.rows[3], time="yesterday"), *ledger.rows[4:]]
    assert list(replace(ledger, rows=rows).faults()) == [
        "entry 4 has another content than its hash says"
    ]
    assert len(list(replace(ledger, salt=bytes(32)).faults())) == 1
    assert list(ledger.faults()) == []


def test_states_that_were_not_used(folder: Path) -> None:
    """If every record was taken to be in state 0, the last releases told other things."""
    first, second, *_ = numbers_of(read_ledger(folder), "intent")
    honest, damaged = replayed(folder), replayed(folder, {second: {1: 0, 2: 0}})
    both = frozenset({"lab-a", "lab-b"})
    assert float(honest.held[second][both]) != float(damaged.held[second][both])
    assert float(honest.held[first][both - {"lab-b"}]) == float(
        damaged.held[first][both - {"lab-b"}]
    )


# -- its parts -------------------------------------------------------------------------------------


def packed(table: Table) -> bytes:
    """A payload, made as ``docs/reference/ledger.md`` describes it."""
    shape = (len(table), len(table[0]), len(table[0][0]))
    numbers = [number for rows in table for row in rows for number in row]
    plain = struct.pack("<3I", *shape) + struct.pack(f"<{len(numbers)}Q", *numbers)
    body = zlib.compress(plain)
    return MAGIC + sha256(body).digest()[:8] + body


def test_a_payload() -> None:
    table = [[[2**32, 0], [1, 2**32 - 1]], [[5, 2**32 - 5], [0, 2**32]]]
    assert read_table(packed(table)) == table
    with pytest.raises(AssertionError):
        read_table(packed([[[1, 2]]]))
    with pytest.raises(AssertionError):
        read_table(packed(table)[:-1])


def test_bits_of_a_noisy_copy() -> None:
    """A binary symmetric channel: 1 - h(p)."""
    counts, p = [1, 1], Fraction(1, 8)
    row = [2**32 - 2**29, 2**29]
    release = true_law.Release.of(1, "a", [[row, row[::-1]]], [[0, 0]], [0, 1], {})
    view = true_law.View.of_nothing(counts).after(release, is_told=True)
    entropy = -sum(float(q) * log2(q) for q in (p, 1 - p))
    assert float(view.bits()) == pytest.approx(1 - entropy, abs=1e-12)
    untold = true_law.View.of_nothing(counts).after(release, is_told=False)
    assert untold.bits().is_proved_within(0.0)
    assert not untold.bits().is_above(0.0)


def test_limits_as_entries_say_them() -> None:
    found = Limits.at_start("bits", {"everyone": 0.9})
    said = {"a": 0.3, "b": 0.6, "c": 0.6, "any 2": 0.4, "a+b+c": 0.6, "any 9": 0.1}
    for whom, bits in said.items():
        found = found.after({"whom": whom, "bits": bits, "times": None})
    found = found.after({"whom": "any 9", "bits": None, "times": 2.0})
    found = found.after({"whom": "any 2", "bits": 0.5, "times": None})
    assert found.on(frozenset("a")) == 0.3
    assert found.on(frozenset("b")) == 0.5
    assert found.on(frozenset("abc")) == 0.6
    assert found.on(frozenset("abd")) == 0.9
    fed = found.fed_by("a", frozenset("bd"))
    assert fed == {
        frozenset("a"): 0.3,
        frozenset("ab"): 0.5,
        frozenset("ad"): 0.5,
        frozenset("abd"): 0.9,
    }
