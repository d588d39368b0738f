"""Where a ledger is: a SQLite file or a PostgreSQL database, as a URL."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from tacit.errors import InvalidInputError

_FORMS = "give sqlite:///FILE or postgresql://USER@HOST/DATABASE"


def parse_address(address: str | Path) -> URL:
    """The URL for SQLAlchemy; a ``Path`` is a SQLite file.

    Raises:
        InvalidInputError: neither of the two forms; the message does not repeat the address,
            which may hold a password.
    """
    if isinstance(address, Path):
        return URL.create("sqlite", database=str(address.absolute()))
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise InvalidInputError(f"the ledger's address is no URL: {_FORMS}") from None
    if url.drivername == "sqlite":
        return _sqlite(url)
    if url.drivername in {"postgres", "postgresql", "postgresql+psycopg"}:
        return _postgresql(url)
    raise InvalidInputError(f"a ledger cannot be in {url.drivername!r}: {_FORMS}")


def absolute_address(address: str | Path) -> str:
    """The same address, such that it is found from every folder; it may hold a password."""
    return parse_address(address).render_as_string(hide_password=False)


def sqlite_file(url: URL) -> Path | None:
    """The file of a SQLite ledger; ``None`` for PostgreSQL."""
    return Path(str(url.database)) if url.drivername == "sqlite" else None


def shown_address(url: URL) -> str:
    """The URL as people write it, without its password or anything else that is not a place."""
    place = {name: value for name, value in url.query.items() if name in {"host", "port"}}
    plain = url.set(drivername=url.get_backend_name(), query=place)
    return plain.render_as_string(hide_password=True)


def _sqlite(url: URL) -> URL:
    if url.host or url.query or url.database in {None, "", ":memory:"}:
        raise InvalidInputError(
            "a SQLite ledger is a file and nothing else: give sqlite:///FILE for a relative path "
            "or sqlite:////FOLDER/FILE for an absolute one"
        )
    return parse_address(Path(str(url.database)))


def _postgresql(url: URL) -> URL:
    if "@" in (url.host or ""):
        raise InvalidInputError("the ledger's URL has more than one @: write %40 inside a password")
    return url.set(drivername="postgresql+psycopg")
