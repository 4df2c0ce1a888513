"""Tracks: a number for each position of one or more sequences, from bigWig or bedGraph files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.formats.fields import bed_fields
from gpu_tools.formats.files import read_lines

BIGWIG_SUFFIXES = (".bw", ".bigwig")
BEDGRAPH_SUFFIXES = (".bedgraph", ".bdg", ".bg")


def is_track(path: str | os.PathLike) -> bool:
    """Return, judging by its name, whether a file is bigWig, or bedGraph, plain or gzip."""
    plain = str(path).lower().removesuffix(".gz")
    return _is_bigwig(path) or plain.endswith(BEDGRAPH_SUFFIXES)


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
    file = _open_bigwig(path)
    try:
        for name, length in file.chroms().items():
            values = np.asarray(file.values(name, 0, length, numpy=True), np.float32)
            values[np.isnan(values)] = 0
            yield name, values
    except RuntimeError as error:
        raise InputError(f"broken bigWig ({error})", path=path) from None
    finally:
        file.close()


def _open_bigwig(path: str | os.PathLike):
    try:
        import pyBigWig
    except ImportError:
        raise InputError(
            "bigWig needs the package pyBigWig", path=path,
            expected="an installation of gpu-tools[tracks]",
        ) from None  # fmt: skip
    try:
        with open(path, "rb"):  # the error of pyBigWig does not say why
            file = pyBigWig.open(str(Path(path)))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None
    except RuntimeError:
        file = None
    if not file or not file.isBigWig():
        raise InputError("not a bigWig file", path=path)
    return file


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
        yield name, _filled(sorted(intervals, key=itemgetter(0)))


def _filled(intervals: list[tuple]) -> NDArray:
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
