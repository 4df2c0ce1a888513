"""The index of a genome: where each word lies."""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.cpu.words import count_words, place_words
from gpu_tools.search.files import save_index
from gpu_tools.search.words import WordScheme

LARGEST = 2**32 - 1
LEAST_MEAN = 10.0
"""Occurrences that are few in any genome."""
_MOST_COUNTERS = 1 << 26


@dataclass(frozen=True)
class Genome:
    """Records as they stand one after the other, with symbols between two that no word crosses.

    Attributes
    ----------
    records : tuple of Sequence
    lengths : ndarray of int64
    apart : int
        Symbols between two records.
    """

    records: tuple[Sequence, ...] = field(repr=False)
    lengths: NDArray[np.int64]
    apart: int

    @classmethod
    def of(cls, records: List[Sequence], apart: int) -> Genome:
        """Return the genome of some records.

        Raises
        ------
        InputError
            If there is no nucleotide, or more than an index holds.
        """
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
        """Where each record begins."""
        return np.concatenate(([0], np.cumsum(self.lengths[:-1] + self.apart))).astype(np.int64)

    def symbols(self, words: WordScheme) -> NDArray[np.uint8]:
        """Return the symbols of all records, see `WordScheme.symbols`."""
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
        The least nucleotide of a word's first symbol, by shape, strand, word and position.
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
        """How often a word occurs on a strand, on average, `LEAST_MEAN` at least."""
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
    """Return an array as one that is not written, as mapped ones are.

    So compiled functions meet one type of array, and are compiled once.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def reading_of(words: WordScheme, shape: int, strand: int | None = None) -> tuple:
    """Return how compiled functions read words of a shape: of a strand, 0 or 1, or of targets."""
    classes = words.target_classes if strand is None else words.classes[strand]
    return words.offsets[shape], classes, words.n_classes, words.sample


def indexed(genome: Genome, words: WordScheme, threads: int) -> GenomeIndex:
    """Sort the words of both strands of a genome by word: count, then place.

    A task is a shape, a strand and a part of the genome; it counts its words by itself.
    """
    symbols = genome.symbols(words)
    lists = 2 * len(words.shapes)
    parts = max(min(threads, _MOST_COUNTERS // (lists * words.number)), 1)
    borders = [len(symbols) * k // parts for k in range(parts + 1)]
    spans = list(pairwise(borders))
    counts = np.zeros((lists, parts, words.number), np.int64)
    tasks = [(k, part) for k in range(lists) for part in range(parts)]

    def count(task: tuple[int, int]) -> None:
        (shape, strand), span = divmod(task[0], 2), spans[task[1]]
        step = -words.step if strand else words.step
        count_words(symbols, span, step, reading_of(words, shape, strand), counts[task])

    def place(task: tuple[int, int]) -> None:
        (shape, strand), span = divmod(task[0], 2), spans[task[1]]
        step = -words.step if strand else words.step
        place_words(
            symbols, span, step, reading_of(words, shape, strand), counts[task], positions
        )  # fmt: skip

    map_on_threads(threads, count, tasks)
    bounds = _to_cursors(counts)
    positions = np.empty(bounds[-1, -1], np.uint32)
    map_on_threads(threads, place, tasks)
    bounds = bounds.reshape(len(words.shapes), 2, words.number + 1)
    return GenomeIndex(genome, words, symbols, fixed(bounds), fixed(positions))


def _to_cursors(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn counts by list, part and word into first places, and return the bounds of words."""
    n_lists, n_parts, n_words = counts.shape
    bounds, before = np.zeros((n_lists, n_words + 1), np.int64), 0
    for k in range(n_lists):
        np.cumsum(counts[k].sum(axis=0), out=bounds[k, 1:])
        bounds[k] += before
        before, places = bounds[k, -1], bounds[k, :-1].copy()
        for part in range(n_parts):
            here = counts[k, part].copy()
            counts[k, part] = places
            places += here
    return bounds
