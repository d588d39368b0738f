"""What a party asks for: an attribute, several, a function of them, or any variable R."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.arrays import Array
from tacit.errors import InvalidInputError
from tacit.information.laws import as_channel

Asked = str | Sequence[str] | Callable[..., object] | ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class Attributes:
    """The private attributes behind a flat X: names and levels, C order."""

    names: tuple[str, ...]
    levels: tuple[tuple[object, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of levels."""
        return tuple(map(len, self.levels))

    def codes(self) -> NDArray[np.intp]:
        """Level of every attribute at every x, [attribute, x]."""
        return np.indices(self.shape, dtype=np.intp).reshape(len(self.shape), -1)


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """The variable R that was asked for, with its law.

    Attributes:
        name: how people call it.
        p_r_given_x: [x, r].
        letters: what each letter of r stands for.
    """

    name: str
    p_r_given_x: Array
    letters: tuple[object, ...]


def read_variable(asked: Asked, attributes: Attributes | None, n_x: int) -> Variable:
    """Turn what was asked into the law of R given x."""
    if callable(asked):
        return _function(asked, _known(attributes))
    if isinstance(asked, str):
        return _named((asked,), _known(attributes))
    if isinstance(asked, Sequence) and asked and all(isinstance(name, str) for name in asked):
        return _named(tuple(str(name) for name in asked), _known(attributes))
    return _law(asked, n_x)


def _known(attributes: Attributes | None) -> Attributes:
    if attributes is None:
        raise InvalidInputError(
            "this scheme has no attribute names: make it with Scheme.from_counts(..., attributes=) "
            "or ask by an array p(r | x)"
        )
    return attributes


def _named(names: tuple[str, ...], attributes: Attributes) -> Variable:
    for name in names:
        if name not in attributes.names:
            raise InvalidInputError(
                f"attribute {name!r} is unknown: this scheme has {', '.join(attributes.names)}"
            )
    axes = [attributes.names.index(name) for name in names]
    codes = attributes.codes()[axes]
    levels = [attributes.levels[axis] for axis in axes]
    letters = tuple(product(*levels)) if len(levels) > 1 else levels[0]
    r_of_x = np.ravel_multi_index(tuple(codes), tuple(map(len, levels)))
    return Variable("+".join(names), np.eye(len(letters))[r_of_x], letters)


def _function(function: Callable[..., object], attributes: Attributes) -> Variable:
    """R = function(level, level, ...), called once per cell with the attributes as keywords."""
    cells = product(*attributes.levels)
    values = [function(**dict(zip(attributes.names, cell, strict=True))) for cell in cells]
    letters = tuple(sorted(set(values), key=lambda value: (str(type(value)), value)))
    r_of_x = [letters.index(value) for value in values]
    name = getattr(function, "__name__", "function")
    return Variable(name, np.eye(len(letters))[r_of_x], letters)


def _law(asked: ArrayLike, n_x: int) -> Variable:
    law = as_channel(asked, np.ones(n_x), name="p_r_given_x")
    return Variable("p(r|x)", law, tuple(range(law.shape[1])))
