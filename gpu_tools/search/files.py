"""An index on disk: a folder with a header and two arrays. Here it is written."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gpu_tools.errors import OutputError
from gpu_tools.formats.files import replaced_when_complete
from gpu_tools.search.words import AMINO_ACID_CLASSES, WordScheme

if TYPE_CHECKING:
    from gpu_tools.search.index import Genome, GenomeIndex

FORMAT, VERSION = "gpu-tools genome index", 1
HEADER = "index.json"
ARRAYS = {"bounds": np.dtype(np.int64), "positions": np.dtype(np.uint32)}
PARAMETERS = "kind", "shapes", "sample", "genetic_code", "classes"


def save_index(index: GenomeIndex, folder: str | Path) -> None:
    """Write an index; see `GenomeIndex.save`."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # what replaces an index that is there must not stand beside its header
        (folder / HEADER).unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written ({error.strerror})") from None
    for name, dtype in ARRAYS.items():
        with replaced_when_complete(folder / f"{name}.npy") as temporary:
            np.save(temporary, getattr(index, name).astype(dtype, copy=False))
    with replaced_when_complete(folder / HEADER) as temporary:
        temporary.write_text(json.dumps(_header(index), indent=2) + "\n", encoding="utf-8")


def _header(index: GenomeIndex) -> dict[str, Any]:
    return {
        "format": FORMAT, "version": VERSION, **parameters(index.words),
        "genome": identity(index.genome),
        "shapes_of_arrays": {name: list(getattr(index, name).shape) for name in ARRAYS},
    }  # fmt: skip


def parameters(words: WordScheme) -> dict[str, Any]:
    """Return what an index was made with, as its header has it."""
    return {**asdict(words), "shapes": list(words.shapes), "classes": AMINO_ACID_CLASSES}


def identity(genome: Genome) -> dict[str, Any]:
    """Return what tells a genome from others, as the header has it."""
    digest = sha256()
    for record in genome.records:
        digest.update(np.ascontiguousarray(record.codes))
    return {
        "names": [record.name for record in genome.records], "lengths": genome.lengths.tolist(),
        "sha256": digest.hexdigest(),
    }  # fmt: skip
