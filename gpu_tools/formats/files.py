"""Files: names that choose formats, inputs of any compression, outputs complete or absent."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import logging
import lzma
import os
import re
import socket
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, TextIO

from gpu_tools.errors import InputError, OutputError
from gpu_tools.hardware.own_files import free_disk
from gpu_tools.hardware.system import lock

STANDARD_STREAM = "-"
_STANDARD_OUTPUT = (STANDARD_STREAM, "/dev/stdout")
_OPEN_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/")
_GZIP_SUFFIXES = (".gz", ".bgz")
_OTHER_NAMES = {".gff": ".gff3"}
_PLAIN_ONLY = (".bam", ".svg", ".png", ".xml")
"""Formats that are compressed already, or that their readers do not take compressed."""
_BLOCK = 1 << 17
_HARMLESS, _LARGEST_RATIO = 1 << 28, 200
"""Decompressed bytes of any file that are read, and the highest ratio of what is larger."""
_FIRST_SIZE = 18
_FIRST_BYTES = {
    "gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd",
    "zip": b"PK\x03\x04",
}  # fmt: skip
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)")
_BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_SUFFIX = re.compile(r"\.(gz|bgz|bz2|xz)$")
_BROKEN = EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError
"""What broken compression raises; bzip2 raises an OSError, which `_Decompressed` turns into one."""
_KNOWN = "plain, gzip, bgzip, bzip2 or xz"
_NAME_PART = 40
"""Symbols of an output's name in that of its temporary file, which must not become too long."""
_MARK = "gpu-tools"
_PATTERN = re.compile(rf"\..*\.{_MARK}-([0-9a-f]{{8}})-[a-z0-9_]{{8}}(\..*)?")
_DAY = 86400.0
"""Seconds after which another machine's unlocked file counts as left: not every network file system
shows one machine the locks of another."""
_ATTEMPTS = 100


# Names of files, which choose formats.


def is_gzip_name(path: str | os.PathLike) -> bool:
    """Tell whether the name of a file says that it is compressed."""
    return str(path).lower().endswith(_GZIP_SUFFIXES)


def uncompressed_name(path: str | os.PathLike) -> str:
    """Return the name of a file in small letters, without the suffix of compression."""
    name = str(path).lower()
    return name.rpartition(".")[0] if is_gzip_name(name) else name


def format_of(path: str | os.PathLike, suffixes: tuple[str, ...]) -> str | None:
    """Return which of the suffixes a name has, perhaps before ``.gz``; None if it has none."""
    suffix = Path(uncompressed_name(path)).suffix
    suffix = _OTHER_NAMES.get(suffix, suffix)
    fits = suffix in suffixes and not (suffix in _PLAIN_ONLY and is_gzip_name(path))
    return suffix if fits else None


def suffix_of(
    path: str | os.PathLike, suffixes: tuple[str, ...], kind: str, otherwise: str | None = None
) -> str:
    """Return the suffix of `path` that chooses a format of a kind.

    `otherwise` is the format, without a dot, of a name that chooses none; without it such a name
    raises `InputError`.
    """
    suffix = format_of(path, suffixes) or (f".{otherwise}" if otherwise else None)
    if suffix not in suffixes:
        raise InputError(
            f"the suffix is that of no {kind} format", path=path,
            expected=f"a name that ends in one of {', '.join(suffixes)}",
        )  # fmt: skip
    return suffix


def without_compression(path: str | os.PathLike) -> str:
    """Return a path in small letters, without the suffix of a compression."""
    return _SUFFIX.sub("", str(path).lower())


def is_compressed_name(path: str | os.PathLike) -> bool:
    """Tell whether a path has the suffix of a compression."""
    return without_compression(Path(path)) != str(Path(path)).lower()


# Inputs.


class _ReadOnce:
    """The pipes and terminals that have been read."""

    read: set[tuple[int, int]] | None = None


@contextmanager
def streams_read_once() -> Iterator[None]:
    """Within the block, refuse to read an input again that can be read once, as a pipe can."""
    before, _ReadOnce.read = _ReadOnce.read, set()
    try:
        yield
    finally:
        _ReadOnce.read = before


