"""A year of use: parties that come back, wide tables, hundreds of releases.

Each scenario runs in a process of its own (``python -m benchmarks.year SCENARIO``), so that its
peak memory is its own. A design that does not converge is a failure. A refusal has to name a limit
that truly binds: what is held and what was asked exceed it. What coalitions are said to hold is
compared with simulated records (``benchmarks/truth.py``) after the peak has been read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

import tacit
from benchmarks.memory import ROOT, peak_gigabytes
from benchmarks.tables import print_table, seconds_text
from benchmarks.truth import Truth, estimate, estimate_everyone
from tacit.datasets import adult
from tacit.limits import Limit

MEMORY = 64
BITS_A_VISIT = 0.08


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: who asks for what at which visit, within which limits."""

    party: str
    visit: int
    variable: object
    individual: float
    collusion: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Requests to one scheme.

    Attributes:
        title: what it shows.
        target: what must be true.
        start: makes the scheme, with so many states.
        requests: yields the requests, the first of them only if quick.
        coalitions: whose truth is estimated, beside everyone's.
        n_records: simulated for that; 0 for none.
        gap_tol: asked of every design.
        has_own_limits_only: whether the loss of utility is measured.
    """

    title: str
    target: str
    start: Callable[[int | None], tacit.Scheme]
    requests: Callable[[bool], Iterator[Asked]]
    coalitions: tuple[tuple[str, ...], ...] = ()
    n_records: int = 0
    gap_tol: float = 1e-7
    has_own_limits_only: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one request.

    Attributes:
        party: who asked.
        visit: how often it has asked.
        seconds: on the clock.
        cpu_seconds: of this process.
        outcome: ``released``, ``refused`` or ``failed``.
        value: of the release; ``None`` without one.
        held_bits: what the party is said to hold.
        limit_bits: its own limit.
        states: of the memory.
        letters: of its view, merged.
        slack_bits: of its view.
        everyone_bits: the bound on everyone.
        note: the message of a refusal or a failure.
    """

    party: str
    visit: int
    seconds: float
    cpu_seconds: float
    outcome: str
    value: float | None
    held_bits: float
    limit_bits: float
    states: int
    letters: int
    slack_bits: float
    everyone_bits: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class YearResult:
    """One scenario.

    Attributes:
        scenario: its name.
        answers: to every request.
        peak_gb: of the process, before truths were estimated.
        truths: what coalitions hold.
        loss: of utility, against the best that any history allows; ``None`` if not measured.
    """

    scenario: str
    answers: list[Answer]
    peak_gb: float
    truths: list[Truth]
    loss: float | None

    @property
    def median_seconds(self) -> float:
        """CPU seconds of a release, in the middle."""
        return float(np.median([each.cpu_seconds for each in self.answers]))

    @property
    def worst_seconds(self) -> float:
        """CPU seconds of the slowest release."""
        return max(each.cpu_seconds for each in self.answers)

    @property
    def growth(self) -> float | None:
        """CPU seconds of the last visit over the third, all parties; ``None`` where nobody returns.

        With a thousand releases and no visits: of the last ten over releases 11 to 20.
        """
        last = max(each.visit for each in self.answers)
        if last > 3:
            return _visit_seconds(self.answers, last) / _visit_seconds(self.answers, 3)
        if len(self.answers) >= 30:
            seconds = [each.cpu_seconds for each in self.answers]
            return float(np.median(seconds[-10:]) / np.median(seconds[10:20]))
        return None

    def count(self, outcome: str) -> int:
        """How many requests ended so."""
        return sum(each.outcome == outcome for each in self.answers)


def _visit_seconds(answers: list[Answer], visit: int) -> float:
    return sum(each.cpu_seconds for each in answers if each.visit == visit)


# -- scenarios ------------------------------------------------------------------------------


def _adult(memory: int | None, limits: Sequence[tacit.Limit] = ()) -> tacit.Scheme:
    table = adult()
    return tacit.Scheme.from_counts(table.counts, table.attributes, limits=limits, memory=memory)


