"""What every engine does with the records of a release once they are in order.

Names are tried until all differ, the content is digested while it is written, and a file takes its
place only if it says what it said before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TypeVar

import duckdb

from tacit.errors import DeliveryError
from tacit.storage import atomic_file
from tacit.tables.connection import reason
from tacit.tables.delivery.engine import Progress
from tacit.tables.delivery.release_file import (
    Block,
    ContentDigest,
    PseudonymCollisionError,
    RecordedRelease,
    release_writer,
)

Result = TypeVar("Result")


@dataclass(slots=True)
class Steps:
    """Counts finished steps and reports them to ``progress``."""

    progress: Progress | None
    total: int
    done: int = 0

    def add(self, steps: int) -> None:
        """Count steps that are finished."""
        self.done += steps
        if self.progress is not None:
            self.progress(self.done, self.total)


def without_collisions(
    release: RecordedRelease, attempt: Callable[[bytes | None], Result]
) -> Result:
    """Try the party's pseudonym keys in turn; return the first result without equal pseudonyms.

    Args:
        release: whose party.
        attempt: gets the key of pseudonyms; ``None`` where records are called by their own ids.
    """
    for number in count():
        try:
            return attempt(None if release.pseudonym_key is None else release.pseudonym_key(number))
        except PseudonymCollisionError:
            continue
    raise AssertionError("there is always another attempt")


def write_release(
    target: Path,
    release: RecordedRelease,
    blocks: Iterator[Block],
    pool: ThreadPoolExecutor,
    *,
    expected: str | None,
    steps: Steps,
) -> str:
    """Write the file of a release, whole or not at all, and return its content digest."""
    write = release_writer(target)
    with atomic_file(target) as file:
        digest = ContentDigest(release.digest_key)
        write(file, release.alphabet, digest.follow(blocks, release.alphabet, pool, steps.add))
        content = digest.hexdigest()
        _refuse_other_content(target, content, expected)
    return content


def digest_release(release: RecordedRelease, blocks: Iterator[Block]) -> str:
    """The content digest that the file of a release must have; no file is written."""
    digest = ContentDigest(release.digest_key)
    for block in blocks:
        digest.update(release.alphabet.columns(block))
    return digest.hexdigest()


def _refuse_other_content(target: Path, found: str, expected: str | None) -> None:
    if expected is not None and found != expected:
        raise DeliveryError(
            f"the release comes out differently from when it was first delivered, so {target} was "
            "not written: ask for it again if records were erased meanwhile; else the snapshot or "
            "the key was changed: verify the study"
        )


def not_written(target: Path, told: str) -> DeliveryError:
    """The error of a file that could not be written."""
    return DeliveryError(
        f"the release is recorded but {target} was not written ({told}): "
        "mend that and ask for the same release again, which costs nothing"
    )


def states_not_written(folder: Path, told: str) -> DeliveryError:
    """The error of states that could not be written."""
    return DeliveryError(
        f"the states in {folder} cannot be written ({told}): "
        "mend that and ask for the same release again, which costs nothing"
    )


def told(error: OSError | duckdb.Error) -> str:
    """What went wrong, in a few words."""
    return (isinstance(error, OSError) and error.strerror) or reason(error)