@contextmanager
def open_binary(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a plain or compressed file, or standard input for ``-``, for reading bytes.

    Compressions are gzip, bgzip, bzip2 and xz, known by the first bytes.
    """
    try:
        with open_raw(path) as raw:
            compression = compression_of(raw)
            if compression in ("zstd", "zip"):
                raise InputError(f"it is compressed by {compression}", path=path, expected=_KNOWN)
            if compression == "bgzip" and raw.seekable():
                _check_bgzip_end(raw)
            if compression == "none":
                yield raw
                return
            with io.BufferedReader(_Decompressed(raw, compression), _BLOCK) as stream:
                yield stream
    except _BROKEN as error:
        raise InputError(
            f"broken compression ({error})", path=path, expected="a complete compressed file"
        ) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", path=path) from None


@contextmanager
def open_text(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """Open a text as `open_binary` does, without a byte order mark, lines ending in line feeds.

    Lines that end in a carriage return alone end in a line feed instead.
    """
    with open_binary(path) as stream:
        if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        head = stream.peek(_BLOCK)
        carriage_returns = b"\r" in head and b"\n" not in head
        yield io.BufferedReader(_LineFeeds(stream), _BLOCK) if carriage_returns else stream


class _LineFeeds(io.RawIOBase):
    """The bytes of a stream, a line feed for each carriage return."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        text = self._stream.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(text)] = text
        return len(text)


def open_raw(path: str | os.PathLike) -> AbstractContextManager[BinaryIO]:
    """Open an input's bytes as they are on disk, with the checks of `open_binary`."""
    if str(path) != STANDARD_STREAM:
        state = Path(path).stat()
        _check_first(path, state)
        stream = open(path, "rb")  # noqa: SIM115  (the caller closes it)
        is_device = stat.S_ISCHR(state.st_mode) or stat.S_ISBLK(state.st_mode)
        if is_device and not _is_null(state) and not stream.isatty():
            stream.close()
            raise InputError("it is a device", path=path, expected="a file")
        return stream
    if sys.stdin is None:
        raise InputError("it is closed", path=path)
    with suppress(OSError):  # a test's input is no file
        _check_first(path, os.fstat(sys.stdin.fileno()))
    return nullcontext(sys.stdin.buffer)


def _check_first(path, state: os.stat_result) -> None:
    """Raise an error if something that is read to its end, as a pipe is, has been read before."""
    is_file = stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode) or _is_null(state)
    if _ReadOnce.read is None or (is_file and str(path) != STANDARD_STREAM):
        return
    known = state.st_dev, state.st_ino
    if known in _ReadOnce.read:
        raise InputError("it is needed twice, and can be read once", path=path, expected="a file")
    _ReadOnce.read.add(known)


def _is_null(state: os.stat_result) -> bool:
    return stat.S_ISCHR(state.st_mode) and os.path.samestat(state, Path(os.devnull).stat())


def read_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """Yield (1-based line number, line without its end) of a text file in UTF-8.

    Byte order mark and line ends are as in `open_text`. A comment, or a line of several fields
    whose first is UTF-8, may hold Latin-1, as remarks in annotations do.
    """
    foreign = OddItems("lines that are not UTF-8, read as Latin-1")
    with open_text(path) as stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield number, line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                problem = InputError("not UTF-8 text", path=path, line=number)
                # so no name of a sequence is guessed, and no other file is taken for text
                if b"\0" in line or not (line[:1] == b"#" or b"\t" in line[: error.start]):
                    raise problem from None
                foreign.add(problem)
                yield number, line.decode("latin-1").rstrip("\r\n")
    foreign.warn()


def compression_of(stream: BinaryIO) -> str:
    """Return a compression by the first bytes of a stream, which stay to be read.

    That is none, gzip, bgzip, bzip2, xz, or zstd and zip, which are not read.
    """
    head = stream.peek(_FIRST_SIZE)[:_FIRST_SIZE]
    for name, first in _FIRST_BYTES.items():
        if head.startswith(first):
            if name == "gzip" and len(head) == _FIRST_SIZE and head[3] & 4 and head[12:14] == b"BC":
                return "bgzip"
            if name != "bzip2" or _BZIP2.match(head):
                return name
    return "none"


def _check_bgzip_end(raw: BinaryIO) -> None:
    """Raise EOFError for bgzip cut between two blocks, which is no error to the module gzip."""
    raw.seek(-len(_BGZIP_END), os.SEEK_END)
    end = raw.read()
    raw.seek(0)
    if end != _BGZIP_END:
        raise EOFError("bgzip's end-of-file block is missing")


