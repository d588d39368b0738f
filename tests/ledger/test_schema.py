"""The tables of a ledger: made once, all or nothing; those of another version are refused."""

from __future__ import annotations

import pytest

from tacit.errors import LedgerError
from tacit.ledger import Ledger
from tests.ledger.chains import STUDY, chain, execute


def test_creating_again_changes_nothing(url: str) -> None:
    with Ledger.create(url) as first:
        entries = chain(first, 2)
    with Ledger.create(url) as again:
        assert again.salt == first.salt
        assert again.entries(STUDY) == entries


@pytest.mark.parametrize("found", ["0003", "from the future"])
def test_a_ledger_of_another_version_is_refused(url: str, found: str) -> None:
    with Ledger.create(url) as ledger:
        entries = chain(ledger, 2)
    execute(url, f"UPDATE tacit_version SET version_num = '{found}'")
    for open_or_create in (Ledger.open, Ledger.create, Ledger.check):
        with pytest.raises(LedgerError, match=f"has format {found}, and .* reads 4 only") as error:
            open_or_create(url)
        assert "\n" not in str(error.value)
    execute(url, "UPDATE tacit_version SET version_num = '4'")
    with Ledger.open(url) as again:
        assert again.entries(STUDY) == entries


def test_sqlite_is_set_for_good(sqlite_url: str) -> None:
    with Ledger.create(sqlite_url) as ledger, ledger._database.reading() as connection:
        pragma = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        }
    extra = 3
    assert pragma == {
        "journal_mode": "delete",
        "synchronous": extra,
        "busy_timeout": 60_000,
        "foreign_keys": 1,
    }


def test_postgresql_is_set_for_good(postgres_url: str) -> None:
    careless = f"{postgres_url}%20-csynchronous_commit%3Doff"
    with Ledger.create(careless) as ledger, ledger._database.writing() as connection:
        names = ("synchronous_commit", "transaction_isolation", "lock_timeout")
        settings = [connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names]
    assert settings == ["on", "read committed", "1min"]
