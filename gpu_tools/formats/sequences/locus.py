"""Loci cut out of FASTA files, by an index where the file can have one."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.sequences.fasta import encoded, whole_records
from gpu_tools.formats.sequences.indexed import UNFIT_INDEX, IndexedFile, indexed_files
from gpu_tools.model.locus import Locus, RecordRegion
from gpu_tools.model.sequences import Sequence, encode

_log = logging.getLogger(__name__)


def cut_locus(
    path: str | os.PathLike, record: str, start: int, end: int, flank: int = 0
) -> Sequence:
    """Cut a locus with its flanks out of one record of a FASTA file.

    The index beside a plain or bgzip file (``.fai``, for bgzip also ``.gzi``) is used. A missing
    or unfit one is made first, and stays beside the file if the folder can be written. A file that
    cannot have an index is read through, one record at a time.

    Parameters
    ----------
    path : str or PathLike
        Plain or compressed file, FASTQ among them; ``-`` is standard input.
    record : str
        Name of the record.
    start, end : int
        The locus, 0-based half-open; it must lie within the record.
    flank : int
        Symbols to add on either side, as far as the record goes.

    Returns
    -------
    Sequence
        Named ``record:first-last`` with 1-based inclusive bounds of what was cut, the record's
        length in the description (see `Locus.of_header`). If the record is itself named as a
        locus, the name is that of the part of its record.

    Raises
    ------
    InputError
        If the record is unknown, the locus does not lie within it, or the file is bad.
    """
    return cut_loci(path, [Locus(record, start, end)], flank)[0]


def cut_loci(
    path: str | os.PathLike,
    loci: Iterable[Locus],
    flank: int = 0,
    encode: Callable[[bytes], NDArray[np.uint8]] = encode,
) -> list[Sequence]:
    """Cut several loci out of a FASTA file as `cut_locus` does one.

    Parameters
    ----------
    path : str or PathLike
    loci : iterable of Locus
        Parts of the file's records; their records' lengths are not looked at.
    flank : int
    encode : callable
        Turns symbols into codes; nucleotides by default.

    Returns
    -------
    list of Sequence
        In the order of the loci.

    Raises
    ------
    InputError
        As `cut_locus`.
    """
    wanted = [RecordRegion(*locus[:3]) for locus in loci]
    return _cut(path, wanted, partial(_bounds, path, flank=flank), encode)


def cut_regions(
    path: str | os.PathLike,
    regions: Iterable[RecordRegion],
    encode: Callable[[bytes], NDArray[np.uint8]] = encode,
) -> list[Sequence]:
    """Cut regions out of a FASTA file as `cut_loci` cuts loci.

    A region that ends behind its record is clipped, with a warning.

    Raises
    ------
    InputError
        If a region names no record of the file, or begins behind its record, or the file is bad.
    """
    return _cut(path, list(regions), partial(_clipped, path), encode)


Bounds = Callable[[RecordRegion, int], tuple[int, int]]
"""Returns what to cut for a region of a record of so many symbols."""


def _cut(path, regions: list[RecordRegion], bounds: Bounds, encode) -> list[Sequence]:
    with closing(indexed_files(path)) as files:
        for file in files:
            named = [region.within(file.lengths) for region in regions]
            if not all(region and file.lengths[region.record] for region in named):
                break
            with suppress(*UNFIT_INDEX):
                return [_cut_by_index(path, file, region, bounds, encode) for region in named]
    return _cut_while_reading(path, regions, bounds, encode)


def _cut_by_index(path, file: IndexedFile, region: RecordRegion, bounds, encode) -> Sequence:
    file.check(region.record)
    length = file.lengths[region.record]
    first, last = bounds(region, length)
    try:
        codes = encode(file.fetch(region.record, first, last))
    except InputError as error:
        error.position += first
        raise error.located(path=path, record=region.record) from None
    return _named(region.record, length, first, codes)


def _cut_while_reading(path, regions: list[RecordRegion], bounds, encode) -> list[Sequence]:
    found: dict[tuple[int, str], Sequence] = {}
    names = []
    for record in whole_records(path):  # to the end: a name may stand twice
        names.append(record.name)
        wanted = {k: region.within({record.name}) for k, region in enumerate(regions)}
        wanted = {k: region for k, region in wanted.items() if region}
        codes = encoded(path, record, encode).codes if wanted else []
        for k, region in wanted.items():
            first, last = bounds(region, len(codes))
            found[k, record.name] = _named(record.name, len(codes), first, codes[first:last].copy())
    for region in regions:
        if not region.within(names):
            raise _no_record(path, region.record, names)
    return [found[k, region.within(names).record] for k, region in enumerate(regions)]


def _named(record: str, length: int, first: int, codes: NDArray[np.uint8]) -> Sequence:
    """Return a part of a record, which may itself be named as a locus, with a locus's header."""
    locus = Locus.of_header(record, "", length).part(first, first + len(codes))
    return Sequence(locus.name, codes, locus.header(locus.name))