def _four_attributes(memory: int | None, limits: Sequence[tacit.Limit] = ()) -> tacit.Scheme:
    """256 cells of four 4-letter attributes."""
    counts = np.random.default_rng(0).dirichlet(np.ones(256)).reshape(4, 4, 4, 4)
    return tacit.Scheme.from_counts(counts, "abcd", limits=limits, memory=memory)


def _many_cells(memory: int | None) -> tacit.Scheme:
    return tacit.Scheme(np.random.default_rng(0).dirichlet(np.ones(100_000)), memory=memory)


def _three_parties(quick: bool) -> Iterator[Asked]:
    for visit in range(1, (5 if quick else 20) + 1):
        for party, name in zip("abc", adult().attributes, strict=True):
            yield Asked(party, visit, name, BITS_A_VISIT * visit)


SIX = [Limit("everyone", 2.5), Limit("any 2", 0.8), Limit("a+b+c", 1.0), Limit("d+e+f", 1.2)]


def _six_parties(names: tuple[str, ...]) -> Callable[[bool], Iterator[Asked]]:
    def requests(quick: bool) -> Iterator[Asked]:
        for visit in range(1, (3 if quick else 10) + 1):
            for index, party in enumerate("abcdef"):
                name = names[(index + visit) % len(names)]
                yield Asked(party, visit, name, BITS_A_VISIT * visit)

    return requests


def _wide(quick: bool) -> Iterator[Asked]:
    """Every cell has a law p(r | x) of its own: no two cells are one class."""
    rng = np.random.default_rng(1)
    for index in range(2 if quick else 10):
        noisy = 0.9 * np.eye(4)[rng.integers(0, 4, 100_000)] + 0.1 * rng.dirichlet(
            np.ones(4), 100_000
        )
        yield Asked(f"party-{index}", 1, noisy, 0.2, 0.2 + 0.06 * index)


def _thousand(quick: bool) -> Iterator[Asked]:
    """Random 4-letter functions of x, each from a new party; everyone may hold 4 bits."""
    rng = np.random.default_rng(0)
    n_releases = 30 if quick else 1000
    for index in range(n_releases):
        function = np.eye(4)[rng.integers(0, 4, size=256)]
        yield Asked(f"party-{index}", 1, function, 0.2, 0.2 + 3.8 * index / 1000)


def _twelve_times(quick: bool) -> Iterator[Asked]:
    """Three other requests, then the same one again and again."""
    for name in ("age", "income", ("education", "income")):
        yield Asked(f"first-{name}", 1, name, 0.3)
    for index in range(4 if quick else 12):
        yield Asked(f"party-{index}", 1, "education", 0.3)


SCENARIOS = {
    "returning": Scenario(
        "3 parties x 20 visits, 32 cells, own limits only",
        "visit 20 at most 3x visit 3; no failure; held <= truth + 1 % of the limit; loss < 1 %",
        _adult,
        _three_parties,
        (("a",), ("b",), ("c",)),
        1000,
        has_own_limits_only=True,
    ),
    "coalitions-32": Scenario(
        "6 parties x 10 visits, any 2, two groups, everyone, 32 cells",
        "no failure; median under 2 s, worst under 20 s, 2 GB",
        lambda memory: _adult(memory, SIX),
        _six_parties(("education", "income", "age")),
        (("a",), ("a", "b"), ("a", "b", "c")),
        1600,
    ),
    "coalitions-256": Scenario(
        "6 parties x 10 visits, any 2, two groups, everyone, 256 cells",
        "no failure; median under 2 s, worst under 20 s, 2 GB",
        lambda memory: _four_attributes(memory, SIX),
        _six_parties(("a", "b", "c", "d")),
        (("a",), ("a", "b"), ("a", "b", "c")),
        1600,
    ),
    "wide": Scenario(
        "10 releases, X of 100,000 cells, each a class of its own",
        "certified to 1e-5, under 60 s and 4 GB each",
        _many_cells,
        _wide,
        gap_tol=1e-5,
    ),
    "thousand": Scenario(
        "1,000 releases of 4-letter functions, 256 cells",
        "releases 991-1000 at most 1.5x releases 11-20",
        _four_attributes,
        _thousand,
        n_records=2000,
        gap_tol=1e-6,
    ),
    "repeated": Scenario(
        "three requests, then one that is repeated to 12 parties, any 2 limited",
        "free after the first, and fast",
        lambda memory: _adult(memory, [Limit("any 2", 0.6)]),
        _twelve_times,
    ),
}


