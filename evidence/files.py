"""Files that are whole or absent: written beside, fsynced, renamed, folder fsynced; and read only if they are plain files."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path
from typing import BinaryIO

from evidence.canonical import EvidenceError


def fsync_folder(folder: Path) -> None:
    """Make a rename in `folder` durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def open_plain(path: Path) -> BinaryIO:
    """Open for reading; :class:`EvidenceError` for a link, pipe, device or folder: a planted one neither blocks a reader nor leads out."""
    # not blocking: a pipe without a writer would hold the reader for ever
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise EvidenceError(f"{path.name} is not a plain file")
    return os.fdopen(fd, "rb")


def read_whole(path: Path, limit: int) -> bytes:
    """A plain file of at most `limit` bytes; :class:`EvidenceError` where it is another kind of file or larger, `OSError` as usual."""
    with open_plain(path) as f:
        size = os.fstat(f.fileno()).st_size
        if size > limit:
            raise EvidenceError(f"{path.name} is larger than {limit} bytes")
        return f.read(size)  # not `limit`: as many bytes as are asked for are allocated


def write_whole(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write `data` to `path` so that after a crash the file is either the old one or the new one."""
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(data)
            f.flush()
            os.fsync(f.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    fsync_folder(path.parent)
