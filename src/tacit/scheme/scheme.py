"""Sequential release: one request after another, each answered given everything before it.

[TVC] Algorithm 3, with the certified solver in the place of its bisection, limits on any coalition
of parties, and a memory that need not grow.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import (
    CapError,
    InfeasibleError,
    InvalidInputError,
    Suggestion,
    UnconvergedError,
)
from tacit.information import entropy, mutual_information
from tacit.information.laws import as_cap, as_law, as_limit
from tacit.limits import Bound, Limit, Parties, bounds, in_order
from tacit.markup import html_table
from tacit.problem import MEAN, Problem, Utility, ViewKey, ViewName
from tacit.scheme.bounded_memory import BoundedMemory, table_on
from tacit.scheme.history import ExactHistory
from tacit.scheme.memory import Copy, Memory, Step, Transition
from tacit.scheme.release import EVERYONE_LETTERS, Design, Release
from tacit.scheme.repeat import near_best_alone, no_worse, reads_only, value_of
from tacit.scheme.variable import Asked, Attributes, Variable, read_variable
from tacit.scheme.views import (
    DESIGN_ENTRIES,
    DESIGN_LETTERS,
    ClassOfX,
    CoalitionView,
    class_rows,
    class_sums,
    refine_classes,
    told_bits,
)
from tacit.solution import GAP_TOL, Solution, Status
from tacit.solvers import Progress, solve

if TYPE_CHECKING:
    from tacit.frames import Frame

_RARE = 1e-5
"""Letters with a smaller share of the records are left out where the limits allow it."""

_TINY = 1e-6
"""Under caps, a letter that nobody in a state gets with a larger probability is left out there: a
cap would hold for histories that nobody ever has, and later designs are hard to certify then."""

_MIXED_SHARES = (0.0, 2.0**-20, 2.0**-14, 2.0**-10, 2.0**-7, 2.0**-5, 2.0**-3, 0.25, 0.5, 0.75, 1.0)
"""Of a constant answer, tried one after the other."""

_ROUNDING = 1e-12
"""Bits. Letters that are handed on may tell more than a limit by this much, up to rounding."""

_HELD_TOL = 1e-9
"""Bits. What a coalition holds may exceed a limit by this much: gaps and rounding add up."""

_SPENT = 1e-6
"""Bits. A coalition with less than this left counts as having nothing left: a design for so little
is hard to certify and worth next to nothing."""

Find = Callable[[Problem], Solution]
"""Solves the problem of a design, with what its request asks of the solver."""

NO_CEILINGS: Mapping[int, float] = MappingProxyType({})

_MANY = 2**20

_COPIES_TRIED = 2
"""Earlier letters that are followed for a party in the place of a design of new ones."""

_SEEN = 2**13
"""Letters of all views that a design sees, times states: with more, it sees fewer states."""

CAP_ROOM, KEPT_ROOM = 1e-3, 0.8
"""Bits below its cap that a worst answer may use only in part, and the part that each release
leaves of them to the next."""

_UNKNOWNS = 2**16
"""States times classes of cells times answers: with more, a design sees fewer states."""

_AMPLE = 1.5
"""A limit that leaves so many times what another leaves is left out of a design until it binds."""

_EVERYONE: ViewKey = (0,)
"""The key of everyone in a problem over the memory's states: they are its one earlier axis."""

_WIDE = 2**11
"""Classes of cells times answers: with more, every limit is left out until it binds. Without the
views of others, most classes are alike to a design."""


