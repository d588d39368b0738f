"""The ledger that a user's studies share unless another is named.

Whether two studies are of the same people is noticed only within one ledger.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tacit.errors import LedgerError
from tacit.ledger.database import absolute_address

VARIABLE = "TACIT_LEDGER"
"""Environment variable with the address of the ledger for new studies."""


IN_FOLDER = "folder"
"""Said instead of an address: the ledger is a file in the study's own folder."""


def default_ledger() -> str:
    """Address of the ledger for new studies, or ``IN_FOLDER``.

    The folder of a file in the user's data is made.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return named if named == IN_FOLDER else absolute_address(named)
    folder = _data_folder() / "tacit"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(
            f"the folder {folder} for the ledger cannot be made ({error.strerror}): name another "
            f"place for the ledger, or one in the variable {VARIABLE}"
        ) from error
    return absolute_address(folder / "ledger.sqlite")


def _data_folder() -> Path:
    """Where programs keep a user's data: XDG's place, on macOS Apple's."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    named = os.environ.get("XDG_DATA_HOME", "")
    # The specification says to ignore a relative path.
    return Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "share"
