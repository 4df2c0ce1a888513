"""Parts of FASTA files: loci, regions and single records, by an index where the file can have one.

pysam makes the index (``.fai``, for bgzip also ``.gzi``); files whose lines end in CR LF have none.
pysam does not read the symbols, because it trusts an index: one that lay beside another file, or
that is of lines with blanks, gives other symbols without an error. Here the record's header, its
end and the lines that are read are compared with the index. One that is older than its file, or
does not fit it, is made anew; a file that cannot have an index is read through.
"""

from __future__ import annotations

import gzip
import logging
import os
import re
import shutil
import struct
import tempfile
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

import pysam
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError, did_you_mean
from gpu_tools.formats.files import (
    STANDARD_STREAM,
    compression_of,
    open_binary,
    quiet_htslib,
    replaced_when_complete,
)
from gpu_tools.formats.sequences.fasta import Encode, encoded, whole_records
from gpu_tools.model.locus import Locus, RecordRegion
from gpu_tools.model.sequences import Sequence, encode

_log = logging.getLogger(__name__)
Bounds = Callable[[RecordRegion, int], tuple[int, int]]
"""Returns what to cut for a region of a record of so many symbols."""


def cut_locus(
    path: str | os.PathLike, record: str, start: int, end: int, flank: int = 0
) -> Sequence:
    """Cut a locus with its flanks out of one record of a FASTA file.

    The index beside a plain or bgzip file is used. A missing or unfit one is made first, and stays
    beside the file if the folder can be written. A file that cannot have an index is read through,
    one record at a time.
    """
    return cut_loci(path, [Locus(record, start, end)], flank)[0]


def cut_loci(
    path: str | os.PathLike,
    loci: Iterable[Locus],
    flank: int = 0,
    encode: Encode = encode,
) -> list[Sequence]:
    """Cut several loci out of a FASTA file as `cut_locus` does one."""
    wanted = [RecordRegion(*locus[:3]) for locus in loci]
    return _cut(path, wanted, partial(_bounds, path, flank=flank), encode)


def cut_regions(
    path: str | os.PathLike,
    regions: Iterable[RecordRegion],
    encode: Encode = encode,
) -> list[Sequence]:
    """Cut regions out of a FASTA file as `cut_loci` cuts loci.

    A region that ends behind its record is clipped, with a warning.
    """
    return _cut(path, list(regions), partial(_clipped, path), encode)


def _cut(path, regions: list[RecordRegion], bounds: Bounds, encode: Encode) -> list[Sequence]:
    with closing(indexed_files(path)) as files:
        for file in files:
            named = [region.within(file.lengths) for region in regions]
            if not all(region and file.lengths[region.record] for region in named):
                break
            with suppress(*_UNFIT_INDEX):
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


def _named(record: str, length: int, first: int, codes: NDArray) -> Sequence:
    """Return a part of a record, which may itself be named as a locus, with a locus's header."""
    locus = Locus.of_header(record, "", length).part(first, first + len(codes))
    return Sequence(locus.name, codes, locus.header(locus.name))


def read_record(path: str | os.PathLike, name: str) -> Sequence:
    """Read one record of a FASTA or FASTQ file as `read_records` does."""
    return read_records(path, [name])[0]


def read_records(path: str | os.PathLike, names: Iterable[str]) -> list[Sequence]:
    """Read some records of a FASTA or FASTQ file, which is read to its end once."""
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
    """
    found = _lengths_by_index(path)
    if found is None:
        return {record.name: len(record.symbols) for record in whole_records(path)}
    return found


def names_by_index(path: str | os.PathLike) -> list[str] | None:
    """Return the names of a file's records by the index beside it, None without one that fits."""
    found = _lengths_by_index(path, make=False)
    return None if found is None else list(found)


def _lengths_by_index(path, make: bool = True) -> dict[str, int] | None:
    with closing(indexed_files(path, make)) as files:
        for file in files:
            with suppress(*_UNFIT_INDEX):
                for name in file.lengths:
                    file.check(name)
                return file.lengths
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


# Indexes of FASTA files, and reading by them.

_LONGEST_HEADER = 1 << 12
_BYTES_BEHIND = 64
"""Bytes behind a record in which line ends and the next header are looked for."""
_TOLERANCE = 2_000_000_000
"""Nanoseconds by which an index may seem older than its file: Snakemake touches the files of a job
one after the other, and some file systems count in steps of two seconds."""
_UNFIT_INDEX = (
    pysam.SamtoolsError, OSError, EOFError, RuntimeError, ValueError, LookupError, ArithmeticError,
    zlib.error, struct.error,
)  # fmt: skip
"""What an index that does not fit its file can raise."""
_BLOCK = 1 << 20
_NO_SYMBOL = re.compile(rb"[\s0-9]")


class IndexEntry(NamedTuple):
    """A record's line of ``.fai``.

    `length` is the record's symbols, `offset` where they begin in the file; each of its lines but
    the last has `line_length` symbols and `line_size` bytes.
    """

    length: int
    offset: int
    line_length: int
    line_size: int

    def offset_of(self, position: int) -> int:
        """Return where in the file a symbol stands, both 0-based."""
        line, column = divmod(position, self.line_length)
        return self.offset + line * self.line_size + column


