"""The index of a genome: the positions of its words, in memory and on disk.

On disk it is a folder with a header and two arrays, which are mapped when they are read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Sequence as List
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import replaced_when_complete
from gpu_tools.hardware.own_files import checksum_of
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.sequences import Sequence
from gpu_tools.search import words as scheme
from gpu_tools.search.words import SearchOptions, WordScheme

LARGEST = 2**32 - 1
LEAST_MEAN = 10.0
"""Least mean number of occurrences of a word that counts for repeats."""
_MOST_COUNTERS = 1 << 26
"""Limit of the counters of words of all tasks."""
FORMAT, VERSION = "gpu-tools genome index", 2
HEADER = "index.json"
ARRAYS = {"bounds": np.dtype(np.int64), "positions": np.dtype(np.uint32)}
PARAMETERS = "kind", "shapes", "sample", "genetic_code", "classes"
_WHOLE = "an index, saved complete"


@dataclass(frozen=True)
class Genome:
    """Records one after the other, with symbols between them that no word crosses."""

    records: tuple[Sequence, ...] = field(repr=False)
    lengths: NDArray[np.int64]
    apart: int  # symbols between two records

    @classmethod
    def of(cls, records: List[Sequence], apart: int) -> Genome:
        """Return the genome of records; `InputError` if it is empty or too large."""
        genome = cls(tuple(records), np.array([len(r) for r in records], np.int64), apart)
        if not genome.lengths.sum():
            raise InputError("a genome without nucleotides", expected="one at least")
        if genome.size > LARGEST:
            raise InputError(f"a genome of {genome.size} nucleotides", expected="less than 2^32")
        return genome

    @property
    def size(self) -> int:
        """Nucleotides and symbols between records."""
        return int(self.lengths.sum()) + self.apart * (len(self.records) - 1)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First position of each record."""
        return np.concatenate(([0], np.cumsum(self.lengths[:-1] + self.apart))).astype(np.int64)

    def symbols(self, words: WordScheme) -> NDArray[np.uint8]:
        """Return the symbols of all records; see `WordScheme.symbols`."""
        if len(self.records) == 1:
            found = words.symbols(self.records[0].codes)
        else:
            found = np.full(self.size, words.ambiguous, np.uint8)
            for record, start in zip(self.records, self.starts.tolist(), strict=True):
                found[start : start + len(record)] = words.symbols(record.codes)
        return fixed(found)


