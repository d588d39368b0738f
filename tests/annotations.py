"""Which classes the annotations of a public object name."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType


def classes_named(thing: object) -> Iterator[type]:
    """Classes of tacit in the annotations of a function, or of the public parts of a class."""
    if inspect.isclass(thing):
        for base in thing.__mro__:
            if is_own(base):
                yield from _classes_of_members(base)
    elif isinstance(thing, FunctionType):
        yield from _resolved(thing.__module__, thing.__annotations__)


def is_own(thing: object) -> bool:
    """Whether a class is defined in tacit."""
    return inspect.isclass(thing) and thing.__module__.partition(".")[0] == "tacit"


def _classes_of_members(base: type) -> Iterator[type]:
    fields = {
        name: annotation
        for name, annotation in inspect.get_annotations(base).items()
        if not name.startswith("_")
    }
    yield from _resolved(base.__module__, fields)
    for name, member in vars(base).items():
        if not name.startswith("_") or (name == "__init__" and not _has_constructors(base)):
            yield from _resolved(base.__module__, getattr(_function(member), "__annotations__", {}))


def _has_constructors(base: type) -> bool:
    """Whether people make it by ``open``, ``create`` and the like, and not by its name."""
    return any(
        isinstance(member, classmethod)
        and member.__func__.__annotations__.get("return") in ("Self", base.__name__)
        for name, member in vars(base).items()
        if not name.startswith("_")
    )


def _function(member: object) -> object:
    """The function behind a method, class method, property or cached property."""
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return getattr(member, "__func__", member)


def _resolved(module: str, annotations: dict[str, object]) -> Iterator[type]:
    for annotation in annotations.values():
        if is_own(annotation):
            yield annotation
        elif isinstance(annotation, str):
            for node in ast.walk(ast.parse(annotation, mode="eval")):
                found = _names_in(module).get(node.id) if isinstance(node, ast.Name) else None
                if is_own(found):
                    yield found


@functools.cache
def _names_in(module: str) -> dict[str, object]:
    """What names mean in a module, those imported for type checkers included."""
    loaded = import_module(module)
    names = dict(vars(loaded))
    for node in ast.walk(ast.parse(inspect.getsource(loaded))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tacit"):
            for alias in node.names:
                names[alias.asname or alias.name] = getattr(import_module(node.module), alias.name)
    return names
