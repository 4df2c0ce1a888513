"""Loci cut out of FASTA files, by an index where the file can have one.

pyfaidx reads and makes the index of plain files; pysam does that for bgzip files, for which pyfaidx
needs Biopython. An index that is older than its file is made anew, and so is one that does not fit
its plain file: the record's header, its end and the lines of the locus are compared with it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyfaidx
import pysam
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import STANDARD_STREAM, compression_of, replaced_when_complete
from gpu_tools.formats.sequences.fasta import encoded, whole_records
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence, encode

_LONGEST_HEADER = 1 << 12
_LOOKED_AT = 64
"""Bytes behind a record in which line ends and the next header are looked for."""
_GZIP_SUFFIXES = (".gz", ".bgz")
_UNFIT_INDEX = (
    pyfaidx.FastaIndexingError, pyfaidx.IndexNotFoundError, pysam.SamtoolsError, OSError,
    RuntimeError, ValueError, LookupError, ArithmeticError,
)  # fmt: skip


class IndexedFile(NamedTuple):
    """A FASTA file with its index.

    Attributes
    ----------
    lengths : dict of str to int
        Symbols of each record by name.
    check : callable
        Raises ValueError if a record, given by its name, does not lie where the index says.
    fetch : callable
        Returns the symbols of a record from ``first`` to ``last``, 0-based half-open.
    """

    lengths: dict[str, int]
    check: Callable[[str], None]
    fetch: Callable[[str, int, int], str]


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
        Plain, gzip or bgzip file, FASTQ among them; ``-`` is standard input.
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
    encode: Callable[[str], NDArray[np.uint8]] = encode,
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
    loci = list(loci)
    with closing(_indexed_files(path)) as files:
        for file in files:
            if not all(file.lengths.get(locus.record) for locus in loci):
                break
            with suppress(*_UNFIT_INDEX):
                return [_cut_by_index(path, file, locus, flank, encode) for locus in loci]
    return _cut_while_reading(path, loci, flank, encode)


def _cut_by_index(path, file: IndexedFile, locus: Locus, flank: int, encode) -> Sequence:
    file.check(locus.record)
    length = file.lengths[locus.record]
    first, last = _bounds(path, locus, length, flank)
    symbols = file.fetch(locus.record, first, last)
    if len(symbols) != last - first:
        raise ValueError("the index ends elsewhere than the record")
    try:
        codes = encode(symbols)
    except InputError as error:
        error.position += first
        raise error.located(path=path, record=locus.record) from None
    return _named(locus.record, length, first, codes)


def _cut_while_reading(path, loci: list[Locus], flank: int, encode) -> list[Sequence]:
    wanted = {locus.record for locus in loci}
    found: dict[int, Sequence] = {}
    for record in whole_records(path):  # to the end: a name may stand twice
        if record.name in wanted:
            codes = encoded(path, record, encode).codes
            for k, locus in enumerate(loci):
                if locus.record == record.name:
                    first, last = _bounds(path, locus, len(codes), flank)
                    found[k] = _named(record.name, len(codes), first, codes[first:last].copy())
    for k, locus in enumerate(loci):
        if k not in found:
            raise InputError(f"no record named {locus.record!r}", path=path)
    return [found[k] for k in range(len(loci))]


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
    wanted, found = set(names), {}
    for record in whole_records(path):  # to the end: a name may stand twice
        if record.name in wanted:
            found[record.name] = encoded(path, record)
    for name in names:
        if name not in found:
            raise InputError(f"no record named {name!r}", path=path)
    return [found[name] for name in names]


def record_lengths(path: str | os.PathLike) -> dict[str, int]:
    """Return the number of symbols of each record by name, in the order of the file.

    An index is used and made as by `cut_locus`; the symbols need not be legal.

    Raises
    ------
    InputError
        As `fasta.read_fasta`, except for illegal symbols.
    """
    with closing(_indexed_files(path)) as files:
        for file in files:
            with suppress(*_UNFIT_INDEX):
                for name in file.lengths:
                    file.check(name)
                return dict(file.lengths)
    return {record.name: len(record.symbols) for record in whole_records(path)}


def _bounds(path, locus: Locus, length: int, flank: int) -> tuple[int, int]:
    start, end = locus.bounds
    if not 0 <= start < end <= length:
        raise InputError(
            f"locus {start + 1}-{end} does not lie within the sequence",
            path=path, record=locus.record,
            expected=f"positions 1 to {length}, start not after end",
        )  # fmt: skip
    return max(start - flank, 0), min(end + flank, length)


def _indexed_files(path) -> Iterator[IndexedFile]:
    """Yield the file with the index beside it, then with a new one, as far as they can be had."""
    if str(path) == STANDARD_STREAM or not Path(path).is_file():
        return
    with suppress(*_UNFIT_INDEX), open(path, "rb") as stream:
        named_gz = str(path).lower().endswith(_GZIP_SUFFIXES)  # pyfaidx goes by the name
        opens = {"bgzip": _bgzip, "none": None if named_gz else _plain}.get(compression_of(stream))
        if opens is None:
            return
        for new in (False, True):
            with suppress(*_UNFIT_INDEX), opens(path, new) as file:
                yield file


@contextmanager
def _plain(path, new: bool) -> Iterator[IndexedFile]:
    with _index_files(path, (".fai",), _make_plain if new else None) as (fai,):
        with closing(_faidx(path, fai)) as faidx:
            lengths = {name: entry.rlen for name, entry in faidx.index.items()}
            yield IndexedFile(lengths, partial(_check_record, faidx), partial(_fetch, faidx))


def _faidx(path, fai: str, new: bool = False) -> pyfaidx.Faidx:
    return pyfaidx.Faidx(str(path), indexname=fai, build_index=new, rebuild=False)


def _make_plain(path, fai: str) -> None:
    with closing(_faidx(path, fai, new=True)) as faidx:
        for entry in faidx.index.values():  # lines with different line ends lead it astray
            _check_end(faidx, entry)


@contextmanager
def _bgzip(path, new: bool) -> Iterator[IndexedFile]:
    verbosity = pysam.set_verbosity(0)  # htslib prints errors besides raising them
    try:
        with _index_files(path, (".fai", ".gzi"), _make_bgzip if new else None) as (fai, gzi):
            rows = [line.split("\t") for line in Path(fai).read_text("utf-8").splitlines()]
            # htslib does not count blanks in lines; a line end of one byte leaves no space for any
            if any(int(n_bytes) - int(n_symbols) != 1 for *_, n_symbols, n_bytes in rows):
                raise ValueError("lines that htslib may cut at wrong positions")
            with pysam.FastaFile(str(path), fai, gzi) as fasta:
                lengths = dict(zip(fasta.references, fasta.lengths, strict=True))
                yield IndexedFile(lengths, lambda name: None, fasta.fetch)
    finally:
        pysam.set_verbosity(verbosity)


def _make_bgzip(path, fai: str, gzi: str) -> None:
    pysam.faidx(str(path), "--fai-idx", fai, "--gzi-idx", gzi)


@contextmanager
def _index_files(
    path, suffixes: tuple[str, ...], make: Callable[..., None] | None
) -> Iterator[list[str]]:
    """Give the names of the indexes beside a file, or of new ones.

    `make` writes new ones into a folder of their own. They are then copied beside the file, so that
    no other process sees half an index; a folder that cannot be written stays without.
    """
    beside = [f"{path}{suffix}" for suffix in suffixes]
    if make is None:
        if any(Path(b).stat().st_mtime_ns < Path(path).stat().st_mtime_ns for b in beside):
            raise ValueError("the index is older than the file")
        yield beside
        return
    with tempfile.TemporaryDirectory() as folder:
        made = [f"{folder}/index{suffix}" for suffix in suffixes]
        make(path, *made)
        for source, target in zip(made, beside, strict=True):
            with suppress(OutputError), replaced_when_complete(target) as temporary:
                shutil.copyfile(source, temporary)
        yield made


def _check_record(faidx: pyfaidx.Faidx, name: str) -> None:
    """Raise ValueError unless a record's header stands before its symbols and nothing behind."""
    entry = faidx.index[name]
    header_start = max(entry.offset - _LONGEST_HEADER, 0)
    before = _read(faidx, header_start, entry.offset - header_start)
    header = before.removesuffix(b"\n").rpartition(b"\n")[2]
    words = header[1:].split() if header.startswith(b">") and before.endswith(b"\n") else []
    if words[:1] != [name.encode("utf-8")]:
        raise ValueError("the record does not begin where the index says")
    _check_end(faidx, entry)


