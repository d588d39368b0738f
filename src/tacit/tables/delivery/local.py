"""Deliver a recorded release: draw every record's letter, remember the states, write the file.

Everything is a function of the key, the recorded intent and the snapshot. A delivery that was cut
short is made again, on any machine, and gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np

from tacit.errors import DeliveryError, InvalidInputError
from tacit.sampling import Sampler, pseudonyms, uniforms
from tacit.sampling.integer_channel import Codes
from tacit.storage import atomic_file
from tacit.tables.connection import reason
from tacit.tables.delivery.order import (
    N_THREADS,
    ByPseudonym,
    ByPublicId,
    Order,
    PseudonymCollisionError,
    batches,
    in_order,
)
from tacit.tables.delivery.release_file import Alphabet, Block, ContentDigest, release_writer
from tacit.tables.delivery.states import StateFiles, States

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all: each record is drawn once and written once."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """All that decides the letters of a release.

    Attributes:
        x: cell of each record, from the snapshot.
        state: memory of each record before the release.
        sampler: the recorded channel.
        release_key: under which the numbers of this release are drawn.
    """

    x: Codes
    state: Codes
    sampler: Sampler
    release_key: bytes

    def letters_and_states(self, batch: range) -> tuple[Codes, Codes]:
        """Letter and next state of some records."""
        some = slice(batch.start, batch.stop)
        words = uniforms(self.release_key, batch.start, batch.stop)
        return self.sampler.draw(self.x[some], self.state[some], words)


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """Records are called by a name that only this party knows them by.

    Attributes:
        party_key: attempt -> ``study_key.derive("pseudonym", study_id, party, attempt)``. The
            first attempt without a collision counts, the same for all releases to the party.
    """

    party_key: Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class PublicIds:
    """Records are called by their own ids, because the custodian said that these are public.

    Attributes:
        ids_path: the snapshot's ids, in the order of its records.
    """

    ids_path: Path


@dataclass(frozen=True, slots=True, eq=False)
class Delivery:
    """A recorded release, and what its file shall look like.

    Attributes:
        draw: what decides the letters.
        alphabet: what the letters stand for.
        names: what the recipient calls the records.
        states: where the memory is kept.
        release: what its states are kept under: a name that no other release has.
    """

    draw: Draw
    alphabet: Alphabet
    names: Pseudonyms | PublicIds
    states: StateFiles
    release: str

    def __post_init__(self) -> None:
        n_letters = self.draw.sampler.n_letters
        if self.alphabet.size != n_letters:
            raise InvalidInputError(
                f"the alphabet has {self.alphabet.size} letters but the channel {n_letters}: "
                "give a label for each"
            )


def deliver(
    delivery: Delivery,
    target: Path,
    *,
    digest_key: bytes,
    expected: str | None = None,
    progress: Progress | None = None,
) -> str:
    """Write the states and the release file, and return the file's keyed content digest.

    ``target`` is replaced once the new file is whole; its ending decides the format.

    Args:
        delivery: what to write.
        target: where to.
        digest_key: of the digest.
        expected: the digest when the release was delivered before; ``None`` the first time.
        progress: called with steps done and steps in all.

    Raises:
        DeliveryError: a file could not be written, or its content is not the expected one. What
            was there before still is.
    """
    release_writer(target)  # a name that cannot be used is refused before any work
    n_steps = 2 * len(delivery.draw.x)

    def attempt(order: Order, pool: ThreadPoolExecutor) -> str:
        steps = _Steps(progress, n_steps)
        with delivery.states.writing(delivery.release, delivery.draw.sampler.n_next_states) as keep:
            _draw_all(delivery.draw, order, pool, keep, steps)
        digest = ContentDigest(digest_key)
        with atomic_file(target) as file:
            blocks = _digested(order.blocks(pool), delivery.alphabet, digest, pool, steps)
            release_writer(target)(file, delivery.alphabet, blocks)
            _refuse_other_content(target, digest.hexdigest(), expected)
        return digest.hexdigest()

    try:
        return _without_collisions(delivery.draw, delivery.alphabet, delivery.names, attempt)
    except (OSError, duckdb.Error) as error:
        raise DeliveryError(
            f"the release is recorded but {target} was not written ({_told(error)}): "
            "mend that and run the same command again, which costs nothing"
        ) from error


def redraw(
    draw: Draw, alphabet: Alphabet, names: Pseudonyms | PublicIds, *, digest_key: bytes
) -> tuple[str, States]:
    """The content digest that a release's file must have, and the states after it; no file."""

    def attempt(order: Order, pool: ThreadPoolExecutor) -> tuple[str, States]:
        states: list[States] = []
        _draw_all(draw, order, pool, states.append, _Steps(None, 0))
        digest = ContentDigest(digest_key)
        for block in order.blocks(pool):
            digest.update(alphabet.columns(block))
        return digest.hexdigest(), np.concatenate(states)

    return _without_collisions(draw, alphabet, names, attempt)


