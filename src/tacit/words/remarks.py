"""Remarks of the library, in words.

A code that is not in the table, as of an engine that somebody added, is shown as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.remark import Remark


_MOST_FILES = 10
"""As many files are named."""


def remark_in_words(remark: Remark) -> str:
    """A remark for people."""
    say = _WORDS.get(remark.code)
    return str(remark) if say is None else say(**remark.values)


def remarks_for_machines(remarks: Iterable[Remark]) -> list[dict[str, Any]]:
    """Remarks as data, and in the words that people read."""
    return [each.as_dict() | {"in_words": remark_in_words(each)} for each in remarks]


def _say(sentence: str) -> Callable[[], str]:
    return lambda: sentence


def _fill(sentence: str) -> Callable[..., str]:
    """A sentence with the values of the remark at their names."""
    return sentence.format


def _counted_bits(bits: float) -> str:
    from tacit.information.laws import bits_in_words

    return bits_in_words(bits)


def _limit_too_high(
    *,
    bits: float,
    entropy_bits: float,
    limited_by: str,
    cohort: int | None = None,
) -> str:
    where = "" if cohort is None else f" in cohort {cohort}"
    return (
        f"the limit on {limited_by}, {_counted_bits(bits)}, protects nothing{where}: a record has "
        f"only {entropy_bits:.4f} bits to learn"
    )


def _limit_below_own(*, limited_by: str, bits: float, parties: list[str]) -> str:
    whom = "each of them" if len(parties) > 1 else parties[0]
    return (
        f"the limit on {limited_by}, {_counted_bits(bits)}, is below the own limit of "
        f"{', '.join(parties)} and holds for {whom}, too"
    )


def _cap_below_own(*, limited_by: str, times: float, parties: list[str]) -> str:
    whom = "each of them" if len(parties) > 1 else parties[0]
    return (
        f"the limit on {limited_by}, {times:,.12g} times, is below the own limit of "
        f"{', '.join(parties)} and holds for {whom}, too"
    )


def _loose_bounds(*, coalitions: int, most: str, slack: float, slack_share: float) -> str:
    from tacit.information.laws import bits_up

    whose = f"what {most} holds" if coalitions == 1 else f"what {coalitions} coalitions hold"
    worst = "" if coalitions == 1 else f", most for {most}"
    return (
        f"{whose} is a bound that may be above the truth, because similar answers count as one: "
        f"by at most {bits_up(slack)} bits{worst} ({slack_share:.2%} of the limit)"
    )


def _unfollowed(*, coalitions: list[str]) -> str:
    from tacit.auditing.disclosure import unfollowed_in_words

    return unfollowed_in_words(coalitions)


def _loose_caps(*, coalitions: int, most: str, slack: float) -> str:
    from tacit.information.laws import times_in_words

    whose = f"the worst answer of {most}" if coalitions == 1 else f"{coalitions} worst answers"
    worst = "" if coalitions == 1 else f", most for {most}"
    return (
        f"what is said of {whose} is a bound that may be above the truth, because similar answers "
        f"count as one: by a factor of at most {times_in_words(slack)}{worst}"
    )


def _no_cap(
    *, party: str, times: float, lost: float, around: float | None = None, limited_by: str = ""
) -> str:
    from tacit.limits import times_promise

    beside = "" if around is None else f" beside that of {around:,.12g} times on {limited_by}"
    return (
        f"{party} has no limit in times{beside}: with --times {times:g}, {times_promise(times)}, "
        "and no answer is 90 % sure of a level that fewer than half of the records have; it costs "
        f"at most {100 * lost:.1f} of 100 right answers about an attribute"
    )


def _cap_reached(*, coalition: str, times: float, limited_by: str) -> str:
    on = "" if limited_by == coalition else f" on {limited_by}"
    return (
        f"the worst answer of {coalition} would be at the limit{on} of {times:,.12g} times while "
        "bits are left: later requests may be refused for it"
    )


def _cap_too_high(*, limited_by: str, times: float, most_times: float) -> str:
    return (
        f"the limit on {limited_by}, {times:,.12g} times, protects nothing: no answer makes a "
        f"combination of levels more than {most_times:,.6g} times as likely"
    )


def _few_records(*, records: int, others_bits: float) -> str:
    from tacit.information.laws import bits_up

    counted = "1 record is" if records == 1 else f"{records:,} records are"
    return (
        f"{counted} few: limits are on what a person's own rows tell, and to "
        f"whoever knows every count, everybody else's rows may add up to {bits_up(others_bits)} "
        "bits"
    )


def _all_alike(*, records: int) -> str:
    if records == 1:
        return "there is 1 record: its public counts tell everything about it"
    return (
        f"all {records:,} records have the same combination of levels: the public counts tell "
        "everything about each of them"
    )


def _unused_values(*, column: str, values: int, example: str) -> str:
    counted = "1 value" if values == 1 else f"{values:,} values"
    return f"the mapping of {column} names {counted} that no record has, such as {example!r}"


def _strays_missing(*, column: str, records: int, example: str) -> str:
    counted = "1 record has a text" if records == 1 else f"{records:,} records have texts"
    count = "counts" if records == 1 else "count"
    return f"{counted} in {column} that cannot be read, such as {example!r}, and {count} as missing"


def _numbers_merged(*, column: str, numbers: int, kept: int, example: str) -> str:
    return (
        f"{numbers:,} different long numbers in {column}, such as {example}, are only {kept:,} in "
        "tacit, which keeps 15 to 17 digits of them: if the rest matters, give the table a DECIMAL "
        "type of up to 38 digits, or write them as texts"
    )


def _error_cells(*, column: str, records: int, example: str) -> str:
    counted = "1 cell" if records == 1 else f"{records:,} cells"
    count = "is an error" if records == 1 else "are errors"
    counts = "counts" if records == 1 else "count"
    return f"{counted} of {column} {count}, such as {example}, and {counts} as missing"


def _records_were(records: int) -> str:
    return "1 record was" if records == 1 else f"{records:,} records were"


def _known_skipped(*, records: int) -> str:
    counted = _records_were(records)
    return f"{counted} left out: they are in the study already"


def _erased_skipped(*, records: int) -> str:
    return f"{_records_were(records)} left out: erased from the study before"


def _rows_apart(*, column: str, rows: int) -> str:
    return (
        f"if {column} names a person, up to {rows:,} rows of one are answered apart and their bits "
        f"add up, to at most {rows:,} times every limit"
    )


def _corrected(*, records: int, times: int) -> str:
    counted = "1 record joined" if records == 1 else f"{records:,} records joined"
    return (
        f"{counted} again: earlier answers about them stand, and whoever holds these and new ones "
        f"may hold up to {times} times the limits about such a record"
    )


def _values_changed(*, records: int) -> str:
    counted = "1 of them has" if records == 1 else f"{records:,} of them have"
    return (
        f"{counted} other private values than when they joined: the study goes on with those, and "
        "answers about them stand"
    )


def _as_in_papers(code: str) -> Callable[..., str]:
    """The words that pages of receipts have for it."""

    def say(**values: Any) -> str:
        from tacit.remark import Remark
        from tacit.study.reports import receipts

        return receipts.remark_in_words(Remark(code, values))

    return say


def _fill_trace(template: str) -> Callable[..., str]:
    """A sentence with what the folder shows of entries that were lost."""

    def say(**trace: Any) -> str:
        from tacit.study.journal import trace_in_words

        return template.format(trace=trace_in_words(trace))

    return say


def _reset_accepted(*, studies: list[dict[str, Any]]) -> str:
    said = [
        f"that of {each['table'] or 'a table'}, made {each['made'][:10]} ({each['study']})"
        for each in studies
    ]
    if len(said) == 1:
        have, whose = "another study of this ledger has", "both"
    else:
        have, whose = f"{len(said)} other studies of this ledger have", "them all"
    return (
        f"{have} some of the same ids, which was accepted: {', '.join(said)}; bits are counted "
        "from 0 here, and if these are the same people, whoever holds releases of "
        f"{whose} may hold the sum about them"
    )


def _erased_again(*, records: int) -> str:
    were = _records_were(records)
    return f"{were} erased since the backup was made, and erased again"


def _erased_elsewhere(*, records: int) -> str:
    were = _records_were(records)
    return (
        f"{were} erased from studies in this ledger, and nobody can tell whether they are in this "
        "table: leave them out, for their bits would be counted from 0 again"
    )


def _erased_in_files(*, releases: list[int], files: Sequence[str] = ()) -> str:
    which = "release" if len(releases) == 1 else "releases"
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    there = f" ({', '.join(files[:_MOST_FILES])}{more})" if files else ""
    return (
        f"files of {which} {', '.join(map(str, releases))} were delivered before and hold answers "
        f"about them{there}: deliver again what is still used, and ask recipients to delete the "
        "old files; copies that tacit did not write from this folder are not known"
    )


def _paper_before_erasure(*, paper: str, records: int) -> str:
    were = _records_were(records)
    return f"{paper} was made before {were} erased"


def _erasure_unfinished(*, records: int) -> str:
    counted = "1 record" if records == 1 else f"{records:,} records"
    return f"the erasure of {counted} was not finished: run tacit erase on the study to finish it"


def _level_never_released(
    *,
    levels: list[str],
    value: float,
    worst_level: float | None = None,
    mean: float | None = None,
) -> str:
    said = f"{', '.join(levels)} would never be the answer"
    if worst_level is None:
        return f"{said}: --worst-level includes every level"
    return (
        f"{said}; with --worst-level every level would be: error {worst_level:.3f} at most and "
        f"{mean:.3f} on average, instead of {value:.3f}"
    )


def _rows_left_out(*, rows: int) -> str:
    counted = "1 row of your table has" if rows == 1 else f"{rows:,} rows of your table have"
    return f"{counted} no record in the release: left out"


def _few_rows(*, rows: int) -> str:
    counted = "1 row is" if rows == 1 else f"{rows:,} rows are"
    return (
        f"{counted} few: intervals are for many rows, and here their confidence is only nearly "
        "what it says"
    )


def _small_groups(*, rows: int) -> str:
    counted = "1 row" if rows == 1 else f"{rows:,} rows"
    return (
        f"a group has only {counted}: intervals are for large groups, and in this one their "
        "confidence is only nearly what it says"
    )


def _outside_shares(*, shares: int) -> str:
    counted = "1 share is" if shares == 1 else f"{shares:,} shares are"
    it, its = ("it", "its interval") if shares == 1 else ("them", "their intervals")
    return (
        f"{counted} estimated below 0 or above 1, where no share can be: estimates are right on "
        f"average, and noise may take them there; read {it} as 0 or 1 and rely on {its}, but take "
        "sums and means of estimates as they are"
    )


def _wide_bounds(*, bounds: int, of: int) -> str:
    which = f"{bounds:,} of {of:,} bounds are" if of > 1 else "the bounds are"
    return (
        f"{which} 0 and 1, which is true of any share and says nothing: ask the custodian for an "
        "analysable release, or take larger groups"
    )


def _unbounded_intervals(*, figures: int, of: int) -> str:
    return (
        f"{figures} of {of} odds ratios or coefficients are not bounded on a side: these rows are "
        "too few for the noise; such intervals hold the truth more often than they say"
    )


_WORDS: dict[str, Callable[..., str]] = {
    "all_alike": _all_alike,
    "analysable": _say(
        "analysable: the same law holds in every subgroup, see tacit crosstab and tacit.estimation"
    ),
    "bounds_only": _say(
        "some shares have only bounds: the release does not tell these levels apart, or too few "
        "rows do"
    ),
    "cap_below_own": _cap_below_own,
    "cap_reached": _cap_reached,
    "cap_too_high": _cap_too_high,
    "chain_broken": _fill("{reason}"),
    "copies_unknown": _fill("{reason}"),
    "copy_changed": _fill(
        "{file} was written as release {release} and is something else now: whether it holds "
        "records that were erased since is not known"
    ),
    "bits_cut": _as_in_papers("bits_cut"),
    "copied": _as_in_papers("copied"),
    "corrected": _corrected,
    "drawn_otherwise": _fill("release {release}, drawn again, is not what was delivered"),
    "entry_lost": _fill_trace("the ledger has lost entries, {trace}: verify the study"),
    "entry_lost_by_ledger": _fill(
        "entry {entry} is not in the ledger as {paper} has it, and {paper} is genuine, sealed "
        "by this study's key: the ledger has lost entry {entry}; the ledger was rolled back or "
        "rewritten since"
    ),
    "entry_missing": _fill_trace("the ledger has lost entries: {trace}"),
    "entry_still_lost": _fill_trace("the ledger still lacks entries, {trace}"),
    "entry_wrong": _fill("entry {entry}: {reason}"),
    "error_cells": _error_cells,
    "erased_again": _erased_again,
    "erased_elsewhere": _erased_elsewhere,
    "erased_in_backups": _say(
        "backups made before still hold them: remove these, or erase again after restoring one "
        "together with its ledger"
    ),
    "erased_in_file": _fill(
        "{file} was written before records were erased and still holds them: deliver release "
        "{release} again"
    ),
    "erased_in_files": _erased_in_files,
    "erased_skipped": _erased_skipped,
    "erased_still_there": _fill("records that the ledger says were erased are there: {records:,}"),
    "erasure_unfinished": _erasure_unfinished,
    "external_column": _as_in_papers("external_column"),
    "held_constant": _fill(
        "{file} says the same of everybody in it: it tells who is in it, no more"
    ),
    "held_disagrees": _fill(
        "{rows:,} rows of {file} show another {column} than most people of the same {known}: "
        "nobody who knows {known} finds these"
    ),
    "held_strangers": _fill("{rows:,} rows of {file} are of people whom the table lacks: left out"),
    "held_twice": _fill("{file} says what {same_as} says: it adds nothing"),
    "few_records": _few_records,
    "few_rows": _few_rows,
    "file_changed": _fill("{file} is not release {release} as it was delivered"),
    "file_gone": _fill("release {release} is no longer at {file}"),
    "file_replaced": _fill("{file} was release {release} and is release {now} now"),
    "files_not_checked": _say(
        "without a key, neither the snapshot nor release files can be checked"
    ),
    "guarded_labels": _fill(
        "in {file}, an apostrophe stands before labels that a spreadsheet would run"
    ),
    "judged_by_information": _fill(
        "release {release} is judged by information: no better release than it claims was found, "
        "and its prices are only hashed"
    ),
    "judged_by_shares": _fill(
        "release {release} is judged by estimated shares: no better release was found, and no "
        "proof shows how near to the least variance it is"
    ),
    "key_damaged": _fill("{reason}"),
    "key_not_destroyed": _say("the study is closed but its key is still there: close it again"),
    "known_from_backup_alone": _say(
        "the ledger knew nothing of this study: releases since the backup was made are not counted "
        "any more, and records erased since are back: erase them again, and look for a newer backup"
    ),
    "known_skipped": _known_skipped,
    "ledger_unreadable": _fill("{reason}"),
    "level_never_released": _level_never_released,
    "limit_below_own": _limit_below_own,
    "limit_too_high": _limit_too_high,
    "loose_bounds": _loose_bounds,
    "loose_caps": _loose_caps,
    "mark_damaged": _fill("{reason}"),
    "no_cap": _no_cap,
    "numbers_merged": _numbers_merged,
    "not_analysable": _say(
        "bounds that hold whatever the subgroup is: the file is not analysable, and its answers "
        "may err differently in each"
    ),
    "not_delivered": _fill("release {release} was recorded but never delivered"),
    "not_solved_again": _fill(
        "the engine found no release for the problem of release {release} in the time that it had: "
        "how near to the best it is, and its prices, are only hashed"
    ),
    "not_drawn_again": _fill("releases cannot be drawn again: {reason}"),
    "out_of_time": _as_in_papers("out_of_time"),
    "outside_shares": _outside_shares,
    "page_changed": _fill(
        "{paper} shows {shown} where its own data say {right}: the page was changed"
    ),
    "page_forged": _fill("{paper} is a page that tacit has not made"),
    "paper_before_erasure": _paper_before_erasure,
    "paper_before_delivery": _fill("{paper} was made before release {release} was delivered"),
    "paper_differs": _fill("{paper} says {field} {said}, the ledger says {ledger}"),
    "paper_differs_more": _fill("and {fields} more of what {paper} says is not so"),
    "paper_digest_key_not_compared": _fill(
        "without a key, the digest_key in {paper} was not compared"
    ),
    "paper_digest_not_compared": _fill(
        "the digest in {paper} was not compared: the ledger does not say that release {release} "
        "was delivered"
    ),
    "paper_forged": _fill(
        "entry {entry} is not in the ledger as {paper} has it, and its seal is not by this "
        "study's key: {paper} is forged"
    ),
    "paper_not_compared": _fill("{paper} could not be compared: the replay did not come so far"),
    "paper_not_in_ledger": _fill("entry {entry} is not in the ledger as {paper} has it"),
    "paper_of_other_study": _fill("{paper} is a receipt of another study, {study}"),
    "paper_seal_not_checked": _fill("without a key, the seal of {paper} cannot be checked"),
    "paper_seal_wrong": _fill(
        "the seal of {paper} does not fit what it says: it was changed after it was sealed, or "
        "is not by this study's key"
    ),
    "paper_unsealed": _fill("{paper} carries no seal: it was only compared with the ledger"),
    "proved_within": _fill("release {release} is proved to be within {gap:.1e} of the best only"),
    "records_erased": _as_in_papers("records_erased"),
    "released_after_close": _fill("release {release} was not there when the study was closed"),
    "replay_stopped": _fill("{reason}; nothing after it was checked"),
    "reset_accepted": _reset_accepted,
    "rollback_accepted": _say(
        "a rollback of the ledger was accepted: what it has lost is not counted, and whoever holds "
        "it may hold more than is shown"
    ),
    "rows_left_out": _rows_left_out,
    "sealed_paper_not_in_ledger": _fill(
        "entry {entry} is not in the ledger as {paper} has it: the ledger was rolled back or "
        "rewritten since, or the paper is forged: without a key its seal cannot be checked"
    ),
    "small_groups": _small_groups,
    "snapshot_changed": _fill("{reason}"),
    "snapshot_differs": _fill("the {fact} in the ledger are not those of the snapshot"),
    "snapshot_unreadable": _fill("the snapshot cannot be read: {reason}"),
    "some_levels_only_together": _say(
        "some levels are told only together with others: they have bounds, and sums are told"
    ),
    "states_damaged": _fill(
        "the states after release {release} are damaged: they are computed again when they are "
        "needed"
    ),
    "subgroups_differ": _say(
        "for all rows together: in a subgroup of your choice the answers may err differently"
    ),
    "unbounded_intervals": _unbounded_intervals,
    "unchanged": _say("nothing was changed: it was so already"),
    "unfollowed": _unfollowed,
    "unlikely_letters": _say(
        "the letters hardly come from the certificate's channel: do not rely on it"
    ),
    "unsealed_paper_not_in_ledger": _fill(
        "entry {entry} is not in the ledger as {paper} has it: the ledger was rolled back or "
        "rewritten since, or the paper is forged, for it carries no seal"
    ),
    "rows_apart": _rows_apart,
    "strays_missing": _strays_missing,
    "values_changed": _values_changed,
    "unused_values": _unused_values,
    "wide_bounds": _wide_bounds,
}
"""Code of a remark -> its words, from its values."""
