"""Files of one user alone, checksums, and the memory and disk that are available."""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from os import PathLike
from pathlib import Path
from zlib import crc32

from gpu_tools.errors import InputError


@cache
def private_folder() -> Path:
    """Return a folder for temporary files that no other user can write or read.

    Compiled code is executed, so it must not come from somebody else. All processes of a user on
    one machine share the folder. If somebody else has taken its name, the folder is one of this
    process alone.
    """
    shared = Path(tempfile.gettempdir()) / f"gpu-tools-{os.geteuid()}"
    try:
        shared.mkdir(mode=0o700, exist_ok=True)
        if _is_private(shared):
            return shared
    except OSError:
        pass
    own = tempfile.mkdtemp(prefix="gpu-tools-")
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    return Path(own)


def open_own(path: str | os.PathLike, flags: int) -> int:
    """Open a plain file of this user's that has one name, and return its descriptor.

    No link is followed, and a pipe is not waited for: other users may have put one there.
    """
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    state = os.fstat(handle)
    if stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and state.st_nlink == 1:
        return handle
    os.close(handle)
    raise FileExistsError(errno.EEXIST, "not a file of this user alone")


def _is_private(folder: Path) -> bool:
    state = folder.lstat()
    ours = stat.S_ISDIR(state.st_mode) and state.st_uid == os.geteuid()
    return ours and not state.st_mode & 0o077


# Checksums of stored files, which show damage before the content is used.

_CHUNK = 1 << 20


def checksum_of(path: str | PathLike) -> list[int]:
    """Return a file's size and CRC-32, which takes a second for some 2 GB."""
    size = checksum = 0
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            size, checksum = size + len(chunk), crc32(chunk, checksum)
    return [size, checksum]


# Available memory and disk: what cannot fit is refused before it is tried.

_MEMINFO, _GROUP, _GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_GIB = 1 << 30
MEMORY = "GPU_TOOLS_MEMORY"
"""Variable of the environment that names the memory in GiB, where the system tells too little."""


def available_memory() -> int | None:
    """Return the available bytes of main memory, None if the system does not say.

    That is what the machine has free, and what is left to the group of processes that a scheduler
    or a container put this one into; or what the environment says.
    """
    with suppress(KeyError, ValueError, OverflowError):
        return int(float(os.environ[MEMORY]) * _GIB)
    found = [*_of_machine(), *_of_group()]
    return max(min(found), 0) if found else None


def _of_machine() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) << 10


def _of_group() -> Iterator[int]:
    """Yield what is left to this process's group and to those that it is in."""
    with suppress(OSError):
        for line in _GROUP.read_text(encoding="utf-8").splitlines():
            _, kind, path = line.split(":", 2)
            root = _GROUPS / ("memory" if kind == "memory" else "")
            if kind in ("", "memory"):
                folder = root / path.lstrip("/")
                for group in (folder, *folder.parents):
                    yield from _left_to(group)
                    if group == root:
                        break


def _left_to(group: Path) -> Iterator[int]:
    names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
    for limit, used in names:
        with suppress(OSError, ValueError):  # without a limit it is the word max
            left = int((group / limit).read_text("ascii")) - int((group / used).read_text("ascii"))
            yield left + _reclaimable(group)


def _reclaimable(group: Path) -> int:
    """Return the bytes of files that the system keeps only as long as nobody needs the memory."""
    with suppress(OSError, ValueError):
        for line in (group / "memory.stat").read_text("ascii").splitlines():
            name, _, value = line.partition(" ")
            if name in ("inactive_file", "total_inactive_file"):
                return int(value)
    return 0


def check_memory(size: int, what: str) -> None:
    """Raise `InputError` if `what`, in words, takes more bytes than are available."""
    available = available_memory()
    if available is not None and size > available:
        raise InputError(
            f"{what} take {size / _GIB:.1f} GiB of memory",
            expected=f"at most the {available / _GIB:.1f} GiB that are available",
        )


def free_disk(path: str | os.PathLike) -> int | None:
    """Return the bytes that can be written into a folder, None if the system does not say."""
    try:
        state = os.statvfs(path)
    except OSError:
        return None
    return state.f_bavail * state.f_frsize if state.f_blocks else None
