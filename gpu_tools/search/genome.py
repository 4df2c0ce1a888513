"""A genome that is searched: its records one after the other."""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.sequences import Sequence
from gpu_tools.search.words import WordScheme, fixed

LARGEST = 2**32 - 1


@dataclass(frozen=True)
class Genome:
    """Records one after the other, with symbols between them that no word crosses."""

    records: tuple[Sequence, ...] = field(repr=False)
    lengths: NDArray[np.int64]
    words: WordScheme

    @classmethod
    def of(cls, records: List[Sequence], words: WordScheme) -> Genome:
        """Return the genome of records; `InputError` if it is empty or too large."""
        genome = cls(tuple(records), np.array([len(r) for r in records], np.int64), words)
        if not genome.lengths.sum():
            raise InputError("a genome without nucleotides", expected="one at least")
        if genome.size > LARGEST:
            raise InputError(f"a genome of {genome.size} nucleotides", expected="less than 2^32")
        return genome

    @property
    def size(self) -> int:
        """Nucleotides and symbols between records."""
        return int(self.lengths.sum()) + self.words.reach * (len(self.records) - 1)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First position of each record."""
        return np.concatenate(([0], np.cumsum(self.lengths[:-1] + self.words.reach))).astype(
            np.int64
        )

    @cached_property
    def symbols(self) -> NDArray[np.uint8]:
        """The symbols of all records; see `WordScheme.symbols`."""
        if len(self.records) == 1:
            return fixed(self.words.symbols(self.records[0].codes))
        found = np.full(self.size, self.words.ambiguous, np.uint8)
        for record, start in zip(self.records, self.starts.tolist(), strict=True):
            found[start : start + len(record)] = self.words.symbols(record.codes)
        return fixed(found)
