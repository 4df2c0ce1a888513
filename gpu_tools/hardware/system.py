"""What not every system has: locks of files, the processors of a process, its peak memory.

The only module that imports what Linux has and others may lack.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

try:
    import fcntl
    import resource
except ImportError:
    fcntl = resource = None


def lock(file: int | TextIO, shared: bool = False, wait: bool = True) -> None:
    """Lock an open file until it is closed.

    Raises
    ------
    BlockingIOError
        Another process holds the lock, and this one does not wait.
    OSError
        The file, or the system, has no locks.
    """
    if fcntl is None:
        raise OSError(errno.ENOLCK, "this system has no locks of files")
    fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))


def n_processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_memory() -> int | None:
    """Return the most bytes of memory that this process has had, None if that is not known."""
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
