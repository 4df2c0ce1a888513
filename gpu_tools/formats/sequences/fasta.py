"""FASTA and FASTQ files: records read whole or part by part, and written.

FASTA is split here and not by pysam, because an error has to name the line, the record and the
position. FASTQ goes through pysam: its errors name the record and the position.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pysam
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats import files
from gpu_tools.formats.files import OddItems
from gpu_tools.hardware.own_files import check_memory
from gpu_tools.hardware.threads import prefetch
from gpu_tools.model.sequences import ILLEGAL, Sequence, SequenceChunk, encode, shown_symbol

PART_BYTES = 1 << 20
"""Bytes of a part of a record that is read part by part."""
_PREFETCHED_PARTS = 32
_LINE_LENGTH = 60
_BLANKS = b"\r\n\t\v\f "
"""Line ends, and what may stand between groups of symbols."""
_POSITION_SYMBOLS = b"0123456789"
_BEFORE_SYMBOLS, _LONGEST_POSITION = _BLANKS + _POSITION_SYMBOLS, 80
_NUMBERED = re.compile(rb"\s*[0-9]+[ \t]")
"""The beginning of a record whose lines begin with positions, as in GenBank."""
Encode = Callable[[bytes], NDArray[np.uint8]]
"""Returns the codes of symbols; an illegal one is an `InputError` with its position."""


def read_fasta(path: str | os.PathLike, encode: Encode = encode) -> list[Sequence]:
    """Read all records of a FASTA or FASTQ file.

    A record's name is the first word of its header. Lower case and U are accepted; lines of FASTA
    may have any length and any line end, hold blanks, and begin with positions, as in GenBank.
    Qualities of FASTQ are ignored. Records without symbols, and repeated ones of equal name
    and sequence, are left out with a warning. A plain file that is larger than the memory is an
    `InputError`.
    """
    try:
        state = Path(path).stat()
        if stat.S_ISREG(state.st_mode):
            check_memory(state.st_size, "its records")
    except OSError:
        pass  # reading the file raises the error that says why
    except InputError as error:
        raise error.located(path=path) from None
    return list(iterate_fasta(path, encode))


def read_one(
    path: str | os.PathLike,
    encode: Encode = encode,
    expected: str = "one",
) -> Sequence:
    """Read a file of exactly one record; `expected` is for the error that there are more."""
    records = read_fasta(path, encode)
    if len(records) != 1:
        raise InputError(f"{len(records)} records", path=path, expected=expected)
    return records[0]


def iterate_fasta(path: str | os.PathLike, encode: Encode = encode) -> Iterator[Sequence]:
    """Yield the records of a FASTA or FASTQ file one by one, so that one is in memory at a time.

    What a record is and what is wrong with one is as in `read_fasta`; an error comes as soon as
    what is wrong has been reached.
    """
    for record in whole_records(path):
        yield encoded(path, record, encode)


def stream_fasta(
    path: str | os.PathLike, table: NDArray[np.uint8], expected: str, size: int = PART_BYTES
) -> Iterator[SequenceChunk]:
    """Yield the records of a FASTA or FASTQ file in chunks; a thread reads and encodes the next.

    Files and errors are those of `read_fasta`.
    """
    with closing(prefetch(_chunks(path, table, expected, size), _PREFETCHED_PARTS)) as chunks:
        yield from chunks


def _chunks(path, table: NDArray[np.uint8], expected: str, size: int) -> Iterator[SequenceChunk]:
    codes_of, before = table.tobytes(), 0
    for part in record_parts(path, size):
        codes = bytearray(part.text).translate(codes_of, _BLANKS)
        illegal = codes.find(ILLEGAL)
        if illegal >= 0:
            raise InputError(
                f"illegal symbol {shown_symbol(part.symbols[illegal])}", path=path,
                record=part.name, line=part.line_of(illegal + 1), position=before + illegal + 1,
                expected=expected,
            )  # fmt: skip
        symbols = np.frombuffer(codes, dtype=np.uint8)
        yield SequenceChunk(part.name, symbols, part.last, part.description)
        before = 0 if part.last else before + len(codes)


def stream_bytes(path: str | os.PathLike, size: int = PART_BYTES) -> Iterator[SequenceChunk]:
    """Yield the bytes of any file, decompressed, as one text with the file's name."""
    name = files.STANDARD_STREAM if str(path) == files.STANDARD_STREAM else Path(path).name
    with files.open_binary(path) as stream:
        while block := stream.read(size):
            yield SequenceChunk(name, np.frombuffer(block, dtype=np.uint8), False)
    yield SequenceChunk(name, np.empty(0, dtype=np.uint8), True)


def write_fasta(path: str | os.PathLike, sequences: Iterable[Sequence]) -> None:
    """Write sequences in lines of 60 symbols; the file appears only when complete."""
    if files.is_gzip_name(path) and not files.is_stream(path):
        _write_bgzip(path, sequences)
    else:
        with files.open_output(path) as stream:
            stream.writelines(map(_to_text, sequences))


