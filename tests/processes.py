"""Processes of the tests: forks of one process that has imported all that they need."""

from __future__ import annotations

import multiprocessing

PROCESSES = multiprocessing.get_context("forkserver")

PROCESSES.set_forkserver_preload(
    [
        "tests.ledger.workers",
        "tests.study.requesting",
        "tacit.ledger.migration",
        "cryptography.hazmat.primitives.kdf.hkdf",
        "pandas",  # pyarrow imports it where it is installed
        "psycopg",
        "pytest",  # the main module, which multiprocessing imports in every process
        "scipy.linalg",
        "scipy.special",
        "sqlalchemy.dialects.postgresql",
        "sqlalchemy.dialects.sqlite",
        "tacit.cli.serve",
        "tacit.service.serve",
    ]
)