class Scheme:
    """A private variable X and the releases made about it so far."""

    def __init__(
        self,
        p_x: ArrayLike,
        *,
        limits: Iterable[Limit] = (),
        memory: int | None = None,
        attributes: Attributes | None = None,
        reserve: float = 0.0,
    ) -> None:
        """Start with nothing released.

        Args:
            p_x: law of X, or counts; letters of probability 0 are kept.
            limits: standing, on parties and coalitions.
            memory: the most states to remember of a record's releases; ``None`` for all.
            attributes: names of the attributes behind a flat X; see ``from_counts``.
            reserve: bits that a design leaves below every limit, for whoever rounds its channel.
        """
        self.p_x = as_law(p_x, name="p_x").reshape(-1)
        self.limits = in_order(limits)
        self.attributes = attributes
        self.reserve = reserve
        self._steps: list[Step] = []
        self._releases: list[Release] = []
        self._collusion = 0.0  # the largest per-release limit on everyone so far
        nothing_told = np.zeros(len(self.p_x), dtype=np.intp)
        if memory is not None and memory < 1:
            raise InvalidInputError(f"memory is {memory}: remember at least one state, or None")
        self._memory: Memory = (
            ExactHistory.start(self.p_x, nothing_told)
            if memory is None
            else BoundedMemory.start(self.p_x, memory, self.limits, nothing_told)
        )

    @classmethod
    def from_counts(
        cls,
        counts: ArrayLike,
        attributes: str | Collection[str],
        *,
        limits: Iterable[Limit] = (),
        memory: int | None = None,
    ) -> Self:
        """A scheme over a table of counts, one axis per attribute; x is the flat index, C order."""
        table = np.asarray(counts)
        names = (attributes,) if isinstance(attributes, str) else tuple(attributes)
        if len(names) != table.ndim or len(set(names)) != len(names):
            raise InvalidInputError(
                f"attributes are {names} but counts have {table.ndim} axes: "
                "give one distinct name for each axis"
            )
        return cls(
            table.reshape(-1),
            limits=limits,
            memory=memory,
            attributes=Attributes(names, tuple(tuple(range(n)) for n in table.shape)),
        )

    @classmethod
    def from_table(
        cls,
        table: Frame,
        columns: str | Collection[str],
        *,
        limits: Iterable[Limit] = (),
        memory: int | None = None,
    ) -> Self:
        """A scheme over columns of a data frame of pandas, polars, PyArrow or DuckDB.

        The levels of a column are its different values, rising, and a missing one last as ``None``.
        """
        from tacit.frames import count_levels  # needs PyArrow, which nothing else here does

        names = (columns,) if isinstance(columns, str) else tuple(columns)
        levels, counts = count_levels(table, names)
        return cls(counts, limits=limits, memory=memory, attributes=Attributes(names, levels))

    @classmethod
    def resume(
        cls,
        p_x: ArrayLike,
        memory: Memory,
        steps: Iterable[Step],
        limits: Iterable[Limit],
        *,
        reserve: float = 0.0,
    ) -> Self:
        """A scheme that goes on from releases made earlier, as they are remembered."""
        scheme = cls(p_x, limits=limits, memory=1, reserve=reserve)
        scheme._memory, scheme._steps = memory, list(steps)
        return scheme

    def __repr__(self) -> str:
        """How much was released to whom, and what everyone holds."""
        n_releases = sum(len(step.holders) for step in self._steps)
        told = f"{n_releases} release{'s' * (n_releases != 1)}"
        whom = f" to {', '.join(sorted(self.parties))}" if self._steps else ""
        held = f"everyone holds {self.leakage():.4f} of {entropy(self.p_x):.4f} bits"
        limits = "; ".join(each.in_words for each in self.limits) or "none"
        return f"{type(self).__name__}({told}{whom}; {held}; limits: {limits})"

    def _repr_html_(self) -> str:
        """The releases designed here, as a table for notebooks."""
        head = ("party", "question", "value", "everyone holds, bits")
        rows = [
            (each.party, each.variable.name, f"{each.value:.4f}", f"{each.everyone_bits:.4f}")
            for each in self.history
        ]
        return html_table(repr(self), head, rows)

    # -- what is known ----------------------------------------------------------------------

    @property
    def history(self) -> tuple[Release, ...]:
        """The releases designed here, in order, copies included."""
        return tuple(self._releases)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Everything that was drawn, in order, and who holds it, what was resumed from included."""
        return tuple(self._steps)

    @property
    def parties(self) -> Parties:
        """Everybody who has received something."""
        return frozenset().union(*(step.holders for step in self._steps))

    @property
    def n_states(self) -> int:
        """How many states the memory has now."""
        return len(self._memory.mass)

    def leakage(self, parties: Collection[str] | None = None) -> float:
        """Bits that parties hold together about a record; everyone by default.

        Exact up to rounding where ``is_exact`` says so, an upper bound otherwise.
        """
        if parties is None:
            return self._memory.everyone_bits
        known = self._known(parties)
        if known == self.parties and self._memory.is_sufficient:
            return min(mutual_information(self._memory.mass), self._memory.bits(known))
        return self._memory.bits(known)

    def worst_answer(self, parties: Collection[str] | None = None) -> float:
        """Bits of the worst single answer that parties can hold together; everyone by default.

        After any answer, no letter of X is more than 2**bits times as likely as before. Exact up to
        rounding where ``is_exact`` says so, an upper bound otherwise.
        """
        return self._memory.worst_answer(self._known(parties))

    def is_exact(self, parties: Collection[str] | None = None) -> bool:
        """Whether ``leakage`` and ``worst_answer`` of these parties are exact, not bounds."""
        return self.law(parties) is not None

    def view(self, parties: Collection[str]) -> CoalitionView | None:
        """What is remembered of all that parties hold together, and how loose that is.

        Its ``slack`` is how far ``leakage`` may be above the truth, in bits; its ``rise``, by how
        much merging letters has raised it. ``None`` where the parties are only known as part of
        a larger coalition.
        """
        return self._memory.view(self._known(parties))

    def law(self, parties: Collection[str] | None = None) -> Array | None:
        """p(y, x) of what parties hold together, [y, x], everyone by default.

        ``None`` under bounded memory for coalitions that are not carried beside it, or whose
        letters were merged at a loss. Everyone is not carried, but while the memory has lost
        nothing its state tells what all letters tell: y is then the state.
        """
        held = self.class_law(parties)
        return None if held is None else self._on_cells(held)

    def class_law(self, parties: Collection[str] | None = None) -> Array | None:
        """The same as ``law`` on classes of cells, [y, class], see ``class_of_x``."""
        laws, is_exact = self.known_laws(parties)
        return laws[0] if is_exact else None

    def known_laws(self, parties: Collection[str] | None = None) -> tuple[list[Array], bool]:
        """Laws p(y, class) of what parties can tell, and whether the first is of all they hold.

        Where that law is not carried, or letters were merged at a loss, they are those of what is
        carried within the coalition, and these parties may be able to tell more.
        """
        return self._memory.known_laws(self._known(parties))

    @property
    def class_of_x(self) -> ClassOfX:
        """Class of each cell: what was released reads x by its class only ([M] fact 10)."""
        return self._memory.class_of_x

    def _on_cells(self, law: Array) -> Array:
        """p(y, x) on cells from p(y, class), [y, class]."""
        class_of_x = self._memory.class_of_x
        total = class_sums(class_of_x, self.p_x)[class_of_x]
        return np.asarray(law[:, class_of_x] * (self.p_x / np.where(total > 0, total, 1.0)))

    def _known(self, parties: Collection[str] | None) -> Parties:
        if parties is None:
            return self.parties
        named = frozenset([parties] if isinstance(parties, str) else parties)
        unknown = named - self.parties
        if unknown:
            raise InvalidInputError(
                f"{', '.join(sorted(unknown))} received nothing; "
                f"parties are {', '.join(sorted(self.parties)) or 'none yet'}"
            )
        return named

    # -- releasing --------------------------------------------------------------------------

    def release(
        self,
        asked: Asked,
        *,
        party: str,
        utility: Utility = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[int, float] = NO_CEILINGS,
        analysable: bool = False,
        individual: float | None = None,
        collusion: float | None = None,
        cap: float | None = None,
        gap_tol: float = GAP_TOL,
        frugal: bool = True,
    ) -> Release:
        """Design the best release for a request, and remember it.

        Args:
            asked: an attribute's name, several names, a function of the attributes' levels
                (called with them as keywords), or an array p(r | x).
            party: who receives it.
            utility: as for ``Problem``, and so are ``objective``, ``ceilings`` and ``analysable``.
            objective: ``"mean"`` or ``"worst-level"``.
            ceilings: level of R -> largest error that is allowed there.
            analysable: whether the release may read nothing but R. A copy of an earlier
                analysable release of R reads its letters and is analysable, too.
            individual: limit on what this party holds, everything it received before included.
            collusion: limit on what everyone holds together, beside the standing limits.
            cap: bits of the worst single answer of this party, everything it received before
                included, beside the standing limits.
            gap_tol: asked of the design, relative to the range of the distortion, as for ``solve``.
            frugal: as for ``solve``.

        Raises:
            InfeasibleError: a limit or a cap is below what is held already; nothing has changed.

        Where the memory cannot tell that the best release keeps a cap, it is mixed with a constant
        answer, and its status is ``INACCURATE``.
        """
        design = self.design(
            asked,
            party=party,
            utility=utility,
            objective=objective,
            ceilings=ceilings,
            analysable=analysable,
            individual=individual,
            collusion=collusion,
            cap=cap,
            gap_tol=gap_tol,
            frugal=frugal,
        )
        if design.solution.status is Status.INACCURATE:
            raise UnconvergedError(
                f"the design for {design.variable.name!r} is only within "
                f"{design.solution.gap:.2g} of the best, not within gap_tol={gap_tol:g} of "
                f"the range {design.solution.problem.scale:g}: "
                "raise gap_tol or loosen the limits a little"
            )
        if design.source is not None:
            release = self._hand_on(design, design.source)
        else:
            memory, transition = self._memory.after(
                party, design.table, limits=design.limits, caps=design.caps
            )
            broken = _broken_caps(memory, design.caps)
            if broken:
                design, memory, transition = self._mixed(design)
            release = self._remember(design, memory, transition)
        if collusion is not None:
            self._collusion = max(collusion, self._collusion)
        return release

    def make(self, design: Design) -> Release:
        """Make a designed release as a study does: without rare letters, mixed to keep its caps."""
        if design.source is not None:
            return self._hand_on(design, design.source)
        return self._remember(*self._mixed(design))

    def _remember(self, design: Design, memory: Memory, transition: Transition) -> Release:
        p_rhat_given_r = self._recipient_law(design)
        self._memory = memory
        release = Release(
            design.party,
            design.table,
            design.class_of_x,
            transition,
            self._memory.everyone_bits,
            design.variable,
            design.solution,
            p_rhat_given_r,
            design.covered,
            holders=frozenset({design.party}),
        )
        self._steps.append(release)
        self._releases.append(release)
        return release

    def _hand_on(self, design: Design, source: int) -> Release:
        """A copy of earlier letters: who holds them is all that changes."""
        p_rhat_given_r = self._recipient_law(design)
        handed = self._after_copy(design.party, source, design.limits, design.caps)
        assert handed is not None  # it was designed on this memory
        self._memory, step = handed, self._steps[source]
        release = Release(
            design.party,
            step.table,
            step.class_of_x,
            step.transition,
            self._memory.everyone_bits,
            design.variable,
            design.solution,
            p_rhat_given_r,
            design.covered,
            holders=frozenset({design.party}),
            source=source,
        )
        self._steps[source] = replace(step, holders=step.holders | {design.party})
        self._releases.append(release)
        return release

    def _mixed(self, design: Design) -> tuple[Design, Memory, Transition]:
        """A design without rare letters, and mixed with a constant answer until it keeps every cap.

        Merging states hides what tells that the design itself keeps them. What it leads to is
        returned, too.
        """
        problem, mass = design.solution.problem, self._memory.mass
        kept = without_rare_letters(design.table, mass, has_caps=bool(design.caps))
        channel = without_rare_letters(
            design.solution.channel, problem.joint_zxr.sum(axis=-1), has_caps=bool(design.caps)
        )
        letters = np.einsum("mx,mxa->a", mass, kept)
        for share in _MIXED_SHARES:
            table = (1 - share) * kept + share * letters
            mixed = (1 - share) * channel + share * letters
            memory, transition = self._memory.after(
                design.party, table, limits=design.limits, caps=design.caps
            )
            broken = _broken_caps(memory, design.caps)
            if problem.is_information:  # its value is not computed anew: only rare letters go
                if broken:
                    break
                return replace(design, table=table), memory, transition
            value = value_of(problem, mixed)
            if value is None:  # a ceiling is exceeded
                break
            if not broken:
                bound = design.solution.bound
                gap = 0.0 if bound is None else value - bound
                is_near = share == 0 and gap <= GAP_TOL * problem.scale
                status = design.solution.status if is_near else Status.INACCURATE
                solution = replace(design.solution, channel=mixed, value=value, status=status)
                return replace(design, solution=solution, table=table), memory, transition
        memory, transition = self._memory.after(
            design.party, design.table, limits=design.limits, caps=design.caps
        )
        broken = _broken_caps(memory, design.caps)
        if not broken:  # a ceiling needs the rare letters
            return design, memory, transition
        coalition, held = next(iter(broken.items()))
        reason = (
            f"the worst single answer of {' + '.join(sorted(coalition))} would tell up to "
            f"{held:.6g} bits, of a cap of {design.caps[coalition]:.6g}, as far as a memory of "
            f"{len(memory.mass)} states tells: remember more states"
        )
        raise _cap_error(coalition, design.caps, held, reason)

    def design(
        self,
        asked: Asked | Variable,
        *,
        party: str,
        utility: Utility = "hamming",
        objective: str = MEAN,
        ceilings: Mapping[int, float] = NO_CEILINGS,
        analysable: bool = False,
        individual: float | None = None,
        collusion: float | None = None,
        cap: float | None = None,
        gap_tol: float = GAP_TOL,
        frugal: bool = True,
        work_limit: float | None = None,
        progress: Progress | None = None,
        told: Collection[int] | None = None,
    ) -> Design:
        """The best release for a request, without making it; arguments as for ``release``.

        ``work_limit`` and ``progress`` are for releases that are searched for, as for ``solve``.
        ``told`` are numbers of steps, from 0, whose letters answer the same question: they may be
        handed on. By default they are those of releases of the same variable. The ``solution`` may
        be INACCURATE; ``release`` would raise.
        """
        variable = asked
        if not isinstance(variable, Variable):
            variable = read_variable(variable, self.attributes, len(self.p_x))
        caps = self._caps(party, cap)
        limits = dict.fromkeys(caps, inf) | self._limits(party, individual, collusion)
        classes = refine_classes(self._memory.class_of_x, variable.p_r_given_x, self.p_x)
        self._memory = self._memory.refine(classes, self.p_x)
        pose = partial(
            Problem,
            utility=utility,
            objective=objective,
            ceilings=ceilings,
            analysable=analysable,
        )
        if told is None:
            told = self._steps_about(variable)

        def find(problem: Problem) -> Solution:
            if not problem.is_searched:
                return solve(problem, gap_tol=gap_tol, frugal=frugal)
            return solve(
                problem, gap_tol=gap_tol, frugal=frugal, work_limit=work_limit, progress=progress
            )

        design = partial(self._design, variable, pose, party, limits, caps, find)
        letters = self._letters_told(told, variable, pose, party) if told else {}
        if not letters:
            return design()
        known = self._known_best(letters, variable, pose, party, limits, caps, gap_tol)
        if known is not None:
            return known
        best = design()
        return self._no_worse(letters, best, gap_tol) or best

    def _recipient_law(self, design: Design) -> Array:
        """What the recipient of a design may know, p(rhat | r), [r, rhat]."""
        p_x_rhat = np.einsum("mx,mxa->xa", self._memory.mass, design.table)
        p_r_rhat = np.einsum("xr,xa->ra", self._rows(design.variable), p_x_rhat)
        p_r = p_r_rhat.sum(axis=1, keepdims=True)
        return np.asarray(p_r_rhat / np.where(p_r > 0, p_r, 1.0))

    def _design(
        self,
        variable: Variable,
        pose: partial[Problem],
        party: str,
        limits: dict[Parties, float],
        caps: dict[Parties, float],
        find: Find,
    ) -> Design:
        """The best release within all limits; ``pose`` makes its problem of a joint and limits."""
        n_rhat = _most_answers(pose.keywords["utility"], variable)
        allowed = {each: self._memory.allowance(each, n_rhat, limits) for each in limits}
        is_wide = self._memory.mass.shape[1] * variable.p_r_given_x.shape[1] > _WIDE
        ample = {} if n_rhat == _MANY else self._ample(limits, allowed, is_wide=is_wide)
        ample = {each: left for each, left in ample.items() if each not in caps}
        n_priced = 1 if is_wide else len(limits)
        while True:
            priced = {each: bits for each, bits in limits.items() if each not in ample}
            design = self._design_within(priced, caps, variable, pose, party, allowed, find)
            over = {each: self._added(each, design.table) - left for each, left in ample.items()}
            broken = [each for each in ample if over[each] >= 0]
            is_certified = is_wide or design.solution.status is not Status.INACCURATE
            if not broken and (is_certified or not ample):
                break
            # In a wide table the worst first: with it, the others often hold.
            worst = sorted(broken, key=over.__getitem__, reverse=True)[:n_priced]
            ample = {e: left for e, left in ample.items() if is_certified and e not in worst}
            n_priced *= 2
        keys = design.keys | {each: each for each in ample}
        return replace(design, limits=limits, keys=keys)

    def _design_within(
        self,
        limits: dict[Parties, float],
        caps: dict[Parties, float],
        variable: Variable,
        pose: partial[Problem],
        party: str,
        allowed: dict[Parties, float],
        find: Find,
    ) -> Design:
        """The best release within these limits, reading as many states as it can afford."""
        memory, state = self._memory, np.arange(len(self._memory.mass))
        rooms = dict(allowed)
        problem, keys, covered = self._problem(memory, variable, pose, party, limits, caps, rooms)
        while isinstance(memory, BoundedMemory) and not _is_affordable(problem):
            memory, merged = memory.coarsen(len(memory.mass) // 2)
            state, rooms = merged[state], dict(allowed)
            problem, keys, covered = self._problem(
                memory, variable, pose, party, limits, caps, rooms
            )
        solution = find(problem)
        table, classes = solution.channel[state], self._memory.class_of_x
        return Design(party, variable, solution, table, classes, limits, keys, covered, caps)

    def _ample(
        self, limits: dict[Parties, float], allowed: dict[Parties, float], *, is_wide: bool
    ) -> dict[Parties, float]:
        """Coalitions with far more left than others -> bits left: their limits hardly ever bind.

        The best design without these limits is the best with them if it meets them. So in a wide
        table all are left out that have anything left.
        """
        lefts = {}
        for coalition, bits in limits.items():
            holders = coalition & self.parties
            held = self._memory.bits(holders) if holders else 0.0
            lefts[coalition] = self._left(bits, held + allowed[coalition])
        least = min(lefts.values(), default=0.0)
        return {
            each: left
            for each, left in lefts.items()
            if left > (0.0 if is_wide else _AMPLE * least) and self._is_carried(each)
        }

    def _is_carried(self, coalition: Parties) -> bool:
        """Whether a limit on a coalition is met through the law of what it holds."""
        holders = coalition & self.parties
        is_everyone = holders == self.parties
        return bool(holders) and not is_everyone and self._memory.view(holders) is not None

    def _added(self, coalition: Parties, table: Array) -> float:
        """Bits that a release [m, x, rhat] adds to what a coalition holds."""
        view = self._memory.view(coalition & self.parties)
        assert view is not None  # it is carried
        law = (view.law @ table.transpose(1, 0, 2)).reshape(len(view.law), -1)
        return mutual_information(law.T) - mutual_information(view.held)

    def _rows(self, variable: Variable) -> Array:
        """p(r | class of x) of a variable that tells no cells of a class apart, [class, r]."""
        return class_rows(self._memory.class_of_x, variable.p_r_given_x)

    # -- handing on -------------------------------------------------------------------------

    def _steps_about(self, variable: Variable) -> list[int]:
        """Numbers of the steps designed here whose letters answer a question."""
        return [
            number
            for number, step in enumerate(self._steps)
            if isinstance(step, Release)
            and np.array_equal(step.variable.p_r_given_x, variable.p_r_given_x)
        ]

    def _letters_told(
        self, told: Collection[int], variable: Variable, pose: partial[Problem], party: str
    ) -> dict[int, Array]:
        """Steps whose letters may be handed to a party -> the letters, p(rhat | m, x)."""
        utility, analysable = pose.keywords["utility"], pose.keywords["analysable"]
        n_rhat = _most_answers(utility, variable)
        level = self._rows(variable).argmax(axis=1)
        letters, p_class = {}, class_sums(self._memory.class_of_x, self.p_x)
        for number in told:
            step = self._steps[number]
            if party in step.holders or step.table.shape[2] != n_rhat:
                continue
            occurs = p_class > 0
            rows = table_on(self._memory.class_of_x, step)[:, occurs]
            if not analysable or reads_only(rows, level[occurs]):
                letters[number] = self._memory.recall(self._steps, number, p_class)
        return letters

    def _known_best(
        self,
        letters: Mapping[int, Array],
        variable: Variable,
        pose: partial[Problem],
        party: str,
        limits: dict[Parties, float],
        caps: dict[Parties, float],
        gap_tol: float,
    ) -> Design | None:
        """The first earlier letters that no release under the party's own limit can beat."""
        own = frozenset({party})
        alone = {own: limits.get(own, inf)}
        own_caps = {own: caps[own]} if own in caps else {}
        problem, keys, _ = self._problem(
            self._memory, variable, pose, party, alone, own_caps, {own: 0.0}
        )
        if problem.individual == inf:
            return None
        for number, own_letters in letters.items():
            known = _alone(self._steps[number], problem)
            solution = near_best_alone(problem, own_letters, known, gap_tol, self.reserve)
            if solution is not None:
                design = self._handed(number, solution, variable, party, limits, caps, keys)
                if design is not None:
                    return design
        return None

    def _no_worse(
        self, letters: Mapping[int, Array], design: Design, gap_tol: float
    ) -> Design | None:
        """The best of the earlier letters that are no worse than a design, if there are any."""
        variable, party, limits, caps = design.variable, design.party, design.limits, design.caps
        if design.solution.problem.is_information:
            return None
        mass = self._memory.mass
        problem = replace(
            design.solution.problem,
            joint=mass[..., None] * self._rows(variable),
            individual=None,
            collusion=None,
            views={},
            caps={},
        )
        told = [
            (number, solution)
            for number, own_letters in letters.items()
            if (solution := no_worse(problem, own_letters, design.solution, gap_tol, self.reserve))
        ]
        # The best first, and few: what coalitions would hold takes long to follow.
        told.sort(key=lambda each: each[1].value)
        for number, solution in told[:_COPIES_TRIED]:
            copy = self._handed(number, solution, variable, party, limits, caps, design.keys)
            if copy is not None:
                return copy
        return None

    def _handed(
        self,
        number: int,
        solution: Solution,
        variable: Variable,
        party: str,
        limits: dict[Parties, float],
        caps: dict[Parties, float],
        keys: Mapping[Parties, ViewKey],
    ) -> Design | None:
        """Handing on the letters of a step; ``None`` where a limit or a cap forbids it."""
        memory = self._after_copy(party, number, limits, caps)
        if memory is None or _broken_caps(memory, caps):
            return None
        present, own = self.parties | {party}, frozenset({party})
        for coalition, bits in limits.items():
            before = self._memory.bits(coalition & self.parties)
            if memory.bits(coalition & present) > max(bits, before) + _ROUNDING:
                return None
        covered = tuple(
            tuple(sorted(each))
            for each in limits
            if each != present and memory.view(each & present) is None
        )
        told = replace(solution, leakage={(): memory.bits(own), _EVERYONE: memory.everyone_bits})
        return Design(
            party,
            variable,
            told,
            solution.channel,
            self._memory.class_of_x,
            limits,
            {each: keys.get(each, _EVERYONE) for each in limits},
            covered,
            caps,
            number,
        )

    def _after_copy(
        self,
        party: str,
        source: int,
        limits: Mapping[Parties, float],
        caps: Mapping[Parties, float],
    ) -> Memory | None:
        """The memory if the letters of a step were handed to a party."""
        p_class = class_sums(self._memory.class_of_x, self.p_x)
        handed = self._memory.after_copy(
            party, self._steps, Copy(source), p_class, limits=limits, caps=caps
        )
        return None if handed is None else handed[0]

    def _limits(
        self, party: str, individual: float | None, collusion: float | None
    ) -> dict[Parties, float]:
        """Limits on every coalition with ``party``; refused where one holds more already."""
        for name, bits in (("individual", individual), ("collusion", collusion)):
            if bits is not None:
                as_limit(bits, name=name)
        if individual is not None and collusion is not None and individual > collusion:
            raise InvalidInputError(
                f"individual={individual} is above collusion={collusion}: what one party may "
                "learn cannot exceed what all may learn ([TVC] section II)"
            )
        everyone = self.parties | {party}
        own = frozenset({party})
        limits = {each: bound.bits for each, bound in self._bounds(party).items()}
        if individual is not None:
            limits[own] = min(individual, limits.get(own, inf))
        if collusion is not None:
            limits[everyone] = min(collusion, limits.get(everyone, inf))
        fits = [bits for coalition, bits in limits.items() if coalition != {party}]
        for coalition, bits in limits.items():
            held = self.leakage(coalition & self.parties) if coalition & self.parties else 0.0
            if held > bits + _HELD_TOL:
                largest = [Suggestion("release", {"individual": min(fits)})] if fits else []
                raise InfeasibleError(tuple(sorted(coalition)), bits, held, suggestions=largest)
        if collusion is not None and collusion < self._collusion:
            raise InvalidInputError(
                f"collusion={collusion} is below {self._collusion}, which an earlier release was "
                "given: the limit on everyone never decreases ([TVC] section II); a standing "
                'Limit("everyone", ...) is the way to be stricter'
            )
        return limits

    def _problem(
        self,
        memory: Memory,
        variable: Variable,
        pose: partial[Problem],
        party: str,
        limits: dict[Parties, float],
        caps: dict[Parties, float],
        rooms: dict[Parties, float],
    ) -> tuple[Problem, dict[Parties, ViewKey], tuple[tuple[str, ...], ...]]:
        """The release problem on a memory's states, the names that its views have there, and
        the coalitions that it sees only as part of everyone.

        ``rooms`` grow by what is given up to see fewer letters.
        """
        mass, present, p_x = memory.mass, self.parties, memory.mass.sum(axis=0)
        everyone = present | {party}
        full, own = limits.get(everyone, inf), inf
        views: dict[ViewName, tuple[Array, float]] = {}
        keys: dict[Parties, ViewKey] = {}
        covered: list[Parties] = []
        useful, posed = _useful(caps, p_x), dict[ViewKey, float | Array]()
        for coalition, bits in limits.items():
            holders = coalition & present
            if coalition == everyone:
                continue
            if not holders:
                own, keys[coalition] = bits - self.reserve, ()
                if coalition in useful:
                    posed[()] = self._pose_cap(useful[coalition], p_x[None], None)
                continue
            left = self._left(bits, memory.bits(holders) + rooms[coalition])
            seen = memory.seen(holders, left)
            if seen is None:
                covered.append(coalition)
                full = min(full, bits)
                continue
            view, rise = seen
            if coalition in useful and (whole := memory.view(holders)) is not None:
                view, rise = whole, 0.0  # fewer letters would tell too little
                hidden = None if whole.spread is None else np.tile(whole.spread, (len(p_x), 1)).T
                posed[coalition] = self._pose_cap(useful[coalition], view.held, hidden)
            rooms[coalition] += rise
            keys[coalition] = coalition
            most = mutual_information(view.held) + max(left - rise, 0.0)
            views[coalition] = (_given_mx(view, mass), most)
        left = self._left(full, memory.everyone_bits)
        joint = mass[..., None] * self._rows(variable)
        remembered = mutual_information(mass)
        keys |= {coalition: _EVERYONE for coalition in limits if coalition not in keys}
        through_everyone = [cap for each, cap in useful.items() if keys[each] == _EVERYONE]
        if through_everyone:
            view, hidden = memory.everyone.condense(joint.shape[-1])
            key = _EVERYONE if hidden is None else EVERYONE_LETTERS
            posed[key] = self._pose_cap(min(through_everyone), view.held, hidden)
            views |= {} if hidden is None else {EVERYONE_LETTERS: (_given_mx(view, mass), inf)}
        problem = pose(
            joint,
            individual=max(own, 0.0),
            collusion=remembered + left,
            views=views,
            caps=posed,
        )
        return problem, keys, tuple(tuple(sorted(coalition)) for coalition in covered)

    def _pose_cap(self, cap: float, held: Array, hidden: Array | None) -> float | Array:
        """The cap on a view as a design sees it, lower by what merged letters may hide.

        A little room stays below it, because without any a later release has no interior. No
        lower than what is told already: a constant answer is always allowed. What a release does
        to caps is checked afterwards, letter by letter.

        Args:
            cap: bits.
            held: p(y, x), [y, x].
            hidden: bits, [y, x], see ``condense_by_spread``; ``None`` for nothing. Then the view
                has one cap, else each of its letters and each x has its own.
        """
        told = told_bits(held)
        if hidden is None:
            told, hidden = np.array(max(float(told.max()), 0.0)), np.array(0.0)
        room = np.clip(cap - hidden - told, 0.0, CAP_ROOM)
        lower = cap - hidden - np.maximum(KEPT_ROOM * room, self.reserve)
        posed = np.maximum(lower, told)
        return posed if posed.ndim else float(posed)

    def _caps(self, party: str, own: float | None) -> dict[Parties, float]:
        """Caps on every coalition with ``party``; refused where an answer tells more already."""
        own_cap = inf if own is None else as_cap(own, name="cap")
        caps = {each: bound.cap for each, bound in self._bounds(party).items()}
        caps[frozenset({party})] = min(own_cap, caps.get(frozenset({party}), inf))
        caps = {each: bits for each, bits in caps.items() if bits < inf}
        for coalition, held in _broken_caps(self._memory, caps).items():
            raise _cap_error(coalition, caps, held)
        return caps

    def _bounds(self, party: str) -> dict[Parties, Bound]:
        return bounds(self.limits, self.parties, party)

    def _left(self, bits: float, held: float) -> float:
        """What a limit leaves to a coalition, 0 where that is next to nothing."""
        left = bits - self.reserve - held
        return left if left > _SPENT else 0.0

    # -- sampling ---------------------------------------------------------------------------

    def sample(self, x_codes: ArrayLike, rng: np.random.Generator) -> NDArray[np.intp]:
        """Letters of every release for simulated records, [record, release]. For research only."""
        x = np.asarray(x_codes)
        if x.ndim != 1 or not np.issubdtype(x.dtype, np.integer):
            raise InvalidInputError(f"x_codes has shape {x.shape}: give a list of codes of X")
        if len(x) and not ((x >= 0) & (x < len(self.p_x))).all():
            raise InvalidInputError(f"x_codes must lie in 0..{len(self.p_x) - 1}")
        state = np.zeros(len(x), dtype=np.intp)
        letters = np.empty((len(x), len(self._steps)), dtype=np.intp)
        for index, release in enumerate(self._steps):
            steps = np.cumsum(release.table[state, release.class_of_x[x]], axis=1)
            draws = rng.random(len(x)) * steps[:, -1]
            letters[:, index] = (draws[:, None] >= steps).sum(axis=1)
            state = release.next_state[state, letters[:, index]]
        return letters