def _refuse_other_content(target: Path, found: str, expected: str | None) -> None:
    if expected is not None and found != expected:
        raise DeliveryError(
            f"the release comes out differently from when it was first delivered, so {target} was "
            "not written: the snapshot or the key was changed; run tacit verify"
        )


def _without_collisions(
    draw: Draw,
    alphabet: Alphabet,
    names: Pseudonyms | PublicIds,
    attempt: Callable[[Order, ThreadPoolExecutor], Result],
) -> Result:
    """What ``attempt`` makes with the first names under which no two records are called alike."""
    number = 0
    while True:
        with ThreadPoolExecutor(N_THREADS) as pool:
            try:
                return attempt(_order(draw, alphabet, names, number, pool), pool)
            except PseudonymCollisionError:
                number += 1


def remember(
    draw: Draw, states: StateFiles, release: str, progress: Progress | None = None
) -> None:
    """Write the states after a release, without its file: for states that were lost."""
    steps = _Steps(progress, len(draw.x))
    with (
        ThreadPoolExecutor(N_THREADS) as pool,
        states.writing(release, draw.sampler.n_next_states) as append,
    ):
        for _, next_states in in_order(pool, draw.letters_and_states, batches(len(draw.x))):
            append(next_states)
            steps.add(len(next_states))


@dataclass(slots=True)
class _Steps:
    """Counts what is done, and tells who wants to know."""

    progress: Progress | None
    total: int
    done: int = 0

    def add(self, steps: int) -> None:
        self.done += steps
        if self.progress is not None:
            self.progress(self.done, self.total)


def _order(
    draw: Draw,
    alphabet: Alphabet,
    names: Pseudonyms | PublicIds,
    attempt: int,
    pool: ThreadPoolExecutor,
) -> Order:
    n_records, n_letters = len(draw.x), alphabet.size
    match names:
        case Pseudonyms(party_key):
            words = partial(pseudonyms, party_key(attempt))
            return ByPseudonym(words, n_records, n_letters, pool)
        case PublicIds(ids_path):
            return ByPublicId(ids_path, n_records, n_letters)


def _draw_all(
    draw: Draw,
    order: Order,
    pool: ThreadPoolExecutor,
    keep: Callable[[States], None],
    steps: _Steps,
) -> None:
    """Draw every record, give the letters to ``order``, and the next states to ``keep``."""

    def draw_and_put(batch: range) -> Codes:
        letters, next_states = draw.letters_and_states(batch)
        order.put(batch.start, letters)
        return next_states

    for next_states in in_order(pool, draw_and_put, batches(len(draw.x))):
        keep(next_states)
        steps.add(len(next_states))


def _digested(
    blocks: Iterator[Block],
    alphabet: Alphabet,
    digest: ContentDigest,
    pool: ThreadPoolExecutor,
    steps: _Steps,
) -> Iterator[Block]:
    """The blocks, digested while they are written."""

    def add_to_digest(block: Block) -> None:
        digest.update(alphabet.columns(block))

    for block in blocks:
        digesting = pool.submit(add_to_digest, block)
        yield block  # back when it is written
        digesting.result()
        steps.add(len(block.letters))


def _told(error: OSError | duckdb.Error) -> str:
    """What went wrong, in a few words."""
    return (isinstance(error, OSError) and error.strerror) or reason(error)
