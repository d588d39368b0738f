"""``tacit.audit``: measure, attack, report."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import inf
from typing import Any

import numpy as np

from tacit.arrays import Array
from tacit.auditing.attack import Attack, Simulation, attack
from tacit.auditing.coalitions import list_coalitions
from tacit.auditing.disclosure import (
    Disclosure,
    Levels,
    disclosed_levels,
    disclosure_lines,
    list_disclosures,
    may_disclose,
    unfollowed_in_words,
)
from tacit.auditing.finding import Finding
from tacit.auditing.inference import Inference, class_variable, infer, infer_record, infer_whole
from tacit.auditing.paths import memory_laws, path_bounds
from tacit.auditing.text import (
    attack_lines,
    average_lines,
    figure_up,
    guess_lines,
    inference_in_words,
    worst_lines,
    wrap,
)
from tacit.errors import InvalidInputError
from tacit.information import entropy
from tacit.information.measures import Bounds
from tacit.limits import Parties, coalition_name, least
from tacit.scheme import Scheme, Variable
from tacit.scheme.variable import read_variable
from tacit.scheme.views import class_sums, parent_classes

_ATTACK_WORK = 2**33
"""Multiplications to spend on all attacks: a minute or so, reached by large coalitions only."""

_PER_RECORDS = 1_000_000
"""People of whom disclosures are said where it is not known how many there are."""

_INDENT = "  "


@dataclass(frozen=True, slots=True, repr=False)
class Audit:
    """Every finding about a scheme.

    Attributes:
        findings: single parties, then limited coalitions, then everyone.
        n_releases: how many releases there were, copies included.
        n_x: how many letters of X occur.
        entropy_bits: H(X), all there is to learn.
        coalitions_left_out: limited coalitions that were too many to list.
        table_records: how many records the law of X was counted from; ``None`` if not known.
        records: how many records were attacked; an ``Attack`` may say fewer.
        seed: of the simulated records.
        confidence: that all intervals hold together.
        disclosures: levels that few records have and that answers give away, most complete first;
            of a million records where it is not known how many there are.
        unfollowed: names of coalitions that may be able to tell more levels: what they hold is
            only bounded.
    """

    findings: tuple[Finding, ...]
    n_releases: int
    n_x: int
    entropy_bits: float
    coalitions_left_out: int
    table_records: int | None
    records: int
    seed: int
    confidence: float
    disclosures: tuple[Disclosure, ...]
    unfollowed: tuple[str, ...]

    @property
    def everyone(self) -> Finding:
        """The finding on all parties together."""
        return self.findings[-1]

    @property
    def is_consistent(self) -> bool:
        """Whether every attack went as predicted."""
        return all(finding.attack.is_consistent for finding in self.findings)

    def of(self, parties: Collection[str]) -> Finding:
        """The finding on these parties together."""
        named = {parties} if isinstance(parties, str) else set(parties)
        for finding in self.findings:
            if set(finding.parties) == named:
                return finding
        raise InvalidInputError(
            f"{sorted(named)} was not audited: ask for one of "
            f"{', '.join(finding.name for finding in self.findings)}"
        )

    @property
    def is_within_limits(self) -> bool:
        """Whether nobody listed has learned more than a standing limit allows."""
        return not any(finding.is_above_limit for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The audit in a sentence or two."""
        above = [
            f"{each.name} ({figure_up(each.exposure.mutual_information)} of {each.limit_bits:g} "
            "bits)"
            for each in self.findings
            if each.is_above_limit
        ]
        if above:
            limits = f"ABOVE THE LIMIT: {', '.join(above)}"
        elif all(finding.limit_bits is None for finding in self.findings):
            limits = "No limits stand"
        else:
            listed = "listed " if self.coalitions_left_out else ""
            limits = f"Every {listed}coalition is within its limits"
        failed = ", ".join(each.name for each in self.findings if not each.attack.is_consistent)
        if not failed:
            return f"{limits}; every attack went as predicted."
        return f"{limits}; NOT AS PREDICTED: the attack of {failed}. Do not rely on these figures."

    @property
    def strongest(self) -> tuple[Finding, Inference]:
        """Who can tell most about what, by the growth of a right guess.

        Of coalitions that can tell the same, the smallest.
        """
        pairs = [(each, told) for each in self.findings for told in each.told]

        def strength(pair: tuple[Finding, Inference]) -> tuple[float, ...]:
            finding, told = pair
            gain = round(told.gain, 4)  # as it is shown
            return gain, 0.0 if gain else round(told.times_as_likely, 4), -len(finding.parties)

        return max(pairs, key=strength)

    def __repr__(self) -> str:
        """How much was audited, and the verdict."""
        return f"Audit({self.n_releases} releases, {len(self.findings)} findings: {self.verdict})"

    def _repr_html_(self) -> str:
        """The text, for notebooks."""
        return f"<pre>{escape(self.as_text())}</pre>"

    def as_text(self) -> str:
        """The audit for people, in lines of at most 80 columns; the verdict comes first."""
        return "\n".join(
            [
                *wrap(self.verdict),
                *self._disclosures(),
                *wrap(inference_in_words(*self.strongest)),
                "",
                *self._heading(),
                "",
                *guess_lines(self.findings),
                "On average:",
                *average_lines(self.findings),
                "",
                "What one answer tells (pointwise maximal leakage), mostly and at worst:",
                *worst_lines(self.findings),
                "",
                *wrap(
                    "Chance in % that one guess of a record's levels is right: before, predicted "
                    "after, and observed on simulated records that the coalition guessed by its "
                    "posterior. All intervals hold together with "
                    f"{100 * self.confidence:g} % confidence."
                ),
                *attack_lines(self.findings),
            ]
        )

    def _disclosures(self) -> list[str]:
        of = "" if self.table_records else f"of {_PER_RECORDS:,} records, "
        said = [f"{of}{each}." for each in disclosure_lines(self.disclosures, "can name")]
        if self.unfollowed:
            said.append(unfollowed_in_words(self.unfollowed) + ".")
        return [line for each in said for line in wrap(each, _INDENT, "!")]

    def _heading(self) -> list[str]:
        releases = "1 release" if self.n_releases == 1 else f"{self.n_releases} releases"
        lines = wrap(
            f"Audit of {releases} about {self.n_x:,} combinations of levels "
            f"({self.entropy_bits:.4f} bits to learn)."
        )
        lines.append("Leakage in bits about one record, rounded up.")
        if not all(finding.exposure.is_exact for finding in self.findings):
            lines.append("≤ marks an upper bound: the memory does not keep that coalition's law.")
        n = self.coalitions_left_out
        if n > 0:
            coalitions, are = ("coalition", "is") if n == 1 else ("coalitions", "are")
            lines += wrap(f"{n} more {coalitions} {are} limited but not listed.")
        return lines

    def as_dict(self) -> dict[str, Any]:
        """The audit for machines, ready for JSON."""
        finding, inference = self.strongest
        return {
            "releases": self.n_releases,
            "letters_of_x": self.n_x,
            "entropy_bits": self.entropy_bits,
            "records": self.records,
            "seed": self.seed,
            "confidence": self.confidence,
            "is_consistent": self.is_consistent,
            "is_within_limits": self.is_within_limits,
            "coalitions_left_out": self.coalitions_left_out,
            "table_records": self.table_records,
            "disclosures": [each.as_dict() for each in self.disclosures],
            "unfollowed": list(self.unfollowed),
            "strongest_inference": {"name": finding.name, **inference.as_dict()},
            "findings": [finding.as_dict() for finding in self.findings],
        }


