"""Bounded memory ([M] fact 6): at most ``cap`` states.

The leakage to everyone is then a certified upper bound, and what the coalitions that matter hold
is carried beside the memory (``tacit.scheme.views``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from tacit.arrays import Array
from tacit.information.laws import add_up
from tacit.limits import Limit, Parties, least, must_follow
from tacit.scheme.memory import (
    NO_LIMITS,
    Copy,
    Step,
    Transition,
    Transitions,
    information_added_bits,
)
from tacit.scheme.views import (
    CARRIED_BYTES,
    MOST_LETTERS,
    ROUNDING_BITS,
    ClassOfX,
    CoalitionView,
    EveryoneView,
    Labels,
    MergedViews,
    class_sums,
    condense,
    followed,
    have_room,
    is_lossless,
    largest_group,
    least_worst_answer,
    merge_as_recorded,
    merge_by_spread,
    merge_laws,
    merge_views,
    move_states,
    parent_classes,
    split_classes,
    tell,
    told_bits,
)

CARRIED_ENTRIES = 2**26
"""Entries of these laws before a release: with more, it leaves fewer states."""

REMEMBERED_ENTRIES = 2**21
"""Entries of p(m, x) after a release: choosing which states to merge takes time as their square."""

KEPT_STATES = 8
"""Fewer states are one: with a single state, merging letters costs nothing."""

WAITING_BYTES = 2**29
"""Tables of releases that views still have to be moved by: with more, all views are moved."""

COMPARED_ENTRIES = 2**29
"""Pairs of letters that are compared after a release, times the entries (m, x) of each."""

COMPARED_IN_ONE = 2**25
"""The same for one view, where there are several states. Few coalitions do not get more letters
than this: they would cost time and hardly lower what merging costs."""

FEWEST_LETTERS = 16
"""Where many coalitions are carried, each may have fewer letters, but no fewer than these."""

FEWEST_STATES = 16
"""States that are tried at least before letters are merged."""

MERGING_SHARE = 0.01
"""Merging letters raises what a coalition is said to hold by this share of its limit at most."""

AFFORDED_STATES = 4
"""With more states than this, one release may use a smaller share of what is left for merging."""

ROOM_SHARE = 0.02
"""Share of what a limit leaves to a coalition that a design keeps for merging at most."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundedMemory:
    """At most ``cap`` states, and the coalitions that matter beside them.

    Attributes:
        mass: p(m, x), [m, x].
        cap: the most states kept; see also ``n_kept``.
        standing: limits on coalitions, which say whom to follow.
        present: parties that received something.
        everyone_bits: the bound on everyone, see ``Memory``: the sum of I(Rhat_j; X | W_{j-1})
            ([M] fact 6), rounded up, W being the letter of ``everyone``.
        carried: coalition -> what it holds, on the states when it last received something or later.
        roundings: how many roundings lie behind each mass; all terms are non-negative.
        class_of_x: class of each cell: x is a class of cells.
        is_sufficient: whether only states with the same posterior were ever merged.
        steps: the last releases, all that some view has not been moved by.
        n_moves: how many releases there were.
        carried_entries: of the laws of all coalitions before a release, see ``n_kept``.
        remembered_entries: of p(m, x) after a release.
        moved: views that were moved on, some or all of the way.
        everyone: what all parties hold together.
    """

    mass: Array
    cap: int
    standing: tuple[Limit, ...]
    present: Parties
    everyone_bits: float
    carried: dict[Parties, CoalitionView]
    roundings: int
    class_of_x: ClassOfX
    everyone: EveryoneView
    is_sufficient: bool = True
    steps: tuple[Step, ...] = ()
    n_moves: int = 0
    carried_entries: int = CARRIED_ENTRIES
    remembered_entries: int = REMEMBERED_ENTRIES
    moved: dict[Parties, CoalitionView] = field(default_factory=dict)

    @staticmethod
    def start(
        p_x: Array, cap: int, standing: tuple[Limit, ...], class_of_x: ClassOfX | None = None
    ) -> BoundedMemory:
        """Nothing released yet; every cell is a class of its own by default."""
        classes = np.arange(len(p_x)) if class_of_x is None else class_of_x
        p_class, nobody = class_sums(classes, p_x), frozenset[str]()
        carried = {nobody: CoalitionView(p_class[:, None, None])}
        mass = p_class[None]
        everyone = EveryoneView.of_states(mass)
        return BoundedMemory(mass, cap, standing, nobody, 0.0, carried, 1, classes, everyone)

    def refine(self, class_of_x: ClassOfX, p_x: Array) -> BoundedMemory:
        """The memory on finer classes, given the weight of each cell; nothing else changes."""
        if np.array_equal(class_of_x, self.class_of_x):
            return self
        n_states, rows = len(self.mass), np.concatenate([self.mass, self.everyone.law])
        rows, carried = split_classes(rows, self.carried, self.class_of_x, class_of_x, p_x)
        return replace(
            self,
            mass=rows[:n_states],
            carried=carried,
            roundings=self.roundings + 3,
            class_of_x=class_of_x,
            everyone=replace(self.everyone, law=rows[n_states:]),
            moved={},
        )

    def coarsen(self, n_states: int) -> tuple[BoundedMemory, Transitions]:
        """The memory with fewer states, for a design that reads less, and what states became.

        What a release that reads only these tells everyone, given all states, is at most what it
        tells given these.
        """
        state = merge_laws(self.mass, n_states)
        tells_nothing = np.ones((*self.mass.shape, 1))
        made = Transition(state[:, None])
        step = Step(
            "", tells_nothing, self.class_of_x, made, self.everyone_bits, holders=frozenset()
        )
        coarse = replace(
            self,
            mass=_gathered(self.mass, state),
            everyone=self.everyone.coarsen(state),
            moved=dict(self.moved),
            is_sufficient=False,
            steps=(*self.steps, step),
            n_moves=self.n_moves + 1,
        )
        return coarse, state

    @property
    def n_kept(self) -> int:
        """The most states after the next release: fewer than ``cap`` where laws are large."""
        letters = sum(view.law.shape[1] for view in self.carried.values())
        entries = min(self.carried_entries // letters, self.remembered_entries)
        most = entries // self.mass.shape[1]
        return min(self.cap, most if most >= KEPT_STATES else 1)

    def view(self, parties: Parties) -> CoalitionView | None:
        """What a coalition holds, where it is carried."""
        return self._move([parties])[parties] if parties in self.carried else None

    def _move(self, coalitions: Collection[Parties]) -> dict[Parties, CoalitionView]:
        """Views of carried coalitions on the states of now. They are kept: each moves once.

        ``carried`` stays as it is, so that no figure depends on what was looked at before.
        """
        views = {each: self.moved.get(each, self.carried[each]) for each in coalitions}
        oldest = min((view.n_moves for view in views.values()), default=self.n_moves)
        for number in range(oldest, self.n_moves):
            step = self.steps[number - self.n_moves]
            behind = {each: view for each, view in views.items() if view.n_moves == number}
            table = table_on(self.class_of_x, step)
            views |= move_states(behind, table, step.transition.next_state)
        self.moved.update(views)
        return views

    def seen(self, parties: Parties, left: float) -> tuple[CoalitionView, float] | None:
        """A view with few letters, where it is carried."""
        view = self.view(parties)
        return None if view is None else condense(view, left)

    def held(self, parties: Parties) -> Array | None:
        """p(y, x), where it is carried."""
        view = self.carried.get(parties)
        return None if view is None else view.held

    def known_laws(self, parties: Parties) -> tuple[list[Array], bool]:
        """See ``Memory``: everyone's law is that of the states, while these have lost nothing."""
        if self.is_exact(parties):
            return [self.carried[parties].held], True
        is_everyone = parties == self.present
        if is_everyone and self.is_sufficient:
            return [self.mass], True
        within = [view.held for each, view in self.carried.items() if each <= parties]
        return [*([self.everyone.law] if is_everyone else []), *within], False

    def bits(self, parties: Parties) -> float:
        """What a coalition holds at most: by its own law, those around it, or that of everyone."""
        around = [self.carried[each].bits for each in self.covering(parties)]
        return min([*around, self.everyone_bits])

    def worst_answer(self, parties: Parties) -> float:
        """By its own law, those around it, or that of everyone: what tells more bounds it."""
        views = [self.carried[each] for each in self.covering(parties & self.present)]
        if parties != self.present and any(view.spread is None for view in views):
            return least_worst_answer(views, self.roundings)
        everyone = self.everyone.worst_answer(self.roundings)
        return min(everyone, least_worst_answer(views, self.roundings)) if views else everyone

    def worst_answer_and_slack(self, parties: Parties) -> tuple[float, float]:
        """``worst_answer``, and the bits by which that may be above the truth, at most.

        A merged letter is a mean of its members: one of them tells at least as much as it does.
        """
        law = self.everyone.law if parties == self.present else None
        law = self.carried[parties].held if parties in self.carried else law
        told = 0.0 if law is None else float(told_bits(law).max())
        bound = self.worst_answer(parties)
        return bound, max(0.0, bound - told)

    def is_exact(self, parties: Parties) -> bool:
        """Whether its law is carried, and its letters were never merged at a loss."""
        return parties in self.carried and self.carried[parties].is_exact

    def covering(self, parties: Parties) -> list[Parties]:
        """Carried coalitions that hold all that these parties do: they themselves if they are."""
        if parties in self.carried:
            return [parties]
        return [coalition for coalition in self.carried if parties < coalition]

    def after(
        self,
        party: str,
        channel: Array,
        made: Transition | None = None,
        *,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
        everyone_bits: float | None = None,
    ) -> tuple[BoundedMemory, Transition]:
        """Append a release; merge states until ``cap`` are left, and letters of large views.

        Args:
            party: who received it.
            channel: p(rhat | m, x), [m, x, rhat].
            made: as recorded, where the release was made before.
            limits: as for ``allowance``.
            caps: coalition -> bits that its worst single answer may have: merging keeps below.
            everyone_bits: the bound on everyone after it, where it has been proved.
        """
        n_m, _, n_rhat = channel.shape
        if everyone_bits is None:
            told = self.everyone
            added = information_added_bits(told.law, channel[told.state], self.roundings)
            everyone_bits = add_up(self.everyone_bits, added)
        roundings = self.roundings + max(n_m, self.everyone.n_letters) * n_rhat + 4
        fed, grown = self._fed(party), followed(self.mass, channel)
        merged, state = (
            self._merge_anew(party, fed, channel, grown, roundings, limits, caps)
            if made is None
            else (self._merge_again(party, fed, channel, roundings, made), made.next_state)
        )
        letters = None if made is None else made.letters
        if made is None:
            has_caps = not caps.keys() <= fed.keys()
            letters = self.everyone.choose_labels(channel, state, has_caps=has_caps)
        transition = Transition(state, merged.labels, merged.slacks, letters)
        waiting = {each: view for each, view in self.carried.items() if party not in each}
        mass = _gathered(grown, state)
        # Of nobody, all that is to be known is p(m, x).
        waiting[frozenset()] = CoalitionView(mass.T[:, None], n_moves=self.n_moves + 1)
        step = Step(
            party,
            channel,
            self.class_of_x,
            transition,
            everyone_bits,
            holders=frozenset({party}),
        )
        memory = BoundedMemory(
            mass,
            self.cap,
            self.standing,
            self.present | {party},
            everyone_bits,
            waiting | merged.views,
            roundings + max(map(largest_group, transition.merges.values()), default=0),
            self.class_of_x,
            self.everyone.after(channel, state, letters, roundings),
            self.is_sufficient and is_lossless(grown, state.reshape(-1), mass),
            (*self.steps, step),
            self.n_moves + 1,
            self.carried_entries,
            self.remembered_entries,
            {each: view for each, view in self.moved.items() if each and party not in each},
        )
        return memory._forget_steps(), transition

    def _forget_steps(self) -> BoundedMemory:
        """Without the steps that all views were moved by; with too many of them, all are moved."""
        memory = self
        if sum(step.table.nbytes for step in self.steps) > WAITING_BYTES:
            # One at a time: their laws may be large.
            carried = {each: self._move([each])[each] for each in self.carried}
            memory = replace(self, carried=carried, moved={})
        n_waiting = self.n_moves - min(view.n_moves for view in memory.carried.values())
        return replace(memory, steps=self.steps[len(self.steps) - n_waiting :])

    def _merge_anew(
        self,
        party: str,
        fed: dict[Parties, CoalitionView],
        channel: Array,
        grown: Array,
        roundings: int,
        limits: Mapping[Parties, float],
        caps: Mapping[Parties, float],
    ) -> tuple[MergedViews, Transitions]:
        """What coalitions hold that a release feeds, and the next states [m, rhat].

        There are fewer states than ``n_kept`` where views could not be merged else, or do not fit:
        a merge of letters costs what they tell about the memory. So with few enough states it costs
        no more than is allowed, with a single one nothing.
        """
        n_rhat = channel.shape[2]
        allowed = {
            coalition: self.allowance(coalition, n_rhat, limits)
            for coalition, view in fed.items()
            if self._has_many_letters(view, n_rhat)
        }
        # Fewer states were needed before: more than twice as many would be merged again.
        most_tried = max(2 * len(self.mass), FEWEST_STATES) if allowed else self.n_kept
        # Caps on coalitions that are not carried are met through the states.
        merge_states = merge_laws if caps.keys() <= fed.keys() else merge_by_spread
        state = merge_states(grown, min(self.n_kept, most_tried)).reshape(-1, n_rhat)
        while True:
            n_states = int(state.max()) + 1
            share = min(AFFORDED_STATES / n_states, 1.0)
            rises = {each: share * bits + ROUNDING_BITS for each, bits in allowed.items()}
            rises = rises if n_states > 1 else {}
            most, beside = self._most_letters(n_states, n_rhat), self._beside(party)
            # The least allowed rise first: it is the likeliest to be exceeded.
            tightest = sorted(fed, key=lambda each: rises.get(each, inf))
            told = tell({each: fed[each] for each in tightest}, channel, state)
            merged = merge_views(told, roundings, beside, most, rises, caps)
            if merged is not None:
                return merged, state
            fewer = merge_states(_gathered(grown, state), n_states // 2)
            state = np.where(state < 0, -1, fewer[state])

    def _merge_again(
        self,
        party: str,
        fed: dict[Parties, CoalitionView],
        channel: Array,
        roundings: int,
        made: Transition,
    ) -> MergedViews:
        """What coalitions hold after a release whose merges were recorded."""
        told = tell(fed, channel, made.next_state)
        beside = self._beside(party)
        return merge_as_recorded(told, roundings, beside, made.merges, made.slacks)

    def _beside(self, party: str) -> list[CoalitionView]:
        """Views of coalitions that a release to a party does not feed."""
        return [view for coalition, view in self.carried.items() if party not in coalition]

    def allowance(self, coalition: Parties, n_rhat: int, limits: Mapping[Parties, float]) -> float:
        """See ``Memory``; 0 where no letters will have to be merged.

        The smallest limit on the coalition or one around it counts: what it holds may become part
        of what those hold. Where nothing limits it, what it holds counts as its limit.
        """
        view = self.carried.get(coalition & self.present)
        is_free = self.n_kept == 1  # merging letters costs what they tell about the states
        if view is None or is_free or not self._has_many_letters(view, n_rhat):
            return 0.0
        limit, held = self._least_limit(coalition, limits), view.bits
        in_all = MERGING_SHARE * (held if limit == inf else limit)
        return max(min(in_all - view.rise, ROOM_SHARE * (limit - held)), 0.0)

    def _least_limit(self, coalition: Parties, limits: Mapping[Parties, float]) -> float:
        """The smallest limit on a coalition or one around it."""
        around = [bits for each, bits in limits.items() if coalition <= each]
        return min([*around, least(self.standing, coalition).bits])

    def _has_many_letters(self, view: CoalitionView, n_rhat: int) -> bool:
        """Whether letters have to be merged after a release to the coalition."""
        return int(view.law.shape[1]) * n_rhat > self._most_letters(self.n_kept, n_rhat)

    def _most_letters(self, n_states: int, n_rhat: int) -> int:
        """Letters that each view may have: comparing them all takes time as their square.

        With a single state each takes a share of the room only, which leaves some for four times
        as many views. The answers of one release may always stay apart.
        """
        entries = n_states * self.mass.shape[1] * len(self.carried)
        pairs = COMPARED_ENTRIES / entries
        if n_states > 1:
            pairs = min(pairs, COMPARED_IN_ONE * len(self.carried) / entries)
        compared = int(np.clip(sqrt(pairs), FEWEST_LETTERS, MOST_LETTERS))
        share = CARRIED_BYTES // (4 * self.mass.itemsize * entries)
        return compared if n_states > 1 else min(compared, max(share, n_rhat))

    def _fed(self, party: str) -> dict[Parties, CoalitionView]:
        """Coalitions that a release feeds -> what they hold before it, small ones first."""
        views = self._move(self._feeding(party)).items()
        return dict(sorted(((each | {party}, view) for each, view in views), key=_by_size))

    def _feeding(self, party: str) -> list[Parties]:
        """Carried coalitions that, with a party, are fed by what it receives.

        A coalition that was dropped stays dropped: without what its party received before, its law
        would tell too little.
        """
        present = self.present | {party}
        return [
            coalition
            for coalition in self.carried
            if (party in coalition or party not in self.present)
            and must_follow(self.standing, coalition | {party}, present)
        ]

    def recall(self, steps: Sequence[Step], source: int, p_x: Array) -> Array:
        """See ``Memory``."""
        nobody = frozenset[str]()
        view = CoalitionView(p_x[:, None, None])
        for number, step in enumerate(steps):
            table, state = table_on(self.class_of_x, step), step.next_state
            if number == source:
                [(_, view)] = tell({nobody: view}, table, state)
            else:
                view = move_states({nobody: view}, table, state)[nobody]
        law = view.law.transpose(2, 0, 1)  # [m, x, rhat]
        total = law.sum(axis=-1, keepdims=True)
        n_letters = law.shape[-1]
        return np.where(total > 0, law / np.where(total > 0, total, 1.0), 1 / n_letters)

    def after_copy(
        self,
        party: str,
        steps: Sequence[Step],
        made: Copy,
        p_x: Array,
        *,
        is_new: bool = True,
        limits: Mapping[Parties, float] = NO_LIMITS,
        caps: Mapping[Parties, float] = NO_LIMITS,
    ) -> tuple[BoundedMemory, Copy] | None:
        """The memory after a copy; see ``Memory``."""
        feeding = self._feeding(party)
        knowing = [each for each in feeding if each & steps[made.source].holders]
        told = {each | {party}: self.carried[each] for each in knowing}  # they have these letters
        heard = sorted(
            (each | {party} for each in feeding if each not in knowing),
            key=lambda each: (len(each), sorted(each)),
        )
        again = _Followed({}, {}, {}, 0)
        # The smallest first, alone: it is followed quickest, and most copies fail by it.
        for some in (heard[:1], heard) if is_new and len(heard) > 1 else (heard,):
            found = self._follow_again(some, steps, made, p_x, limits, caps, is_new=is_new)
            if found is None or (is_new and not self._are_within(found.views, limits)):
                return None
            again = found
        told |= again.views
        if is_new and not have_room([*self._beside(party), *told.values()], len(self.mass)):
            return None
        waiting = {each: view for each, view in self.carried.items() if party not in each}
        memory = replace(
            self,
            present=self.present | {party},
            carried=waiting | told,
            roundings=self.roundings + again.roundings,
            moved={each: view for each, view in self.moved.items() if each and party not in each},
        )
        return memory, Copy(made.source, again.merges, again.slacks)

    def _are_within(
        self, followed_again: Mapping[Parties, CoalitionView], limits: Mapping[Parties, float]
    ) -> bool:
        """Whether views that were followed from the first step on rise little and keep limits."""
        for coalition, view in followed_again.items():
            most = max(limits.get(coalition, inf), self.bits(coalition & self.present))
            is_within = min(view.bits, self.everyone_bits) <= most + ROUNDING_BITS
            rise = self._most_rise(coalition, limits)
            rise = MERGING_SHARE * view.bits if rise == inf else rise
            if not is_within or view.rise > rise + ROUNDING_BITS:
                return False
        return True

    def _most_rise(self, coalition: Parties, limits: Mapping[Parties, float]) -> float:
        """Bits by which merging letters may raise what a coalition is said to hold, in all."""
        return MERGING_SHARE * self._least_limit(coalition, limits)

    def _follow_again(
        self,
        coalitions: Sequence[Parties],
        steps: Sequence[Step],
        made: Copy,
        p_x: Array,
        limits: Mapping[Parties, float],
        caps: Mapping[Parties, float],
        *,
        is_new: bool,
    ) -> _Followed | None:
        """What coalitions hold that get the letters of a copy, from the first step on.

        ``None`` as soon as one of them rises too much by merges that are chosen: it only rises on.
        """
        views = dict.fromkeys(coalitions, CoalitionView(p_x[:, None, None]))
        merges, slacks, roundings = dict(made.merges), dict(made.slacks), 0
        for number, step in enumerate(steps):
            if not views:
                break
            table, state = table_on(self.class_of_x, step), step.next_state
            hear = {
                each: view
                for each, view in views.items()
                if number == made.source or each & step.holders
            }
            silent = {each: view for each, view in views.items() if each not in hear}
            told, behind = tell(hear, table, state), self.roundings + roundings
            if is_new:
                most = self._most_letters(int(state.max()) + 1, table.shape[2])
                merged = merge_views(told, behind, None, most, {}, caps)
                assert merged is not None  # rises are looked at here
                for coalition, view in merged.views.items():
                    if view.rise > self._most_rise(coalition, limits) + ROUNDING_BITS:
                        return None
                merges[number], slacks[number] = merged.labels, merged.slacks
            else:
                labels, known = merges.get(number, {}), slacks.get(number, {})
                merged = merge_as_recorded(told, behind, None, labels, known)
                slacks[number] = merged.slacks
            roundings += max(map(largest_group, merged.labels.values()), default=0)
            views = move_states(silent, table, state) | merged.views
        views = {each: replace(view, n_moves=self.n_moves) for each, view in views.items()}
        merges = {number: labels for number, labels in merges.items() if labels}
        slacks = {number: bits for number, bits in slacks.items() if bits}
        return _Followed({each: views[each] for each in coalitions}, merges, slacks, roundings)


class _Followed(NamedTuple):
    """Views that were followed from the first step on, how letters became one, and the roundings
    that this adds behind each mass.
    """

    views: dict[Parties, CoalitionView]
    merges: dict[int, Mapping[Parties, Labels]]
    slacks: dict[int, Mapping[Parties, float]]
    roundings: int


def table_on(class_of_x: ClassOfX, step: Step) -> Array:
    """p(rhat | m, x) of a release on finer classes, [m, class, rhat]."""
    if class_of_x is step.class_of_x:
        return step.table
    return np.asarray(step.table[:, parent_classes(step.class_of_x, class_of_x)])


def _gathered(grown: Array, state: Transitions) -> Array:
    """p(m', x) from p(m, rhat, x), [(m, rhat), x], and the next states [m, rhat]."""
    flat = state.reshape(-1)
    mass = np.zeros((int(flat.max()) + 1, grown.shape[1]))
    np.add.at(mass, flat[flat >= 0], grown[flat >= 0])
    return mass


def _by_size(item: tuple[Parties, CoalitionView]) -> tuple[int, int, list[str]]:
    coalition, view = item
    return len(coalition), view.law.nbytes, sorted(coalition)
