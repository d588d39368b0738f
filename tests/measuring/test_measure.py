"""What files that are out tell: closed forms, and pools that single out whom no file does."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.errors import InvalidInputError
from tacit.information import entropy, mutual_information
from tacit.measuring import Measured, measured_figure
from tacit.tables import Column


def table(n: int = 4_000, seed: int = 0) -> pd.DataFrame:
    """People whose secret depends on two columns that others may know."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(20, 80, n), rng.integers(0, 2, n)
    income = np.clip(age // 20 - 1 + rng.integers(0, 2, n), 0, 3)
    return pd.DataFrame(
        {"person": np.arange(n), "age": age, "sex": sex, "income": income.astype(str)}
    )


def measured(people: pd.DataFrame, held: dict[str, pd.DataFrame], **options: object) -> Measured:
    options = {"known": ["age", "sex"], "learner": False} | options
    return tacit.measure(people, id="person", secret="income", held=held, **options)  # type: ignore[arg-type]


def bands(people: pd.DataFrame, offset: int) -> pd.DataFrame:
    """A file that shows ages in bands of ten years."""
    return people[["person"]].assign(age=(people.age + offset) // 10, sex=people.sex)


def test_two_files_single_out_whom_neither_does() -> None:
    people = pd.DataFrame({"person": range(100), "age": range(100)})
    people["income"] = (people.age % 2).astype(str)
    held = {
        "lab-a": people[["person"]].assign(age=people.age // 10),
        "lab-b": people[["person"]].assign(band=people.age % 10),
    }
    found = measured(people, held, known="age", same={"lab-b": {"band": "age"}})
    a, b, both = found.coalitions
    assert (a.alone, a.small, b.alone, b.small) == (0, 0, 0, 0)
    assert (both.whom, both.alone, both.small) == ("lab-a+lab-b", 100, 100)


def test_matches_are_those_that_a_search_through_all_rows_finds() -> None:
    people = table(300)
    rng = np.random.default_rng(1)
    held = {
        "lab-a": bands(people, 0).sample(200, random_state=1),
        "lab-b": bands(people, 5).sample(150, random_state=2).drop(columns="sex"),
    }
    held["lab-a"].loc[held["lab-a"].index[:9], "age"] = rng.integers(2, 8, 9)  # some disagree
    found = {each.whom: each for each in measured(people, held, min_cell=4).coalitions}
    for whom, parties in (("lab-a", ["lab-a"]), ("lab-a+lab-b", ["lab-a", "lab-b"])):
        alone = small = 0
        files = [held[party].set_index("person") for party in parties]
        usual = [
            {
                (column, value): file.loc[file.index.isin(people.person[people[column] == value])][
                    column
                ].mode()
                for column in file.columns
                for value in people[column].unique()
            }
            for file in files
        ]
        present = sorted(set().union(*(file.index for file in files)))
        expected = {
            (k, column): {
                value: (modes.max() if len(modes) else None)
                for (name, value), modes in usual[k].items()
                if name == column
            }
            for k, file in enumerate(files)
            for column in file.columns
        }
        for person in present:
            rows = [
                other
                for other in present
                if all(
                    other not in file.index
                    or file.loc[other, column] == expected[k, column][people.loc[person, column]]
                    for k, file in enumerate(files)
                    for column in file.columns
                )
            ]
            is_own = person in rows
            alone += is_own and len(rows) == 1
            small += is_own and len(rows) < 4
        assert (found[whom].alone, found[whom].small) == (alone, small)


def test_counts_are_the_plain_figures_of_the_joint_table() -> None:
    people = table()
    found = measured(people, {"lab-a": bands(people, 0)}, known=[])
    counts = pd.crosstab([people.age // 10, people.sex], people.income).to_numpy()
    [only] = found.coalitions
    assert only.guess_at_most == pytest.approx(counts.max(axis=1).sum() / counts.sum())
    assert only.bits_at_most == pytest.approx(mutual_information(counts / counts.sum()), abs=1e-9)
    sure = counts.sum(axis=1)[
        (counts.max(axis=1) >= 0.5 * counts.sum(axis=1)) & (counts.sum(axis=1) >= 10)
    ].sum()
    prior = counts.sum(axis=0).max() / counts.sum()
    assert only.over[0].people == (0 if prior >= 0.5 else sure)


def test_noise_tells_nothing_that_a_learner_finds() -> None:
    people = table()
    rng = np.random.default_rng(3)
    noise = people[["person"]].assign(
        **{f"n{k}": rng.integers(0, 30, len(people)) for k in "abcde"}
    )
    [only] = measured(people, {"lab-a": noise}, known=[], learner=True).coalitions
    own = entropy(people.income.value_counts(normalize=True).to_numpy())
    assert only.guess_at_most == 1.0  # five columns of noise single out everybody
    assert only.bits_at_most == pytest.approx(own)
    assert only.bits_at_least == 0.0
    assert only.guess is not None
    assert only.guess_before is not None
    assert only.guess < only.guess_before + 0.03


def test_a_copy_of_the_secret_is_found_by_both() -> None:
    people = table()
    copy = people[["person"]].assign(code=people.income.map({"0": 7, "1": 5, "2": 9, "3": 1}))
    [only] = measured(people, {"lab-a": copy}, learner=True).coalitions
    assert only.guess == 1.0
    assert only.surest == 1.0
    assert only.guess_at_most == 1.0
    certain = only.over[-1]
    assert certain.people > 0.9 * len(people) * 0.9
    assert certain.by_chance == 0
    assert certain.learner_right == 1.0


def test_who_sees_ids_finds_everybody() -> None:
    people = table(500)
    [only] = measured(people, {"lab-a": bands(people, 0)}, ids_shown=True).coalitions
    assert (only.people, only.alone, only.small) == (500, 500, 500)


def test_levels_of_the_secret_may_be_bands() -> None:
    people = table().assign(income=lambda all_: all_.age * 1_000.0)
    found = tacit.measure(
        people,
        id="person",
        secret=Column("income", quantiles=4),
        held={"lab-a": bands(people, 0)},
        learner=False,
    )
    assert found.levels == 4


def test_everyone_pools_by_default_and_named_pools_instead() -> None:
    people = table(200)
    held = {party: bands(people, k) for k, party in enumerate(("a", "b", "c"))}
    assert [each.whom for each in measured(people, held).coalitions] == [
        *("a", "b", "c", "a+b", "a+c", "b+c", "everyone")
    ]
    named = measured(people, held, pool=["c+a"]).coalitions
    assert [each.whom for each in named] == ["a", "b", "c", "a+c"]


def test_files_may_be_linked_by_keys() -> None:
    people = table(300)
    keys = people[["person"]].assign(key=lambda all_: "k" + (all_.person * 7 % 300).astype(str))
    file = bands(people, 0).merge(keys).drop(columns="person")
    direct = measured(people, {"lab-a": bands(people, 0)})
    linked = measured(people, {"lab-a": file}, link={"lab-a": keys})
    assert linked.coalitions == direct.coalitions


def test_what_is_odd_about_files_is_said() -> None:
    people = table(300)
    file = bands(people, 0)
    more = pd.concat([file, file.tail(3).assign(person=[900, 901, 902])])
    more.iloc[0, 1] += 1
    held = {"a": more, "b": file, "c": file.copy(), "d": file[["person"]].assign(one=1)}
    codes = {(each.code, *each.values.values()) for each in measured(people, held).remarks}
    memory = "the table in memory"
    assert ("held_strangers", memory, 3) in codes
    assert ("held_disagrees", memory, "age", "age", 1) in codes
    assert ("held_twice", memory, memory) in codes
    assert ("held_constant", memory) in codes


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"held": {"a": "others"}}, "is in the table"),
        ({"held": {"a": "twice"}}, "one row per person"),
        ({"held": {"a": "no_id"}}, "--link a=keys.csv"),
        ({"held": {"a": "id_again"}}, "is person again"),
        ({"held": {"a": "only_id"}}, "no column beside"),
        ({"held": {}}, "no file is given"),
        ({"held": {"everyone": "bands"}}, "cannot be a party's name"),
        ({"known": ["income"]}, "named twice"),
        ({"known": ["height"]}, "no column 'height'"),
        ({"same": {"a": {"band": "age"}}}, "no column 'band'"),
        ({"same": {"b": {}}}, "who holds no file"),
        ({"pool": ["a+z"]}, "who holds no file"),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict[str, object], says: str) -> None:
    people = table(100)
    file = bands(people, 0)
    frames = {
        "bands": file,
        "others": file.assign(person=file.person + 1_000),
        "twice": pd.concat([file, file.head(1)]),
        "no_id": file.drop(columns="person"),
        "id_again": file.assign(again=file.person),
        "only_id": file[["person"]],
    }
    options: dict[str, object] = {"held": {"a": "bands"}} | change
    held = options.pop("held")
    assert isinstance(held, dict)
    with pytest.raises(InvalidInputError, match=says) as refused:
        measured(people, {party: frames[name] for party, name in held.items()}, **options)
    assert "\n" not in str(refused.value)


def test_people_of_the_table_need_ids_of_their_own() -> None:
    people = table(100)
    with pytest.raises(InvalidInputError, match="one row per person is needed"):
        measured(pd.concat([people, people.head(2)]), {"a": bands(people, 0)})


def test_a_result_is_a_table_and_a_picture(tmp_path: Path) -> None:
    people = table(600)
    found = measured(people, {"a": bands(people, 0), "b": bands(people, 5)}, learner=True)
    rows = found.to_arrow()
    assert rows["whom"].to_pylist() == ["a", "b", "a+b"]
    assert rows["alone"].to_pylist() == [each.alone for each in found.coalitions]
    measured_figure(found, path=tmp_path / "figure.svg")
    assert "a+b" in (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert len(repr(found).splitlines()) == 4


def test_labels_do_not_depend_on_the_order_of_rows() -> None:
    people = table(500)
    held = {"a": bands(people, 0), "b": bands(people, 5)}
    mixed = {
        party: file.sample(frac=1, random_state=k) for k, (party, file) in enumerate(held.items())
    }
    again = measured(people.sample(frac=1, random_state=9), mixed)
    assert again.coalitions == measured(people, held).coalitions


@pytest.mark.parametrize(("n_secrets", "n_parties"), [*product((1, 2), (1, 3))])
def test_few_people_and_single_levels(n_secrets: int, n_parties: int) -> None:
    people = pd.DataFrame({"person": ["a", "b", "c"], "age": [1, 1, 2]})
    people["income"] = ["x", "y", "x"] if n_secrets == 2 else "x"
    held = {f"p{k}": people[["person", "age"]] for k in range(n_parties)}
    if n_secrets == 1:
        with pytest.raises(InvalidInputError):
            measured(people, held, known=["age"])
        return
    found = measured(people, held, known=["age"], learner=True)
    assert found.coalitions[0].alone == 1
