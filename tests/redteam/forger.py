"""Forged ledgers: a real one with something hostile in it, its hashes computed anew.

Whoever owns the database can write anything into it and seal it, so the chain is whole. ``verify``
has to find what is wrong, or find nothing wrong; ``Study.open`` has to work or to refuse in one
line. Neither may end in a raw error, take long, or fill the memory.

    python -m tests.redteam.forger --cases 5000 [--seed 0] [--show]

Case number k of a seed is always the same forgery.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import shutil
import signal
import sqlite3
import struct
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from tacit import Costs
from tacit.errors import TacitError
from tacit.ledger.entry import StoredEntry
from tacit.sampling import TOTAL, IntegerChannel
from tacit.study import Study, verify_study
from tests.ledger.chains import tamper
from tests.study.clinic import make_clinic
from tests.study.forging import remove_traces
from tests.words import in_words

SECONDS = 10
"""Of a processor, what a case may take; a whole ledger takes 0.1."""

ROOM = 2**30
"""Bytes of memory that a case may take, beside what is in use when the run begins."""

DEEP = 100_000
HUGE = 10**400

Json = Any


# -- what is forged -----------------------------------------------------------------------------


def make_originals(place: Path) -> list[Path]:
    """A study with every kind of question and of utility, and a copy that is closed."""
    costs = Costs([[0, 1], [2, 0]])
    with make_clinic(place, n_records=120, everyone=0.9, external=["outcome"]) as study:
        study.set_limit("lab-a", 0.4)
        study.set_limit("lab-b", 0.5)
        study.set_limit("lab-c", 0.5)
        study.set_limit("any 2", 0.6)
        study.set_limit("lab-b+lab-c", 0.5)
        study.release(
            "lab-c",
            "smoker",
            utility="information",
            bits=0.1,
            out=place / "0.csv",
            accept=["disclosure"],
        )
        study.release(
            "lab-a", "age", utility="absolute", bits=0.1, out=place / "1.csv", accept=["disclosure"]
        )
        study.release("lab-b", "outcome", bits=0.08, out=place / "2.parquet", accept=["disclosure"])
        study.release(
            "lab-a",
            sql="smoker = 'yes' and age > 65",
            bits=0.1,
            out=place / "3.csv",
            accept=["disclosure"],
        )
        study.release(
            "lab-c",
            "diagnosis",
            utility=costs,
            bits=0.1,
            out=place / "4.csv",
            accept=["disclosure"],
        )
    folders = [place / "clinic", place / "closed"]
    shutil.copytree(*folders)
    with Study.open(folders[1]) as study:
        study.destroy_key()
    for folder in folders:
        tamper(f"sqlite:///{folder / 'ledger.sqlite'}")  # the triggers go
        remove_traces(folder)
    return folders


@dataclass(frozen=True)
class Row:
    """An entry as it is to be stored: what is wrong with it may be of any type.

    Attributes:
        body: the text to store.
        number: to store; the entry is sealed as ``place``.
        place: where it stands in the chain.
    """

    kind: Any
    time: Any
    body: Any
    payload: Any
    number: Any
    place: int
    study: str

    @property
    def tree(self) -> Json:
        return json.loads(self.body)

    def with_tree(self, tree: Json) -> Row:
        text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
        return replace(self, body=text)


class Forgery:
    """A study's folder whose ledger is replaced, case by case."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database = sqlite3.connect(folder / "ledger.sqlite", isolation_level=None)
        self._database.execute("PRAGMA synchronous = OFF")
        rows = self._database.execute("SELECT * FROM tacit_entries ORDER BY number").fetchall()
        self._registered = rows[0][6]
        self.rows = [
            Row(kind, when, body, payload, number, number, study)
            for study, number, kind, when, body, payload, *_ in rows
        ]

    def write(self, rows: list[Row]) -> bool:
        """Store them as a sealed chain; whether the database takes them."""
        previous = self._registered
        self._database.execute("BEGIN")
        try:
            self._database.execute("DELETE FROM tacit_entries")
            for row in rows:
                sealed = StoredEntry(
                    row.study, row.place, row.kind, row.time, row.body, row.payload, previous
                ).sealed()
                stored = (row.study, row.number, row.kind, row.time, row.body, row.payload)
                # What cannot be sealed is stored with a hash of its own.
                previous_now, previous = previous, sealed.hash or _any_hash(row)
                self._database.execute(
                    "INSERT INTO tacit_entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*stored, previous_now, previous),
                )
        except (sqlite3.Error, OverflowError, UnicodeEncodeError):
            self._database.execute("ROLLBACK")
            return False
        self._database.execute("COMMIT")
        return True

    def close(self) -> None:
        self._database.close()


