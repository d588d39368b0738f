"""What a process does that fires requests at a study."""

from __future__ import annotations

from collections import Counter
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
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


def fire(folder: Path, seed: int, n_requests: int, barrier: Barrier, told: Connection) -> None:
    """Ask so many times, once all others are ready, too; send how often each outcome came."""
    outcomes: Counter[str] = Counter()
    rng = np.random.default_rng(seed)
    with Study.open(folder) as study, TemporaryDirectory() as place:
        barrier.wait()
        for number in range(n_requests):
            outcomes[ask(study, rng, Path(place) / f"{number}.csv")] += 1
    told.send(outcomes)


def ask(study: Study, rng: np.random.Generator, out: Path) -> str:
    """One request; how it ended."""
    party, question, bits = chosen(rng)
    try:
        study.release(party, question, out=out, bits=bits, accept=["disclosure"])
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
