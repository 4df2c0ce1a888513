"""Compressed inputs: known by their first bytes, read as a stream."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import zlib
from pathlib import Path
from typing import BinaryIO

_BLOCK = 1 << 17
_HARMLESS, _LARGEST_RATIO = 1 << 28, 200
"""So many bytes any file may become; a larger one at most so many times as large as it is."""
_FIRST_SIZE = 18
_FIRST_BYTES = {
    "gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": b"\x28\xb5\x2f\xfd",
    "zip": b"PK\x03\x04",
}  # fmt: skip
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17\x72\x45\x38\x50\x90)")
_BGZIP_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
_READERS = {
    "gzip": gzip.GzipFile, "bgzip": gzip.GzipFile, "bzip2": bz2.BZ2File, "xz": lzma.LZMAFile,
}  # fmt: skip
_SUFFIX = re.compile(r"\.(gz|bgz|bz2|xz)$")
BROKEN = EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError
"""What broken compression raises; bzip2 raises an OSError, which `decompressed` turns into one."""
KNOWN = "plain, gzip, bgzip, bzip2 or xz"


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


def without_compression(path: str | os.PathLike) -> str:
    """Return a path in small letters, without the suffix of a compression."""
    return _SUFFIX.sub("", str(path).lower())


def is_compressed_name(path: str | os.PathLike) -> bool:
    """Tell whether a path has the suffix of a compression."""
    return without_compression(Path(path)) != str(Path(path)).lower()


def check_bgzip_end(raw: BinaryIO) -> None:
    """Raise EOFError for bgzip cut between two blocks, which is no error to the module gzip."""
    raw.seek(-len(_BGZIP_END), os.SEEK_END)
    end = raw.read()
    raw.seek(0)
    if end != _BGZIP_END:
        raise EOFError("bgzip's end-of-file block is missing")


def decompressed(raw: BinaryIO, compression: str) -> io.BufferedReader:
    """Return the bytes of a compressed stream; what is wrong with it is one of `BROKEN`."""
    return io.BufferedReader(_Decompressed(raw, compression), _BLOCK)


class _Counted:
    """What is read of a stream, a pipe among them, counted."""

    def __init__(self, raw: BinaryIO):
        self._raw, self.size = raw, 0

    def read(self, size: int = -1) -> bytes:
        text = self._raw.read(size)
        self.size += len(text)
        return text


class _Decompressed(io.RawIOBase):
    """The bytes of a compressed file; one that explodes is a `gzip.BadGzipFile`."""

    def __init__(self, raw: BinaryIO, compression: str):
        self._raw, self._size = _Counted(raw), 0
        reader, self._is_bzip2 = _READERS[compression], compression == "bzip2"
        if reader is gzip.GzipFile:
            self._stream = gzip.GzipFile(fileobj=self._raw)
        else:
            self._stream = reader(self._raw)

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
