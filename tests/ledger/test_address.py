"""Which addresses a ledger has, and that no password is ever shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.errors import InvalidInputError
from tacit.ledger.database import parse_address, shown_address, sqlite_file


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("sqlite:////folder/a ledger.sqlite", "/folder/a ledger.sqlite"),
        ("sqlite:////folder/50%25.sqlite", "/folder/50%.sqlite"),
        (Path("/folder/50%25?.sqlite"), "/folder/50%25?.sqlite"),
    ],
)
def test_sqlite_files(address: str | Path, file: str) -> None:
    assert sqlite_file(parse_address(address)) == Path(file)


def test_a_relative_file_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sqlite_file(parse_address("sqlite:///x.sqlite")) == tmp_path / "x.sqlite"
    assert sqlite_file(parse_address(Path("x.sqlite"))) == tmp_path / "x.sqlite"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_is_reached_by_psycopg(scheme: str) -> None:
    url = parse_address(f"{scheme}://me:secret@host:5433/db?sslmode=require")
    assert url.drivername == "postgresql+psycopg"
    assert sqlite_file(url) is None
    assert shown_address(url) == "postgresql://me:***@host:5433/db"


def test_a_password_in_the_query_is_not_shown() -> None:
    url = parse_address("postgresql:///db?host=/run/pg&user=me&password=secret&sslpassword=secret")
    assert shown_address(url) == "postgresql:///db?host=%2Frun%2Fpg"
    assert url.query["password"] == "secret"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("clinic/ledger.sqlite", "no URL: give sqlite:///FILE or postgresql://"),
        ("", "no URL"),
        ("postgresql://me:secret@host:port/db", "no URL"),
        ("postgresql://me:se@cret@host/db", "more than one @: write %40"),
        ("mysql://me:secret@host/db", "cannot be in 'mysql'"),
        ("sqlite://", "is a file"),
        ("sqlite:///:memory:", "is a file"),
        ("sqlite:///x.sqlite?mode=ro", "is a file"),
        ("sqlite://host/x.sqlite", "is a file"),
    ],
)
def test_other_addresses_are_refused(address: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        parse_address(address)
    assert "cret" not in str(refused.value)