def audit(
    scheme: Scheme,
    *,
    about: Sequence[Variable] | None = None,
    table_records: int | None = None,
    records: int = 20_000,
    seed: int = 0,
    confidence: float = 0.99,
) -> Audit:
    """What each party, each limited coalition and everyone have learned so far.

    Args:
        scheme: with at least one release.
        about: variables to tell the risk about, one by one; by default the scheme's attributes.
        table_records: how many records the law of X was counted from, for shares in words.
        records: how many simulated records each coalition attacks; fewer where following its
            belief through a large memory would take minutes, and the report says how many.
        seed: of the simulated records.
        confidence: that all intervals of the report hold together (Bonferroni's inequality).

    Raises:
        InvalidInputError: there is nothing to audit, or an argument is out of range.
    """
    if not scheme.steps:
        raise InvalidInputError("this scheme has no releases yet: release something, then audit")
    if records < 1:
        raise InvalidInputError(f"records is {records}: attack at least one simulated record")
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence is {confidence}: give a number between 0 and 1")
    attributes = scheme.attributes
    if about is None and attributes is not None:
        about = [read_variable(name, attributes, len(scheme.p_x)) for name in attributes.names]
    # What parties hold on their own decides which coalitions are worth a listing.
    knowledge = _knowledge(scheme, [frozenset({party}) for party in sorted(scheme.parties)])
    alone = {party: infer_whole(known) for (party,), known in knowledge.items()}
    held = {party: told.exposure.mutual_information for party, told in alone.items()}
    coalitions, left_out = list_coalitions(scheme.limits, held)
    others = [*coalitions, *[scheme.parties] * (len(scheme.parties) > 1)]
    knowledge |= _knowledge(scheme, others)
    cells = scheme.p_x, scheme.class_of_x
    whole = {parties: infer_record(known, *cells) for parties, known in knowledge.items()}
    on_classes = [class_variable(each, *cells) for each in about or ()]
    attacks = _attacks(scheme, whole, records, seed, confidence)
    findings = [
        Finding(
            name=coalition_name(parties, scheme.parties),
            parties=tuple(sorted(parties)),
            limit_bits=bits if (bits := least(scheme.limits, parties).bits) < inf else None,
            exposure=told.exposure,
            inferences=tuple(infer(each, knowledge[parties]) for each in on_classes),
            attack=attacks[parties],
        )
        for parties, told in whole.items()
    ]
    told, unfollowed = _disclosed(scheme, list(whole), on_classes, table_records or _PER_RECORDS)
    return Audit(
        findings=tuple(findings),
        n_releases=sum(len(step.holders) for step in scheme.steps),
        n_x=int((scheme.p_x > 0).sum()),
        entropy_bits=entropy(scheme.p_x),
        coalitions_left_out=left_out,
        table_records=table_records,
        records=records,
        seed=seed,
        confidence=confidence,
        disclosures=list_disclosures(told),
        unfollowed=tuple(coalition_name(each, scheme.parties) for each in unfollowed),
    )


