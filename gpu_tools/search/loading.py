"""An index on disk is read: checked against its genome, and mapped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.checksums import checksum_of
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.files import (
    ARRAYS,
    FORMAT,
    HEADER,
    PARAMETERS,
    VERSION,
    header_checksum,
    identity,
    parameters,
)
from gpu_tools.search.index import Genome, GenomeIndex
from gpu_tools.search.options import SearchOptions
from gpu_tools.search.words import WordScheme

_WHOLE = "an index, saved complete"


class UnusableIndexError(InputError):
    """An index of another version, or whose files were changed, cut short or removed."""


def read_index(folder: Path, records: list[Sequence], options: SearchOptions) -> GenomeIndex:
    """Read an index and check it; see `gpu_tools.search.api.load_index`."""
    path = folder / HEADER
    header = _read_header(path)
    words = WordScheme.chosen(header["kind"], sum(map(len, records)), options)
    _check_same(path, header, parameters(words))
    genome = Genome.of(records, words.reach)
    _check_genome(path, header["genome"], identity(genome.records))
    arrays = {name: _mapped(folder / f"{name}.npy", header, name) for name in ARRAYS}
    return GenomeIndex(genome, words, genome.symbols(words), **arrays)


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _unreadable(path, error) from None
    except ValueError:
        raise _damaged(path) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("no header of an index", path=path, expected=f"the format {FORMAT!r}")
    if header.get("version") != VERSION:
        raise UnusableIndexError(
            f"version {header.get('version')} of an index", path=path, expected=f"{VERSION}"
        )
    if header.get("crc32") != header_checksum(header):
        raise _damaged(path)
    return header


def _check_same(path: Path, header: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in PARAMETERS:
        if header[name] != expected[name]:
            raise InputError(
                f"an index with {name} {_shown(header[name])}", path=path,
                expected=_shown(expected[name]),
            )  # fmt: skip


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _check_genome(path: Path, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise `InputError` if an index was made of another genome."""
    for name, what in {
        "names": "names of records", "lengths": "lengths of records", "sha256": "nucleotides",
    }.items():  # fmt: skip
        if found[name] != expected[name]:
            raise InputError(
                f"an index of another genome: the {what} differ", path=path,
                expected="an index that was made of this genome",
            )  # fmt: skip


def _mapped(path: Path, header: dict[str, Any], name: str) -> NDArray:
    """Map an array's file, whose content must be what was written: all of it is read."""
    try:
        if checksum_of(path) != header["size_and_crc32"][name]:
            raise _damaged(path)
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: OSError) -> InputError:
    kind = UnusableIndexError if isinstance(error, FileNotFoundError) else InputError
    return kind(f"cannot be read ({error.strerror or error})", path=path, expected=_WHOLE)


def _damaged(path: Path) -> InputError:
    return UnusableIndexError("it is damaged or cut short", path=path, expected=_WHOLE)
