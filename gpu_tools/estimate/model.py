"""The time model: the work of a case, to be weighed by a device's figures, and its parallelism.

The time of a call is a constant, plus a sum over its cases, plus, on a GPU, the critical path of
the longest case. `docs/design/estimate.md` has the equations. The parallelism of candidate exons is
that of A. Nolasco, "Soluções em GPU para o problema do alinhamento spliced", UFMS, 2014, chapter 5.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.cpu.simd import VECTOR_BYTES
from gpu_tools.model.scoring import GENE_SCORING, SplicedScoring
from gpu_tools.sites.cpu.sweep import COLUMNS_PER_STRIP
from gpu_tools.spliced.case import Case, check_cases
from gpu_tools.spliced.cpu.schedule import SIZES
from gpu_tools.spliced.exon_graph import Extent, bound_cells
from gpu_tools.splicing.bounds import costs_of, fit_int16
from gpu_tools.splicing.rows import padded

LIST, SITE = "list", "site"
MODES = LIST, SITE
CPU, GPU = "cpu", "gpu"
CALL, STEPS = "call", "steps"
"""The constant of a call, and the sequential steps on a GPU."""
FEATURES = {
    (LIST, CPU): ("case", "vectors", "rows", "stored", "traced"),
    (LIST, GPU): ("case", "rows", "exons", "cells", STEPS),
    (SITE, CPU): ("case", "nucleotides", "columns", "vectors", "traced"),
    (SITE, GPU): ("case", "nucleotides", "columns", "cells", STEPS),
}
"""Features of a case by mode and kind of device."""
CRITICAL = {(LIST, GPU): (STEPS,), (SITE, GPU): ("columns", STEPS)}
"""Features of which a call has the largest of its cases: these overlap on a GPU."""
OF_BASES = {(SITE, GPU): ("nucleotides",)}
"""Features that count once for cases of one base: its sites are scored once."""
STRANDS = 2
"""Strands that site mode aligns."""
STRIP = 512
"""Columns of a strip of site mode on a GPU."""
_SITE_COLUMNS_16 = 4_600
"""Limit of a target's length for 16-bit cells in site mode, with the command's scores."""
LANES = 32
"""Lanes of a warp, and columns of a chunk of list mode on a GPU."""
BIN = 32
"""Lengths of exons that share a bin of the histogram."""
_ROWS_OF_A_LANE, _COLUMNS_OF_A_CHUNK = 8, 32
"""Rows of an exon per lane of the kernel of list mode, and columns of a chunk of the target."""


class CaseWork(NamedTuple):
    """The parallelism and the features of cases."""

    cases: list[Case]
    strands: list[tuple[StrandParallelism, ...]]  # of each case, those with candidates
    bytes_a_cell: NDArray[np.int64]  # (C,): 2 or 4, in list mode
    # (C, F): By mode and kind of device, in the order of `FEATURES`
    features: dict[tuple[str, str], NDArray[np.float64]]
    # (C,): By mode: how many threads of a CPU can share a case, in strips of its target
    threads: dict[str, NDArray[np.int64]]
    repeated: NDArray[np.bool_]  # (C,): Whether an earlier case has the same base


def case_work(cases: Iterable[Case], scoring: SplicedScoring = GENE_SCORING) -> CaseWork:
    """Return the parallelism and the features of cases; `scoring` determines the width of cells."""
    cases = list(cases)
    check_cases(cases)
    by_key = {_key(case): case for case in cases}
    known = {key: tuple(case_strands(case, scoring)) for key, case in by_key.items()}
    strands = [known[_key(case)] for case in cases]
    bytes_a_cell = _bytes_a_cell(cases, strands, scoring)
    lengths = np.array([[len(case.base), len(case.target)] for case in cases]).reshape(-1, 2).T
    counts = [
        np.array([sum(getattr(s, name) for s in own) for own in strands], dtype=np.int64)
        for name in ("exons", "merged_rows", "stored_rows")
    ]
    delays = [max((strand.longest_delay for strand in own), default=0) for own in strands]
    features = {
        (LIST, CPU): _list_on_cpu(counts, lengths, bytes_a_cell),
        (LIST, GPU): _list_on_gpu(counts, lengths, np.array(delays)),
        **{(SITE, kind): own for kind, own in site_features(*lengths).items()},
    }
    cells = np.array([case.cells for case in cases], dtype=np.int64)
    threads = {LIST: _list_threads(cells, lengths[1]), SITE: site_threads(lengths[1])}
    return CaseWork(cases, strands, bytes_a_cell, features, threads, repeated_bases(cases))


def repeated_bases(cases: Iterable) -> NDArray[np.bool_]:
    """Return whether an earlier case has the same base as each case."""
    bases = [id(case.base) for case in cases]
    repeated = np.ones(len(bases), dtype=np.bool_)
    repeated[np.unique(bases, return_index=True)[1]] = False
    return repeated


def site_features(bases, targets) -> dict[str, NDArray[np.float64]]:
    """Return the features of cases of site mode, by kind of device, from their lengths."""
    lengths = np.asarray(bases), np.asarray(targets)
    return {CPU: _sites_on_cpu(lengths), GPU: _sites_on_gpu(lengths)}


def site_threads(targets) -> NDArray[np.int64]:
    """Return the threads of a CPU that can share a case of site mode, by length of the target."""
    return STRANDS * np.maximum(np.asarray(targets) // COLUMNS_PER_STRIP, 1)


def _list_threads(cells, targets) -> NDArray[np.int64]:
    strips = STRANDS * np.maximum(targets // SIZES.columns_per_strip, 1)
    return np.where(cells > SIZES.cells_for_strips, strips, 1)


def _key(case: Case) -> tuple[int, int]:
    return id(case.base), id(case.exons)


def _bytes_a_cell(cases, strands, scoring: SplicedScoring) -> NDArray[np.int64]:
    """Return the bytes of the cells of list mode, 2 or 4; see `gpu_tools.spliced.exon_graph`."""
    costs, largest = costs_of(scoring), np.zeros(len(cases), dtype=np.int64)
    for k, case in enumerate(cases):
        for own in strands[k]:
            extent = Extent(own.longest_exon, own.largest_bonus, own.chain_bonus, len(case.base))
            found = bound_cells(extent, padded(len(case.target) + 1, 1, 2), costs)
            largest[k] = max(largest[k], *map(abs, found))
    return np.where(fit_int16(largest), 2, 4)


def _list_on_cpu(counts, lengths, bytes_a_cell) -> NDArray[np.float64]:
    (_, rows, stored), (_, columns) = counts, lengths
    vectors = padded(columns + 1, 1, bytes_a_cell) * bytes_a_cell // VECTOR_BYTES
    # the exons of the chain are about as long as the target
    traced = columns * np.minimum(columns, rows)
    return _table(np.ones(len(rows)), rows * vectors, rows, stored * columns, traced)


def _list_on_gpu(counts, lengths, delays) -> NDArray[np.float64]:
    (exons, rows, _), (_, columns) = counts, lengths
    steps = np.where(rows > 0, columns + LANES * delays, 0)
    return _table(np.ones(len(rows)), rows, exons, rows * columns, steps)


def _sites_on_cpu(lengths) -> NDArray[np.float64]:
    nucleotides, columns = lengths[0] * STRANDS, lengths[1]
    bytes_a_cell = np.where(columns <= _SITE_COLUMNS_16, 2, 4)
    vectors = padded(columns + 1, 1, bytes_a_cell) * bytes_a_cell // VECTOR_BYTES
    traced = columns * np.minimum(columns, lengths[0])
    return _table(np.ones(len(columns)), nucleotides, columns, nucleotides * vectors, traced)


def _sites_on_gpu(lengths) -> NDArray[np.float64]:
    (nucleotides, columns), strips = lengths, site_strips(lengths[1])
    swept = nucleotides * STRANDS
    cells, steps = swept * strips * STRIP, nucleotides + LANES * strips
    return _table(np.ones(len(strips)), swept, columns, cells, steps)


def site_strips(columns):
    """Return the number of strips of a target in site mode on a GPU."""
    return -(-(columns + 1) // STRIP)


def _table(*columns) -> NDArray[np.float64]:
    return np.stack(columns, axis=1).astype(np.float64)


def summed(
    mode: str, kind: str, features: NDArray[np.float64], repeated: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return the features of a call of cases: the largest of critical ones, else the sums."""
    names, together = FEATURES[mode, kind], features.sum(axis=0)
    for name in CRITICAL.get((mode, kind), ()):
        together[names.index(name)] = features[:, names.index(name)].max()
    if repeated is not None:
        for name in OF_BASES.get((mode, kind), ()):
            together[names.index(name)] = features[~repeated, names.index(name)].sum()
    return together


