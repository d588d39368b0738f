"""Who may call: tokens that are handed out, login addresses that work once, sessions."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from sqlite3 import Connection, Row
from time import time

from tacit.errors import InvalidInputError
from tacit.service.database import Database
from tacit.service.failures import TOO_MANY, FailureError

CUSTODIAN, PARTY = "custodian", "party"

SESSION_SECONDS = 12 * 3600
LOGIN_SECONDS = 15 * 60
TOKEN_SECONDS = 30 * 24 * 3600

MOST_FAILURES = 10
"""Logins that may fail from one address within a minute."""

_FAILURE_SECONDS = 60.0
_LONGEST_NAME = 100
_UNITS = {"m": 60, "h": 3600, "d": 24 * 3600}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request.

    Attributes:
        role: ``CUSTODIAN`` or ``PARTY``.
        name: of the custodian, or of the party as the ledger spells it.
        csrf: what forms of this session carry; ``None`` for a token, which browsers do not send.
        removals: how many parties of this name had been removed when its token was handed out: it
            opens the account of no other one.
    """

    role: str
    name: str
    csrf: str | None = None
    removals: int = 0

    @property
    def is_custodian(self) -> bool:
        """Whether it may do everything."""
        return self.role == CUSTODIAN

    @property
    def signature(self) -> str:
        """As entries of the ledger name it."""
        return f"{self.role} {self.name}"


@dataclass(frozen=True, slots=True)
class Token:
    """A token that was handed out, without its secret.

    Attributes:
        number: by which it is revoked.
        role: of its holder.
        name: of its holder.
        expires: seconds since 1970.
    """

    number: int
    role: str
    name: str
    expires: float


@dataclass(frozen=True, slots=True)
class Access:
    """The tokens, login addresses and sessions of one study's service.

    Attributes:
        database: where they are.
    """

    database: Database

    # -- tokens -----------------------------------------------------------------------------

    def issue_token(
        self, role: str, name: str, *, removals: int = 0, seconds: float = TOKEN_SECONDS
    ) -> str:
        """A new token; only its hash is kept, so this is the one time that it is seen."""
        _check_name(name)
        secret, now = _new_secret(), time()
        with self.database.transaction() as connection:
            connection.execute(
                "INSERT INTO tokens (hash, role, name, removals, made, expires) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (_hash(secret), role, name, removals, now, now + seconds),
            )
        return secret

    def revoke_tokens(self, role: str, name: str) -> int:
        """End all tokens of a holder, and the sessions that they began; returns how many."""
        with self.database.transaction() as connection:
            ended = connection.execute(
                "DELETE FROM tokens WHERE role = ? AND name = ?", (role, name)
            )
            connection.execute("DELETE FROM sessions WHERE role = ? AND name = ?", (role, name))
            return ended.rowcount

    def tokens(self) -> list[Token]:
        """All that have not expired."""
        with self.database.reading() as connection:
            rows = connection.execute(
                "SELECT number, role, name, expires FROM tokens WHERE expires > ? ORDER BY number",
                (time(),),
            ).fetchall()
        return [Token(**dict(row)) for row in rows]

    def find_token(self, secret: str) -> Caller | None:
        """Who holds a token; nobody if it expired or was revoked."""
        row = self._find("tokens", secret)
        return None if row is None else Caller(row["role"], row["name"], removals=row["removals"])

    # -- logging in -------------------------------------------------------------------------

    def invite(self, custodian: str) -> str:
        """A secret that lets a custodian log in, once and soon."""
        _check_name(custodian)
        secret = _new_secret()
        with self.database.transaction() as connection:
            connection.execute(
                "INSERT INTO logins VALUES (?, ?, ?)",
                (_hash(secret), custodian, time() + LOGIN_SECONDS),
            )
        return secret

    def log_in(self, secret: str, address: str) -> str | None:
        """Begin a session by an invitation, which ends with it, or by a token.

        Args:
            secret: of the invitation or the token.
            address: where it comes from.

        Returns:
            The secret of the new session; ``None`` if nothing fits.

        Raises:
            FailureError: too many have failed from that address.
        """
        with self.database.transaction() as connection:
            _forget_expired(connection)
            if _count_failures(connection, address) >= MOST_FAILURES:
                raise FailureError(TOO_MANY)
            row = connection.execute(
                "DELETE FROM logins WHERE hash = ? RETURNING name", (_hash(secret),)
            ).fetchone()
            if row is not None:
                return _begin_session(connection, CUSTODIAN, row["name"])
            row = connection.execute(
                "SELECT * FROM tokens WHERE hash = ?", (_hash(secret),)
            ).fetchone()
            if row is None:
                until = time() + _FAILURE_SECONDS
                connection.execute("INSERT INTO failures VALUES (?, ?)", (address, until))
                return None
            return _begin_session(connection, row["role"], row["name"], row)

    def find_session(self, secret: str) -> Caller | None:
        """Whose session it is; nobody's if it ended."""
        row = self._find("sessions", secret)
        if row is None:
            return None
        return Caller(row["role"], row["name"], row["csrf"], row["removals"])

    def log_out(self, secret: str) -> None:
        """End a session."""
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))

    def _find(self, table: str, secret: str) -> Row | None:
        with self.database.reading() as connection:
            row: Row | None = connection.execute(
                f"SELECT * FROM {table} WHERE hash = ? AND expires > ?", (_hash(secret), time())
            ).fetchone()
        return row


def read_duration(text: str) -> float:
    """Seconds of a duration as it is typed: ``30d``, ``12h`` or ``15m``.

    Raises:
        InvalidInputError: it is none.
    """
    found = re.fullmatch(r"([1-9][0-9]{0,5})([mhd])", text)
    if found is None:
        raise InvalidInputError(f"{text!r} is no duration: give one as in 30d, 12h or 15m")
    return float(int(found[1]) * _UNITS[found[2]])


def _new_secret() -> str:
    return secrets.token_urlsafe(32)


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def _check_name(name: str) -> None:
    if not (name.isprintable() and name == name.strip() and 0 < len(name) <= _LONGEST_NAME):
        raise InvalidInputError(
            f"{name[:_LONGEST_NAME]!r} is no name: give 1 to {_LONGEST_NAME} signs that can be "
            "seen, without outer blanks"
        )


def _begin_session(connection: Connection, role: str, name: str, token: Row | None = None) -> str:
    """A session that ends with its token, at the latest."""
    secret, expires = _new_secret(), time() + SESSION_SECONDS
    number, removals = None, 0
    if token is not None:
        number, expires = token["number"], min(expires, token["expires"])
        removals = token["removals"]
    connection.execute(
        "INSERT INTO sessions (hash, csrf, role, name, removals, token, expires) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (_hash(secret), _new_secret(), role, name, removals, number, expires),
    )
    return secret


def _count_failures(connection: Connection, address: str) -> int:
    """Logins that failed from an address and are not forgotten."""
    [count] = connection.execute(
        "SELECT count(*) FROM failures WHERE address = ?", (address,)
    ).fetchone()
    return int(count)


def _forget_expired(connection: Connection) -> None:
    for table in ("logins", "tokens", "sessions", "failures"):
        connection.execute(f"DELETE FROM {table} WHERE expires <= ?", (time(),))
