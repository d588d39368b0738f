"""Where the built documentation is.

``make docs`` builds it into this package, so that a wheel that is built afterwards carries it.
"""

from __future__ import annotations

from pathlib import Path

from tacit.errors import TacitError

SITE = Path(__file__).parent / "site"


def find_site() -> Path:
    """The folder of the documentation: static pages that load nothing from outside.

    Raises:
        TacitError: if the pages were not built.
    """
    if not (SITE / "index.html").is_file():
        raise TacitError(
            f"the documentation is not in {SITE}: run make docs in a clone of tacit, or install a "
            "wheel that was built after it"
        )
    return SITE
