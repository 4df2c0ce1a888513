"""One job a GPU: locks that processes on one machine hold while they use a device."""

from __future__ import annotations

import fcntl
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TextIO

from gpu_tools.errors import DeviceError
from gpu_tools.hardware.device import Gpu, as_auto, list_gpus, resolve

_log = logging.getLogger(__name__)
FOLDER = "GPU_TOOLS_LOCKS"


@contextmanager
def reserved(specification: str) -> Iterator[str]:
    """Hold the GPUs of a device specification until the block ends.

    Locks lie in the folder that ``GPU_TOOLS_LOCKS`` names, by default one in the system's folder
    for temporary files; all users of a machine share them. The system drops a lock when its
    process ends, however it ends.
    """
    device = resolve(specification)
    if device.kind == "cpu":
        yield "cpu"
        return
    known = {gpu.ordinal: gpu for gpu in list_gpus()}
    with ExitStack() as held:
        if ":" in specification:
            # in one order for all, so that no two jobs wait for each other
            for gpu in sorted((known[n] for n in device.ordinals), key=lambda gpu: gpu.uuid):
                _wait_for(held, gpu)
            ordinals = device.ordinals
        else:
            ordinals = _any_of(held, list(known.values()), specification == "auto")
        if specification == "auto":
            held.enter_context(as_auto())
        yield f"cuda:{','.join(map(str, ordinals))}" if ordinals else "cpu"


def is_held(gpu: Gpu) -> bool:
    """Return whether a process holds a GPU at this moment."""
    with ExitStack() as held:
        return not _locked(held, gpu, fcntl.LOCK_NB)


def _any_of(held: ExitStack, gpus: list[Gpu], may_have_none: bool) -> tuple[int, ...]:
    for gpu in gpus:
        if _locked(held, gpu, fcntl.LOCK_NB):
            return (gpu.ordinal,)
    if may_have_none:
        _log.warning("every GPU is in use by another job; this one runs on the CPU")
        return ()
    _wait_for(held, gpus[0])
    return (gpus[0].ordinal,)


def _wait_for(held: ExitStack, gpu: Gpu) -> None:
    if not _locked(held, gpu, fcntl.LOCK_NB):
        _log.warning("GPU %d is in use by another job; waiting for it", gpu.ordinal)
        _locked(held, gpu, 0)


def _locked(held: ExitStack, gpu: Gpu, how: int) -> bool:
    # by the card's own identity: schedulers number the cards anew for each job
    stream = _open(lock_folder() / f"{gpu.uuid}.lock")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | how)
    except BlockingIOError:
        stream.close()
        return False
    held.enter_context(stream)
    return True


def lock_folder() -> Path:
    """Return the folder of the locks, and make it if it is missing."""
    named = os.environ.get(FOLDER)
    folder = Path(named or Path(tempfile.gettempdir()) / "gpu-tools-locks")
    try:
        folder.mkdir()
        folder.chmod(0o1777)
    except FileExistsError:
        if not folder.is_dir() or (folder.is_symlink() and not named):
            raise DeviceError(f"{folder}: no folder for locks of GPUs (it is none)") from None
    except OSError as error:
        raise DeviceError(f"{folder}: no folder for locks of GPUs ({error.strerror})") from None
    return folder


def _open(path: Path) -> TextIO:
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a lock needs no more, and no pipe is read
    try:
        try:
            handle = os.open(path, how)
        except FileNotFoundError:
            handle = os.open(path, how | os.O_CREAT, 0o644)
    except OSError as error:
        raise DeviceError(f"{path}: cannot be locked ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise DeviceError(f"{path}: cannot be locked (it is not a file)")
    return open(handle, encoding="ascii")
