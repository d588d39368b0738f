"""Addresses of a ledger, and where a SQLite ledger may not lie."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from tacit.errors import InvalidInputError, LedgerError
from tacit.ledger import Ledger
from tacit.ledger.database import (
    MOUNTS,
    NETWORK_FILE_SYSTEMS,
    check_folder,
    file_system,
    parse_address,
    shown_address,
    sqlite_file,
)

TABLE = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw,relatime shared:7 master:1 - nfs4 server:/export rw,vers=4.2
41 40 0:41 / /home/me/local rw,relatime - xfs /dev/vdb rw
42 27 0:42 / /mnt/my\040share\134x rw - cifs //server/share rw
43 27 0:43 / /media rw - autofs systemd-1 rw
44 43 0:44 / /media rw - fuse.sshfs me@host: rw
45 27 0:45 / /mnt/over rw - nfs server:/x rw
46 45 0:46 / /mnt/over rw - tmpfs tmpfs rw
""".strip()


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("sqlite:////folder/a ledger.sqlite", "/folder/a ledger.sqlite"),
        ("sqlite:////folder/50%25.sqlite", "/folder/50%.sqlite"),
        (Path("/folder/50%25?.sqlite"), "/folder/50%25?.sqlite"),
    ],
)
def test_sqlite_files(address: str | Path, file: str) -> None:
    assert sqlite_file(parse_address(address)) == Path(file)


def test_a_relative_file_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sqlite_file(parse_address("sqlite:///x.sqlite")) == tmp_path / "x.sqlite"
    assert sqlite_file(parse_address(Path("x.sqlite"))) == tmp_path / "x.sqlite"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_postgresql_is_reached_by_psycopg(scheme: str) -> None:
    url = parse_address(f"{scheme}://me:secret@host:5433/db?sslmode=require")
    assert url.drivername == "postgresql+psycopg"
    assert sqlite_file(url) is None
    assert shown_address(url) == "postgresql://me:***@host:5433/db"


def test_a_password_in_the_query_is_not_shown() -> None:
    url = parse_address("postgresql:///db?host=/run/pg&user=me&password=secret&sslpassword=secret")
    assert shown_address(url) == "postgresql:///db?host=%2Frun%2Fpg"
    assert url.query["password"] == "secret"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("clinic/ledger.sqlite", "no URL: give sqlite:///FILE or postgresql://"),
        ("", "no URL"),
        ("postgresql://me:secret@host:port/db", "no URL"),
        ("postgresql://me:se@cret@host/db", "more than one @: write %40"),
        ("mysql://me:secret@host/db", "cannot be in 'mysql'"),
        ("sqlite://", "is a file"),
        ("sqlite:///:memory:", "is a file"),
        ("sqlite:///x.sqlite?mode=ro", "is a file"),
        ("sqlite://host/x.sqlite", "is a file"),
    ],
)
def test_other_addresses_are_refused(address: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as refused:
        parse_address(address)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/lib/study", "ext4"),
        ("/home", "nfs4"),
        ("/home/me", "nfs4"),
        ("/home/me/local/study", "xfs"),
        ("/homework", "ext4"),
        ("/mnt/my share\\x/study", "cifs"),
        ("/media/study", "fuse.sshfs"),
        ("/mnt/over/study", "tmpfs"),
    ],
)
def test_the_deepest_and_latest_mount_counts(path: str, kind: str) -> None:
    assert file_system(PurePosixPath(path), TABLE) == kind


def test_without_a_table_nothing_is_known() -> None:
    assert file_system(PurePosixPath("/var"), "") is None


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs"])
def test_network_file_systems_are_known(kind: str) -> None:
    assert kind in NETWORK_FILE_SYSTEMS


def test_a_network_file_system_is_refused(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"1 1 0:1 / {tmp_path.resolve()} rw - nfs4 server:/export rw\n")
    with pytest.raises(LedgerError, match=r"network file system \(nfs4\).*name postgresql://"):
        check_folder(tmp_path, mounts)


def test_a_local_folder_is_left_as_it_was(tmp_path: Path) -> None:
    check_folder(tmp_path)
    check_folder(tmp_path, tmp_path / "a table that is not there")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not MOUNTS.exists(), reason="no table of mounts on this system")
def test_this_system_tells_its_file_systems(tmp_path: Path) -> None:
    assert file_system(PurePosixPath("/proc/self"), MOUNTS.read_text()) == "proc"
    assert file_system(tmp_path.resolve(), MOUNTS.read_text()) is not None


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    for open_or_create in (Ledger.open, Ledger.create):
        with pytest.raises(LedgerError, match=f"{tmp_path}/nowhere does not exist: .*put it back"):
            open_or_create(tmp_path / "nowhere" / "ledger.sqlite")


@pytest.fixture
def read_only_folder(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        yield tmp_path
        tmp_path.chmod(0o700)
        return
    # Mode bits do not stop root; a file system mounted read-only does.
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "tacit-test", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("root may not mount a read-only file system here")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_folder_that_cannot_be_written_is_refused(read_only_folder: Path) -> None:
    for open_or_create in (Ledger.open, Ledger.create):
        with pytest.raises(
            LedgerError, match=f"{read_only_folder} cannot be written .*postgresql://"
        ):
            open_or_create(read_only_folder / "ledger.sqlite")
    assert list(read_only_folder.iterdir()) == []