@dataclass(frozen=True)
class GenomeIndex:
    """Positions of the words of a genome; see `gpu_tools.search.api.build_index`.

    Parameters
    ----------
    genome : Genome
    words : WordScheme
    symbols : ndarray of uint8
        Of the genome.
    bounds : ndarray of int64, shape (shapes, 2, words + 1)
        Where the positions of each word of each shape and strand begin, and where the last ones
        end.
    positions : ndarray of uint32
        The lowest position of a word's first symbol, by shape, strand, word and position.
    """

    genome: Genome
    words: WordScheme
    symbols: NDArray[np.uint8] = field(repr=False)
    bounds: NDArray[np.int64] = field(repr=False)
    positions: NDArray[np.uint32] = field(repr=False)

    @property
    def kind(self) -> str:
        """Either ``protein`` or ``cdna``."""
        return self.words.kind

    @property
    def mean(self) -> float:
        """Mean occurrences of a word on a strand, at least `LEAST_MEAN`."""
        lists = 2 * len(self.words.shapes) * self.words.number / self.words.sample
        return max(len(self.positions) / lists, LEAST_MEAN)

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder, which is made if it is missing.

        A file appears when it is complete, the header last: a folder without one is no index.

        Raises
        ------
        OutputError
            If the folder or a file cannot be written.
        """
        arrays = {"bounds": self.bounds, "positions": self.positions}
        save_index(folder, self.words, self.genome.records, arrays)


def fixed(array: NDArray) -> NDArray:
    """Return a read-only view, like mapped arrays: functions are compiled for one type."""
    view = array.view()
    view.flags.writeable = False
    return view


def reading_of(words: WordScheme, shape: int, strand: int | None = None) -> tuple:
    """Return the inputs of `words.word_at` for a shape, on a strand, 0 or 1, or of targets."""
    classes = words.target_classes if strand is None else words.classes[strand]
    return words.offsets[shape], classes, words.n_classes, words.sample


def indexed(genome: Genome, words: WordScheme, threads: int) -> GenomeIndex:
    """Sort the positions of both strands by word: count the words, then place the positions.

    A task is a shape, a strand and a part of the genome, with counters of its own.
    """
    symbols = genome.symbols(words)
    lists = 2 * len(words.shapes)
    parts = max(min(threads, _MOST_COUNTERS // (lists * words.number)), 1)
    borders = [len(symbols) * k // parts for k in range(parts + 1)]
    spans = list(pairwise(borders))
    # a list has fewer than 2^32 positions, and narrow counters stay in the cache
    counts = np.zeros((lists, parts, words.number), np.uint32)
    tasks = [(k, part) for k in range(lists) for part in range(parts)]

    def inputs(task: tuple[int, int]) -> tuple:
        (shape, strand), span = divmod(task[0], 2), spans[task[1]]
        step = -words.step if strand else words.step
        return symbols, span, step, reading_of(words, shape, strand), counts[task]

    map_on_threads(threads, lambda task: scheme.count_words(*inputs(task)), tasks)
    bounds = np.empty((lists, words.number + 1), np.int64)
    scheme.to_cursors(counts, bounds)
    positions = np.empty(bounds[-1, -1], np.uint32)

    def place(task: tuple[int, int]) -> None:
        scheme.place_words(*inputs(task), positions[bounds[task[0], 0] :])

    map_on_threads(threads, place, tasks)
    bounds = bounds.reshape(len(words.shapes), 2, words.number + 1)
    return GenomeIndex(genome, words, symbols, fixed(bounds), fixed(positions))


# ---- on disk: a header and two arrays, each with a checksum; what was changed since is not used


def save_index(
    folder: str | Path, words: WordScheme, records: Iterable[Sequence], arrays: dict[str, NDArray]
) -> None:
    """Write an index of a genome's records; see `GenomeIndex.save`."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # the header of a replaced index must not lie beside the new arrays
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
            "format": FORMAT,
            "version": VERSION,
            **parameters(words),
            "genome": identity(records),
            "size_and_crc32": checksums,
        }
        header["crc32"] = header_checksum(header)
        temporary.write_text(json.dumps(header, indent=2) + "\n", encoding="utf-8")


def header_checksum(header: dict[str, Any]) -> int:
    """Return the checksum of a header without its own."""
    own = {name: value for name, value in header.items() if name != "crc32"}
    return crc32(json.dumps(own, sort_keys=True).encode())


def parameters(words: WordScheme) -> dict[str, Any]:
    """Return the parameters of an index for its header."""
    return {**asdict(words), "shapes": list(words.shapes), "classes": scheme.AMINO_ACID_CLASSES}


def identity(records: Iterable[Sequence]) -> dict[str, Any]:
    """Return names, lengths and digest of a genome for the header."""
    digest, names, lengths = sha256(), [], []
    for record in records:
        digest.update(np.ascontiguousarray(record.codes))
        names.append(record.name)
        lengths.append(len(record))
    return {"names": names, "lengths": lengths, "sha256": digest.hexdigest()}


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
        problem = f"version {header.get('version')} of an index"
        raise UnusableIndexError(problem, path=path, expected=f"{VERSION}")
    if header.get("crc32") != header_checksum(header):
        raise _damaged(path)
    return header


def _check_same(path: Path, header: dict[str, Any], expected: dict[str, Any]) -> None:
    for name in PARAMETERS:
        if header[name] != expected[name]:
            problem = f"an index with {name} {_shown(header[name])}"
            raise InputError(problem, path=path, expected=_shown(expected[name]))


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _check_genome(path: Path, found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Raise `InputError` for an index of another genome."""
    parts = {"names": "names of records", "lengths": "lengths of records", "sha256": "nucleotides"}
    for name, part in parts.items():
        if found[name] != expected[name]:
            problem = f"an index of another genome: the {part} differ"
            raise InputError(problem, path=path, expected="an index that was made of this genome")


def _mapped(path: Path, header: dict[str, Any], name: str) -> NDArray:
    """Map an array's file after its checksum was compared, for which all of it is read."""
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