def _any_hash(row: Row) -> str:
    return hashlib.sha256(repr(row).encode(errors="replace")).hexdigest()


# -- how it is forged ---------------------------------------------------------------------------

HOSTILE: list[Json] = [
    None, True, False, 0, 1, -1, 2, 3, 1000, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64,
    -(2**63), 10**30, HUGE, -HUGE, 0.5, -0.5, -0.0, 1e-320, 1e-9, 1e308, -1e308, 1.5,
    "", "x", "NaN", "inf", "-1", "lab-a", "lab-b", "\0", "\ud800", "é\n<script>", "a" * 100_000,
    [], [[]], [[], []], [0], [1, 2], [[1]], [[0.5, 0.5]], ["x"], [None], [[1], [2, 3]],
    [[[1]]], {}, {"x": 1}, [{}], list(range(1000)), [1e308] * 4, [-1] * 12, [0] * 12, [2**62] * 12,
    [[0] * 12] * 12,
]  # fmt: skip
"""What a field may be replaced by."""

RAW: list[str] = [
    "", "null", "[]", "0", '"x"', "{", "NaN", '{"a":NaN}', "[" * DEEP, '{"a":' * DEEP,
    "[" * DEEP + "]" * DEEP, '{"a":' + "[" * 900 + "]" * 900 + "}", "9" * 10_000,
    '{"limit":' + "9" * 10_000 + "}", '{"limit":1e999}', "\ufeff{}", '{"party":"a","party":"b"}',
    "{}" + " " * 100_000, '{"\\ud800":1}',
]  # fmt: skip
"""Texts to stand in the place of a body, or of one of its values."""

CELLS: list[Any] = [None, 0, 1.5, b"", b"\xff\xfe", "", "x", "\0", "9" * 1000, "2020", -1, 2**62]
"""What SQLite lets an editor put into a column of any type."""


