"""Checksums of files that are kept and read again: damage is seen before the content is used."""

from __future__ import annotations

from os import PathLike
from zlib import crc32

_CHUNK = 1 << 20


def checksum_of(path: str | PathLike) -> list[int]:
    """Return a file's size and CRC-32, which takes a second for some 2 GB.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    size = checksum = 0
    with open(path, "rb") as stream:
        while chunk := stream.read(_CHUNK):
            size, checksum = size + len(chunk), crc32(chunk, checksum)
    return [size, checksum]
