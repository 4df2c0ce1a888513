"""Opening inputs of any compression and writing outputs that are complete or absent."""

from __future__ import annotations

import codecs
import gzip
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO, TextIO

from gpu_tools.errors import InputError, OutputError

STANDARD_STREAM = "-"
_OPEN_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/")
_GZIP_MAGIC = b"\x1f\x8b"
_BGZIP_HEAD = 18
_BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")


@contextmanager
def open_binary(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a plain, gzip or bgzip file, or standard input for ``-``, for reading bytes.

    Raises
    ------
    InputError
        If the file is missing or unreadable, or its compression is broken or cut short,
        also when that shows only while reading.
    """
    try:
        with _raw(path) as raw:
            compression = compression_of(raw)
            if compression == "bgzip" and raw.seekable():
                _check_bgzip_end(raw)
            with nullcontext(raw) if compression == "none" else gzip.open(raw) as stream:
                yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(
            f"broken compression ({error})", path=path, expected="a complete gzip or bgzip file"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None


def compression_of(stream: BinaryIO) -> str:
    """Return none, gzip or bgzip by the first bytes of a stream, which stay to be read."""
    head = stream.peek(_BGZIP_HEAD)[:_BGZIP_HEAD]
    if head[:2] != _GZIP_MAGIC:
        return "none"
    is_bgzip = len(head) == _BGZIP_HEAD and head[3] & 4 and head[12:14] == b"BC"
    return "bgzip" if is_bgzip else "gzip"


def _check_bgzip_end(raw: BinaryIO) -> None:
    """Raise EOFError for bgzip cut between two blocks, which is no error to the module gzip."""
    raw.seek(-len(_BGZIP_END), os.SEEK_END)
    end = raw.read()
    raw.seek(0)
    if end != _BGZIP_END:
        raise EOFError("bgzip's end-of-file block is missing")


def _raw(path):
    if str(path) == STANDARD_STREAM:
        return nullcontext(sys.stdin.buffer)
    return open(path, "rb")


def read_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """Yield (1-based line number, line without its end) of a text file in UTF-8.

    A byte order mark at the start, as spreadsheets write it, is left out.

    Raises
    ------
    InputError
        As `open_binary`, and for a line that is not UTF-8.
    """
    with open_binary(path) as stream:
        for number, line in enumerate(stream, start=1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            try:
                yield number, line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError:
                raise InputError("not UTF-8 text", path=path, line=number) from None


def check_writable(*paths: str | os.PathLike | None) -> None:
    """Raise `OutputError` if a result could not be written, before work begins; None is no file."""
    for path in (Path(path) for path in paths if path is not None):
        if is_stream(path):
            continue
        if path.is_dir():
            raise OutputError(f"{path}: cannot be written (it is a folder)")
        if not path.parent.is_dir():
            raise OutputError(f"{path}: cannot be written (there is no folder {path.parent})")
        if not os.access(path.parent, os.W_OK):
            raise OutputError(f"{path}: cannot be written (no permission in {path.parent})")


@contextmanager
def replaced_when_complete(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path beside `path`; it is renamed to `path` when the block ends well.

    When the block raises, the temporary file is removed and `path` stays as it was. A device or
    a pipe cannot be replaced: its own path is given. A symbolic link stays one.

    Raises
    ------
    OutputError
        If the folder or the file cannot be written.
    """
    if is_stream(path):
        yield Path(path)
        return
    target = Path(path).resolve()
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name}.", suffix=target.suffix, dir=target.parent
        )
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        _rename(temporary, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None
    finally:
        temporary.unlink(missing_ok=True)


def is_stream(path: str | os.PathLike) -> bool:
    """Tell whether an output is standard output, a pipe or a device, which cannot be replaced."""
    path = Path(path)
    # /dev/stdout is a stream, even where it is redirected to a file
    if str(path) == STANDARD_STREAM or str(path).startswith(_OPEN_STREAMS):
        return True
    return path.exists() and not (path.is_file() or path.is_dir())


def _rename(temporary: Path, path: Path) -> None:
    # mkstemp makes private files; the result gets the permissions of any new file
    mask = os.umask(0)
    os.umask(mask)
    temporary.chmod(0o666 & ~mask)
    temporary.replace(path)


def suffix_of(path: str | os.PathLike, suffixes: tuple[str, ...], kind: str) -> str:
    """Return the suffix of `path`, or raise `InputError` if no format of a kind has it."""
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise InputError(
            f"the suffix is that of no {kind} format", path=path,
            expected=f"a name that ends in one of {', '.join(suffixes)}",
        )  # fmt: skip
    return suffix


@contextmanager
def open_output(path: str | os.PathLike) -> Iterator[TextIO]:
    """Open a text output that appears only when complete; ``-`` is standard output."""
    if str(path) == STANDARD_STREAM:
        yield sys.stdout
        sys.stdout.flush()
        return
    with replaced_when_complete(path) as temporary:
        with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
            yield stream


@contextmanager
def quiet_htslib() -> Iterator[None]:
    """Keep htslib from printing its errors, which are raised all the same."""
    import pysam

    verbosity = pysam.set_verbosity(0)
    try:
        yield
    finally:
        pysam.set_verbosity(verbosity)