class IndexedFile(NamedTuple):
    """A FASTA file with the entries of its index by name.

    `read(offset, size)` returns bytes of the decompressed file.
    """

    entries: dict[str, IndexEntry]
    read: Callable[[int, int], bytes]

    @property
    def lengths(self) -> dict[str, int]:
        """Symbols of each record by name."""
        return {name: entry.length for name, entry in self.entries.items()}

    def check(self, name: str) -> None:
        """Raise ValueError unless a record's header stands before it, and no symbol behind it."""
        entry = self.entries[name]
        header_start = max(entry.offset - _LONGEST_HEADER, 0)
        before = self.read(header_start, entry.offset - header_start)
        header = before.removesuffix(b"\n").rpartition(b"\n")[2]
        words = header[1:].split() if header.startswith(b">") and before.endswith(b"\n") else []
        if words[:1] != [name.encode("utf-8")]:
            raise ValueError("the record does not begin where the index says")
        end = entry.offset_of(entry.length - 1) + 1 if entry.length else entry.offset
        behind = self.read(end - 1, _BYTES_BEHIND)
        line_end = behind[1:2] in (b"", b"\r", b"\n")
        if not behind or not line_end or behind[1:].lstrip(b"\r\n")[:1] not in (b"", b">"):
            raise ValueError("the record does not end where the index says")

    def fetch(self, name: str, first: int, last: int) -> bytes:
        """Return the symbols of a record from `first` to `last`, 0-based half-open."""
        entry = self.entries[name]
        for position in (first, last - 1):
            line_start = entry.offset_of(position - position % entry.line_length)
            if self.read(line_start - 1, 1) != b"\n":
                raise ValueError("the lines are not as long as the index says")
        line_start = first - first % entry.line_length
        line_end = min(last + -last % entry.line_length, entry.length)
        start, end = entry.offset_of(line_start), entry.offset_of(line_end - 1) + 1
        symbols = self.read(start, end - start).translate(None, b"\r\n")
        if len(symbols) != line_end - line_start:
            raise ValueError("the lines are not as long as the index says")
        if _NO_SYMBOL.search(symbols):
            raise ValueError("blanks or positions stand between the symbols")
        return symbols[first - line_start : last - line_start]


def indexed_files(path: str | os.PathLike, make: bool = True) -> Iterator[IndexedFile]:
    """Yield a file with the index beside it, then, if `make`, with a new one that fits."""
    if str(path) == STANDARD_STREAM or not Path(path).is_file():
        return
    with suppress(*_UNFIT_INDEX), open(path, "rb") as stream:
        compression = compression_of(stream)
        if compression == "none" and b"\r\n" in stream.peek():
            return
        suffixes = {"none": (".fai",), "bgzip": (".fai", ".gzi")}[compression]
        for new in (False, True)[: 1 + make]:
            with suppress(*_UNFIT_INDEX), _index_files(path, suffixes, new) as (fai, *gzi):
                read = _reader_of_blocks(stream, *gzi) if gzi else _reader_of(stream)
                yield IndexedFile(_entries(fai), read)


@contextmanager
def _index_files(path, suffixes: tuple[str, ...], new: bool) -> Iterator[list[str]]:
    """Yield the names of the indexes beside a file, or of new ones.

    New ones are written into a folder of their own. They are then copied beside the file, so that
    no other process sees half an index; a folder that cannot be written stays without.
    """
    beside = [f"{path}{suffix}" for suffix in suffixes]
    if not new:
        oldest = min(Path(index).stat().st_mtime_ns for index in beside)
        if oldest + _TOLERANCE < Path(path).stat().st_mtime_ns:
            raise ValueError("the index is older than the file")
        yield beside
        return
    with tempfile.TemporaryDirectory() as folder:
        made = [f"{folder}/index{suffix}" for suffix in suffixes]
        _make_index(path, *made)
        for source, target in zip(made, beside, strict=True):
            with suppress(OutputError), replaced_when_complete(target) as temporary:
                shutil.copyfile(source, temporary)
        yield made


def _make_index(path, fai: str, *gzi: str) -> None:
    with quiet_htslib():
        pysam.faidx(str(path), "--fai-idx", fai, *(["--gzi-idx", *gzi] if gzi else []))
    n_headers, last = 0, b"\n"
    with open_binary(path) as stream:
        while block := stream.read(_BLOCK):
            n_headers += (last + block).count(b"\n>")
            last = block[-1:]
    if n_headers != len(Path(fai).read_text("utf-8").splitlines()):
        raise ValueError("htslib leaves out the later ones of records of one name")


def _entries(fai: str) -> dict[str, IndexEntry]:
    entries = {}
    for line in Path(fai).read_text("utf-8").splitlines():
        name, length, offset, line_length, line_size = line.split("\t")
        entry = IndexEntry(int(length), int(offset), int(line_length), int(line_size))
        if name in entries or min(entry) < 0:
            raise ValueError("a name occurs twice, or a number is negative")
        # htslib counts the bytes of a line alone; a line end of one byte leaves no space for blanks
        if entry.length and entry.line_size - entry.line_length != 1:
            raise ValueError("lines that end in more than a line feed")
        entries[name] = entry
    return entries


def _reader_of(stream: BinaryIO) -> Callable[[int, int], bytes]:
    """Return a function that reads so many bytes from an offset on."""

    def read(offset: int, size: int) -> bytes:
        stream.seek(offset)
        return stream.read(size)

    return read


def _reader_of_blocks(stream: BinaryIO, gzi: str) -> Callable[[int, int], bytes]:
    """Return a function that decompresses a bgzip file from the block that holds an offset on."""
    index = Path(gzi).read_bytes()
    (n_blocks,) = struct.unpack_from("<Q", index)
    numbers = struct.unpack_from(f"<{2 * n_blocks}Q", index, 8)
    compressed, plain = (0, *numbers[::2]), (0, *numbers[1::2])

    def read(offset: int, size: int) -> bytes:
        block = bisect_right(plain, offset) - 1
        stream.seek(compressed[block])
        with gzip.open(stream) as text:
            text.seek(offset - plain[block])
            return text.read(size)

    return read
