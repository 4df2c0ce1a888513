"""FASTA and FASTQ files: whole records, read and written."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pysam
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import is_stream, open_output, replaced_when_complete, write_text
from gpu_tools.formats.names import is_gzip_name
from gpu_tools.formats.sequences.parts import RecordPart, record_parts
from gpu_tools.hardware.own_files import check_memory
from gpu_tools.model.sequences import Sequence, encode

_LINE_LENGTH = 60


def read_fasta(
    path: str | os.PathLike, encode: Callable[[bytes], NDArray[np.uint8]] = encode
) -> list[Sequence]:
    """Read all records of a FASTA or FASTQ file.

    A record's name is the first word of its header. Lower case and U are accepted; lines of FASTA
    may have any length and any line end, hold blanks, and begin with positions, as in GenBank.
    Qualities of FASTQ are not looked at. Records without symbols, and repeated ones of equal name
    and sequence, are left out with a warning.
    """
    _check_fits(path)
    return list(iterate_fasta(path, encode))


def _check_fits(path: str | os.PathLike) -> None:
    """Raise `InputError` if a plain file, of a byte a symbol, is larger than the memory."""
    try:
        state = Path(path).stat()
        if stat.S_ISREG(state.st_mode):
            check_memory(state.st_size, "its records")
    except OSError:
        return  # reading it tells why
    except InputError as error:
        raise error.located(path=path) from None


def read_one(
    path: str | os.PathLike,
    encode: Callable[[bytes], NDArray[np.uint8]] = encode,
    expected: str = "one",
) -> Sequence:
    """Read a file of exactly one record; `expected` is for the error that there are more."""
    records = read_fasta(path, encode)
    if len(records) != 1:
        raise InputError(f"{len(records)} records", path=path, expected=expected)
    return records[0]


def iterate_fasta(
    path: str | os.PathLike, encode: Callable[[bytes], NDArray[np.uint8]] = encode
) -> Iterator[Sequence]:
    """Yield the records of a FASTA or FASTQ file one by one, so that one is in memory at a time.

    What a record is and what is wrong with one is as in `read_fasta`; an error comes as soon as
    what is wrong has been reached.
    """
    for record in whole_records(path):
        yield encoded(path, record, encode)


def write_fasta(path: str | os.PathLike, sequences: Iterable[Sequence]) -> None:
    """Write sequences in lines of 60 symbols; the file appears only when complete."""
    if is_gzip_name(path) and not is_stream(path):
        _write_bgzip(path, sequences)
    else:
        with open_output(path) as stream:
            stream.writelines(map(_to_text, sequences))


def whole_records(path: str | os.PathLike) -> Iterator[RecordPart]:
    """Yield the records of a FASTA or FASTQ file, each as one part."""
    parts: list[RecordPart] = []
    for part in record_parts(path):
        parts.append(part)
        if part.last:
            yield _joined(parts)
            parts = []


def _joined(parts: list[RecordPart]) -> RecordPart:
    if len(parts) == 1:
        return parts[0]
    return parts[0]._replace(text=b"".join([part.text for part in parts]), last=True)


def encoded(path, record: RecordPart, encode=encode) -> Sequence:
    """Return a whole record as a sequence; an illegal symbol is an error that names its line."""
    try:
        return Sequence(record.name, encode(record.symbols), record.description)
    except InputError as error:
        line = record.line_of(error.position)
        raise error.located(path=path, record=record.name, line=line) from None


def _to_text(sequence: Sequence) -> str:
    symbols = sequence.letters()
    lines = [symbols[i : i + _LINE_LENGTH] for i in range(0, len(symbols), _LINE_LENGTH)]
    return "\n".join([f">{sequence.name} {sequence.description}".rstrip(), *lines, ""])


def _write_bgzip(path, sequences: Iterable[Sequence]) -> None:
    # the sequences get their final name before the indexes: no index is newer than the wrong file
    with replaced_when_complete(f"{path}.fai") as fai, replaced_when_complete(f"{path}.gzi") as gzi:
        with replaced_when_complete(path) as temporary:
            with write_text(temporary, path) as stream:
                stream.writelines(map(_to_text, sequences))
            try:
                pysam.faidx(str(temporary), "--fai-idx", str(fai), "--gzi-idx", str(gzi))
            except pysam.SamtoolsError:
                raise OutputError(f"{path}: cannot be indexed") from None