def paths(tree: Json, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    yield path
    below = tree.items() if isinstance(tree, dict) else enumerate(tree if is_list(tree) else ())
    for key, value in below:
        yield from paths(value, (*path, key))


def is_list(tree: Json) -> bool:
    return isinstance(tree, list)


def changed(tree: Json, path: tuple[Any, ...], change: Callable[[Json], Json]) -> Json:
    """A copy with another value at a place."""
    if not path:
        return change(tree)
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


def some_path(draw: random.Random, tree: Json) -> tuple[Any, ...]:
    """A place, each depth about as often as the others: long lists are no better targets."""
    path: tuple[Any, ...] = ()
    while isinstance(tree, dict | list) and tree and draw.random() < 0.8:
        key = draw.choice(list(tree) if isinstance(tree, dict) else range(len(tree)))
        path, tree = (*path, key), tree[key]
    return path


def _twisted(draw: random.Random, value: Json) -> Json:
    """A value that is nearly right."""
    match value:
        case bool():
            return not value
        case int() | float():
            return draw.choice(
                [value + 1, value - 1, -value, 2 * value, value / 2, value * 1e6, value + 1e-6,
                 float(value), str(value), [value], value + 1e-12]
            )  # fmt: skip
        case str():
            return draw.choice([value + "x", value[:-1], value.upper(), value[::-1], [value]])
        case list() if value:
            k = draw.randrange(len(value))
            return draw.choice(
                [value[:-1], value[1:], value[::-1], value + value, [*value, value[k]],
                 value[:k] + value[k + 1 :], [value], value[:1] * len(value), value * 50]
            )  # fmt: skip
        case dict() if value:
            key = draw.choice(list(value))
            less = {name: below for name, below in value.items() if name != key}
            return draw.choice([less, value | {"unknown": 1}, less | {key + " ": value[key]}])
    return draw.choice(HOSTILE)


def forge_field(draw: random.Random, row: Row) -> Row:
    """Another value, a near miss, or no value, somewhere in a body."""
    path = some_path(draw, row.tree)
    if draw.random() < 0.5:
        return row.with_tree(changed(row.tree, path, lambda _: draw.choice(HOSTILE)))
    return row.with_tree(changed(row.tree, path, lambda value: _twisted(draw, value)))


def forge_text(draw: random.Random, row: Row) -> Row:
    """A body, or a value in it, that JSON can hardly hold."""
    if draw.random() < 0.5:
        return replace(row, body=draw.choice(RAW))
    tree = changed(row.tree, some_path(draw, row.tree), lambda _: "HERE")
    text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
    return replace(row, body=text.replace('"HERE"', draw.choice(RAW)))


def _packed(plain: bytes) -> bytes:
    packed = zlib.compress(plain, 9)
    return b"tacit channel 1\n" + hashlib.sha256(packed).digest()[:8] + packed


def _shaped(*shape: int) -> bytes:
    return struct.pack("<3I", *shape)


def bomb(megabytes: int = 400, shape: tuple[int, int, int] = (2**16, 2**8, 3)) -> bytes:
    """A payload that inflates to a thousand times its size."""
    return _packed(_shaped(*shape) + bytes(megabytes << 20))


def forge_payload(draw: random.Random, row: Row) -> Row:
    """Another table, a damaged one, one that inflates without end."""
    payload: bytes = row.payload
    table = None if not payload else IntegerChannel.from_bytes(payload).weights
    shape = (1, 12, 2) if table is None else table.shape
    k = draw.randrange(max(len(payload), 1))
    flipped = payload[:k] + bytes([(payload or b"\0")[k] ^ (1 << draw.randrange(8))])
    plain = b"" if table is None else _shaped(*shape) + table.astype("<u8").tobytes()
    j = draw.randrange(max(len(plain), 1))
    even = np.zeros(tuple(draw.choice([1, 2, n, n + 1]) for n in shape), dtype="<u8")
    even[..., 0] = TOTAL
    forged: Callable[[], bytes] = draw.choice(
        [
            lambda: b"",
            lambda: flipped + payload[k + 1 :],
            lambda: payload[:k],
            lambda: payload + b"\0",
            lambda: _packed(b""),
            lambda: _packed(plain[:j]),
            lambda: _packed(plain[:-8]),
            lambda: _packed(plain + bytes(8)),
            lambda: _packed(plain[:j] + bytes([draw.randrange(256)]) + plain[j + 1 :]),
            lambda: _packed(_shaped(*even.shape) + even.tobytes()),
            lambda: _packed(_shaped(*shape[::-1]) + plain[12:]),
            lambda: _packed(_shaped(0, 0, 0)),
            lambda: _packed(_shaped(2**32 - 1, 2**32 - 1, 2**32 - 1) + plain[12:]),
            lambda: _packed(_shaped(2**16, 2**16, 2**32 - 1)),
            lambda: _packed(plain[:12] + struct.pack("<Q", 2**63) * (len(plain) // 8 - 1)),
            lambda: b"tacit channel 1\n" + hashlib.sha256(b"x").digest()[:8] + b"x",
            lambda: bomb(32, shape),
            lambda: bomb(32, (2**16, 2**6, 1)),
        ]
    )
    return replace(row, payload=forged())


def forge_kind(draw: random.Random, row: Row) -> Row:
    """Another kind of entry."""
    kinds = ["created", "limit", "Limit", "intent", "delivered", "closed", "", "x", "Party", "\0"]
    return replace(row, kind=draw.choice(kinds))


def forge_cell(draw: random.Random, row: Row) -> Row:
    """A column with something of another type in it."""
    name = draw.choice(["kind", "time", "body", "payload"])
    return replace(row, **{name: draw.choice(CELLS)})


def forge_number(draw: random.Random, row: Row) -> Row:
    """A number that no entry can have; the entry is sealed as if it had its own."""
    near = [row.place + 0.5, row.place + 0.25, f"{row.place}x", -row.place, 0, 2**62, None, b"1"]
    return replace(row, number=draw.choice(near))


def forge_time(draw: random.Random, row: Row) -> Row:
    """Another time."""
    return replace(row, time=draw.choice(["", "x", "2020", "9999-99-99", row.time[:-1], "0" * 99]))


def forge_order(draw: random.Random, rows: list[Row]) -> list[Row]:
    """Entries moved, repeated or left out, and numbered anew."""
    k, j = draw.randrange(len(rows)), draw.randrange(len(rows))
    moved = draw.choice(
        [
            rows[:k] + rows[k + 1 :],
            [*rows[: k + 1], *rows[k:]],
            [*rows[:k], rows[j], *rows[k:]],
            [*rows, rows[k]],
            rows[: k + 1] + rows[: k + 1 : -1],
            draw.sample(rows, len(rows)),
        ]
    )
    return [replace(row, number=n, place=n) for n, row in enumerate(moved, 1)]


FORGERS: dict[str, tuple[int, Callable[[random.Random, Row], Row]]] = {
    "field": (12, forge_field),
    "text": (2, forge_text),
    "payload": (3, forge_payload),
    "kind": (1, forge_kind),
    "cell": (1, forge_cell),
    "number": (1, forge_number),
    "time": (1, forge_time),
}
"""Name -> how often, and what it does to one entry."""


def forged(rows: list[Row], seed: int, case: int) -> tuple[str, list[Row]]:
    """What case number ``case`` does, in words, and the rows after it."""
    draw = random.Random(f"{seed}:{case}")
    if draw.random() < 0.03:
        return "order", forge_order(draw, rows)
    names = list(FORGERS)
    [name] = draw.choices(names, [FORGERS[each][0] for each in names])
    # Every kind of entry as often as the others; only intents have a payload.
    kind = "intent" if name == "payload" else draw.choice(sorted({row.kind for row in rows}))
    k = draw.choice([n for n, row in enumerate(rows) if row.kind == kind])
    new = FORGERS[name][1](draw, rows[k])
    said = f"{name} of {kind} {k + 1}: {_difference(rows[k], new)}"
    return said, [*rows[:k], new, *rows[k + 1 :]]


def _difference(old: Row, new: Row) -> str:
    for name in ("kind", "time", "number"):
        if getattr(old, name) != getattr(new, name):
            return f"{name} = {getattr(new, name)!r}"[:150]
    if old.payload != new.payload:
        return f"payload = {new.payload!r}"[:60]
    try:
        places = [path for path in paths(old.tree) if _at(new.tree, path) != _at(old.tree, path)]
        return f"{places[-1]}: {_at(old.tree, places[-1])!r} -> {_at(new.tree, places[-1])!r}"[:200]
    except (ValueError, RecursionError, TypeError, IndexError):
        return f"body = {new.body!r}"[:150]


def _at(tree: Json, path: tuple[Any, ...]) -> Json:
    for key in path:
        try:
            tree = tree[key]
        except (KeyError, IndexError, TypeError):
            return "nothing"
    return tree


# -- what comes of it ---------------------------------------------------------------------------


class TooSlowError(BaseException):
    """A case that takes longer than ``SECONDS``."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in what takes longer."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def little_memory(room: int = ROOM) -> Iterator[None]:
    """Raise MemoryError in what takes more than ``room`` bytes beside what is in use."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@dataclass(frozen=True)
class Outcome:
    """What a case came to.

    Attributes:
        case: its number.
        forgery: what was forged.
        verdict: ``"whole"``, ``"problems"`` or ``"raw"``.
        said: the first problem, or the raw error.
        seconds: how long it took.
    """

    case: int
    forgery: str
    verdict: str
    said: str
    seconds: float


def looked_at(study: Path) -> tuple[str, str]:
    """Verify a study, then open it and ask how it stands; the verdict and what was said."""
    try:
        found = verify_study(study)
        verdict, said = (
            ("whole", "") if found.is_whole else ("problems", in_words(found.problems)[0])
        )
    except TacitError as error:
        verdict, said = "problems", str(error)
    except (Exception, TooSlowError) as error:  # noqa: BLE001 - any raw error is a finding
        return "raw", f"verify: {type(error).__name__}: {error}"[:300]
    try:
        with Study.open(study) as opened:
            opened.receipt(opened.status().head[0])
    except TacitError as error:
        if verdict == "whole":
            return "raw", f"verify found it whole, open refused it: {error}"
    except (Exception, TooSlowError) as error:  # noqa: BLE001 - any raw error is a finding
        return "raw", f"open: {type(error).__name__}: {error}"[:300]
    return verdict, said


def try_case(forgery: Forgery, seed: int, case: int) -> Outcome | None:
    """Forge, look, judge; ``None`` where nothing changes, or the database refuses the change."""
    what, rows = forged(forgery.rows, seed, case)
    if rows == forgery.rows or not forgery.write(rows):
        return None
    start = time.process_time()
    with time_limit(SECONDS):
        verdict, said = looked_at(forgery.folder)
    return Outcome(case, what, verdict, said, time.process_time() - start)


def try_cases(place: Path, cases: range, seed: int) -> list[Outcome]:
    """Every case that the database takes."""
    forgeries = [Forgery(folder) for folder in make_originals(place)]
    try:
        with little_memory(), warnings.catch_warnings():
            warnings.simplefilter("error")  # a user would see them
            tried = [try_case(forgeries[case % 2], seed, case) for case in cases]
    finally:
        for forgery in forgeries:
            forgery.close()
    return [each for each in tried if each is not None]


def main() -> int:
    """Count verdicts, and list raw errors."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="list what verify found whole, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        cases = range(given.first, given.first + given.cases)
        outcomes = try_cases(Path(place), cases, given.seed)
    for each in outcomes:
        if each.verdict == "raw" or (given.show and each.verdict == "whole"):
            print(f"case {each.case} ({each.forgery}): {each.verdict} {each.said}")
    counts = Counter(each.verdict for each in outcomes)
    by_verify = sum(each.said.startswith("verify: ") for each in outcomes)
    slowest = max(each.seconds for each in outcomes)
    print(f"{len(outcomes)} forged ledgers: {dict(counts)}, {by_verify} raw errors of verify")
    print(f"the slowest took {slowest:.2f} s")
    return 1 if counts["raw"] else 0


if __name__ == "__main__":
    sys.exit(main())
