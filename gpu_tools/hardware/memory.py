"""Main memory and disk that can be had, so that what cannot fit is refused before it is tried."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpu_tools.errors import InputError

_MEMINFO, _GROUP, _GROUPS = Path("/proc/meminfo"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
_GIB = 1 << 30
MEMORY = "GPU_TOOLS_MEMORY"
"""Variable of the environment that names the memory in GiB, where the system tells too little."""


def available_memory() -> int | None:
    """Return the bytes of main memory that can be had, None if the system does not say.

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
    """Raise `InputError` if `what`, in words, takes more bytes than can be had."""
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