def _useful(caps: Mapping[Parties, float], p_x: Array) -> dict[Parties, float]:
    """Caps that forbid something: no x is more than 1 / p(x) times as likely."""
    most = -np.log2(p_x[p_x > 0].min())
    return {coalition: cap for coalition, cap in caps.items() if cap < most}


def without_rare_letters(channel: Array, mass: Array, *, has_caps: bool) -> Array:
    """A design without letters that are rarer than ``_RARE``, or under caps ``_TINY`` in a state.

    They come from the solver's tolerance; each would add a state and mean nothing to the recipient
    ([M] fact 6).
    """
    tiny = _TINY if has_caps else 0.0
    p_letter = np.einsum("mx,mxa->a", mass, channel)
    is_tiny = np.where(mass[..., None] > 0, channel, 0.0).max(axis=1, keepdims=True) < tiny
    kept = np.where((p_letter < _RARE) | is_tiny, 0.0, channel)
    total = kept.sum(axis=-1, keepdims=True)
    common = np.eye(len(p_letter))[p_letter.argmax()]  # where only rare letters were given
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), common)


def _broken_caps(memory: Memory, caps: Mapping[Parties, float]) -> dict[Parties, float]:
    """Coalitions whose worst single answer may tell more than their cap, and how many bits."""
    held = {coalition: memory.worst_answer(coalition) for coalition in caps}
    return {each: bits for each, bits in held.items() if bits > caps[each] + _HELD_TOL}