def _to_text(sequence: Sequence) -> str:
    symbols = sequence.letters()
    lines = [symbols[i : i + _LINE_LENGTH] for i in range(0, len(symbols), _LINE_LENGTH)]
    return "\n".join([f">{sequence.name} {sequence.description}".rstrip(), *lines, ""])


def _write_bgzip(path, sequences: Iterable[Sequence]) -> None:
    # the sequences get their final name before the indexes: no index is newer than the wrong file
    with (
        files.replaced_when_complete(f"{path}.fai") as fai,
        files.replaced_when_complete(f"{path}.gzi") as gzi,
    ):
        with files.replaced_when_complete(path) as temporary:
            with files.write_text(temporary, path) as stream:
                stream.writelines(map(_to_text, sequences))
            try:
                pysam.faidx(str(temporary), "--fai-idx", str(fai), "--gzi-idx", str(gzi))
            except pysam.SamtoolsError:
                raise OutputError(f"{path}: cannot be indexed") from None


class RecordPart(NamedTuple):
    """The next part of a record; name and description are first word and rest of its header.

    `header_line` and `line` are 1-based lines of the header and of the beginning of `text`, None in
    FASTQ. `text` holds symbols, line ends and blanks; `last` says whether the record ends with it.
    """

    name: str
    description: str
    header_line: int | None
    line: int | None
    text: bytes = b""
    last: bool = False

    @property
    def symbols(self) -> bytes:
        """The text without line ends and blanks."""
        return self.text.translate(None, _BLANKS)

    def line_of(self, position: int) -> int | None:
        """Return the 1-based line of a symbol; `position` counts this part's symbols from 1."""
        for number, row in enumerate(self.text.split(b"\n")):
            position -= len(row.translate(None, _BLANKS))
            if position <= 0:
                return None if self.line is None else self.line + number
        raise ValueError("the part has fewer symbols")


def encoded(path, record: RecordPart, encode=encode) -> Sequence:
    """Return a whole record as a sequence; an illegal symbol is an error that names its line."""
    try:
        return Sequence(record.name, encode(record.symbols), record.description)
    except InputError as error:
        line = record.line_of(error.position)
        raise error.located(path=path, record=record.name, line=line) from None


def whole_records(path: str | os.PathLike) -> Iterator[RecordPart]:
    """Yield the records of a FASTA or FASTQ file, each as one part."""
    texts: list[bytes] = []
    first = None
    for part in record_parts(path):
        first = first or part
        texts.append(part.text)
        if part.last:
            yield first._replace(text=b"".join(texts), last=True)
            texts, first = [], None


def record_parts(path: str | os.PathLike, size: int = PART_BYTES) -> Iterator[RecordPart]:
    """Yield the records of a FASTA or FASTQ file part by part, of `size` bytes at most.

    Files and errors are those of `read_fasta`, except that symbols are not looked at. A
    record of FASTQ is always one part.
    """
    empty = OddItems("records without symbols, left out")
    repeated = OddItems("repeated records, left out")
    names: set[str] = set()
    digests, digest, at_start, filled = None, None, True, False
    for part in _all_parts(path, size):
        if at_start:
            digest = sha256() if part.name in names else None
        filled = filled or bool(part.text.strip(_BLANKS))
        if digest:
            digest.update(_normal(part.text))
        elif filled:
            yield part
        at_start = part.last
        if part.last and not filled:
            empty.add(_error("no symbols", path, part))
        elif part.last and digest:
            digests = digests or _digests(path, part)
            if digests[part.name] != digest.digest():
                raise _error("duplicate name, with another sequence", path, part)
            repeated.add(_error("repeated record", path, part))
        elif part.last:
            names.add(part.name)
        filled = filled and not part.last
    if not names:
        raise empty.first
    empty.warn()
    repeated.warn()


def _error(problem: str, path, part: RecordPart) -> InputError:
    return InputError(problem, path=path, line=part.header_line, record=part.name)


def _all_parts(path, size: int = PART_BYTES) -> Iterator[RecordPart]:
    """Yield the parts of all records, empty and repeated ones among them; at least one."""
    with files.open_text(path) as stream:
        is_fastq = stream.peek(1)[:1] == b"@"
        yield from _fastq_parts(path, stream) if is_fastq else _fasta_parts(path, stream, size)


def _digests(path, repeated: RecordPart) -> dict[str, bytes]:
    """Return a digest of the first sequence of each name; the file is read once more for it."""
    if str(path) == files.STANDARD_STREAM or not Path(path).is_file():
        raise _error("duplicate name", path, repeated)
    running, known = sha256(), {}
    for part in _all_parts(path):
        running.update(_normal(part.text))
        if part.last:
            if running.digest() != sha256().digest():
                known.setdefault(part.name, running.digest())
            running = sha256()
    return known


def _normal(text: bytes) -> bytes:
    """Return a text that is the same for equal sequences, whatever their case and lines."""
    return text.translate(None, _BLANKS).upper()