class _Counted:
    """A stream, perhaps a pipe, that counts the bytes read of it."""

    def __init__(self, raw: BinaryIO):
        self._raw, self.size = raw, 0

    def read(self, size: int = -1) -> bytes:
        text = self._raw.read(size)
        self.size += len(text)
        return text


class _Decompressed(io.RawIOBase):
    """The bytes of a compressed file; one that explodes is a `gzip.BadGzipFile`."""

    def __init__(self, raw: BinaryIO, compression: str):
        self._raw, self._size, self._is_bzip2 = _Counted(raw), 0, compression == "bzip2"
        if compression in ("gzip", "bgzip"):
            self._stream = gzip.GzipFile(fileobj=self._raw)
        else:
            self._stream = (bz2.BZ2File if self._is_bzip2 else lzma.LZMAFile)(self._raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        try:
            size = self._stream.readinto(buffer)
        except OSError as error:
            if self._is_bzip2 and error.errno is None:
                raise EOFError(str(error)) from None
            raise
        self._size += size
        if self._size > _HARMLESS and self._size > _LARGEST_RATIO * self._raw.size:
            raise gzip.BadGzipFile(f"it becomes more than {_LARGEST_RATIO} times as large")
        return size

    def close(self) -> None:
        self._stream.close()
        super().close()


# Outputs.


def check_writable(*paths: str | os.PathLike | None) -> None:
    """Raise `OutputError` if results could not be written, before work begins; None is no file.

    Two results in one file are an error too: one would replace the other, or be mixed with it.
    """
    written = [path for path in paths if path is not None]
    names = ("/dev/stdout" if str(path) == STANDARD_STREAM else path for path in written)
    files = [os.path.realpath(name) for name in names]
    for k, path in enumerate(written):
        if files[k] in files[:k] and files[k] != os.devnull:
            raise OutputError(f"{path}: named for two outputs; expected a file for each")
        if not is_stream(path):
            try:
                _check_folder(Path(path))
            except OSError as error:
                raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


def check_not_read(outputs: Iterable[str], inputs: Iterable[str]) -> None:
    """Raise `OutputError` if a result would replace a file that is read."""
    read = {os.path.realpath(path) for path in inputs}
    for path in outputs:
        if path != STANDARD_STREAM and os.path.realpath(path) in read and Path(path).is_file():
            raise OutputError(
                f"{path}: named as input and as output; expected another file to write"
            )


def _check_folder(path: Path) -> None:
    if path.is_dir():
        raise OutputError(f"{path}: cannot be written (it is a folder)")
    with suppress(FileNotFoundError):
        path.parent.stat()  # raises the error of a loop of links, say
    if not path.parent.is_dir():
        raise OutputError(f"{path}: cannot be written (there is no folder {path.parent})")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path}: cannot be written (no permission in {path.parent})")
    check_disk(path, 1)


def check_disk(path: str | os.PathLike, size: int) -> None:
    """Raise `OutputError` if the disk of an output has not so many bytes left."""
    free = None if is_stream(path) else free_disk(Path(path).parent)
    if free is not None and free < size:
        raise OutputError(
            f"{path}: cannot be written (it takes {size:,} bytes; the disk has {free:,} left)"
        )


