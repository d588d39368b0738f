"""Draw the pictures of the pages on concepts: ``make concepts``.

Every figure on them is computed here, on the census data Adult. ``tests/test_concepts.py`` computes
them again and compares them with the pictures in docs/figures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

import tacit
from tacit.arrays import Array
from tacit.datasets import CountTable, adult
from tacit.paper.fig6 import REQUESTS, fig6

FIGURES = Path(__file__).parent.parent / "docs" / "figures"

BLUE, ORANGE, GREEN, GREY = "#2f6fde", "#d9730d", "#2e8b57", "#8a929b"
BITS = 0.3
"""What each party may learn, in all pictures."""


def new_figure(width: float, height: float, n_panels: int) -> tuple[Figure, list[Axes]]:
    """Panels side by side, without a frame on the right and above."""
    figure = Figure(figsize=(width, height), layout="constrained")
    panels = [figure.add_subplot(1, n_panels, 1 + number) for number in range(n_panels)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


# -- what a bit of leakage means ------------------------------------------------------------------


def asked(table: CountTable, attribute: str) -> Array:
    """p(x, r) with x the cell and r one of its attributes."""
    axis = table.attributes.index(attribute)
    level = np.indices(table.counts.shape)[axis].ravel()
    joint = np.zeros((table.counts.size, table.counts.shape[axis]))
    joint[np.arange(table.counts.size), level] = table.counts.ravel() / table.counts.sum()
    return joint


@cache
def best_answer(attribute: str, bits: float) -> tacit.Solution:
    """The answer that is right most often, with so many bits for a party that holds nothing."""
    return tacit.solve(tacit.Problem(asked(adult(), attribute), individual=bits))


def draw_bits() -> Figure:
    """How often an answer can be right, and what one answer tells."""
    figure, (left, right) = new_figure(9.6, 3.6, 2)
    grid = np.linspace(0, 2, 41)
    for attribute, colour in zip(adult().attributes, (BLUE, ORANGE, GREEN), strict=True):
        shares = [100 * (1 - best_answer(attribute, bits).value) for bits in grid.tolist()]
        left.plot(grid, shares, color=colour, label=attribute)
        at = 100 * (1 - best_answer(attribute, BITS).value)
        left.plot([BITS], [at], "o", color=colour)
        left.annotate(f"{at:.1f}", (BITS, at), (6, -11), textcoords="offset points", color=colour)
    left.set(xlabel="bits about a record", ylabel="right answers of 100", ylim=(30, 101))
    left.legend(frameon=False, loc="lower right")
    left.set_title(f"How often can an answer be right? (dots: {BITS} bits)", fontsize=10)
    draw_belief(right)
    return figure


def draw_belief(axes: Axes) -> None:
    """What is known of a person's education before and after the answer "bachelor and above"."""
    before = asked(adult(), "education").sum(axis=0)
    channel = best_answer("education", BITS).channel  # [x, rhat]
    joint = asked(adult(), "education").T @ channel  # [r, rhat]
    after = joint[:, -1] / joint[:, -1].sum()
    places = np.arange(len(before))
    for law, shift, colour, name in ((before, -0.2, GREY, "before"), (after, 0.2, BLUE, "after")):
        bars = axes.bar(places + shift, 100 * law, 0.4, color=colour, label=name)
        axes.bar_label(bars, fmt="%.0f", fontsize=8)
    names = [level.replace(" or ", " or\n").replace(" and ", "\nand ") for level in levels()]
    axes.set_xticks(places, names, fontsize=8)
    axes.set_ylabel("people of 100")
    axes.legend(frameon=False)
    axes.set_title(f'What the answer "{levels()[-1]}" tells, {BITS} bits', fontsize=10)


def levels() -> tuple[str, ...]:
    """The levels of education."""
    return tuple(adult().levels[0])


# -- why collusion is not the sum -----------------------------------------------------------------


def released(scheme: type[tacit.Scheme], *requests: str) -> float:
    """What everybody holds after some requests of different parties, in bits."""
    table = adult()
    running = scheme.from_counts(table.counts, table.attributes)
    for number, request in enumerate(requests):
        running.release(request, party=f"party {number}", individual=BITS)
    return running.history[-1].everyone_bits


def cancelling() -> float:
    """A coin for one party, the coin changed by income for another: what both know together."""
    p_income = asked(adult(), "income").sum(axis=0)
    channel = np.array([[0.5, 0, 0, 0.5], [0, 0.5, 0.5, 0]])  # [income, (coin, coin xor income)]
    return float(tacit.mutual_information(p_income[:, None] * channel))


@cache
def coalitions() -> dict[str, tuple[float, float]]:
    """What two parties got -> bits of each alone, bits of both together."""
    return {
        "the same question,\nthe same letters": (
            BITS,
            released(tacit.Scheme, "education", "education"),
        ),
        "the same question,\nnew noise": (
            BITS,
            released(tacit.NonAdaptiveScheme, "education", "education"),
        ),
        "two questions,\nnew noise": (
            BITS,
            released(tacit.NonAdaptiveScheme, "education", "income"),
        ),
        "noise that\ncancels": (0.0, cancelling()),
    }


