"""An index on disk: a folder with a header and two arrays. Here it is written.

The header has a checksum of each array's file and of itself, for an index is read again: what has
been changed since it was written is not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import OutputError
from gpu_tools.formats.files import replaced_when_complete
from gpu_tools.hardware.checksums import checksum_of
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.words import AMINO_ACID_CLASSES, WordScheme

FORMAT, VERSION = "gpu-tools genome index", 2
HEADER = "index.json"
ARRAYS = {"bounds": np.dtype(np.int64), "positions": np.dtype(np.uint32)}
PARAMETERS = "kind", "shapes", "sample", "genetic_code", "classes"


def save_index(
    folder: str | Path, words: WordScheme, records: Iterable[Sequence], arrays: dict[str, NDArray]
) -> None:
    """Write an index of a genome's records; see `GenomeIndex.save`."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # what replaces an index that is there must not stand beside its header
        (folder / HEADER).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    checksums = {}
    for name, dtype in ARRAYS.items():
        with replaced_when_complete(folder / f"{name}.npy") as temporary:
            np.save(temporary, arrays[name].astype(dtype, copy=False))
            checksums[name] = checksum_of(temporary)
    with replaced_when_complete(folder / HEADER) as temporary:
        header = {
            "format": FORMAT, "version": VERSION, **parameters(words), "genome": identity(records),
            "size_and_crc32": checksums,
        }  # fmt: skip
        header["crc32"] = header_checksum(header)
        temporary.write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


def header_checksum(header: dict[str, Any]) -> int:
    """Return the checksum of a header without its own."""
    own = {name: value for name, value in header.items() if name != "crc32"}
    return crc32(json.dumps(own, sort_keys=True).encode())


def parameters(words: WordScheme) -> dict[str, Any]:
    """Return what an index was made with, as its header has it."""
    return {**asdict(words), "shapes": list(words.shapes), "classes": AMINO_ACID_CLASSES}


def identity(records: Iterable[Sequence]) -> dict[str, Any]:
    """Return what tells a genome from others, as the header has it."""
    digest, names, lengths = sha256(), [], []
    for record in records:
        digest.update(np.ascontiguousarray(record.codes))
        names.append(record.name)
        lengths.append(len(record))
    return {"names": names, "lengths": lengths, "sha256": digest.hexdigest()}
