"""What tests of several rooms share."""

from __future__ import annotations

from tests.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