def draw_collusion() -> Figure:
    """The sum of what two parties hold, beside what they hold together."""
    figure, [axes] = new_figure(9.6, 3.4, 1)
    places = np.arange(len(coalitions()))
    alone, together = np.array(list(coalitions().values())).T
    axes.bar(places - 0.2, alone, 0.36, color=GREY, label="one party alone")
    axes.bar(places - 0.2, alone, 0.36, alone, color="#c3c9d0", label="the other")
    bars = axes.bar(places + 0.2, together, 0.36, color=BLUE, label="both, pooling their files")
    axes.bar_label(bars, fmt="%.2f")
    for place, each in zip(places.tolist(), alone.tolist(), strict=True):
        axes.text(place - 0.2, 2 * each + 0.01, f"{2 * each:.2f}", ha="center")
    axes.set_xticks(places, list(coalitions()))
    axes.set(ylabel="bits about a record", ylim=(0, 0.95))
    axes.legend(frameon=False, loc="upper left", ncols=3)
    return figure


# -- what adaptive buys ---------------------------------------------------------------------------


@cache
def blind_course(bits: float) -> tuple[Array, float]:
    """Four answers that do not regard each other: their errors, and bits for everyone."""
    table = adult()
    scheme = tacit.NonAdaptiveScheme.from_counts(table.counts, table.attributes)
    for number, request in enumerate(REQUESTS):
        scheme.release(request, party=f"party {number}", individual=bits)
    errors = np.array([release.value for release in scheme.history])
    return errors, scheme.history[-1].everyone_bits


@cache
def equal_bits() -> float:
    """The limit for each party under which those four tell everyone as much as adaptive ones do."""
    target = fig6().adaptive[BITS].leakage[-1]
    return float(brentq(lambda bits: blind_course(bits)[1] - target, 0.05, BITS, xtol=1e-4))


def draw_adaptive() -> Figure:
    """What everybody holds after each request; and how good the answers are at equal leakage."""
    figure, (left, right) = new_figure(9.6, 3.6, 2)
    adaptive, other = fig6().adaptive[BITS], fig6().non_adaptive[BITS]
    numbers = np.arange(1, 5)
    left.step(numbers, adaptive.limit, color=GREY, ls=":", where="mid", label="limit δ")
    for course, colour, name in ((other, ORANGE, "non-adaptive"), (adaptive, BLUE, "adaptive")):
        left.plot(numbers, course.leakage, "o-", color=colour, label=name)
        last = float(course.leakage[-1])
        left.annotate(
            f"{last:.2f}", (4, last), (0, 6), textcoords="offset points", color=colour, ha="center"
        )
    left.set_xticks(numbers, [f"{k}. {name}" for k, name in zip(numbers, REQUESTS, strict=True)])
    left.set(ylabel="bits that everybody holds together", ylim=(0, 1.25))
    left.legend(frameon=False, loc="upper left")
    left.set_title(f"Each party may learn {BITS} bits", fontsize=10)
    draw_equal(right)
    return figure


def draw_equal(axes: Axes) -> None:
    """How good answers are, adaptive or not, where everybody holds the same in the end."""
    errors, bits = blind_course(equal_bits())
    places = np.arange(len(REQUESTS))
    kinds = (
        (errors, -0.2, ORANGE, f"non-adaptive, {equal_bits():.2f} bits each"),
        (fig6().adaptive[BITS].distortion, 0.2, BLUE, f"adaptive, {BITS} bits each"),
    )
    for wrong, shift, colour, name in kinds:
        bars = axes.bar(places + shift, 100 * (1 - wrong), 0.38, color=colour, label=name)
        axes.bar_label(bars, fmt="%.1f", fontsize=8)
    axes.set_xticks(places, [f"{k}. {name}" for k, name in enumerate(REQUESTS, 1)])
    axes.set(ylabel="right answers of 100", ylim=(0, 118))
    axes.legend(frameon=False, loc="upper left", ncols=2, fontsize=8)
    axes.set_title(f"Everybody holds {bits:.2f} bits together", fontsize=10)


# -- what an average hides ------------------------------------------------------------------------


def seniors() -> float:
    """The share of people over 60 with a degree."""
    counts = adult().counts
    return float(counts[-1, :, -1].sum() / counts.sum())


@cache
def best_capped(attribute: str, cap: float) -> tacit.Solution:
    """The answer that is right most often, no answer making any x more than 2^cap times as likely.

    A cap of 0 bits, which the solver takes with a millionth of room, is the blind guess.
    """
    return tacit.solve(tacit.Problem(asked(adult(), attribute), caps={(): cap}))


