"""Limits the requests a second to one service, over all processes of a user."""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path


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
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
        self.path = folder / f"gpu-tools-{os.getuid()}-{service}.pace"
        self.seconds = seconds

    def wait(self) -> None:
        """Return when the next request may begin."""
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with open(handle, "r+", encoding="ascii") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # the others queue here while this one sleeps
            passed = -1.0
            with suppress(ValueError):  # the file is new, or cut short
                passed = time.time() - float(stream.read())
            if 0 <= passed < self.seconds:
                time.sleep(self.seconds - passed)
            stream.seek(0)
            stream.truncate()
            stream.write(repr(time.time()))