def _fasta_parts(path, stream: BinaryIO, size: int) -> Iterator[RecordPart]:
    header, line, foreign = None, 1, OddItems("headers that are not UTF-8, read as Latin-1")
    first, found, numbered = 1, b"", False
    for is_header, text in _split(stream, size):
        if is_header:
            if header:
                yield RecordPart(*header, first, found, True)
            header = *_parse_header(path, line, text, foreign), line
            first, found, numbered = line + 1, b"", None
        elif header:
            if found:
                yield RecordPart(*header, first, found)
            numbered = bool(_NUMBERED.match(text)) if numbered is None else numbered
            first, found = line, text.translate(None, _POSITION_SYMBOLS) if numbered else text
        elif text.strip():
            raise InputError(
                "text before the first record", path=path,
                line=line + text[: len(text) - len(text.lstrip())].count(b"\n"),
                expected="FASTA, a header line that begins with >",
            )  # fmt: skip
        line += text.count(b"\n")
    if not header:
        raise InputError("no record", path=path, expected="FASTA with at least one record")
    yield RecordPart(*header, first, found, True)
    foreign.warn()


def _split(stream: BinaryIO, size: int) -> Iterator[tuple[bool, bytes]]:
    """Yield header lines, and what stands between them in parts; True marks a header line."""
    before = b"\n"
    while block := stream.read(size):
        if block.rfind(b">") > block.rfind(b"\n"):
            block += stream.readline()  # a header line is never cut
        lines, tail = [block], block[block.rfind(b"\n") + 1 :]
        while not tail.strip(_BEFORE_SYMBOLS) and (tail := stream.readline(_LONGEST_POSITION)):
            lines.append(tail)  # nor what stands before the symbols of a line
        if tail[:1] == b">":
            lines.append(b"" if tail.endswith(b"\n") else stream.readline())
        block = b"".join(lines)
        block, at = before + block, 1
        while at < len(block):
            end = header = _next_header(block, at)
            if header == at:
                end = block.find(b"\n", at) + 1 or len(block)
            yield header == at, block[at:end]
            at = end
        before = block[-1:]


def _next_header(block: bytes, at: int) -> int:
    """Return where from `at` on a line begins with >, or the block's end."""
    found = block.find(b">", at)  # to search for one byte is far faster than for two
    while found >= 0 and block[found - 1 : found] != b"\n":
        found = block.find(b">", found + 1)
    return found if found >= 0 else len(block)


def _parse_header(path, line: int, text: bytes, foreign: OddItems) -> tuple[str, str]:
    """Return name and description of a header line; a description may be Latin-1."""
    header = text[1:].rstrip()
    if not header or header[:1].isspace():
        raise InputError("record without a name", path=path, line=line, expected=">NAME")
    encoding = "utf-8"
    try:
        header.decode(encoding)
    except UnicodeDecodeError:
        encoding = "latin-1"
    try:
        name = header.split(maxsplit=1)[0].decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("the record's name is not UTF-8 text", path=path, line=line) from None
    if encoding != "utf-8":
        foreign.add(InputError("header is not UTF-8 text", path=path, line=line, record=name))
        return name, header.split(maxsplit=1)[1].decode(encoding)
    name, *description = header.decode(encoding).split(maxsplit=1)
    return name, "".join(description)


def _fastq_parts(path, stream: BinaryIO) -> Iterator[RecordPart]:
    record = None
    with _named_file(path, stream) as file, pysam.FastxFile(file) as records:
        for record in _whole_reads(path, records):
            if not record.name:
                raise InputError("record without a name", path=path, expected="@NAME")
            text = (record.sequence or "").encode()
            yield RecordPart(record.name, record.comment or "", None, None, text, True)
    if record is None:
        raise InputError("no record", path=path, expected="FASTQ with at least one record")


def _whole_reads(path, records: pysam.FastxFile) -> Iterator[pysam.libcfaidx.FastxRecord]:
    name = None
    try:
        for record in records:
            name = record.name
            if len(record.sequence or "") != len(record.quality or ""):
                raise ValueError
            yield record
    except (ValueError, OSError):  # pysam's text says no more, and names a copy of standard input
        where = "in the first record" if name is None else f"in or behind record {name}"
        raise InputError(
            f"broken FASTQ {where}", path=path, expected="a quality for each symbol"
        ) from None


@contextmanager
def _named_file(path, stream: BinaryIO) -> Iterator[str]:
    """Yield the name of a file that pysam can read, a copy of the stream where it must be."""
    if str(path) != files.STANDARD_STREAM and Path(path).is_file():
        with open(path, "rb") as file:
            opens = files.compression_of(file) in ("none", "gzip", "bgzip")
        if opens:
            yield str(path)
            return
    with tempfile.NamedTemporaryFile(suffix=".fastq") as copy:
        shutil.copyfileobj(stream, copy)
        copy.flush()
        yield copy.name
