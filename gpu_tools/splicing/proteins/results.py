"""What list mode and site mode share around a protein's sweeps: the cases' order and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpu_tools.hardware.progress import CaseProgress
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.splicing.proteins.translation import StrandAndProtein, shown, with_stop
from gpu_tools.splicing.proteins.walk import TracedProtein

Align = Callable[[Any, int, CaseProgress], ProteinAlignment]
"""Aligns a case with so many threads and a tally of its cells."""


def align_largest_first(
    cases: list, align: Align, threads: int, done: Callable[[int], None]
) -> list[ProteinAlignment]:
    """Align cases side by side, and return the results in their order.

    Parameters
    ----------
    cases : list
        They tell how many cells they have.
    align : callable
    threads : int
        What cases leave of them is for each case's strands.
    done : callable
        Called with the number of cells that are done since its last call.
    """
    own_threads = max(threads // max(len(cases), 1), 1)

    def aligned(k: int) -> ProteinAlignment:
        tally = CaseProgress(cases[k].cells, done)
        result = align(cases[k], own_threads, tally)
        tally.finish()
        return result

    order = sorted(range(len(cases)), key=lambda k: -cases[k].cells)
    found = dict(zip(order, map_on_threads(threads, aligned, order), strict=True))
    return [found[k] for k in range(len(cases))]


def swept_strands(strands: list[str], sweep: Callable[[str], Any], threads: int) -> dict[str, Any]:
    """Return the sweeps of strands by name."""
    return dict(zip(strands, map_on_threads(threads, sweep, strands), strict=True))


def without_chain(case) -> ProteinAlignment:
    """Return the result of a case in which there is no chain."""
    return ProteinAlignment(
        base=case.base.name, target=case.target.name, base_length=len(case.base),
        target_length=len(case.target), cells=case.cells,
    )  # fmt: skip


def chain_fields(strand: str, traced: TracedProtein, question: StrandAndProtein, stop: bool):
    """Return the fields of a result that show a strand's chain; `stop` is as in `shown`."""
    length = len(question.codes)
    intervals = with_stop(traced.intervals) if stop else traced.intervals
    chain = tuple((s, e) if strand == "+" else (length - e, length - s) for s, e in intervals)
    return shown(traced, question, stop) | {"strand": strand, "chain": chain}
