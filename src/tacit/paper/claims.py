"""The claims of [TVC] sections II to VII, each tested with numbers.

A claim that fails fails as stated: the evidence says under which condition it holds.
"""

from __future__ import annotations

from tacit.paper.claim import Claim
from tacit.paper.claims_adult import ADULT
from tacit.paper.claims_experiments import EXPERIMENTS
from tacit.paper.claims_theory import THEORY


def check_claims() -> tuple[Claim, ...]:
    """Every claim, in the paper's order; half a minute."""
    return tuple(check() for check in (*THEORY, *EXPERIMENTS, *ADULT))


def claims_text(claims: tuple[Claim, ...]) -> str:
    """The claims and their evidence, for people."""
    lines = [
        f"{'holds' if claim.holds else 'FAILS':5}  [TVC] {claim.section}: {claim.text}\n"
        f"       {claim.evidence}"
        for claim in claims
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(claims_text(check_claims()))
