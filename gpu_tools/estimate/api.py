"""The public function of estimates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from gpu_tools.estimate import model
from gpu_tools.estimate.figures import DeviceFigures, device_figures
from gpu_tools.estimate.model import CPU, GPU, LIST, MODES, SITE, CaseWork
from gpu_tools.sites.api import SiteCase
from gpu_tools.spliced.case import Case
from gpu_tools.splicing.rows import padded

ROWS_OF_A_WARP = 512


@dataclass(frozen=True)
class CaseEstimate:
    """How much parallelism a case has, and how long it takes.

    Numbers of a case with candidates on both strands are sums over the strands, but for the
    largest group and the longest chain.

    Parameters
    ----------
    base, target : str
    base_length, target_length : int
    n_exons : int
        Distinct candidates.
    cells, computed_cells : int
        Sum of the candidates' lengths times target length, and what list mode computes of it:
        candidates of one start share their cells.
    groups, largest_group : int
        The source's groups of candidates, of which none can precede another of its group, and the
        candidates of the largest one.
    entries : int
        Sets of distinct starts before which the same candidates end: they share a row above.
    longest_chain : int
        Most candidates of which each depends on the one before.
    sequential, intra_exon, inter_exon : int
        The source's estimates in cells: of the sequential programme, of accelerator 1 (parallel
        within an exon), and of accelerator 2 (also parallel between the exons of a group).
    list_steps, list_warps : int
        Steps of list mode on a GPU that can only follow each other, and warps that are at work in
        the mean if there are as many as can be.
    site_cells, site_steps, site_warps : int
        The same of site mode, with its nominal cells, both strands.
    memory : int
        Bytes that the stored rows of list mode take on a CPU.
    seconds : dict of (str, str) to float
        By mode, ``list`` or ``site``, and kind of device, ``cpu`` or ``gpu``: a call with this
        case alone, on one thread of the CPU. Site mode also scores the sites.
    """

    base: str
    target: str
    base_length: int
    target_length: int
    n_exons: int
    cells: int
    computed_cells: int
    groups: int
    largest_group: int
    entries: int
    longest_chain: int
    sequential: int
    intra_exon: int
    inter_exon: int
    list_steps: int
    list_warps: int
    site_cells: int
    site_steps: int
    site_warps: int
    memory: int
    seconds: dict[tuple[str, str], float]


def spliced_estimate(
    cases: Iterable[Case] | CaseWork, figures: Sequence[DeviceFigures] | None = None
) -> list[CaseEstimate]:
    """Estimate how much parallelism cases of spliced alignment have, and how long they take.

    Nothing is aligned. Times are those of `gpu_tools.spliced_align` and `gpu_tools.site_align` with
    the scores of the commands.

    Parameters
    ----------
    cases : iterable of Case
        Cases; bases, candidates and targets may repeat.
    figures : sequence of DeviceFigures, optional
        Of one device of each kind that is wanted. By default those of this machine's CPU and GPU
        if they were calibrated, else those that are shipped.

    Returns
    -------
    list of CaseEstimate
        One for each case, in order.

    Raises
    ------
    InputError
        If a target is empty or an exon does not lie within its base.
    ScoringError
        If scores could overflow 32-bit integers.

    References
    ----------
    .. [1] A. Nolasco, "Soluções em GPU para o problema do alinhamento spliced", UFMS, 2014,
       chapter 5.

    Examples
    --------
    >>> case = Case(Sequence.from_text("s", "ACCGTATGT"), Sequence.from_text("t", "CCGGT"),
    ...             ExonSet.from_intervals([(0, 2), (2, 4), (3, 5), (5, 8), (7, 9)]))
    >>> estimate, = spliced_estimate([case])
    >>> estimate.groups, estimate.sequential, estimate.intra_exon, estimate.inter_exon
    (3, 55, 31, 19)
    """
    work = cases if isinstance(cases, CaseWork) else model.case_work(cases)
    figures = [device_figures(kind) for kind in (CPU, GPU)] if figures is None else figures
    times = {
        (mode, own.kind): own.each(mode, work.features[mode, own.kind])
        for own in figures
        for mode in MODES
    }
    return [
        CaseEstimate(
            **_parallelism(case, work.strands[k]),
            **_steps(work, k),
            memory=_memory(case, work.strands[k], int(work.bytes_a_cell[k])),
            seconds={key: float(values[k]) for key, values in times.items()},
        )
        for k, case in enumerate(work.cases)
    ]


def estimated_seconds(
    cases: Iterable[Case] | CaseWork, figures: DeviceFigures, mode: str = LIST, threads: int = 1
) -> float:
    """Estimate how long one call with all cases takes.

    Parameters
    ----------
    cases : iterable of Case
    figures : DeviceFigures
        See `device_figures`.
    mode : {"list", "site"}
    threads : int
        Threads of a CPU that share the cases.

    Returns
    -------
    float
        Seconds; 0 without a case.

    Raises
    ------
    InputError, ScoringError
        As `spliced_estimate` does.
    """
    work = cases if isinstance(cases, CaseWork) else model.case_work(cases)
    features = work.features[mode, figures.kind]
    return figures.together(mode, features, threads, work.threads[mode], work.repeated)


def expected_seconds(cases: Sequence, kind: str, threads: int) -> float | None:
    """Estimate the seconds of one call with all cases, of either mode.

    None if there is no model of such cases: proteins, and chains that translate.
    """
    figures = device_figures(kind)
    if all(type(case) is Case for case in cases):
        return estimated_seconds(cases, figures, LIST, threads)
    if not all(_is_plain_site_case(case) for case in cases):
        return None
    lengths = np.array([[len(case.base), len(case.target)] for case in cases]).T
    features = model.site_features(*lengths)[kind]
    shared, repeated = model.site_threads(lengths[1]), model.repeated_bases(cases)
    return figures.together(SITE, features, threads, shared, repeated)


def _is_plain_site_case(case) -> bool:
    return type(case) is SiteCase and all(table.stops is None for table in case.tables.values())


def _parallelism(case: Case, strands: tuple[model.StrandParallelism, ...]) -> dict:
    columns = len(case.target)
    return {
        "base": case.base.name,
        "target": case.target.name,
        "base_length": len(case.base),
        "target_length": columns,
        "n_exons": sum(s.exons for s in strands),
        "cells": columns * sum(s.rows for s in strands),
        "computed_cells": columns * sum(s.merged_rows for s in strands),
        "groups": sum(len(s.group_sizes) for s in strands),
        "largest_group": max((max(s.group_sizes) for s in strands), default=0),
        "entries": sum(len(s.entry_sizes) for s in strands),
        "longest_chain": max((s.longest_chain for s in strands), default=0),
        **published_cells(columns, strands),
    }


def published_cells(columns: int, strands: Iterable[model.StrandParallelism]) -> dict[str, int]:
    """Return the source's estimates of a case in cells, for a target of n columns."""
    # sequential: n * sum of lengths; intra_exon: sum over exons of length + n - 1;
    # inter_exon: sum over groups of the longest length + n - 1
    strands = list(strands)
    return {
        "sequential": columns * sum(s.rows for s in strands),
        "intra_exon": sum(s.rows + s.exons * (columns - 1) for s in strands),
        "inter_exon": sum(s.longest_of_groups + s.longest_chain * (columns - 1) for s in strands),
    }


def _steps(work: CaseWork, k: int) -> dict[str, int]:
    """Return the sequential steps on a GPU, and the warps at work, in both modes."""
    case = work.cases[k]
    columns, strips = len(case.target), int(model.site_strips(len(case.target)))
    steps = {}
    for mode in MODES:
        column = model.FEATURES[mode, GPU].index(model.STEPS)
        steps[mode] = int(work.features[mode, GPU][k, column])
    rows = sum(s.merged_rows for s in work.strands[k])
    swept = -(-rows // ROWS_OF_A_WARP) * (columns + model.LANES)
    return {
        "list_steps": steps[LIST],
        "list_warps": -(-swept // steps[LIST]) if steps[LIST] else 0,
        "site_cells": model.STRANDS * len(case.base) * columns,
        "site_steps": steps[SITE],
        "site_warps": model.STRANDS * strips,
    }


def _memory(case: Case, strands: tuple[model.StrandParallelism, ...], bytes_a_cell: int) -> int:
    width = int(padded(np.int64(len(case.target) + 1), 1, bytes_a_cell))
    return bytes_a_cell * width * sum(s.stored_rows for s in strands)