def _check_end(faidx: pyfaidx.Faidx, entry: pyfaidx.IndexRecord) -> None:
    """Raise ValueError unless line ends and the next header stand behind a record's symbols."""
    end = _offset(entry, entry.rlen - 1) + 1 if entry.rlen else entry.offset
    behind = _read(faidx, end - 1, _LOOKED_AT)
    line_end = behind[1:2] in (b"", b"\r", b"\n")
    if not behind or not line_end or behind[1:].lstrip(b"\r\n")[:1] not in (b"", b">"):
        raise ValueError("the record does not end where the index says")


def _fetch(faidx: pyfaidx.Faidx, name: str, first: int, last: int) -> str:
    entry = faidx.index[name]
    for position in (first, last - 1):
        line_start = _offset(entry, position - position % entry.lenc)
        if _read(faidx, line_start - 1, 1) != b"\n":
            raise ValueError("the lines are not as long as the index says")
    return faidx.from_file(name, first + 1, last)


def _offset(entry: pyfaidx.IndexRecord, position: int) -> int:
    """Return where in the file a record's symbol stands, both 0-based."""
    return entry.offset + position // entry.lenc * entry.lenb + position % entry.lenc


def _read(faidx: pyfaidx.Faidx, offset: int, size: int) -> bytes:
    faidx.file.seek(offset)
    return faidx.file.read(size)
