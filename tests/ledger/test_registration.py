"""A study's registration is replaced when an entry names the new one, and never otherwise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from tacit.ledger import Ledger, Sketch
from tacit.ledger.entry import REGISTRATION, Entry
from tests.ledger.chains import STUDY, chain, execute, sketch_of, tamper

BEFORE, AFTER = sketch_of(["ann", "bob", "eve"]), sketch_of(["ann", "bob"])
OF_EVE = sketch_of(["eve"])
NOT_NAMED = "entry {} does not name the study's registration: one of the two was replaced"


def register_anew(ledger: Ledger, sketch: Sketch = AFTER) -> Entry:
    """Register a study, and replace its sketch with the second entry."""
    first = ledger.register(STUDY, BEFORE, {"made": "here"})
    body = {REGISTRATION: ledger.registration_seal(STUDY, sketch)}
    return ledger.append(STUDY, "erased", body, head=first.head, sketch=sketch)


def test_the_chain_is_whole_and_goes_on(ledger: Ledger) -> None:
    entry = register_anew(ledger)
    ledger.append(STUDY, "release", {"party": "lab-a"}, head=entry.head)
    assert ledger.verify(STUDY) == []
    assert [each.kind for each in ledger.entries(STUDY)] == ["created", "erased", "release"]
    assert [each.number for each in ledger.entries_since(STUDY, entry.head)] == [3]


def test_who_is_not_in_the_new_sketch_is_not_found_any_more(ledger: Ledger) -> None:
    register_anew(ledger)
    assert ledger.overlapping(OF_EVE) == []
    assert ledger.overlapping(sketch_of(["bob"])) != []


def test_nothing_of_the_old_sketch_is_in_the_file(sqlite_url: str) -> None:
    """Sketches that take several pages, of which the new one needs fewer."""
    file = Path(sqlite_url.removeprefix("sqlite:///"))
    before, after = sketch_of(range(1000)), sketch_of(range(300))
    gone = [hashed.encode() for hashed in set(before.smallest) - set(after.smallest)]
    with Ledger.create(sqlite_url) as ledger:
        first = ledger.register(STUDY, before, {})
        assert len([each for each in gone if each in file.read_bytes()]) > len(gone) * 0.9
        body = {REGISTRATION: ledger.registration_seal(STUDY, after)}
        ledger.append(STUDY, "erased", body, head=first.head, sketch=after)
        ledger.clear_replaced()
    assert not [each for each in gone if each in file.read_bytes()]
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def file_of_studies(ledger: Ledger) -> bytes:
    """What the server has on its disk of the table of studies."""
    path = "current_setting('data_directory') || '/' || pg_relation_filepath('tacit_studies')"
    with ledger._database.reading() as connection:
        connection.exec_driver_sql("CHECKPOINT")
        return Path(connection.exec_driver_sql(f"SELECT {path}").scalar_one()).read_bytes()


def test_nothing_of_the_old_sketch_is_in_the_table(postgres_url: str) -> None:
    [hashed] = OF_EVE.smallest
    with Ledger.create(postgres_url) as ledger:
        register_anew(ledger)
        assert hashed.encode() in file_of_studies(ledger)
        ledger.clear_replaced()
        assert hashed.encode() not in file_of_studies(ledger)
        assert ledger.verify(STUDY) == []


def test_a_registration_that_no_entry_names_is_refused_and_found(ledger: Ledger, url: str) -> None:
    other = "UPDATE tacit_studies SET n_records = 7"
    chain(ledger, 2, "other")
    with pytest.raises(DBAPIError, match="append-only"):
        execute(url, other)
    register_anew(ledger)
    tamper(url, other)
    assert ledger.verify(STUDY) == [NOT_NAMED.format(2)]


def test_an_old_registration_does_not_come_back(ledger: Ledger, url: str) -> None:
    register_anew(ledger)
    sealed = ledger.registration_seal(STUDY, BEFORE)
    tamper(url, f"UPDATE tacit_studies SET n_records = 3, sketch = '{BEFORE.as_text}'")
    assert ledger.entries_since(STUDY, ledger.head(STUDY)) == []
    assert ledger.verify(STUDY) == [NOT_NAMED.format(2)]
    assert sealed != ledger.registration_seal(STUDY, AFTER)


def test_without_its_last_entries_a_new_registration_is_found(ledger: Ledger, url: str) -> None:
    register_anew(ledger)
    tamper(url, "DELETE FROM tacit_entries WHERE number = 2")
    [fault] = ledger.verify(STUDY)
    assert fault.startswith("entry 1 does not follow the study's registration")


def test_a_copy_that_has_more_brings_its_registration(ledger: Ledger, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "copy.sqlite", salt=ledger.salt) as copy:
        ledger.register(STUDY, BEFORE, {"made": "here"})
        copy.add_missing(STUDY, ledger)
        body = {REGISTRATION: copy.registration_seal(STUDY, AFTER)}
        copy.append(STUDY, "erased", body, head=copy.head(STUDY), sketch=AFTER)
        assert ledger.add_missing(STUDY, copy) == 1
    assert ledger.verify(STUDY) == []
    assert ledger.overlapping(OF_EVE) == []


def test_a_copy_from_before_does_not_bring_the_old_one_back(ledger: Ledger, tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "copy.sqlite", salt=ledger.salt) as copy:
        first = ledger.register(STUDY, BEFORE, {"made": "here"})
        copy.add_missing(STUDY, ledger)
        body = {REGISTRATION: ledger.registration_seal(STUDY, AFTER)}
        ledger.append(STUDY, "erased", body, head=first.head, sketch=AFTER)
        assert ledger.add_missing(STUDY, copy) == 0
    assert ledger.verify(STUDY) == []
    assert ledger.overlapping(OF_EVE) == []


def test_the_seal_does_not_tell_who_was_in_a_sketch_whose_nonce_is_gone(ledger: Ledger) -> None:
    one = replace(BEFORE, nonce="1" * 32)
    other = replace(one, nonce="2" * 32)
    assert Sketch.parse(STUDY, 3, one.as_text) == one
    assert ledger.registration_seal(STUDY, one) != ledger.registration_seal(STUDY, other)
