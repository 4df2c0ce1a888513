"""Files and folders that belong to one user alone, where others can write too."""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import stat
import tempfile
from functools import cache
from pathlib import Path


@cache
def private_folder() -> Path:
    """Return a folder for temporary files that no other user can write or read.

    Compiled code is executed, so it must not come from somebody else. All processes of a user on
    one machine share the folder. If somebody else has taken its name, the folder is one of this
    process alone.

    Returns
    -------
    Path
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

    Raises
    ------
    OSError
        If there is no such file, or it is another one.
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
