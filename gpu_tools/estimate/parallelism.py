"""What the candidate exons of a strand allow to be computed side by side.

A. Nolasco, "Soluções em GPU para o problema do alinhamento spliced", UFMS, 2014, chapter 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.case import Case, check_cases

BIN = 32
"""Lengths of exons that share a bin of the histogram."""
_ROWS_OF_A_LANE, _COLUMNS_OF_A_CHUNK = 8, 32
"""How the kernel of list mode holds an exon, and in which portions the target streams past."""


class Histogram(NamedTuple):
    """How often lengths or sizes occur.

    Parameters
    ----------
    name : str
        ``exon_length``, ``group_size`` or ``entry_size``.
    width : int
        Values that share a bin; bin k counts values from ``k * width + 1`` to ``(k + 1) * width``.
    counts : dict of int to int
        By bin, rising; bins of nothing are left out.
    """

    name: str
    width: int
    counts: dict[int, int]


class StrandParallelism(NamedTuple):
    """What a strand's distinct exons allow.

    Attributes
    ----------
    exons, rows : int
        Exons, and the sum of their lengths.
    merged_rows, tracks, ends : int
        Rows where exons of one start share theirs, distinct starts, distinct ends.
    group_sizes : tuple of int
        Exons of each group of the source: none of a group can precede another of it.
    longest_of_groups : int
        Sum over these groups of the longest exon's length.
    entry_sizes : tuple of int
        Distinct starts before which the same exons end, for each such set.
    longest_delay : int
        Largest sum over exons that follow each other of the chunks of columns by which the next one
        is behind on a GPU.
    longest_exon, largest_bonus : int
        Length of the longest exon, and the largest magnitude of an exon's bonus.
    chain_bonus : int
        What the bonuses of a chain come to at most.
    """

    exons: int
    rows: int
    merged_rows: int
    tracks: int
    ends: int
    group_sizes: tuple[int, ...]
    longest_of_groups: int
    entry_sizes: tuple[int, ...]
    longest_delay: int
    longest_exon: int
    largest_bonus: int
    chain_bonus: int

    @property
    def longest_chain(self) -> int:
        """Most exons of which each ends before the next one starts.

        That is the number of groups: each is closed behind the exon of it that ends first, and
        these exons are a chain, with one exon a group at most.
        """
        return len(self.group_sizes)

    @property
    def stored_rows(self) -> int:
        """Rows that a sweep of list mode stores: above each track, and behind each end."""
        return self.ends + self.tracks


def strand_parallelism(
    starts: NDArray[np.int64], ends: NDArray[np.int64], bonus: NDArray[np.int64]
) -> StrandParallelism:
    """Work out what distinct exons of one strand allow.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (B,)
        One exon or more, half-open, in any order, in the strand's reading direction.
    bonus : ndarray of int64, shape (B,)
        What each exon adds to a chain's score beside its alignment.
    """
    order = np.lexsort((ends, starts))
    starts, ends, bonus = starts[order], ends[order], bonus[order]
    lengths, firsts = ends - starts, np.flatnonzero(np.diff(starts, prepend=-1))
    distinct_ends = np.unique(ends)
    bounds = group_bounds(starts, ends)
    before = np.searchsorted(distinct_ends, starts[firsts], side="right")
    chunks = 1 + lengths // (_ROWS_OF_A_LANE * _COLUMNS_OF_A_CHUNK)
    return StrandParallelism(
        exons=len(starts),
        rows=int(lengths.sum()),
        merged_rows=int(np.maximum.reduceat(lengths, firsts).sum()),
        tracks=len(firsts),
        ends=len(distinct_ends),
        group_sizes=tuple(np.diff(bounds).tolist()),
        longest_of_groups=int(np.maximum.reduceat(lengths, bounds[:-1]).sum()),
        entry_sizes=tuple(np.unique(before, return_counts=True)[1].tolist()),
        longest_delay=heaviest_chain(starts, ends, chunks),
        longest_exon=int(lengths.max()),
        largest_bonus=int(np.abs(bonus).max()),
        chain_bonus=heaviest_chain(starts, ends, np.maximum(bonus, 0)),
    )


def group_bounds(starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[int]:
    """Return where the source's groups of exons begin, and last, the number of exons.

    A group is closed by the first exon, in order, that starts past the smallest end in it.

    Parameters
    ----------
    starts, ends : ndarray of int64, shape (B,)
        One exon or more, half-open, ordered by start.
    """
    bounds, smallest = [0], ends[0]
    for k, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if start >= smallest:
            bounds.append(k)
            smallest = end
        smallest = min(smallest, end)
    return [*bounds, len(starts)]


def heaviest_chain(
    starts: NDArray[np.int64], ends: NDArray[np.int64], weights: NDArray[np.int64]
) -> int:
    """Return the largest sum of weights of exons of which each ends before the next one starts.

    Parameters
    ----------
    starts, ends, weights : ndarray of int64, shape (B,)
        Exons, half-open, ordered by start.
    """
    by_end, best_with = np.argsort(ends, kind="stable").tolist(), [0] * len(starts)
    ended, best = 0, 0
    past, own = ends.tolist(), weights.tolist()
    for k, start in enumerate(starts.tolist()):
        # exons that end here started earlier: their best sums are known
        while past[by_end[ended]] <= start:
            best = max(best, best_with[by_end[ended]])
            ended += 1
        best_with[k] = best + own[k]
    return max(best_with)


def case_strands(case: Case, scoring: SplicedScoring) -> Iterator[StrandParallelism]:
    """Yield what the strands of a case with candidates allow, ``+`` first."""
    unique, length = case.exons.unique(), len(case.base)
    for strand in "+-":
        exons = unique.on_strand(strand)
        if len(exons):
            forward = exons.starts, exons.ends
            backward = length - exons.ends, length - exons.starts
            bonus = scoring.exon_bonus(exons.scores)
            yield strand_parallelism(*(forward if strand == "+" else backward), bonus)


def exon_histograms(cases: Iterable[Case]) -> list[Histogram]:
    """Count the lengths of exons and the sizes of groups over the bases of some cases.

    Parameters
    ----------
    cases : iterable of Case
        Cases with the same base and the same candidates count once.

    Returns
    -------
    list of Histogram
        ``exon_length`` in bins of 32; ``group_size``: exons of each group of which none can
        precede another; ``entry_size``: distinct starts before which the same exons end.

    Raises
    ------
    InputError
        If a target is empty or an exon does not lie within its base.
    """
    cases = list(cases)
    check_cases(cases)
    lengths, groups, entries = Counter(), Counter(), Counter()
    for case in {(id(case.base), id(case.exons)): case for case in cases}.values():
        exons = case.exons.unique()
        lengths.update(((exons.ends - exons.starts - 1) // BIN).tolist())
        for strand in case_strands(case, SplicedScoring()):
            groups.update(size - 1 for size in strand.group_sizes)
            entries.update(size - 1 for size in strand.entry_sizes)
    counted = ("exon_length", BIN, lengths), ("group_size", 1, groups), ("entry_size", 1, entries)
    return [Histogram(name, width, dict(sorted(n.items()))) for name, width, n in counted]
