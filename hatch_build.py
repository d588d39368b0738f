"""Compiles the interior-point kernel when tacit is installed.

The machine's C compiler does it; where there is none, the build asks PyPI for one (``ziglang``), so
that Python alone is enough to install tacit from source.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

KERNEL = Path("src", "tacit", "solvers", "kernel")
LIBRARY = "tacit_kernel.dll" if sys.platform == "win32" else "tacit_kernel.so"

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


def compile_kernel(sources: Path, library: Path) -> None:
    """Make the shared library."""
    compiler = system_compiler() or [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline"]
    files = sorted(str(path) for path in sources.glob("*.c"))
    portable = [] if sys.platform == "win32" else ["-fPIC", "-lm"]
    made = library.with_suffix(f".{os.getpid()}.partial")  # another install may run beside this one
    try:
        subprocess.run([*compiler, *FLAGS, *files, "-o", str(made), *portable], check=True)
        made.replace(library)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error if isinstance(error, OSError) else f"exit status {error.returncode}"
        raise SystemExit(
            f"tacit's kernel could not be compiled by {shlex.join(compiler)} ({reason}): set CC to "
            "a C11 compiler that works, or unset it"
        ) from error


def platform_tag(platforms: Iterable[str]) -> str:
    """The first platform that promises nothing about its C library; on macOS, the target's."""
    here = next(name for name in platforms if not name.startswith(("manylinux", "musllinux")))
    target = re.match(r"(\d+)\.(\d+)", os.environ.get("MACOSX_DEPLOYMENT_TARGET", ""))
    return re.sub(r"^macosx_\d+_\d+", rf"macosx_{target[1]}_{target[2]}", here) if target else here


class KernelBuildHook(BuildHookInterface):
    """Builds the shared library and puts it into the wheel, beside its sources."""

    def dependencies(self) -> list[str]:
        """What the build itself needs."""
        return [] if system_compiler() else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and say that the wheel is for this kind of machine, whatever its Python."""
        sources = Path(self.root) / KERNEL
        if version == "editable":  # the sources themselves are what is imported
            compile_kernel(sources, sources / LIBRARY)
        else:
            self._scratch = tempfile.TemporaryDirectory()
            library = Path(self._scratch.name) / LIBRARY
            compile_kernel(sources, library)
            inside = Path(*KERNEL.parts[1:], LIBRARY).as_posix()
            build_data["force_include"][str(library)] = inside
        build_data["tag"] = f"py3-none-{platform_tag(tag.platform for tag in sys_tags())}"
        build_data["pure_python"] = False

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was only needed for the wheel."""
        if version != "editable":
            self._scratch.cleanup()
