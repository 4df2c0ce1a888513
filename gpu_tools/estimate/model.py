"""The time model: what the sweeps of a case consist of, to be weighed by a device's figures.

The time of a call is a constant, plus a sum over its cases, plus, on a GPU, what lies on the
critical path of the longest case. `docs/design/estimate.md` has the equations.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.estimate.parallelism import StrandParallelism, case_strands
from gpu_tools.hardware.cpu.simd import VECTOR_BYTES
from gpu_tools.model.scoring import GENE_SCORING, SplicedScoring
from gpu_tools.sites.cpu.schedule import COLUMNS_PER_STRIP
from gpu_tools.spliced.case import Case, check_cases
from gpu_tools.spliced.cpu.schedule import SIZES
from gpu_tools.spliced.exon_graph import Extent, bound_cells
from gpu_tools.splicing.bounds import costs_of, fit_int16
from gpu_tools.splicing.rows import padded

LIST, SITE = "list", "site"
MODES = LIST, SITE
CPU, GPU = "cpu", "gpu"
CALL, STEPS = "call", "steps"
"""What a call takes whatever it does, and the steps that can only follow each other on a GPU."""
FEATURES = {
    (LIST, CPU): ("case", "vectors", "rows", "stored", "traced"),
    (LIST, GPU): ("case", "rows", "exons", "cells", STEPS),
    (SITE, CPU): ("case", "nucleotides", "columns", "vectors", "traced"),
    (SITE, GPU): ("case", "nucleotides", "columns", "cells", STEPS),
}
"""What counts in each mode on each kind of device."""
CRITICAL = {(LIST, GPU): (STEPS,), (SITE, GPU): ("columns", STEPS)}
"""Of these a call takes the most of any case: cases overlap, in site mode their tracebacks too."""
OF_BASES = {(SITE, GPU): ("nucleotides",)}
"""These count once for cases of one base: its sites are scored once."""
STRANDS = 2
"""Site mode tries both."""
STRIP = 512
"""Columns of a strip of site mode on a GPU."""
_SITE_COLUMNS_16 = 4_600
"""Above so many symbols of a target cells of site mode need 32 bits, with the command's scores."""
LANES = 32
"""Lanes of a warp, and columns of a chunk of list mode on a GPU."""


class CaseWork(NamedTuple):
    """The parallelism of cases, and what their sweeps consist of.

    Attributes
    ----------
    cases : list of Case
    strands : list of tuple of StrandParallelism
        Of each case, those with candidates.
    bytes_a_cell : ndarray of int64, shape (C,)
        2 or 4, in list mode.
    features : dict of (str, str) to ndarray of float64, shape (C, F)
        By mode and kind of device, in the order of `FEATURES`.
    threads : dict of str to ndarray of int64, shape (C,)
        By mode: how many threads of a CPU can share a case, in strips of its target.
    repeated : ndarray of bool, shape (C,)
        Whether an earlier case has the same base.
    """

    cases: list[Case]
    strands: list[tuple[StrandParallelism, ...]]
    bytes_a_cell: NDArray[np.int64]
    features: dict[tuple[str, str], NDArray[np.float64]]
    threads: dict[str, NDArray[np.int64]]
    repeated: NDArray[np.bool_]


def case_work(cases: Iterable[Case], scoring: SplicedScoring = GENE_SCORING) -> CaseWork:
    """Work out the parallelism of cases, and what their sweeps consist of.

    Parameters
    ----------
    cases : iterable of Case
    scoring : SplicedScoring
        Decides on the width of cells.

    Raises
    ------
    InputError
        If a target is empty or an exon does not lie within its base.
    ScoringError
        If scores could overflow 32-bit integers.
    """
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
    """Return whether an earlier case has the same base as each case.

    Parameters
    ----------
    cases : iterable of Case or SiteCase
    """
    bases = [id(case.base) for case in cases]
    repeated = np.ones(len(bases), dtype=np.bool_)
    repeated[np.unique(bases, return_index=True)[1]] = False
    return repeated


def site_features(bases, targets) -> dict[str, NDArray[np.float64]]:
    """Return what the sweeps of both strands in site mode consist of, by kind of device.

    Parameters
    ----------
    bases, targets : ndarray of int64, shape (C,)
        Lengths of the cases' bases and targets.
    """
    lengths = np.asarray(bases), np.asarray(targets)
    return {CPU: _sites_on_cpu(lengths), GPU: _sites_on_gpu(lengths)}


def site_threads(targets) -> NDArray[np.int64]:
    """Return how many threads of a CPU can share a case of site mode, given targets' lengths."""
    return STRANDS * np.maximum(np.asarray(targets) // COLUMNS_PER_STRIP, 1)


def _list_threads(cells, targets) -> NDArray[np.int64]:
    strips = STRANDS * np.maximum(targets // SIZES.columns_per_strip, 1)
    return np.where(cells > SIZES.cells_for_strips, strips, 1)


def _key(case: Case) -> tuple[int, int]:
    return id(case.base), id(case.exons)


def _bytes_a_cell(cases, strands, scoring: SplicedScoring) -> NDArray[np.int64]:
    """Return the width of the cells of list mode, 2 or 4 bytes, see `spliced.exon_graph`."""
    costs, largest = costs_of(scoring), np.zeros(len(cases), dtype=np.int64)
    for k, case in enumerate(cases):
        for own in strands[k]:
            extent = Extent(own.longest_exon, own.largest_bonus, own.chain_bonus, len(case.base))
            found = bound_cells(extent, padded(len(case.target), 1, 2), costs)
            largest[k] = max(largest[k], *map(abs, found))
    return np.where(fit_int16(largest), 2, 4)


def _list_on_cpu(counts, lengths, bytes_a_cell) -> NDArray[np.float64]:
    (_, rows, stored), (_, columns) = counts, lengths
    vectors = padded(columns, 1, bytes_a_cell) * bytes_a_cell // VECTOR_BYTES
    # the chain's exons together are about as long as the target
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
    return _table(
        np.ones(len(strips)), swept, columns, swept * strips * STRIP,
        nucleotides + LANES * strips,
    )  # fmt: skip


def site_strips(columns):
    """Return the strips of 512 columns that a GPU cuts a target into in site mode."""
    return -(-(columns + 1) // STRIP)


def _table(*columns) -> NDArray[np.float64]:
    return np.stack(columns, axis=1).astype(np.float64)


def summed(
    mode: str, kind: str, features: NDArray[np.float64], repeated: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return the features of cases in one call: of critical ones the most, of all else the sum.

    Parameters
    ----------
    mode : {"list", "site"}
    kind : {"cpu", "gpu"}
    features : ndarray of float64, shape (C, F)
        At least one case.
    repeated : ndarray of bool, shape (C,), optional
        Cases whose base an earlier one has; none by default.
    """
    names, together = FEATURES[mode, kind], features.sum(axis=0)
    for name in CRITICAL.get((mode, kind), ()):
        together[names.index(name)] = features[:, names.index(name)].max()
    if repeated is not None:
        for name in OF_BASES.get((mode, kind), ()):
            together[names.index(name)] = features[~repeated, names.index(name)].sum()
    return together
