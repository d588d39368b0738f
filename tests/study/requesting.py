"""A process that fires requests at a study: ``python -m tests.study.requesting FOLDER SEED N``.

It says ``ready``, waits for a line, asks N times, and prints how often each outcome came, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tacit.errors import InfeasibleError, TacitError
from tacit.study import Study

PARTIES = tuple(f"lab-{number:02d}" for number in range(24))
PARTY_BITS = 0.025
QUESTIONS = ("age", "diagnosis", "smoker")

SHARED = tuple((party, question, 0.01) for party in PARTIES[:4] for question in QUESTIONS)
"""What everybody asks for, so most of it is asked for again."""

SHARE_REFUSED = 0.4
SHARE_NEW = 0.05


def main(folder: Path, seed: int, n_requests: int) -> None:
    outcomes: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    with Study.open(folder) as study, TemporaryDirectory() as place:
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(n_requests):
            outcomes[ask(study, rng, Path(place) / "out.csv")] += 1
    print(json.dumps(outcomes))


def ask(study: Study, rng: np.random.Generator, out: Path) -> str:
    """One request; how it ended."""
    party, question, bits = chosen(rng)
    try:
        study.release(party, question, out=out, bits=bits)
    except InfeasibleError as error:
        return "refused" if error.coalition and "\n" not in str(error) else f"unclean: {error}"
    except TacitError as error:
        return f"{type(error).__name__}: {error}"
    return "receipt"


def chosen(rng: np.random.Generator) -> tuple[str, str, float]:
    chance, party = rng.random(), str(rng.choice(PARTIES[4:]))
    if chance < SHARE_REFUSED:
        return party, "age", 2 * PARTY_BITS
    if chance < SHARE_REFUSED + SHARE_NEW:
        return party, str(rng.choice(QUESTIONS)), float(rng.uniform(0.002, 0.006))
    return SHARED[int(rng.integers(len(SHARED)))]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
