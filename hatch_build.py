"""Compiles the interior-point kernel when tacit is installed.

The machine's C compiler does it; where there is none, the build asks PyPI for one (``ziglang``), so
that Python alone is enough to install tacit from source.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = Path("src", "tacit", "solvers", "kernel")
LIBRARY = KERNEL / ("tacit_kernel.dll" if sys.platform == "win32" else "tacit_kernel.so")

FLAGS = [
    "-std=c11",
    "-O3",
    "-Wall",
    "-Wextra",
    # Sums may be reordered, so that they vectorise; NaN and infinity keep their meaning.
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-g0",
    "-shared",
]


def system_compiler() -> list[str] | None:
    """The C compiler that the user names in ``CC``, or the usual ones."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    found = (shutil.which(name) for name in ("cc", "gcc", "clang"))
    return next(([path] for path in found if path), None)


class KernelBuildHook(BuildHookInterface):
    """Builds the shared library beside its sources and puts it into the wheel."""

    def dependencies(self) -> list[str]:
        """What the build itself needs."""
        return [] if system_compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for this kind of machine, whatever its Python."""
        compiler = system_compiler() or [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
        root = Path(self.root)
        sources = sorted(str(path.relative_to(root)) for path in (root / KERNEL).glob("*.c"))
        portable = [] if sys.platform == "win32" else ["-fPIC", "-lm"]
        command = [*compiler, *FLAGS, *sources, "-o", str(LIBRARY), *portable]
        try:
            subprocess.run(command, cwd=root, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"tacit's kernel could not be compiled ({error}): set CC to a C11 compiler that "
                "works, or unset it"
            ) from error
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        build_data["artifacts"].append(f"/{LIBRARY.as_posix()}")
