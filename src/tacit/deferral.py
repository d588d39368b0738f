"""Names that load their module on first use.

A recipient who estimates from a file needs neither the databases nor the cryptography that a
custodian needs, and need not install them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def deferred(
    package: str, names: Mapping[str, Iterable[str]], modules: Iterable[str] = ()
) -> Callable[[str], object]:
    """``__getattr__`` of a package (PEP 562): import a name on first use, and keep it.

    Args:
        package: its full name.
        names: module in the package -> the names that the package offers from it.
        modules: modules in the package that it offers as a whole.
    """
    module_of = {name: module for module, offered in names.items() for name in offered}

    def load(name: str) -> object:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
