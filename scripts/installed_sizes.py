"""Print what tacit and each of its extras take on the disk, from the packages installed here."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS = ("", "recipient", "cli", "study", "plots", "postgresql", "excel", "service", "all")
EXTRAS += ("spark", "docs")
"""Extras that people install; the first is tacit alone."""

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "tacit"
SITE = PACKAGE / "site"
"""The documentation: wheels have it, a clone only once it is built; so it is not counted."""

PYPROJECT = ROOT / "pyproject.toml"


@dataclass(frozen=True, slots=True)
class Size:
    """What is installed for an extra, tacit included.

    Attributes:
        packages: bytes of each package that tacit needs for it.
        bytecode: bytes that Python's compiled files add, which pip writes.
    """

    packages: dict[str, int]
    bytecode: int

    @property
    def megabytes(self) -> float:
        """All files but bytecode, in units of 10^6 bytes."""
        return sum(self.packages.values()) / 1e6


def size_of(extra: str) -> Size:
    """The size of ``tacit[extra]``."""
    files = {name: dict(_files(found)) for name, found in _needed(extra).items()}
    bytecode = sum(
        size for each in files.values() for path, size in each.items() if _is_bytecode(path)
    )
    own = sum(
        path.stat().st_size
        for path in PACKAGE.rglob("*")
        if path.is_file() and not _is_bytecode(path) and SITE not in path.parents
    )
    packages = {
        name: sum(size for path, size in each.items() if not _is_bytecode(path))
        for name, each in files.items()
    }
    return Size(packages | {"tacit": own}, bytecode)


def _needed(extra: str) -> dict[str, Distribution]:
    """The packages that ``tacit[extra]`` needs, and those that these need; tacit is left out."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, str]] = set()
    waiting = [("tacit", ""), ("tacit", extra)]
    while waiting:
        asked = name, of_extra = waiting.pop()
        if asked in seen:
            continue
        seen.add(asked)
        if name == "tacit":
            waiting += _wanted(_lines_of_tacit(of_extra), "")
        else:
            found[name] = distribution(name)
            waiting += _wanted(found[name].requires or (), of_extra)
    return found


def _lines_of_tacit(extra: str) -> list[str]:
    """What pyproject.toml asks for: an editable install may know an older one."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines: list[str] = project["optional-dependencies"][extra] if extra else project["dependencies"]
    return lines


def _wanted(lines: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """Name and extra of each package that is needed on this machine."""
    for wanted in map(Requirement, lines):
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(wanted.name), each) for each in ("", *wanted.extras))


def _files(package: Distribution) -> Iterator[tuple[Path, int]]:
    for file in package.files or ():
        path = Path(str(file.locate()))
        if path.is_file():
            yield path, path.stat().st_size


def _is_bytecode(path: Path) -> bool:
    return path.suffix == ".pyc"


def main() -> None:
    """A row for each extra: the whole, what bytecode adds, and the largest packages."""
    print(f"{'extra':<12} {'packages':>8} {'MB':>5} {'bytecode':>8}  largest")
    for extra in EXTRAS:
        size = size_of(extra)
        largest = sorted(size.packages, key=lambda name: -size.packages[name])[:4]
        told = ", ".join(f"{name} {size.packages[name] / 1e6:.0f}" for name in largest)
        numbers = f"{len(size.packages):>8} {size.megabytes:>5.0f} {size.bytecode / 1e6:>8.0f}"
        print(f"{extra or 'none':<12} {numbers}  {told}")


if __name__ == "__main__":
    main()