# -- running --------------------------------------------------------------------------------


def run(*, quick: bool) -> list[YearResult]:
    """Run every scenario in a process of its own and print the tables."""
    results = [_in_subprocess(name, quick=quick) for name in SCENARIOS]
    print_table("A year of use", HEADER, [_cells(result) for result in results])
    for result in results:
        print(f"{SCENARIOS[result.scenario].title}: {SCENARIOS[result.scenario].target}")
        for line in _details(result):
            print(f"  {line}")
    return results


def _in_subprocess(name: str, *, quick: bool) -> YearResult:
    command = [sys.executable, "-m", "benchmarks.year", name, *["--quick"] * quick]
    finished = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return read_result(json.loads(finished.stdout))


def read_result(stored: dict[str, object]) -> YearResult:
    """A result as ``--json`` and a scenario's own process write it."""
    known = {name: stored[name] for name in YearResult.__dataclass_fields__}
    answers = [Answer(**each) for each in known.pop("answers")]
    truths = [Truth(**each) for each in known.pop("truths")]
    return YearResult(**known, answers=answers, truths=truths)


def run_scenario(name: str, *, quick: bool) -> YearResult:
    """Make all requests, then compare with the truth."""
    scenario = SCENARIOS[name]
    scheme = scenario.start(MEMORY)
    asked, answers = list(scenario.requests(quick)), []
    for each in asked:
        answers.append(answer(scheme, each, scenario.gap_tol))
        _say(answers[-1])
    peak = peak_gigabytes()
    truths: list[Truth] = []
    if scenario.n_records:
        truths = estimate(scheme, MEMORY, scenario.coalitions, n_records=scenario.n_records)
        truths.append(estimate_everyone(scheme, n_records=max(scenario.n_records, 2000)))
    loss = _loss(asked, answers) if scenario.has_own_limits_only else None
    return YearResult(name, answers, peak, truths, loss)


def answer(scheme: tacit.Scheme, asked: Asked, gap_tol: float) -> Answer:
    """Make one request and time it."""
    start, cpu = time.perf_counter(), time.process_time()
    outcome, value, note = "released", None, ""
    try:
        value = scheme.release(
            asked.variable,
            party=asked.party,
            individual=asked.individual,
            collusion=asked.collusion,
            gap_tol=gap_tol,
        ).value
    except tacit.InfeasibleError as error:
        outcome, note = _judge(scheme, error), str(error)
    except tacit.UnconvergedError as error:
        outcome, note = "failed", str(error)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    view = scheme.view({asked.party}) if asked.party in scheme.parties else None
    return Answer(
        asked.party,
        asked.visit,
        seconds,
        cpu,
        outcome,
        value,
        0.0 if view is None else view.bits,
        asked.individual,
        scheme.n_states,
        0 if view is None else view.n_letters,
        0.0 if view is None else view.slack,
        scheme.leakage(),
        note,
    )


def _judge(scheme: tacit.Scheme, error: tacit.InfeasibleError) -> str:
    """``refused`` where the limit that is named binds, else ``failed``."""
    known = scheme.parties & frozenset(error.coalition)
    return "refused" if scheme.leakage(known) >= error.limit_bits else "failed"