def draw_caps() -> Figure:
    """An exact answer that is cheap on average, and what a cap costs instead."""
    figure, (left, right) = new_figure(9.6, 3.6, 2)
    share = seniors()
    mean = tacit.entropy([share, 1 - share])
    answers = [-np.log2(1 - share), -np.log2(share)]
    names = [f"no\n({100 * (1 - share):.1f} of 100)", f"yes\n({100 * share:.1f} of 100)"]
    bars = left.bar(names, answers, 0.5, color=(GREY, ORANGE))
    left.bar_label(bars, fmt="%.2f", padding=6)
    left.axhline(mean, color=BLUE, ls="--", label=f"mean: {mean:.4f} bits")
    left.set(ylabel="bits that the answer tells", ylim=(0, 6.9))
    left.legend(frameon=False, loc="upper left")
    left.set_title("Over 60 with a degree, told exactly", fontsize=10)
    draw_capped(right)
    return figure


def draw_capped(axes: Axes) -> None:
    """Right answers about education, by a limit on the mean and by a cap on every answer."""
    grid = np.linspace(0, 3, 31)
    mean = [100 * (1 - best_answer("education", bits).value) for bits in grid.tolist()]
    capped = [100 * (1 - best_capped("education", bits).value) for bits in grid.tolist()]
    axes.plot(grid, mean, color=BLUE, label="limit on the mean")
    axes.plot(grid, capped, color=ORANGE, label="cap on every answer")
    strongest = best_answer("education", BITS).worst_answers[()]
    at = 100 * (1 - best_answer("education", BITS).value)
    axes.plot([BITS, strongest], [at, at], "o:", color=BLUE)
    said = f"{BITS} bits on average,\n{strongest:.2f} in one answer"
    axes.annotate(said, (strongest, at), (8, -24), textcoords="offset points", color=BLUE)
    axes.set(xlabel="bits", ylabel="right answers of 100", ylim=(30, 101))
    axes.legend(frameon=False, loc="lower right")
    axes.set_title("Education", fontsize=10)


# -- from a table to a release --------------------------------------------------------------------


@cache
def steps() -> tuple[tuple[str, str], ...]:
    """What one release does to Adult -> what came out, from a study that is made for it."""
    from tacit.cli.demo import write_people

    with TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder)
        study = tacit.Study.create(
            folder / "clinic",
            str(folder / "people.csv"),
            id="person",
            private=[tacit.Column("age", cuts=(30, 45, 60)), "education", "income"],
            ledger="folder",
        )
        with study:
            study.set_limit("lab-a", BITS)
            quote = study.quote("lab-a", "income")
            receipt = study.release("lab-a", "income", out=folder / "lab-a.csv")
            return described(study, quote, receipt)


def described(study: tacit.Study, quote: tacit.Quote, receipt: Any) -> tuple[tuple[str, str], ...]:
    """The steps of a release, each with its figures."""
    status = study.status()
    n_cells = int(np.prod([len(attribute.labels) for attribute in study.attributes]))
    right = 100 * (1 - quote.value)
    return (
        ("Encode", f"{status.records:,} rows,\n{n_cells} combinations"),
        ("Count", f"{status.entropy_bits:.2f} bits to learn\nabout each person"),
        ("Design", f"{right:.1f} of 100 right,\nproved to be the best"),
        ("Quantise", "odds as whole\nnumbers of 2³²"),
        ("Record", f"entry {receipt.entry} of the ledger,\n{BITS} bits spent"),
        ("Sample", f"{receipt.records:,} draws\nunder the secret key"),
        ("Deliver", "file, certificate,\nreceipt"),
    )


def draw_pipeline() -> Figure:
    """The steps from a table to a release, left to right."""
    figure = Figure(figsize=(11.4, 1.9), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set(xlim=(-0.5, len(steps()) - 0.5), ylim=(0, 1))
    for number, (step, figures) in enumerate(steps()):
        colour = BLUE if number < 4 else ORANGE
        box = {"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": "none"}
        axes.text(number, 0.62, step, ha="center", color="white", weight="bold", bbox=box)
        axes.text(number, 0.3, figures, ha="center", va="center", fontsize=8.5)
        if number:
            arrow = {"arrowstyle": "->", "color": GREY}
            axes.annotate("", (number - 0.34, 0.66), (number - 0.66, 0.66), arrowprops=arrow)
    axes.text(1.5, 0.92, "spends nothing", ha="center", color=BLUE)
    axes.text(5, 0.92, "spends bits: once, whatever fails", ha="center", color=ORANGE)
    return figure


CONCEPTS: dict[str, Callable[[], Figure]] = {
    "concept_adaptive.svg": draw_adaptive,
    "concept_bits.svg": draw_bits,
    "concept_caps.svg": draw_caps,
    "concept_collusion.svg": draw_collusion,
    "concept_pipeline.svg": draw_pipeline,
}
"""Picture -> what draws it."""


def main() -> None:
    """Draw all pictures; text stays text, so that it can be found and read aloud."""
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "tacit"}):
        for name, draw in CONCEPTS.items():
            draw().savefig(FIGURES / name, metadata={"Date": None})
            print(FIGURES / name)


if __name__ == "__main__":
    main()