@contextmanager
def replaced_when_complete(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it is renamed to `path` when the block ends well.

    When the block raises, the temporary file is removed and `path` stays as it was. That of a
    process that is killed is removed by the next one that writes into the folder. A device or
    a pipe cannot be replaced, and is yielded itself. A symbolic link stays one.
    """
    if is_stream(path):
        with _written_errors(path):
            yield Path(path)
        return
    target = Path(os.path.realpath(path))
    try:
        lock, temporary = new_file(target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None
    try:
        with _written_errors(path):
            yield temporary
            temporary.chmod(_mode_of(target))
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
        os.close(lock)


@contextmanager
def _written_errors(path: str | os.PathLike) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of the pipe has ended, which is no error
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror or error})") from None
    except UnicodeEncodeError as error:
        text = error.object[error.start : error.end]
        raise OutputError(
            f"{path}: cannot be written (the encoding {error.encoding} lacks {text!r}); "
            "expected names that it has, or PYTHONIOENCODING=utf-8 for standard output"
        ) from None


def is_stream(path: str | os.PathLike) -> bool:
    """Tell whether an output is standard output, a pipe or a device, which cannot be replaced."""
    path = Path(path)
    # /dev/stdout is a stream, even where it is redirected to a file
    if str(path) == STANDARD_STREAM or str(path).startswith(_OPEN_STREAMS):
        return True
    return path.exists() and not (path.is_file() or path.is_dir())


def _mode_of(path: Path) -> int:
    """Return the permissions of a file, or those of any new one; mkstemp makes private files."""
    with suppress(OSError):
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def open_output(path: str | os.PathLike) -> Iterator[TextIO]:
    """Open a text output that appears only when complete; ``-`` is standard output.

    One whose name ends in ``.gz`` or ``.bgz`` is compressed with bgzip.
    """
    if str(path) in _STANDARD_OUTPUT:
        if sys.stdout is None:
            raise OutputError("standard output: cannot be written (it is closed)")
        with _written_errors("standard output"):
            yield sys.stdout
            sys.stdout.flush()
        return
    with replaced_when_complete(path) as temporary, write_text(temporary, path) as stream:
        yield stream


@contextmanager
def write_text(path: Path, name: str | os.PathLike) -> Iterator[TextIO]:
    """Open a temporary file for the text of an output, compressed if the output's name says so."""
    if not is_gzip_name(name):
        with open(path, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    import pysam

    with quiet_htslib(), pysam.BGZFile(str(path), "wb") as raw:
        with io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as stream:
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


# Files that are not complete yet: hidden ones beside their outputs, and those of dead processes.
#
# Each is locked as long as its process lives. What is not locked was left by a process that was
# killed, and is removed when this user next writes into its folder.


def new_file(target: Path, suffix: str | None = None) -> tuple[int, Path]:
    """Make a hidden file beside an output, which no other process takes for its own."""
    clear_leftovers(target.parent)
    prefix = f".{target.name[:_NAME_PART]}.{_MARK}-{_machine()}-"
    for _ in range(_ATTEMPTS):
        handle, name = tempfile.mkstemp(
            prefix=prefix, suffix=target.suffix if suffix is None else suffix, dir=target.parent
        )
        try:
            lock(handle, wait=False)
            if os.path.samestat(os.fstat(handle), os.lstat(name)):
                break
        except (BlockingIOError, FileNotFoundError):  # it was just taken for a leftover
            pass
        except OSError:  # there are no locks, so that nobody takes it for one
            break
        os.close(handle)
    return handle, Path(name)


@cache
def clear_leftovers(folder: Path) -> None:
    """Remove what processes of this user that are dead left in a folder; look once a process."""
    with suppress(OSError):
        with os.scandir(folder) as entries:
            found = [(e.path, match[1]) for e in entries if (match := _PATTERN.fullmatch(e.name))]
        for path, machine in found:
            _remove_if_left(path, machine == _machine())


def _remove_if_left(path: str, is_of_here: bool) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            state = os.fstat(handle)
            lock(handle, wait=False)
            old = time.time() - state.st_mtime > _DAY
            if state.st_uid == os.geteuid() and (is_of_here or old):
                os.unlink(path)  # noqa: PTH108
        finally:
            os.close(handle)


@cache
def _machine() -> str:
    return f"{zlib.crc32(socket.gethostname().encode()):08x}"


_log = logging.getLogger(__name__)


class _Settings:
    """A command's choice, which holds for all readers, those of other threads too."""

    strict: bool = False
    warnings: set[str] | None = None


@contextmanager
def odd_items(strict: bool) -> Iterator[None]:
    """Within the block, log each warning about odd items once, or raise them as errors."""
    before = _Settings.strict, _Settings.warnings
    _Settings.strict, _Settings.warnings = strict, set()
    try:
        yield
    finally:
        _Settings.strict, _Settings.warnings = before


class OddItems:
    """Items of a kind in one file that are left out, or read otherwise, and counted.

    `what` says what they are and what is done with them: ``records without symbols, left out``.
    """

    def __init__(self, what: str):
        self._what, self._count = what, 0
        self.first: InputError | None = None

    def add(self, problem: InputError) -> None:
        """Count an item; if inputs have to be sound, raise what is wrong with it."""
        if _Settings.strict:
            raise problem
        self._count += 1
        self.first = self.first or problem

    def warn(self) -> None:
        """Warn of the items, if there are any."""
        if self.first is None:
            return
        text = f"{self._what}: {self._count}; the first: {self.first}"
        if _Settings.warnings is None or text not in _Settings.warnings:
            _log.warning("%s", text)
        if _Settings.warnings is not None:
            _Settings.warnings.add(text)
