"""Files that are not complete yet: hidden ones beside their outputs, and those of dead processes.

Each is locked as long as its process lives. What is not locked was left by a process that was
killed, and is removed when this user next writes into its folder.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import tempfile
import time
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path

_NAME_PART = 40
"""Symbols of an output's name in that of its temporary file, which must not become too long."""
_MARK = "gpu-tools"
_PATTERN = re.compile(rf"\..*\.{_MARK}-([0-9a-f]{{8}})-[a-z0-9_]{{8}}(\..*)?")
_DAY = 86400.0
"""Seconds after which what another machine left counts as left: not every network of disks tells
one machine of the locks of another."""
_ATTEMPTS = 100


def new_file(target: Path, suffix: str | None = None) -> tuple[int, Path]:
    """Make a hidden file beside an output, which no other process takes for its own.

    Parameters
    ----------
    target : Path
        The output.
    suffix : str, optional
        That of the file; by default the output's.

    Returns
    -------
    (int, Path)
        A descriptor, which holds the lock until it is closed, and the file.

    Raises
    ------
    OSError
        If there can be no such file.
    """
    clear_leftovers(target.parent)
    prefix = f".{target.name[:_NAME_PART]}.{_MARK}-{_machine()}-"
    for _ in range(_ATTEMPTS):
        handle, name = tempfile.mkstemp(
            prefix=prefix, suffix=target.suffix if suffix is None else suffix, dir=target.parent
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(handle), os.lstat(name)):
                break
        except (BlockingIOError, FileNotFoundError):  # it was just taken for a leftover
            pass
        except OSError:  # there are no locks, so that nobody takes it for one
            break
        os.close(handle)
    return handle, Path(name)


@cache
def clear_leftovers(folder: Path) -> None:
    """Remove what processes of this user that are dead left in a folder; look once a process."""
    with suppress(OSError):
        with os.scandir(folder) as entries:
            found = [(e.path, match[1]) for e in entries if (match := _PATTERN.fullmatch(e.name))]
        for path, machine in found:
            _remove_if_left(path, machine == _machine())


def _remove_if_left(path: str, is_of_here: bool) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            state = os.fstat(handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            old = time.time() - state.st_mtime > _DAY
            if state.st_uid == os.geteuid() and (is_of_here or old):
                os.unlink(path)  # noqa: PTH108
        finally:
            os.close(handle)


@cache
def _machine() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"
