"""What is handed out: the sdist holds all that a build needs, and the wheel needs no compiler."""

from __future__ import annotations

import re
import shutil
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hatch_build import platform_tag
from scripts.build_wheel import build_sdist, build_wheel, install_clean, repair_wheel, run_clean
from tests.pages import ROOT

FOLDERS = ("src", "tests", "benchmarks", "scripts", "docs")
FILES = (
    *(".clang-format", ".gitignore", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"),
    *("Makefile", "README.md", "hatch_build.py", "mkdocs.yml", "pyproject.toml"),
)
OF_THE_MACHINE = (
    ".venv/lib/secret.py",
    "build/demo/clinic/key",
    "src/tacit/__pycache__/study.cpython-311.pyc",
    "src/tacit/solvers/kernel/tacit_kernel.so",
)
SITE = "src/tacit/site/index.html"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources, with a built site and with what a machine leaves behind."""
    folder = tmp_path_factory.mktemp("source")
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    ignored = shutil.ignore_patterns("__pycache__", "site", "tacit_kernel.*")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for planted in (*OF_THE_MACHINE, SITE):
        (folder / planted).parent.mkdir(parents=True, exist_ok=True)
        (folder / planted).write_text("planted")
    return folder


@pytest.fixture(scope="module")
def sdist(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sdist(source, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(sdist, tmp_path_factory.mktemp("wheel"))


def texts_of_sdist(sdist: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(sdist) as archive:
        for member in archive.getmembers():
            assert (member.uid, member.gid, member.uname, member.gname) == (0, 0, "", "")
            content = archive.extractfile(member)
            assert content is not None
            yield member.name.partition("/")[2], content.read()


def texts_of_wheel(wheel: Path) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(wheel) as archive:
        yield from ((name, archive.read(name)) for name in archive.namelist())


def test_the_sdist_is_the_sources_and_the_site_and_nothing_of_the_machine(
    source: Path, sdist: Path
) -> None:
    found = dict(texts_of_sdist(sdist))
    ours = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert set(found) == ours - set(OF_THE_MACHINE) | {"PKG-INFO"}
    assert not [name for name, text in found.items() if str(source).encode() in text]
    assert not [name for name, text in found.items() if str(ROOT).encode() in text]


@pytest.mark.parametrize(
    ("platforms", "target", "tag"),
    [
        (("manylinux_2_36_x86_64", "linux_x86_64"), "12.0", "linux_x86_64"),
        (("macosx_15_0_arm64", "macosx_14_0_arm64"), "12.0", "macosx_12_0_arm64"),
        (("macosx_15_0_arm64", "macosx_14_0_arm64"), "", "macosx_15_0_arm64"),
        (("win_amd64",), "", "win_amd64"),
    ],
)
def test_the_tag_promises_no_more_than_the_compiler(
    platforms: tuple[str, ...], target: str, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MACOSX_DEPLOYMENT_TARGET", target)
    assert platform_tag(platforms) == tag


@pytest.mark.slow
def test_the_wheel_is_built_offline_and_carries_kernel_and_site(source: Path, wheel: Path) -> None:
    found = dict(texts_of_wheel(wheel))
    assert found["tacit/site/index.html"] == b"planted"
    assert found["tacit/solvers/kernel/tacit_kernel.so"].startswith(b"\x7fELF")
    modules = {str(path.relative_to(source / "src")) for path in source.rglob("src/**/*.py")}
    assert modules <= set(found)
    assert not [name for name, text in found.items() if str(source.parent).encode() in text]


@pytest.mark.slow
def test_the_wheel_works_without_a_compiler_and_its_tag_is_true(
    wheel: Path, tmp_path: Path
) -> None:
    repaired = repair_wheel(wheel, tmp_path / "repaired")
    tag = re.search(r"-py3-none-manylinux_2_(\d+)_\w+\.whl$", repaired.name)
    assert tag is not None
    library = dict(texts_of_wheel(repaired))["tacit/solvers/kernel/tacit_kernel.so"]
    needed = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", library)]
    assert max(needed) <= int(tag[1])
    programs = install_clean(repaired, tmp_path / "clean")
    assert "everything that is installed works" in run_clean(programs, "tacit", "doctor")
    assert Path(run_clean(programs, "tacit", "docs").strip()).read_text() == "planted"
    run_clean(programs, "tacit", "demo", "--out", "demo")
    assert (tmp_path / "clean" / "demo" / "clinic").is_dir()
