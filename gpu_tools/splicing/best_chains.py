"""Several chains of one pair: the best ones that share no aligned pair of symbols.

Chain k is the best of all chains that use none of the aligned pairs of chains 1 to k - 1. A banned
pair is left out in the recurrence: in a sweep its score is that of both symbols unaligned, which is
never better than the two gaps themselves, and a traceback does not walk over it. So scores stay
exact, every bound from above holds, and no cell leaves the range that it has without banned pairs.

Strands share no pair. So a further chain changes the best chain of its own strand alone, and only
that strand is swept again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.splicing.rows import empty_score


class BannedPairs(NamedTuple):
    """B pairs of a strand's nucleotide and a target's symbol that no chain aligns.

    Nucleotides count along the strand in reading direction. What a pair of a protein is, a codon by
    one of its nucleotides, its engine says.
    """

    rows: NDArray[np.int64]  # (B,) 0-based nucleotides, rising
    columns: NDArray[np.int64]  # (B,) 0-based symbols of the target, rising within a row

    @classmethod
    def of(cls, rows, columns) -> BannedPairs:
        """Return pairs, in any order, as banned ones; each counts once."""
        pairs = np.stack([np.asarray(rows, np.int64), np.asarray(columns, np.int64)])
        return cls(*np.ascontiguousarray(np.unique(pairs, axis=1)))

    def with_more(self, more: BannedPairs) -> BannedPairs:
        """Return these pairs and more."""
        return BannedPairs.of(*map(np.concatenate, zip(self, more, strict=True)))

    def part(self, start: int, end: int) -> BannedPairs:
        """Return the pairs of the nucleotides `start` to ``end - 1``, which count from 0 then."""
        own = slice(*np.searchsorted(self.rows, [start, end]))
        return BannedPairs(self.rows[own] - start, self.columns[own])

    def of_symbols(self, start: int, end: int) -> BannedPairs:
        """Return the pairs of the symbols `start` to ``end - 1``, which count from 0 then."""
        own = (self.columns >= start) & (self.columns < end)
        return BannedPairs(self.rows[own], self.columns[own] - start)


NO_PAIRS = BannedPairs(np.empty(0, np.int64), np.empty(0, np.int64))
"""No banned pairs."""


@njit(nogil=True)
def banned_of_row(banned, row):
    """Return the number of the first pair of a nucleotide, and of the first one behind it."""
    rows = banned.rows
    first = first_from(rows, row)
    past = first
    while past < len(rows) and rows[past] == row:
        past += 1
    return first, past


@njit(nogil=True)
def is_banned(banned, row, column):
    """Return whether a pair is banned."""
    first, past = banned_of_row(banned, row)
    found = False
    for k in range(first, past):
        found |= banned.columns[k] == column
    return found


@njit(nogil=True, error_model="numpy")
def next_banned(banned, row):
    """Return the boundary behind the first nucleotide from one on with a banned pair, or -1."""
    number = first_from(banned.rows, row)
    return banned.rows[number] + 1 if number < len(banned.rows) else np.int64(-1)


@njit(nogil=True, error_model="numpy")
def ban_pairs(profile, symbol, first, banned, numbers, gap):
    """Give banned pairs of a symbol of the base the score of two gaps.

    The profile, of rows by symbol, is that of a strip that begins with column `first`, see
    `gpu_tools.splicing.rows`; `numbers` are that of the first pair and the one behind the last.
    """
    for k in range(numbers[0], numbers[1]):
        place = _place_of(banned.columns[k] + 1 - first, profile)
        if place >= 0:
            profile[symbol, place] = gap


@njit(nogil=True, error_model="numpy")
def allow_pairs(profile, symbol, first, target, numbers):
    """Give banned pairs, see `ban_pairs`, the score of their symbols again.

    `target` has its `symbols`, `lifted` scores and the `banned` pairs.
    """
    for k in range(numbers[0], numbers[1]):
        column = target.banned.columns[k]
        place = _place_of(column + 1 - first, profile)
        if place >= 0:
            profile[symbol, place] = target.lifted[symbol, target.symbols[column]]


@njit(nogil=True, error_model="numpy")
def _place_of(column, profile):
    """Return the element of a strip's column, or -1 for a column outside of it."""
    width, lanes = profile.shape[1], simd.VECTOR_BYTES // profile.itemsize
    if column < 0 or column >= width:
        return np.int64(-1)
    return column % (width // lanes) * lanes + column // (width // lanes)


@njit(nogil=True)
def banned_within(banned, start, end, first, past):
    """Return the pairs of some nucleotides and of target symbols, counted from the first ones."""
    low, high, n = first_from(banned.rows, start), first_from(banned.rows, end), 0
    rows, columns = np.empty(high - low, np.int64), np.empty(high - low, np.int64)
    for k in range(low, high):
        if first <= banned.columns[k] < past:
            rows[n], columns[n], n = banned.rows[k] - start, banned.columns[k] - first, n + 1
    return BannedPairs(rows[:n], columns[:n])


def aligned_pairs(alignment: SplicedAlignment) -> BannedPairs:
    """Return the pairs of nucleotides that a chain aligns, on its strand."""
    row, column = alignment.chain[0][0], alignment.target_start
    if alignment.strand == "-":
        row = alignment.base_length - alignment.chain[0][1]
    rows, columns = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for letter, n in alignment.cigar:
        if letter in "=X":
            rows.append(np.arange(row, row + n))
            columns.append(np.arange(column, column + n))
        row += n * (letter != "I")
        column += n * (letter not in "DN")
    return BannedPairs(np.concatenate(rows), np.concatenate(columns))


@dataclass(frozen=True, kw_only=True)
class PairCase(ABC):
    """What the cases of all modes share: a base, a target, and pairs that no chain aligns.

    Parameters
    ----------
    banned : dict of str to BannedPairs
        By strand, ``+`` or ``-``; none by default.
    """

    banned: Mapping[str, BannedPairs] = field(default_factory=dict)

    @property
    @abstractmethod
    def strands(self) -> list[str]:
        """The strands that are tried, ``+`` first."""

    @abstractmethod
    def on_strand(self, strand: str) -> Self:
        """Return the case of one strand."""

    def without_pairs_of(self, alignment: Any) -> Self:
        """Return the case whose chains also use none of the pairs that a chain aligns."""
        strand, more = alignment.strand, self.pairs_of(alignment)
        more = self.banned.get(strand, NO_PAIRS).with_more(more)
        return replace(self, banned={**self.banned, strand: more})

    def pairs_of(self, alignment: Any) -> BannedPairs:
        """Return the pairs that a chain aligns."""
        return aligned_pairs(alignment)

    def empty_score(self, scoring: Any) -> int:
        """Return the score of a chain that aligns nothing."""
        return empty_score(self.target.codes, scoring)

    def check_banned(self) -> None:
        """Raise `InputError` if a banned pair does not lie within base and target."""
        for strand, pairs in self.banned.items():
            if strand not in ("+", "-"):
                raise InputError(f"strand {strand!r}", record=self.base.name, expected="+ or -")
            for values, length in zip(pairs, (len(self.base), len(self.target)), strict=True):
                if len(values) and not (values.min() >= 0 and values.max() < length):
                    raise InputError(
                        "a banned pair outside of the sequences", record=self.base.name,
                        expected=f"positions from 0 to {length - 1}",
                    )  # fmt: skip


class RankedChain(NamedTuple):
    """A chain with its rank, and its case, whose banned pairs are those of the chains before."""

    case: PairCase
    alignment: Any


def best_chains(
    cases: Sequence[PairCase],
    firsts: Sequence[Any],
    most: int,
    align: Callable[[list], Sequence[Any]],
    scoring: Any,
    goes_on: Callable[[int, Any], bool] = lambda number, alignment: True,
) -> list[list[RankedChain]]:
    """Return for each case its best chains that share no aligned pair.

    `firsts` are the best chains of the cases, and `align` aligns other cases as these were. A case
    has `most` chains, or all before the first one that aligns no pair, scores no more than a chain
    that aligns nothing, or for which `goes_on`, called with the number of its case, says no; but
    its first chain always. Of equal scores the chain on ``+`` comes first.
    """
    found = [
        [RankedChain(case, first.changed(rank=1))]
        for case, first in zip(cases, firsts, strict=True)
    ]
    bests: list[dict[str, Any]] = [{} for _ in cases]  # the best chain of each strand, if known
    if most > 1:
        going = [k for k, (first,) in enumerate(found) if _goes_on(k, first, scoring, goes_on)]
    for rank in range(2, most + 1):
        nexts = {k: found[k][-1].case.without_pairs_of(found[k][-1].alignment) for k in going}
        for k in going:
            bests[k].pop(found[k][-1].alignment.strand, None)
        jobs = [(k, s) for k in going for s in nexts[k].strands if s not in bests[k]]
        aligned = align([nexts[k].on_strand(strand) for k, strand in jobs]) if jobs else []
        for (k, strand), one in zip(jobs, aligned, strict=True):
            bests[k][strand] = one
        for k, case in nexts.items():
            own = [bests[k][s] for s in case.strands if bests[k][s].chain]
            best = max(own, key=lambda one: one.score, default=None)
            if best is not None:
                chain = RankedChain(
                    case, best.changed(rank=rank, cells=found[k][0].alignment.cells)
                )
                found[k] += [chain] * _goes_on(k, chain, scoring, goes_on)
        going = [k for k in going if len(found[k]) == rank]
    return found


def with_further(
    cases: Sequence[PairCase], firsts: Sequence[Any], most: int, align: Callable, scoring: Any,
    least: Sequence[int] | None = None,
) -> list:  # fmt: skip
    """Return the first chains, or with `most` above 1 up to so many of each case by case and rank.

    `least` has the least score of each case whose further chains are wanted.
    """
    if most < 1:
        raise ValueError(f"best {most}; expected at least 1")
    if most == 1:
        return list(firsts)

    def goes_on(k: int, alignment: Any) -> bool:
        return least is None or alignment.score >= least[k]

    chains = best_chains(cases, firsts, most, align, scoring, goes_on)
    return [chain.alignment for own in chains for chain in own]


def _goes_on(number: int, chain: RankedChain, scoring: Any, goes_on: Callable) -> bool:
    """Return whether a chain aligns a pair, scores more than the empty one, and `goes_on`."""
    case, alignment = chain
    return (
        bool(alignment.chain)
        and len(case.pairs_of(alignment).rows) > 0
        and alignment.score > case.empty_score(scoring)
        and goes_on(number, alignment)
    )
