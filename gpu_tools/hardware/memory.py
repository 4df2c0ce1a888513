"""The main memory that can be had, so that what cannot fit is refused before it is tried."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gpu_tools.errors import InputError

_MEMINFO = Path("/proc/meminfo")
_GIB = 1 << 30


def available_memory() -> int | None:
    """Return the bytes of main memory that can be had, None if the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return None


def check_memory(size: int, what: str) -> None:
    """Raise `InputError` if `what`, in words, takes more bytes than can be had."""
    available = available_memory()
    if available is not None and size > available:
        raise InputError(
            f"{what} take {size / _GIB:.1f} GiB of memory",
            expected=f"at most the {available / _GIB:.1f} GiB that are available",
        )
