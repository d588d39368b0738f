"""A party that comes back twenty times to a real table, with others in between.

``python -m tests.redteam.returning VISITS`` prints a JSON line for each visit.
Above 80 letters, those of what the party holds are merged at a slack that is recorded. So a later
visit takes about as long as an earlier one, a second, and the party is refused only where a limit
binds. Most of the time goes to the replay, which merges nothing below 600 letters.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tacit.cli.demo import write_people
from tacit.errors import TacitError
from tacit.tables import Column
from tests.redteam.replay import replay
from tests.redteam.studies import make_study

QUESTIONS = ("age > 60", "income = '>50K'", "age <= 30")
OTHERS = {2: "registry", 5: "lab", 9: "registry", 12: "press"}
"""Who comes after which visit."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of the party, how long it took, and what was said if it was refused."""

    number: int
    asked: str
    seconds: float
    refusal: str


def come_back(place: Path, visits: int) -> Iterator[Visit]:
    """Make a study of Adult in ``place/clinic``, and ask again and again."""
    write_people(place)
    with make_study(
        place / "clinic",
        place / "people.csv",
        id="person",
        private=[Column("age", cuts=(30, 60)), "income"],
        everyone=1.2,
        memory=16,
    ) as study:
        for party in ("returner", *OTHERS.values()):
            study.set_limit(party, 0.9)
        study.set_limit("everyone", 1.2)
        study.set_limit("any 2", 1.0)
        study.set_limit("registry+returner", 0.95)
        study.set_limit("lab+press+returner", 1.1)
        for number in range(visits):
            asked = QUESTIONS[number % len(QUESTIONS)]
            start, refusal = time.monotonic(), ""
            target = place / f"{number}.parquet"
            try:
                study.release(
                    "returner",
                    sql=asked,
                    bits=0.01 + number / 10_000,
                    out=target,
                    accept=["disclosure"],
                )
            except TacitError as error:
                refusal = str(error)
            yield Visit(number, asked, time.monotonic() - start, refusal)
            if number in OTHERS:
                study.release(
                    OTHERS[number],
                    "age",
                    bits=0.02,
                    out=place / f"other-{number}.parquet",
                    accept=["disclosure"],
                )


def main(visits: int) -> None:
    with TemporaryDirectory() as place:
        for visit in come_back(Path(place), visits):
            found = replay(Path(place) / "clinic")
            line = asdict(visit) | {"faults": found.faults, "compared": found.compared}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
