"""A study that always lives the same, and what it says: figures, refusals and drawn letters.

``python -m tests.transcript.life > tests/transcript/recorded.json`` records it anew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tacit.errors import TacitError
from tacit.sampling import TOTAL, IntegerChannel, Sampler, uniforms
from tests.redteam.custodian import Custodian, Request, adults, exit_code


def live(place: Path) -> Iterator[tuple[str, Any]]:
    """What is done and what came of it, step by step."""
    table = adults(50)
    rows = {f"p{number}": values for number, values in enumerate(table.rows)}
    keeper = Custodian(place, table, rows, memory=8, is_id_public=False)
    income = Request("lab-a", ("income",), bits=0.1)
    steps: dict[str, Callable[[], Any]] = {
        "let lab-a in": lambda: keeper.limit("lab-a", 0.3, inf),
        "let lab-b in": lambda: keeper.limit("lab-b", 0.3, inf),
        "let the insurer in, with times": lambda: keeper.limit("insurer", 0.2, 2.0),
        "limit pairs": lambda: keeper.limit("any 2", 0.4, inf),
        "limit everyone": lambda: keeper.limit("everyone", 0.6, inf),
        "income": lambda: keeper.release(income),
        "income for another": lambda: keeper.release(Request("lab-b", ("income",), bits=0.1)),
        "age for the insurer": lambda: keeper.release(
            Request("insurer", ("age",), bits=0.1, utility="absolute")
        ),
        "education, worst level": lambda: keeper.release(
            Request("lab-a", ("education",), bits=0.05, objective="worst-level")
        ),
        "the old, analysable": lambda: keeper.release(
            Request("lab-b", sql="age > 60", bits=0.02, analysable=True)
        ),
        "more than is left": lambda: keeper.release(Request("lab-a", ("age",), bits=0.2)),
        "a column that is not there": lambda: keeper.release(Request("lab-a", ("name",))),
        "a limit below what is held": lambda: keeper.limit("lab-a", 0.05, inf),
        "a quote": lambda: keeper.quote(Request("insurer", ("income", "age"), bits=0.03)),
        "more people": lambda: keeper.extend({f"q{n}": table.rows[13 * n] for n in range(60)}),
        "income of these too": lambda: keeper.release(income),
        "erase three": lambda: keeper.erase(["p1", "p500", "q2"]),
        "income without them": lambda: keeper.release(income),
        "let one in unnamed": lambda: keeper.extend({"p1": table.rows[0]}),
        "end": keeper.destroy_key,
        "after the end": lambda: keeper.release(income),
    }
    for name, act in steps.items():
        yield name, _outcome(keeper, act)
    keeper.close()
    yield "drawn", draw_from_given_tables()


def _outcome(keeper: Custodian, act: Callable[[], Any]) -> dict[str, Any]:
    before = keeper.n_entries()
    try:
        done = act()
    except TacitError as error:
        return {"refused": type(error).__name__, "exit code": exit_code(error)}
    found: dict[str, Any] = {"entries": keeper.figures(before)}
    match done:
        case tuple():
            found["quoted"] = done
        case dict():
            found["rows"] = {str(k): content.count(b"\n") - 1 for k, content in done.items()}
    return found


def draw_from_given_tables() -> list[str]:
    """Digests of letters and next states of 10,000 records, from tables that are written here."""
    tables = {
        "even": [[[TOTAL // 2, TOTAL // 2]]],
        "certain": [[[TOTAL, 0, 0], [0, 0, TOTAL]]],
        "by state": [
            [[1, TOTAL - 1], [TOTAL // 3, TOTAL - TOTAL // 3]],
            [[TOTAL - 1, 1], [TOTAL // 7, TOTAL - TOTAL // 7]],
        ],
    }
    found = []
    for number, (name, table) in enumerate(tables.items()):
        channel = IntegerChannel(np.array(table))
        n_states, n_cells, n_letters = channel.weights.shape
        next_state = np.add.outer(np.arange(n_states), np.arange(n_letters)) % n_states
        sampler = Sampler(channel, np.arange(n_cells), next_state)
        records = np.arange(10_000)
        words = uniforms(bytes(range(number, number + 32)), 0, len(records))
        letters, states = sampler.draw(records % n_cells, records // 7 % n_states, words)
        drawn = np.stack([letters, states]).astype("<i8").tobytes()
        found.append(f"{name}: {sha256(drawn).hexdigest()}")
    return found


def main() -> None:
    """Print what is to be recorded."""
    with TemporaryDirectory() as place:
        json.dump(dict(live(Path(place))), sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
