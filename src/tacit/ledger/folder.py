"""Whether a folder can hold a SQLite ledger: local, and writable."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from tempfile import TemporaryFile

from tacit.errors import LedgerError

MOUNTS = Path("/proc/self/mountinfo")

NETWORK_FILE_SYSTEMS = frozenset(
    {
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "davfs",
        "fuse.ceph",
        "fuse.davfs2",
        "fuse.gcsfuse",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.sshfs",
        "gfs2",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "ocfs2",
        "orangefs",
        "smb2",
        "smb3",
        "smbfs",
    }
)
"""Where SQLite's locks and shared memory do not hold between machines (sqlite.org/wal.html)."""

_FIX = "keep the ledger in a local, writable folder or use --ledger postgresql://..."


def check_folder(folder: Path, mount_table: Path = MOUNTS) -> None:
    """Raise LedgerError unless SQLite can keep a ledger in this folder.

    Args:
        folder: where the file is or will be.
        mount_table: without one, as outside Linux, network file systems are not recognised.
    """
    if not folder.is_dir():
        raise LedgerError(f"the ledger's folder {folder} does not exist: create it, or {_FIX}")
    mounts = mount_table.read_text(errors="surrogateescape") if mount_table.exists() else ""
    kind = file_system(folder.resolve(), mounts)
    if kind in NETWORK_FILE_SYSTEMS:
        raise LedgerError(
            f"the folder {folder} is on a network file system ({kind}), "
            f"where SQLite can lose entries: {_FIX}"
        )
    _check_writable(folder)


def file_system(path: PurePath, mounts: str) -> str | None:
    """Type of the file system that holds an absolute path; ``None`` if the table does not say.

    Args:
        path: without symbolic links.
        mounts: text of /proc/self/mountinfo (proc_pid_mountinfo(5)): the mount point is the fifth
            field, the type the first after a lone dash.
    """
    deepest, kind = -1, None
    for line in mounts.splitlines():
        place, _, source = line.partition(" - ")
        mount_point = PurePath(_unescaped(place.split()[4]))
        depth = len(mount_point.parts)
        # A later mount on the same point hides the earlier one.
        if path.is_relative_to(mount_point) and depth >= deepest:
            deepest, kind = depth, source.split()[0]
    return kind


def _unescaped(field: str) -> str:
    """Blanks and backslashes stand as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), field)


def _check_writable(folder: Path) -> None:
    """By writing: mode bits mean nothing to root, nor on a file system mounted read-only."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(b"\0")
    except OSError as error:
        raise LedgerError(
            f"the folder {folder} cannot be written ({error.strerror}): {_FIX}"
        ) from error
