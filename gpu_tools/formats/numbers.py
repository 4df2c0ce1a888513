"""Numbers from files: values and matrices in .npy or tables, tracks in bigWig and bedGraph."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError, counted
from gpu_tools.formats.bigwig import BrokenTrackError, read_track, tracks_of
from gpu_tools.formats.files import read_lines, without_compression
from gpu_tools.formats.tables import Location, bed_fields, fields_of
from gpu_tools.hardware.own_files import check_memory
from gpu_tools.model.resources import how_to_install

BINARY_SUFFIX = ".npy"


def read_values(path: str | os.PathLike) -> NDArray:
    """Read a sequence of numbers."""
    if str(path).endswith(BINARY_SUFFIX):
        return _map(path, 1, "one dimension")
    matrix = read_matrix(path)
    if matrix.shape[1] != 1:
        raise InputError(f"{matrix.shape[1]} columns", path=path, line=1, expected="one number")
    return matrix[:, 0]


def read_matrix(path: str | os.PathLike) -> NDArray:
    """Read a matrix of numbers as `read_values` does; a text has tabs between columns."""
    if str(path).endswith(BINARY_SUFFIX):
        return _map(path, 2, "two dimensions")
    rows: list[list[float | int]] = []
    for line, text in read_lines(path):
        if not text.strip():
            continue
        fields, location = fields_of(text, len(rows[0]) if rows else 1), Location(path, line)
        if rows and len(fields) != len(rows[0]):
            raise location.error(
                f"row {len(rows) + 1} has {counted(len(fields), 'column')}",
                f"{len(rows[0])} as in row 1",
            )
        where = f"row {len(rows) + 1}, column"
        rows.append(
            [location.whole_or_number(word, f"{where} {k}:") for k, word in enumerate(fields, 1)]
        )
    if not rows:
        raise InputError("no numbers", path=path, expected="at least one number")
    whole = all(isinstance(value, int) for row in rows for value in row)
    return np.array(rows, dtype=np.int64 if whole else np.float64)


def _map(path: str | os.PathLike, dimensions: int, expected: str) -> NDArray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None
    except Exception:  # numpy parses the header as Python and raises many kinds of errors
        raise InputError("not an array of numbers", path=path, expected="a .npy file") from None
    if array.ndim != dimensions:
        raise InputError(f"{array.ndim} dimensions", path=path, expected=expected)
    return array


# Tracks: a number for each position of one or more sequences, from bigWig or bedGraph files.


_LONGEST = 2**32
"""Positions of a sequence; bigWig holds no more."""
BIGWIG_SUFFIXES = (".bw", ".bigwig")
BEDGRAPH_SUFFIXES = (".bedgraph", ".bdg", ".bg")


def is_track(path: str | os.PathLike) -> bool:
    """Return, judging by its name, whether a file is bigWig, or bedGraph, plain or compressed."""
    return _is_bigwig(path) or without_compression(path).endswith(BEDGRAPH_SUFFIXES)


def read_tracks(path: str | os.PathLike) -> Iterator[tuple[str, NDArray]]:
    """Yield the tracks of a file, one a sequence."""
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
            expected=f"an installation of gpu-tools with it: {how_to_install('tracks')}",
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
            raise location.error(counted(len(fields), "column"), "4: name, start, end, value")
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