def _cap_error(
    coalition: Parties, caps: Mapping[Parties, float], held: float, reason: str | None = None
) -> CapError:
    who = tuple(sorted(coalition))
    return CapError(who, caps[coalition], held, reason=reason)


def _is_affordable(problem: Problem) -> bool:
    """Whether a problem is small enough to be solved with as many states; with one it is."""
    letters = [np.asarray(law).shape[-1] for law, _ in problem.views.values()]
    n_states = len(problem.joint_zxr)
    are_few = max(letters, default=0) <= DESIGN_LETTERS[-1] and sum(letters) * n_states <= _SEEN
    # At least one letter of everyone for each state, and caps on all of its answers and x.
    unknowns = DESIGN_ENTRIES if EVERYONE_LETTERS in problem.views else _UNKNOWNS
    return n_states == 1 or (are_few and problem.joint_zxr.size <= unknowns)


def _most_answers(utility: Utility, variable: Variable) -> int:
    """Letters that a design may have; many where they only inform about R."""
    if isinstance(utility, str):
        return _MANY if utility == "information" else int(variable.p_r_given_x.shape[1])
    return len(np.asarray(utility))


def _alone(earlier: Step, problem: Problem) -> Solution | None:
    """An earlier design, if it was made without history, judged alike and under the same limit."""
    if not isinstance(earlier, Release):
        return None
    then = earlier.solution.problem
    if then.is_information or then.is_shares or problem.is_shares:
        return None
    is_alike = (then.objective, then.ceilings, then.analysable) == (
        problem.objective,
        problem.ceilings,
        problem.analysable,
    ) and np.array_equal(then.distortion, problem.distortion)
    is_alone = len(then.joint_zxr) == 1 and min(then.limits.values()) == problem.individual
    is_alone = is_alone and then.caps.get(()) == problem.caps.get(())
    return earlier.solution if is_alike and is_alone else None


def _given_mx(view: CoalitionView, mass: Array) -> Array:
    """p(y | m, x) as a problem wants it, [m, x, y]; the first letter on cells of no mass."""
    law = view.law.transpose(1, 2, 0)
    given = np.where(mass > 0, law / np.where(mass > 0, mass, 1.0), 0.0)
    given[0] = np.where(mass > 0, given[0], 1.0)
    given /= given.sum(axis=0)
    return np.moveaxis(given, 0, -1)
