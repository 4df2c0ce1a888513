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
from gpu_tools.model.sequences import OTHER, Sequence
from gpu_tools.search.cpu.words import count_words, place_words
from gpu_tools.search.words import WordScheme

LARGEST = 2**32 - 1
_MOST_COUNTERS = 1 << 26


@dataclass(frozen=True)
class Genome:
    """Records one after the other, with ambiguity codes between two, which no word crosses.

    Attributes
    ----------
    names : tuple of str
    lengths : ndarray of int64
    codes : ndarray of uint8
    apart : int
        Ambiguity codes between two records.
    """

    names: tuple[str, ...]
    lengths: NDArray[np.int64]
    codes: NDArray[np.uint8] = field(repr=False)
    apart: int

    @classmethod
    def of(cls, records: List[Sequence], apart: int) -> Genome:
        """Join records.

        Raises
        ------
        InputError
            If there is no nucleotide, or more than an index holds.
        """
        lengths = np.array([len(record) for record in records], np.int64)
        size = int(lengths.sum()) + apart * max(len(records) - 1, 0)
        if not lengths.sum():
            raise InputError("a genome without nucleotides", expected="one at least")
        if size > LARGEST:
            raise InputError(f"a genome of {size} nucleotides", expected="less than 2^32")
        names = tuple(record.name for record in records)
        if len(records) == 1:
            return cls(names, lengths, records[0].codes, apart)
        genome = cls(names, lengths, np.full(size, OTHER, np.uint8), apart)
        for record, start in zip(records, genome.starts.tolist(), strict=True):
            genome.codes[start : start + len(record)] = record.codes
        return genome

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each record begins."""
        return np.concatenate(([0], np.cumsum(self.lengths[:-1] + self.apart))).astype(np.int64)


@dataclass(frozen=True)
class GenomeIndex:
    """Positions of the words of a genome; see `gpu_tools.search.api.build_index`.

    Attributes
    ----------
    genome : Genome
    words : WordScheme
    bounds : ndarray of int64, shape (shapes, 2, words + 1)
        Where the positions of each word of each shape and strand begin, and where the last ones
        end.
    positions : ndarray of uint32
        The least nucleotide of a word's first symbol, by shape, strand, word and position.
    """

    genome: Genome
    words: WordScheme
    bounds: NDArray[np.int64] = field(repr=False)
    positions: NDArray[np.uint32] = field(repr=False)

    @property
    def kind(self) -> str:
        """Either ``protein`` or ``cdna``."""
        return self.words.kind

    @cached_property
    def symbols(self) -> NDArray[np.uint8]:
        """Symbols of the genome, see `WordScheme.symbols`."""
        return self.words.symbols(self.genome.codes)

    @property
    def mean(self) -> float:
        """How often a word occurs on a strand, on average."""
        lists = 2 * len(self.words.shapes) * self.words.number / self.words.sample
        return max(len(self.positions) / lists, 1.0)

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder, which is made if it is missing.

        A file appears when it is complete, the header last: a folder without one is no index.

        Raises
        ------
        OutputError
            If the folder or a file cannot be written.
        """
        from gpu_tools.search.files import save_index

        save_index(self, folder)


def reading_of(words: WordScheme, shape: int, strand: int | None = None) -> tuple:
    """Return how compiled functions read words of a shape: of a strand, 0 or 1, or of targets."""
    classes = words.target_classes if strand is None else words.classes[strand]
    return words.offsets[shape], classes, words.n_classes, words.sample


def indexed(genome: Genome, words: WordScheme, threads: int) -> GenomeIndex:
    """Sort the words of both strands of a genome by word: count, then place.

    A task is a shape, a strand and a part of the genome; it counts its words by itself.
    """
    symbols = words.symbols(genome.codes)
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
    for array in (bounds, positions):
        array.flags.writeable = False  # as mapped arrays are: functions are compiled once
    return GenomeIndex(genome, words, bounds, positions)


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
