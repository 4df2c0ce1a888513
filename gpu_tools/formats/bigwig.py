"""bigWig files, read in a process of its own: pyBigWig crashes on some that are damaged.

Run as a program it writes the tracks of a file to standard output: of each a line in JSON with its
name and length, then its values as float32.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

_POSITIONS_AT_ONCE = 1 << 22
_PACKAGES = Path(__file__).parents[3]


class BrokenTrackError(Exception):
    """What is wrong with a file, in words."""


def tracks_of(path: str | os.PathLike) -> Iterator[tuple[str, int, BinaryIO]]:
    """Yield name, length and a stream of the values of each track; the stream is to be read."""
    search = os.pathsep.join([str(_PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])])
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", __name__, str(path)], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": search},
    )  # fmt: skip
    with process, process.stdout as stream:
        try:
            while line := stream.readline():
                head = json.loads(line)
                if "problem" in head:
                    raise BrokenTrackError(head["problem"])
                yield head["name"], head["length"], stream
            if process.wait():
                raise BrokenTrackError("broken bigWig (it cannot be read)")
        finally:
            process.kill()


def read_track(length: int, stream: BinaryIO) -> NDArray[np.float32]:
    """Return the values of one track from the stream that `tracks_of` yields with it."""
    values = np.empty(length, np.float32)
    if stream.readinto(memoryview(values).cast("B")) != values.nbytes:
        raise BrokenTrackError("broken bigWig (it cannot be read)")
    values[np.isnan(values)] = 0
    return values


def _main(path: str) -> None:
    import pyBigWig

    def write_head(**head) -> None:
        sys.stdout.buffer.write(json.dumps(head).encode("ascii") + b"\n")

    try:
        file = pyBigWig.open(path)
        if not file or not file.isBigWig():
            raise ValueError
    except (RuntimeError, ValueError):
        write_head(problem="not a bigWig file")
        return
    for name, length in file.chroms().items():
        write_head(name=name, length=length)
        for first in range(0, length, _POSITIONS_AT_ONCE):
            last = min(first + _POSITIONS_AT_ONCE, length)
            values = np.asarray(file.values(name, first, last, numpy=True), np.float32)
            sys.stdout.buffer.write(values.tobytes())


if __name__ == "__main__":
    _main(sys.argv[1])