def _disclosed(
    scheme: Scheme, coalitions: Sequence[Parties], variables: Sequence[Variable], records: int
) -> tuple[dict[Parties, Levels], list[Parties]]:
    """What each coalition can tell, and those of which it is not known whether that is all."""
    found, unfollowed, p_class = {}, list[Parties](), class_sums(scheme.class_of_x, scheme.p_x)
    for each in coalitions:
        laws, is_exact = scheme.known_laws(each)
        found[each] = disclosed_levels(laws, variables, records, sorted(each))
        if not is_exact and may_disclose(scheme.worst_answer(each), p_class, variables):
            unfollowed.append(each)
    return found, unfollowed


def infer_held(
    scheme: Scheme, parties: Collection[str], variables: Iterable[Variable]
) -> tuple[Inference, ...]:
    """What parties can tell together about each variable, and last about the whole record."""
    named, cells = frozenset(parties), (scheme.p_x, scheme.class_of_x)
    known = _knowledge(scheme, [named])[named]
    told = [infer(class_variable(variable, *cells), known) for variable in variables]
    return (*told, infer_record(known, *cells))


def _knowledge(scheme: Scheme, coalitions: list[Parties]) -> dict[Parties, Array | Bounds]:
    """The law p(y, class) where it is carried without a loss; else bounds."""
    laws = {parties: scheme.class_law(parties) for parties in coalitions}
    # What is released after the last letter that parties received tells them nothing.
    lasts = {
        parties: max(n for n, step in enumerate(scheme.steps, 1) if step.holders & parties)
        for parties, law in laws.items()
        if law is None
    }
    bounds: dict[int, Bounds] = {}
    if lasts:
        finest = scheme.class_of_x  # another cell of the same class would add nothing
        steps = [
            replace(step, class_of_x=parent_classes(step.class_of_x, finest))
            for step in scheme.steps
        ]
        bounds = path_bounds(class_sums(finest, scheme.p_x), steps, {*lasts.values()})
    found: dict[Parties, Array | Bounds] = {}
    for parties, law in laws.items():
        if law is not None:
            found[parties] = law
        else:
            paths = bounds[lasts[parties]]
            carried = min(paths.information_bits, scheme.leakage(parties))
            found[parties] = replace(paths, information_bits=carried)
    return found


def _attacks(
    scheme: Scheme,
    whole: dict[Parties, Inference],
    records: int,
    seed: int,
    confidence: float,
) -> dict[Parties, Attack]:
    rng = np.random.default_rng(seed)
    x_codes = rng.choice(len(scheme.p_x), size=records, p=scheme.p_x)
    laws = memory_laws(scheme.p_x, scheme.steps)
    simulation = Simulation(scheme.steps, laws, x_codes, scheme.sample(x_codes, rng))
    return {
        parties: attack(
            parties,
            simulation,
            told.exposure,
            confidence=1 - (1 - confidence) / len(whole),
            work=_ATTACK_WORK // len(whole),
        )
        for parties, told in whole.items()
    }