# ---- parallelism


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
    """The parallelism of a strand's distinct exons."""

    exons: int  # exons, and the sum of their lengths
    rows: int
    merged_rows: int  # rows where exons of one start share theirs, distinct starts, distinct ends
    tracks: int
    ends: int
    # exons of each group of the source: none of a group can precede another of it
    group_sizes: tuple[int, ...]
    longest_of_groups: int  # sum over these groups of the longest exon's length
    # distinct starts before which the same exons end, for each such set
    entry_sizes: tuple[int, ...]
    # largest sum over exons that follow each other of the chunks of columns by which the next one
    # is behind on a GPU
    longest_delay: int
    longest_exon: int  # length of the longest exon, and the largest magnitude of an exon's bonus
    largest_bonus: int
    chain_bonus: int  # what the bonuses of a chain come to at most

    @property
    def longest_chain(self) -> int:
        """Length of the longest chain of exons.

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
    """Return the parallelism of one distinct exon or more, in the strand's reading direction."""
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
    """Return the index of the first exon of each of the source's groups, then the number of exons.

    A group is closed by the first exon, by start, that starts past the smallest end in it.
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
    """Return the largest sum of weights of a chain of exons, which are ordered by start."""
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
    """Yield the parallelism of the strands of a case with candidates, ``+`` first."""
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
