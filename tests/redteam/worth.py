"""What answers are worth and what their recipient may know, in fractions, without tacit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx
from scipy.optimize import linprog

from tests.redteam.raw_ledger import Body, laws_of_question
from tests.redteam.true_law import PRECISION, Numbers, Release

Matrix = list[list[Fraction]]


@dataclass(frozen=True, slots=True)
class Worth:
    """Of one release.

    Attributes:
        value: mean cost, or that of the worst level, or bits about R.
        blind: the same for the best answer that does not look at the record.
        law: p(letter | r), [r][letter]; ``None`` for an r that no record has.
    """

    value: Fraction
    blind: Fraction | None
    law: list[list[Fraction] | None]


def worth_of(intent: Body, created: Body, release: Release, before: dict[int, Numbers]) -> Worth:
    """From the table, the question and the masses [state][cell] before it."""
    cells = [x for x, count in enumerate(created["counts"]) if count]
    laws = laws_of_question(intent["question"], created)
    p_r_given_x = [list(laws[x]) for x in cells]
    joint = _joint(release, before, p_r_given_x)
    p_r = [sum(row) for row in joint]
    law = [
        [p / total for p in row] if total else None for row, total in zip(joint, p_r, strict=True)
    ]
    if intent["measure"]["kind"] == "information":
        return Worth(_information(joint), Fraction(0), law)
    if intent["measure"]["kind"] == "shares":
        return Worth(_largest_variance(joint), None, law)
    costs = _costs(intent["measure"], intent["question"])
    if intent["measure"].get("objective") == "worst-level":
        errors = [
            sum((row[r] * p for row, p in zip(costs, own, strict=True)), Fraction(0))
            for r, own in enumerate(law)
            if own is not None
        ]
        return Worth(max(errors), _worst_level_blind(costs, p_r), law)
    letters = range(len(joint[0]))
    value = sum(
        costs[letter][r] * joint[r][letter] for r in range(len(joint)) for letter in letters
    )
    blind = min(sum(cost * p for cost, p in zip(row, p_r, strict=True)) for row in costs)
    return Worth(Fraction(value), Fraction(blind), law)


def _worst_level_blind(costs: Matrix, p_r: list[Fraction]) -> Fraction:
    """The least cost at the worst level of an answer that is drawn without a look at the record.

    A linear program: letters drawn with probabilities q, and the largest cost t.
    """
    occurring = [r for r, share in enumerate(p_r) if share]
    rows = [[*(float(row[r]) for row in costs), -1.0] for r in occurring]
    n = len(costs)
    found = linprog(
        [*[0.0] * n, 1.0],
        A_ub=rows,
        b_ub=[0.0] * len(rows),
        A_eq=[[*[1.0] * n, 0.0]],
        b_eq=[1.0],
        bounds=[(0, None)] * (n + 1),
    )
    return Fraction(float(found.fun))


def _joint(release: Release, before: dict[int, Numbers], p_r_given_x: Matrix) -> Matrix:
    """p(r, letter), [r][letter]."""
    n_letters = len(release.next_state[0])
    told = [[0] * n_letters for _ in p_r_given_x]
    for state, mass in before.items():
        for letter, column, _ in release.moves(state):
            for x, (count, weight) in enumerate(zip(mass, column, strict=True)):
                told[x][letter] += count * weight
    total = sum(map(sum, told))
    return [
        [
            sum((p[r] * row[letter] for p, row in zip(p_r_given_x, told, strict=True)), Fraction(0))
            / total
            for letter in range(n_letters)
        ]
        for r in range(len(p_r_given_x[0]))
    ]


def _costs(measure: Body, question: Body) -> Matrix:
    """d[rhat][r]."""
    if measure["costs"] is not None:
        return [[Fraction(cost) for cost in row] for row in measure["costs"]]
    n = len(question["labels"])
    if measure["kind"] == "hamming":
        return [[Fraction(int(a != b)) for b in range(n)] for a in range(n)]
    power = {"absolute": 1, "squared": 2}[measure["kind"]]
    places = [None if number is None else Fraction(number) for number in question["numbers"]]
    known = [place for place in places if place is not None]
    farthest = max(known, default=Fraction(0)) - min(known, default=Fraction(0))

    def apart(a: Fraction | None, b: Fraction | None) -> Fraction:
        if a is None or b is None:
            return Fraction(0) if a is b else farthest
        return abs(a - b)

    return [[apart(a, b) ** power for b in places] for a in places]


def _largest_variance(joint: Matrix) -> Fraction:
    """n times the largest variance of a share that the best weights of letters estimate.

    With q the law of the letters and A = p(letter | r), the matrix M = A^T diag(1 / q) A has the
    covariance of the estimates, and of the sample, as its inverse.
    """
    rows = [row for row in joint if sum(row)]
    p_r = [sum(row, Fraction(0)) for row in rows]
    q = [sum(column, Fraction(0)) for column in zip(*rows, strict=True)]
    told = [[p / total for p in row] for row, total in zip(rows, p_r, strict=True)]
    inner = [
        [
            sum((a * b / p for a, b, p in zip(one, two, q, strict=True) if p), Fraction(0))
            for two in told
        ]
        for one in told
    ]
    inverse = _inverted(inner)
    return max(inverse[r][r] - p_r[r] for r in range(len(p_r)))


def _inverted(matrix: Matrix) -> Matrix:
    """By Gauss and Jordan, exactly."""
    n = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(n))] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = next(k for k in range(i, n) if rows[k][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(n):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[n:] for row in rows]


def _information(joint: Matrix) -> Fraction:
    """I(R; letter) in bits, to as many digits as a float has."""
    with ctx.workprec(PRECISION):
        told = _sum_p_log_p([p for row in joint for p in row])
        spread = _sum_p_log_p([sum(row, Fraction(0)) for row in joint])
        spread += _sum_p_log_p([sum(column, Fraction(0)) for column in zip(*joint, strict=True)])
        return Fraction(float(((told - spread) / arb(2).log()).mid()))


def _sum_p_log_p(law: list[Fraction]) -> arb:
    shares = [arb(p.numerator) / arb(p.denominator) for p in law if p]
    return sum((share * share.log() for share in shares), arb(0))
