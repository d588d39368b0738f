"""Random studies of a bad kind, run through the real ``Study``: what a replay is then set upon.

A seed decides everything: the table (cells of one record, empty cells, ties, heavy tails), parties,
limits, how much is remembered, and a sequence of requests and changes of limits in between.
``python -m tests.redteam.adversary SEED`` prints what happened and what a replay found, as JSON.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import product
from math import inf, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory

from tacit import Costs
from tacit.errors import InfeasibleError, TacitError, UnconvergedError
from tacit.study import Study
from tacit.tables import Column
from tests.redteam.replay import replay
from tests.redteam.studies import make_study, write_table

FEWEST_RECORDS = 50
"""Smaller tables are not what is attacked here."""

LIMITS = (0.05, 0.25, 0.4, 0.6, 0.8, 3.0)
TIMES = (*5 * (inf,), *2 * (1.25, 1.6, 2.0, 3.3, 8.0), 1.03, 2.0**40)
BAD_TIMES = (1.0, nextafter(1.0, 2.0), 1 + 1e-12, 1 + 1e-6)
"""Times that leave next to nothing: drawn rarely, or all would be refused."""

ASKED = (None, 0.003, 0.01, 0.02, 0.03, 0.04, 0.05, 0.08, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class Hardness:
    """How large a study may be.

    Attributes:
        cells: the most combinations of levels.
        steps: how many things happen.
        parties: the most parties.
        information: chance that one of the first answers is judged by information: it takes
            seconds then, and minutes late in a history.
    """

    cells: int
    steps: int
    parties: int
    information: float


SHORT = Hardness(cells=6, steps=9, parties=3, information=0.0)
LONG = Hardness(cells=18, steps=16, parties=4, information=0.1)


@dataclass(slots=True)
class Campaign:
    """A study and what happened to it.

    Attributes:
        folder: of the study.
        outcomes: how often each outcome came.
        unclean: errors that no custodian should see.
    """

    folder: Path
    outcomes: Counter[str] = field(default_factory=Counter)
    unclean: list[str] = field(default_factory=list)

    def attempt(self, what: str, act: object) -> bool:
        """Do something; whether it was done."""
        assert callable(act)
        try:
            act()
        except InfeasibleError:
            self.outcomes["refused"] += 1
        except UnconvergedError:
            self.outcomes["unconverged"] += 1
        except TacitError as error:
            self.outcomes["error"] += 1
            if "\n" in str(error) or "rounded release would tell" in str(error):
                self.unclean.append(f"{what}: {error}")
        else:
            self.outcomes[what] += 1
            return True
        return False


@dataclass(frozen=True, slots=True)
class Facts:
    """What can be asked of a table."""

    attributes: dict[str, int]
    numeric: tuple[str, ...]
    external: str


def attack(place: Path, seed: int, hardness: Hardness = SHORT) -> Campaign:
    """Make a study from a seed, and do bad things to it."""
    draw = random.Random(seed)
    facts = _write_table(place / "table.csv", draw, hardness)
    parties = [f"p{number}" for number in range(draw.randint(2, hardness.parties))]
    study = make_study(
        place / "study",
        place / "table.csv",
        id="id",
        private=[
            Column(name, cuts=(0, 1) if name in facts.numeric else None)
            for name in facts.attributes
        ],
        external=[facts.external],
        everyone=draw.choice([None, None, 0.3, 1.0]),
        memory=draw.choice([1, 2, 3, 5, 8]),
    )
    campaign = Campaign(place / "study")
    with study:
        for party in parties:
            campaign.attempt("party", lambda p=party: _set_own_limit(study, draw, p))
        for _ in range(3):
            campaign.attempt("limit", lambda: _set_limit(study, draw, parties))
        for step in range(hardness.steps):
            late = replace(hardness, information=0.0)
            _act(study, campaign, draw, facts, parties, place, late if step > 2 else hardness)
    return campaign


def _write_table(path: Path, draw: random.Random, hardness: Hardness) -> Facts:
    n_attributes = draw.randint(1, 3)
    attributes: dict[str, int] = {}
    for number in range(n_attributes):
        room = hardness.cells
        for levels in attributes.values():
            room //= levels
        if room >= 2:
            attributes[f"a{number}"] = draw.randint(2, min(4, room))
    numeric = tuple(name for name, levels in attributes.items() if levels == 3)
    cells = list(product(*(range(levels) for levels in attributes.values())))
    counts = _counts(draw, len(cells))
    _show_every_level(cells, counts)
    rows = [cell for cell, count in zip(cells, counts, strict=True) for _ in range(count)]
    draw.shuffle(rows)
    truth = draw.random()
    records = [
        (
            f"r{number}",
            *(
                (code if name in numeric else f"l{code}")
                for name, code in zip(attributes, row, strict=True)
            ),
            "yes"
            if (draw.random() < (truth if row[0] else 0.3) or not number) and number != 1
            else "no",  # both occur
        )
        for number, row in enumerate(rows)
    ]
    write_table(path, ("id", *attributes, "outside"), records)
    return Facts(attributes, numeric, "outside")


def _counts(draw: random.Random, n_cells: int) -> list[int]:
    """Records in each cell, by one of several ugly laws."""
    match draw.randrange(5):
        case 0:  # ties
            counts = [draw.choice([8, 16])] * n_cells
        case 1:  # each cell half of the one before
            counts = [max(1, 2 ** (9 - n)) for n in range(n_cells)]
        case 2:  # one heavy cell, single records elsewhere
            counts = [1] * (n_cells - 1) + [300]
        case 3:  # empty cells
            counts = [draw.choice([0, 0, 1, 7, 50]) for _ in range(n_cells)]
        case _:
            counts = [int(draw.paretovariate(0.7)) for _ in range(n_cells)]
    counts = [min(count, 2000) for count in counts]
    counts[draw.randrange(n_cells)] += max(0, FEWEST_RECORDS - sum(counts))
    return counts


def _show_every_level(cells: list[tuple[int, ...]], counts: list[int]) -> None:
    """Every attribute needs two levels that occur: one record each, where there was none."""
    for axis in range(len(cells[0])):
        for level in range(max(cell[axis] for cell in cells) + 1):
            having = [n for n, cell in enumerate(cells) if cell[axis] == level]
            if not any(counts[n] for n in having):
                counts[having[0]] = 1


def _set_limit(study: Study, draw: random.Random, parties: list[str]) -> None:
    """On a coalition: another, or none."""
    group = draw.sample(parties, draw.randint(2, len(parties)))
    whom = draw.choice(["everyone", "any 1", "any 2", "any 3", "+".join(group)])
    study.set_limit(whom, draw.choice([inf, *LIMITS]), draw.choice([None, inf, _times(draw)]))


def _times(draw: random.Random) -> float:
    return draw.choice(BAD_TIMES if draw.random() < 0.03 else TIMES)


def _set_own_limit(study: Study, draw: random.Random, party: str) -> None:
    """A limit, and half of the time other times, or none."""
    study.set_limit(party, draw.choice(LIMITS), draw.choice([None, inf, _times(draw)]))


def _act(
    study: Study,
    campaign: Campaign,
    draw: random.Random,
    facts: Facts,
    parties: list[str],
    place: Path,
    hardness: Hardness,
) -> None:
    """One thing that happens: mostly a request, and mostly by the party that was there before."""
    chance = draw.random()
    if chance < 0.08:
        party = draw.choice(parties)
        campaign.attempt("party", lambda: _set_own_limit(study, draw, party))
        return
    if chance < 0.16:
        campaign.attempt("limit", lambda: _set_limit(study, draw, parties))
        return
    party = parties[0] if draw.random() < 0.5 else draw.choice(parties)
    asked, sql = _question(draw, facts)
    utility = _utility(draw, facts, asked, hardness)
    bits, again = draw.choice(ASKED), draw.random() < 0.25
    what = f"release by {utility if isinstance(utility, str) else 'costs'}"
    campaign.attempt(
        what,
        lambda: study.release(
            party,
            asked,
            sql=sql,
            utility=utility,
            bits=bits,
            again=again,
            out=place / "out.csv",
            overwrite=True,
            accept=["disclosure"],
        ),
    )


def _question(draw: random.Random, facts: Facts) -> tuple[str | tuple[str, ...] | None, str | None]:
    names = list(facts.attributes)
    chance = draw.random()
    if chance < 0.2:
        return facts.external, None
    if chance < 0.35 and len(names) > 1:
        return tuple(draw.sample(names, 2)), None
    name = draw.choice(names)
    if chance < 0.6:
        is_cut = name in facts.numeric
        return None, f"{name} > 0" if is_cut else f"{name} = 'l0'"
    return name, None


def _utility(
    draw: random.Random, facts: Facts, asked: str | tuple[str, ...] | None, hardness: Hardness
) -> str | Costs:
    if draw.random() < hardness.information:
        return "information"
    if asked in facts.numeric and draw.random() < 0.7:
        return draw.choice(["absolute", "squared"])
    if asked in facts.attributes and draw.random() < 0.2:
        n = facts.attributes[asked]
        costs = [[0 if r == a else draw.choice([0.1, 1, 7]) for r in range(n)] for a in range(n)]
        return Costs(costs)
    return "hamming"


def main(seed: int) -> None:
    with TemporaryDirectory() as place:
        campaign = attack(Path(place), seed, LONG)
        found = replay(campaign.folder)
    said = {
        "outcomes": campaign.outcomes,
        "unclean": campaign.unclean,
        "compared": found.compared,
        "compared_worst": found.compared_worst,
        "undecided": found.undecided,
        "overshot": found.overshot,
        "faults": found.faults,
    }
    print(json.dumps(said))


if __name__ == "__main__":
    main(int(sys.argv[1]))
