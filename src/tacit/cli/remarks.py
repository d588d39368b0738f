"""Remarks of the library, in words.

A code that is not in the table, as of an engine that somebody added, is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.remark import Remark


def remark_in_words(remark: Remark) -> str:
    """A remark for people."""
    say = _WORDS.get(remark.code)
    if say is not None:
        return say(**remark.values)
    values = ", ".join(f"{name} {value}" for name, value in remark.values.items())
    return remark.code.replace("_", " ") + (f": {values}" if values else "")


def remarks_for_machines(remarks: Iterable[Remark]) -> list[dict[str, Any]]:
    """Remarks as data, and in the words that people read."""
    return [each.as_dict() | {"in_words": remark_in_words(each)} for each in remarks]


def _say(sentence: str) -> Callable[[], str]:
    return lambda: sentence


def _counted_bits(bits: float) -> str:
    from tacit.policy import bits_in_words

    return bits_in_words(bits)


def _limit_too_high(
    *, bits: float, entropy_bits: float, party: str | None = None, limited_by: str = ""
) -> str:
    whose = f"on {limited_by}" if party is None else f"of {party}"
    return (
        f"the limit {whose}, {_counted_bits(bits)}, protects nothing: a record has only "
        f"{entropy_bits:.4f} bits to learn"
    )


def _limit_below_own(*, limited_by: str, bits: float, parties: list[str]) -> str:
    whom = "each of them" if len(parties) > 1 else parties[0]
    return (
        f"the limit on {limited_by}, {_counted_bits(bits)}, is below the own limit of "
        f"{', '.join(parties)} and holds for {whom}, too"
    )


def _loose_bounds(*, coalitions: int, most: str, slack: float, slack_share: float) -> str:
    from tacit.accounting import bits_up

    whose = f"what {most} holds" if coalitions == 1 else f"what {coalitions} coalitions hold"
    worst = "" if coalitions == 1 else f", most for {most}"
    return (
        f"{whose} is a bound that may be above the truth, because similar answers count as one: "
        f"by at most {bits_up(slack)} bits{worst} ({slack_share:.2%} of the limit)"
    )


def _party_let_in(*, party: str, bits: float) -> str:
    return (
        f"{party} is new and let in with its group's limit of {_counted_bits(bits)}: "
        "give it its own"
    )


def _few_records(*, records: int, others_bits: float) -> str:
    from tacit.accounting import bits_up

    return (
        f"{records:,} records are few: limits are on what a person's own rows tell, and to "
        f"whoever knows every count, everybody else's rows may add up to {bits_up(others_bits)} "
        "bits"
    )


def _unused_values(*, column: str, values: int, example: str) -> str:
    counted = "1 value" if values == 1 else f"{values:,} values"
    return f"the mapping of {column} names {counted} that no record has, such as {example!r}"


def _external_column(*, column: str) -> str:
    from tacit.study.reports.receipts import external_in_words

    return external_in_words(column)


def _entry_lost(**trace: Any) -> str:
    from tacit.study.journal import trace_in_words

    return f"the ledger has lost entries, {trace_in_words(trace)}: verify the study"


def _entry_still_lost(**trace: Any) -> str:
    from tacit.study.journal import trace_in_words

    return f"the ledger still lacks entries, {trace_in_words(trace)}"


def _rollback_accepted() -> str:
    from tacit.study.verification.verify import ROLLBACK_ACCEPTED

    return ROLLBACK_ACCEPTED


def _out_of_time(*, value: float, bound: float | None) -> str:
    from tacit.study.reports.receipts import out_of_time_in_words

    return out_of_time_in_words(value, bound)


def _level_never_released(
    *,
    levels: list[str],
    value: float,
    worst_level: float | None = None,
    mean: float | None = None,
) -> str:
    said = f"{', '.join(levels)} would never be the answer; the mean error is {value:.3f}"
    if worst_level is None:
        return f"{said}: --worst-level includes every level"
    return (
        f"{said}: with --worst-level it would be at most {worst_level:.3f} at every level, and "
        f"{mean:.3f} on average"
    )


def _said_in_certificate(*, text: str) -> str:
    return text


def _rows_left_out(*, rows: int) -> str:
    counted = "1 row of your table has" if rows == 1 else f"{rows:,} rows of your table have"
    return f"{counted} no record in the release: left out"


def _small_groups(*, rows: int) -> str:
    return (
        f"a group has only {rows:,} rows: intervals are right for large groups, and there their "
        "confidence is only nearly what it says"
    )


_WORDS: dict[str, Callable[..., str]] = {
    "analysable": _say(
        "analysable: the same law holds in every subgroup, see tacit crosstab and tacit.estimation"
    ),
    "bounds_only": _say(
        "some shares have only bounds: the release does not tell these levels apart, or too few "
        "rows do"
    ),
    "entry_lost": _entry_lost,
    "entry_still_lost": _entry_still_lost,
    "external_column": _external_column,
    "few_records": _few_records,
    "level_never_released": _level_never_released,
    "limit_below_own": _limit_below_own,
    "limit_too_high": _limit_too_high,
    "loose_bounds": _loose_bounds,
    "not_analysable": _say(
        "bounds that hold whatever the subgroup is: the file is not analysable, and its answers "
        "may err differently in each"
    ),
    "out_of_time": _out_of_time,
    "party_let_in": _party_let_in,
    "rollback_accepted": _rollback_accepted,
    "rows_left_out": _rows_left_out,
    "said_in_certificate": _said_in_certificate,
    "small_groups": _small_groups,
    "some_levels_only_together": _say(
        "some levels are told only together with others: they have bounds, and sums are told"
    ),
    "subgroups_differ": _say(
        "for all rows together: in a subgroup of your choice the answers may err differently"
    ),
    "unchanged": _say("nothing was changed: it was so already"),
    "unlikely_letters": _say(
        "the letters hardly come from the certificate's channel: do not rely on it"
    ),
    "unused_values": _unused_values,
}
"""Code of a remark -> its words, from its values."""
