"""An index on disk: a folder with a header and two arrays, which are mapped when it is read."""

from __future__ import annotations

import json
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import replaced_when_complete
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.index import Genome, GenomeIndex
from gpu_tools.search.options import KINDS, SearchOptions
from gpu_tools.search.words import AMINO_ACID_CLASSES, WordScheme

FORMAT, VERSION = "gpu-tools genome index", 1
HEADER = "index.json"
ARRAYS = {"bounds": np.dtype(np.int64), "positions": np.dtype(np.uint32)}
_PARAMETERS = "kind", "shapes", "sample", "genetic_code", "classes"


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
        "format": FORMAT, "version": VERSION, **_parameters(index.words),
        "genome": _identity(index.genome),
        "shapes_of_arrays": {name: list(getattr(index, name).shape) for name in ARRAYS},
    }  # fmt: skip


def _parameters(words: WordScheme) -> dict[str, Any]:
    return {**asdict(words), "shapes": list(words.shapes), "classes": AMINO_ACID_CLASSES}


def _identity(genome: Genome) -> dict[str, Any]:
    digest = sha256()
    for record in genome.records:
        digest.update(np.ascontiguousarray(record.codes))
    return {
        "names": [record.name for record in genome.records], "lengths": genome.lengths.tolist(),
        "sha256": digest.hexdigest(),
    }  # fmt: skip


def read_index(folder: Path, records: list[Sequence], options: SearchOptions) -> GenomeIndex:
    """Read an index and check it; see `gpu_tools.search.api.load_index`."""
    path = folder / HEADER
    header = _read_header(path)
    if header["kind"] not in KINDS:
        raise _damaged(path, f"an index of kind {header['kind']}")
    words = WordScheme.chosen(header["kind"], sum(map(len, records)), options)
    _check_same(path, header, _parameters(words))
    genome = Genome.of(records, words.reach)
    _check_genome(path, header["genome"], _identity(genome))
    arrays = {name: _mapped(folder / f"{name}.npy", header, name) for name in ARRAYS}
    bounds = arrays["bounds"]
    rising = (np.diff(bounds.ravel()) >= 0).all() and bounds[0, 0, 0] == 0
    expected_shape = len(words.shapes), 2, words.number + 1
    if bounds.shape != expected_shape or not rising or bounds.max() != len(arrays["positions"]):
        raise _damaged(folder / "bounds.npy", "its bounds do not fit the positions")
    return GenomeIndex(genome, words, genome.symbols(words), **arrays)


def _read_header(path: Path) -> dict[str, Any]:
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", path=path, expected="an index, saved complete"
        ) from None
    except ValueError:
        raise _damaged(path, "it is no JSON") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("no header of an index", path=path, expected=f"the format {FORMAT!r}")
    if header.get("version") != VERSION:
        raise InputError(
            f"version {header.get('version')} of an index", path=path, expected=f"{VERSION}"
        )
    if not {*_PARAMETERS, "genome", "shapes_of_arrays"} <= set(header):
        raise _damaged(path, "parts of the header are missing")
    return header


def _check_same(path: Path, header: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in _PARAMETERS:
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
        if not isinstance(found, dict) or found.get(name) != expected[name]:
            raise InputError(
                f"an index of another genome: the {what} differ", path=path,
                expected="an index that was made of this genome",
            )  # fmt: skip


def _mapped(path: Path, header: dict[str, Any], name: str) -> NDArray:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise InputError(problem, path=path, expected="an index, saved complete") from None
    except (ValueError, EOFError):
        raise _damaged(path, "it is damaged or cut short") from None
    shape = header["shapes_of_arrays"].get(name)
    if array.dtype != ARRAYS[name] or list(array.shape) != shape:
        raise _damaged(path, f"it has shape {list(array.shape)} and type {array.dtype}", shape)
    return array


def _damaged(path: Path, problem: str, shape: Any = None) -> InputError:
    expected = "an index, saved complete"
    if shape is not None:
        expected += f", of shape {shape}"
    return InputError(problem, path=path, expected=expected)