def read_record(path: str | os.PathLike, name: str) -> Sequence:
    """Read one record of a FASTA or FASTQ file as `read_records` does."""
    return read_records(path, [name])[0]


def read_records(path: str | os.PathLike, names: Iterable[str]) -> list[Sequence]:
    """Read some records of a FASTA or FASTQ file, which is read to its end once.

    Returns
    -------
    list of Sequence
        In the order of the names.

    Raises
    ------
    InputError
        If a record is unknown, or the file is bad; symbols of other records are not looked at.
    """
    names = list(names)
    wanted, found, known = set(names), {}, []
    for record in whole_records(path):  # to the end: a name may stand twice
        known.append(record.name)
        if record.name in wanted:
            found[record.name] = encoded(path, record)
    for name in names:
        if name not in found:
            raise _no_record(path, name, known)
    return [found[name] for name in names]


def _no_record(path: str | os.PathLike, name: str, known: Iterable[str]) -> InputError:
    return InputError(f"no record named {name!r}{did_you_mean(name, known)}", path=path)


def record_lengths(path: str | os.PathLike) -> dict[str, int]:
    """Return the number of symbols of each record by name, in the order of the file.

    An index is used and made as by `cut_locus`; the symbols need not be legal.

    Raises
    ------
    InputError
        As `fasta.read_fasta`, except for illegal symbols.
    """
    with closing(indexed_files(path)) as files:
        for file in files:
            with suppress(*UNFIT_INDEX):
                for name in file.lengths:
                    file.check(name)
                return file.lengths
    return {record.name: len(record.symbols) for record in whole_records(path)}


def names_by_index(path: str | os.PathLike) -> list[str] | None:
    """Return the names of a file's records by the index beside it, None without one that fits."""
    with closing(indexed_files(path, make=False)) as files:
        for file in files:
            with suppress(*UNFIT_INDEX):
                for name in file.lengths:
                    file.check(name)
                return list(file.lengths)
    return None


def _bounds(path, region: RecordRegion, length: int, flank: int) -> tuple[int, int]:
    start, end = region.start, region.end
    if not 0 <= start < end <= length:
        raise _outside(path, region, length)
    return max(start - flank, 0), min(end + flank, length)


def _clipped(path, region: RecordRegion, length: int) -> tuple[int, int]:
    end = length if region.end is None else region.end
    if not 0 <= region.start < min(end, length):
        raise _outside(path, region, length)
    if end > length:
        _log.warning(
            "%s: region %s:%d-%d ends behind its record, which has %d symbols", path,
            region.record, region.start + 1, end, length,
        )  # fmt: skip
    return region.start, min(end, length)


def _outside(path, region: RecordRegion, length: int) -> InputError:
    end = "" if region.end is None else region.end
    return InputError(
        f"locus {region.start + 1}-{end} does not lie within the sequence", path=path,
        record=region.record, expected=f"positions 1 to {length}, start not after end",
    )  # fmt: skip
