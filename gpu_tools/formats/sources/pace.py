"""Limits the requests a second to one service, over all processes of a user."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from gpu_tools.errors import FetchError
from gpu_tools.hardware.own_files import open_own, private_folder

_LONGEST_TIME = 64
"""Bytes of the file that are read."""


class Pace:
    """Leaves at least `seconds` between two requests to one service.

    Parameters
    ----------
    service : str
        Name of the service; processes of one user on one machine share its pace.
    seconds : float
        Time between the beginnings of two requests.
    """

    def __init__(self, service: str, seconds: float):
        self.name = f"gpu-tools-{os.getuid()}-{service}.pace"
        self.seconds = seconds

    def wait(self) -> None:
        """Return when the next request may begin."""
        handle = _opened(self.name)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)  # the others queue here while this one sleeps
            passed = -1.0
            with suppress(ValueError):  # the file is new, or cut short
                passed = time.time() - float(os.pread(handle, _LONGEST_TIME, 0))
            if 0 <= passed < self.seconds:
                time.sleep(self.seconds - passed)
            os.ftruncate(handle, 0)
            os.pwrite(handle, repr(time.time()).encode("ascii"), 0)
        except OSError as error:
            raise FetchError(f"{self.name}: no pace can be kept ({error.strerror})") from None
        finally:
            os.close(handle)


def _opened(name: str) -> int:
    """Open a user's file for the pace, in the folder of the session or else in a private one."""
    for folder in filter(None, (os.environ.get("XDG_RUNTIME_DIR"), private_folder())):
        with suppress(OSError):
            return open_own(Path(folder, name), os.O_RDWR | os.O_CREAT)
    raise FetchError(f"{private_folder() / name}: no pace can be kept (it is not a file)")
