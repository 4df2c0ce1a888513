"""Tracks: a number for each position of one or more sequences, from bigWig or bedGraph files."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.compression import without_compression
from gpu_tools.formats.fields import bed_fields
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.values.bigwig import BrokenTrackError, read_track, tracks_of
from gpu_tools.hardware.memory import check_memory

_LONGEST = 2**32
"""Positions of a sequence; bigWig holds no more."""
BIGWIG_SUFFIXES = (".bw", ".bigwig")
BEDGRAPH_SUFFIXES = (".bedgraph", ".bdg", ".bg")


def is_track(path: str | os.PathLike) -> bool:
    """Return, judging by its name, whether a file is bigWig, or bedGraph, plain or compressed."""
    return _is_bigwig(path) or without_compression(path).endswith(BEDGRAPH_SUFFIXES)


def read_tracks(path: str | os.PathLike) -> Iterator[tuple[str, NDArray]]:
    """Yield the tracks of a file, one a sequence.

    Parameters
    ----------
    path : str or PathLike
        bigWig (``.bw``, ``.bigWig``; needs the package pyBigWig), or bedGraph (``.bedGraph``,
        ``.bdg``, ``.bg``), plain or compressed.

    Yields
    ------
    (str, ndarray of shape (n,))
        Name and values; 0 where the file has none. Of bigWig float32, in the order of its header.
        Of bedGraph int64, or float64 if a number is not an integer; a sequence ends with its last
        interval.

    Raises
    ------
    InputError
        If the file cannot be read or has no data, a line is bad, intervals overlap, or pyBigWig is
        not installed.
    """
    return _read_bigwig(path) if _is_bigwig(path) else _read_bedgraph(path)


def _is_bigwig(path: str | os.PathLike) -> bool:
    return str(path).lower().endswith(BIGWIG_SUFFIXES)


def _read_bigwig(path: str | os.PathLike) -> Iterator[tuple[str, NDArray[np.float32]]]:
    _check_readable(path)
    try:
        for name, length, stream in tracks_of(path):
            check_memory(length * np.dtype(np.float32).itemsize, f"{length} positions")
            yield name, read_track(length, stream)
    except BrokenTrackError as error:
        raise InputError(str(error), path=path) from None
    except InputError as error:
        raise error.located(path=path) from None


def _check_readable(path: str | os.PathLike) -> None:
    if importlib.util.find_spec("pyBigWig") is None:
        raise InputError(
            "bigWig needs the package pyBigWig", path=path,
            expected="an installation of gpu-tools[tracks]",
        )  # fmt: skip
    try:
        with open(path, "rb"):  # the error of pyBigWig does not say why
            pass
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None


def _read_bedgraph(path: str | os.PathLike) -> Iterator[tuple[str, NDArray]]:
    tracks: dict[str, list[tuple]] = {}
    for location, fields in bed_fields(path, read_lines(path)):
        if len(fields) != 4:
            raise location.error(f"{len(fields)} columns", "4: name, start, end, value")
        start, end = location.half_open_interval(fields[1], fields[2])
        value = location.whole_or_number(fields[3], "value")
        tracks.setdefault(fields[0], []).append((start, end, value, location))
    if not tracks:
        raise InputError("no intervals", path=path, expected="bedGraph: name, start, end, value")
    for name, intervals in tracks.items():
        intervals.sort(key=itemgetter(0))
        try:
            yield name, _filled(intervals)
        except InputError as error:
            raise error.located(path=path, record=name) from None


def _filled(intervals: list[tuple]) -> NDArray:
    start, end, _, location = intervals[-1]
    if end > _LONGEST:
        raise location.error(f"end {end} is out of range", f"positions up to {_LONGEST}")
    check_memory(end * np.dtype(np.int64).itemsize, f"{end} positions")
    whole = all(isinstance(interval[2], int) for interval in intervals)
    values = np.zeros(intervals[-1][1], np.int64 if whole else np.float64)
    reached = 0
    for start, end, value, location in intervals:
        if start < reached:
            raise location.error(
                f"the interval from {start} overlaps another one", "one value for each position"
            )
        values[start:end] = value
        reached = end
    return values
