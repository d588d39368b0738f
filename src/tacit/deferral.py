"""Names that load their module on first use, so that a room is entered without all that is in it.

A recipient who estimates from a file needs neither the databases nor the cryptography that a
custodian needs, and has not installed them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def deferred(package: str, names: Mapping[str, tuple[str, ...]]) -> Callable[[str], object]:
    """``__getattr__`` of a package (PEP 562).

    Args:
        package: its full name.
        names: module in the package -> the names that the package offers from it.
    """
    module_of = {name: module for module, offered in names.items() for name in offered}

    def load(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{module_of[name]}"), name)

    return load
