"""An index on disk is read: checked against its genome, and mapped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.files import (
    ARRAYS,
    FORMAT,
    HEADER,
    PARAMETERS,
    VERSION,
    identity,
    parameters,
)
from gpu_tools.search.index import Genome, GenomeIndex
from gpu_tools.search.options import KINDS, SearchOptions
from gpu_tools.search.words import WordScheme


def read_index(folder: Path, records: list[Sequence], options: SearchOptions) -> GenomeIndex:
    """Read an index and check it; see `gpu_tools.search.api.load_index`."""
    path = folder / HEADER
    header = _read_header(path)
    if header["kind"] not in KINDS:
        raise _damaged(path, f"an index of kind {header['kind']}")
    words = WordScheme.chosen(header["kind"], sum(map(len, records)), options)
    _check_same(path, header, parameters(words))
    genome = Genome.of(records, words.reach)
    _check_genome(path, header["genome"], identity(genome.records))
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
    if not {*PARAMETERS, "genome", "shapes_of_arrays"} <= set(header):
        raise _damaged(path, "parts of the header are missing")
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
