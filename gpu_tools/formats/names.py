"""What the name of a file says of its format and compression."""

from __future__ import annotations

import os
from pathlib import Path

from gpu_tools.errors import InputError

_GZIP_SUFFIXES = (".gz", ".bgz")
_OTHER_NAMES = {".gff": ".gff3"}
_PLAIN_ONLY = (".bam", ".svg", ".png", ".xml")
"""Formats that are compressed already, or that their readers do not take compressed."""


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