def _loss(asked: list[Asked], answers: list[Answer]) -> float:
    """Mean distortion over the best that a party could get that asks once, with the same limit.

    No design can beat that, whatever history it keeps.
    """
    table = adult()
    p_x = table.counts.reshape(-1) / table.counts.sum()
    levels = np.unravel_index(np.arange(len(p_x)), table.counts.shape)
    bounds = []
    for each in asked:
        axis = table.attributes.index(each.variable)
        joint = p_x[:, None] * np.eye(table.counts.shape[axis])[levels[axis]]
        bounds.append(tacit.solve(tacit.Problem(joint, individual=each.individual)).bound)
    return sum(each.value for each in answers) / sum(bounds) - 1.0


# -- printing -------------------------------------------------------------------------------

HEADER = (
    "scenario",
    "released",
    "refused",
    "failed",
    "median, CPU",
    "worst, CPU",
    "growth",
    "most letters",
    "peak",
)


def _cells(result: YearResult) -> list[str]:
    return [
        result.scenario,
        *(str(result.count(outcome)) for outcome in ("released", "refused", "failed")),
        seconds_text(result.median_seconds),
        seconds_text(result.worst_seconds),
        "-" if result.growth is None else f"{result.growth:.2f}x",
        str(max(each.letters for each in result.answers)),
        f"{result.peak_gb:.2f} GB",
    ]


def _details(result: YearResult) -> Iterator[str]:
    """What coalitions hold beside the truth, the loss, and what went wrong."""
    for truth in result.truths:
        yield (
            f"{'+'.join(truth.parties)}: said to hold {truth.held_bits:.4f} bits, holds "
            f"{truth.true_bits:.4f} +- {truth.error_bits:.4f}"
        )
    slack = max(each.slack_bits / each.limit_bits for each in result.answers)
    yield f"largest slack of a party: {100 * slack:.3f} % of its limit"
    if result.loss is not None:
        yield f"distortion above what any history allows: {100 * result.loss:.2f} %"
    yield from sorted({each.note for each in result.answers if each.note})


def _say(made: Answer) -> None:
    print(
        f"{made.party}, visit {made.visit}: {made.outcome}, {made.cpu_seconds:.2f} s CPU, "
        f"{made.seconds:.2f} s, {made.states} states, {made.letters} letters, "
        f"{made.held_bits:.4f} of {made.limit_bits:.2f} bits, slack {made.slack_bits:.1e}, "
        f"everyone {made.everyone_bits:.3f}, value {made.value} {made.note}",
        file=sys.stderr,
        flush=True,
    )


def draw(results: Path, figure: Path) -> None:
    """Draw the curves of the docs from what ``--json`` wrote."""
    year = {each["scenario"]: read_result(each) for each in json.loads(results.read_text())["year"]}
    canvas = Figure(figsize=(10, 3), layout="constrained")
    visits, coalitions, releases = canvas.subplots(1, 3)
    for party in "abc":
        own = [each for each in year["returning"].answers if each.party == party]
        visits.plot([each.visit for each in own], [each.cpu_seconds for each in own], label=party)
    visits.legend(title="party", frameon=False)
    visits.set(xlabel="visit", ylabel="CPU seconds", ylim=(0, None), title="three parties return")
    for name in ("coalitions-32", "coalitions-256"):
        coalitions.plot([each.cpu_seconds for each in year[name].answers], ".", label=name[11:])
    coalitions.legend(title="cells", frameon=False)
    coalitions.set(xlabel="release", yscale="log", title="six parties, any 2, groups, everyone")
    releases.plot([each.cpu_seconds for each in year["thousand"].answers], ".", markersize=2)
    releases.set(xlabel="release", ylim=(0, None), title="a thousand releases")
    canvas.savefig(figure, dpi=110)


def main(name: str, *, quick: bool) -> None:
    """Run one scenario and print it as JSON."""
    with threadpool_limits(limits=1):
        print(json.dumps(asdict(run_scenario(name, quick=quick))))


if __name__ == "__main__":
    main(sys.argv[1], quick="--quick" in sys.argv[2:])
