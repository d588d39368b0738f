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

import duckdb

from tacit.errors import DeliveryError, InvalidInputError
from tacit.sampling import Sampler, pseudonyms, uniforms
from tacit.sampling.keyed import Codes
from tacit.tables.ahead import N_THREADS, in_order
from tacit.tables.block import Block
from tacit.tables.engine import reason
from tacit.tables.ordering import (
    ByPseudonym,
    ByPublicId,
    Order,
    PseudonymCollisionError,
    batches,
)
from tacit.tables.release_file import Alphabet, ContentDigest, release_writer
from tacit.tables.states import StateFiles
from tacit.tables.whole_file import whole_file

Progress = Callable[[int, int], None]
"""Called with steps done and steps in all: each record is drawn once and written once."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """All that decides the letters of a release.

    Attributes:
        x: cell of each record, from the snapshot.
        state: memory of each record before the release.
        sampler: the recorded channel.
        release_key: ``study_key.derive("release", intent_hash)``.
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
    delivery: Delivery, target: Path, *, digest_key: bytes, progress: Progress | None = None
) -> str:
    """Write the states and the release file, and return the file's keyed content digest.

    ``target`` is replaced once the new file is whole; its ending decides the format.

    Raises:
        DeliveryError: a file could not be written. What was there before still is.
    """
    release_writer(target)  # a name that cannot be used is refused before any work
    attempt = 0
    while True:
        steps = _Steps(progress, 2 * len(delivery.draw.x))
        try:
            return _deliver(delivery, attempt, target, digest_key, steps)
        except PseudonymCollisionError:
            attempt += 1
        except (OSError, duckdb.Error) as error:
            raise DeliveryError(
                f"the release is recorded but {target} was not written ({_told(error)}): "
                "mend that and run the same command again, which costs nothing"
            ) from error


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


def _deliver(
    delivery: Delivery, attempt: int, target: Path, digest_key: bytes, steps: _Steps
) -> str:
    with ThreadPoolExecutor(N_THREADS) as pool:
        order = _order(delivery, attempt, pool)
        _draw_all(delivery, order, pool, steps)
        return _write_all(order.blocks(pool), delivery.alphabet, target, digest_key, pool, steps)


def _order(delivery: Delivery, attempt: int, pool: ThreadPoolExecutor) -> Order:
    n_records, n_letters = len(delivery.draw.x), delivery.alphabet.size
    match delivery.names:
        case Pseudonyms(party_key):
            words = partial(pseudonyms, party_key(attempt))
            return ByPseudonym(words, n_records, n_letters, pool)
        case PublicIds(ids_path):
            return ByPublicId(ids_path, n_records, n_letters)


def _draw_all(delivery: Delivery, order: Order, pool: ThreadPoolExecutor, steps: _Steps) -> None:
    """Draw every record, give the letters to ``order``, and write the next states."""
    draw = delivery.draw

    def draw_and_put(batch: range) -> Codes:
        letters, next_states = draw.letters_and_states(batch)
        order.put(batch.start, letters)
        return next_states

    with delivery.states.writing(delivery.release, draw.sampler.n_next_states) as append:
        for next_states in in_order(pool, draw_and_put, batches(len(draw.x))):
            append(next_states)
            steps.add(len(next_states))


def _write_all(
    blocks: Iterator[Block],
    alphabet: Alphabet,
    target: Path,
    digest_key: bytes,
    pool: ThreadPoolExecutor,
    steps: _Steps,
) -> str:
    """Write the file, and digest what it says while it is written."""
    digest = ContentDigest(digest_key)

    def add_to_digest(block: Block) -> None:
        digest.update(alphabet.columns(block))

    def digested() -> Iterator[Block]:
        for block in blocks:
            digesting = pool.submit(add_to_digest, block)
            yield block  # back when it is written
            digesting.result()
            steps.add(len(block.letters))

    with whole_file(target) as file:
        release_writer(target)(file, alphabet, digested())
    return digest.hexdigest()


def _told(error: OSError | duckdb.Error) -> str:
    """What went wrong, in a few words."""
    return (isinstance(error, OSError) and error.strerror) or reason(error)
