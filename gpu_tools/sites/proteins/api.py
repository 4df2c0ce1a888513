"""The public function of site mode for proteins, and its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from gpu_tools.hardware.device import cpu_threads, resolve
from gpu_tools.hardware.gpu_faults import on_gpu_or_cpu
from gpu_tools.hardware.progress import CaseProgress
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence, Sequence
from gpu_tools.sites.api import SiteCase, read_strands
from gpu_tools.sites.model import GeneSites
from gpu_tools.sites.proteins.cpu.strand import BestSweep, ProteinSweep
from gpu_tools.sites.proteins.cpu.traceback import trace
from gpu_tools.sites.proteins.sites import protein_table
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.proteins.translation import StrandAndProtein, shown, stop_behind, with_stop


@dataclass(frozen=True)
class ProteinCase(SiteCase):
    """One question: which chain of all exons that the sites allow aligns best to a protein.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    target : ProteinSequence
        Protein of a homologous gene, at least one residue, without a stop at its end.
    tables : dict of str to SiteTable
        The sites of each strand to be tried, ``+`` or ``-``, see `protein_tables_of`.
    """

    target: ProteinSequence
    symbols: ClassVar[str] = "amino acids"


def protein_tables_of(
    base: Sequence,
    model: GeneSites,
    scoring: ProteinScoring,
    strands: str = "+-",
    threads: int | None = None,
) -> dict[str, SiteTable]:
    """Score the sites of a base sequence for proteins.

    A locus, named ``NAME:START-END``, has the scores and penalties of its record.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    model : GeneSites
        With the weights for proteins, see `protein_sites`.
    scoring : ProteinScoring
        Its ends and genetic code count.
    strands : str
        ``+``, ``-`` or both.
    threads : int, optional
        Threads of the CPU, by default all.

    Returns
    -------
    dict of str to SiteTable
        The tables of a `ProteinCase`.
    """
    threads = cpu_threads(threads)
    return {
        strand: protein_table(model, codes, origin, scoring, threads)
        for strand, (codes, origin) in read_strands(base, strands).items()
    }


def protein_align(
    cases: Iterable[ProteinCase],
    scoring: ProteinScoring,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    min_scores: Iterable[int] | None = None,
) -> list[ProteinAlignment]:
    """Align each case's protein to the best chain of all exons that the sites allow.

    A chain is a list of exons of one strand between sites. Its score is the sum of the scores of
    codons against residues, less the costs of gaps, frameshifts and stop codons inside, plus the
    points of its sites, less the penalties of its introns. A codon that an intron splits is scored
    as the codon that its parts form, and is aligned to a residue. docs/design/proteins.md has the
    recurrence.

    Parameters
    ----------
    cases : iterable of ProteinCase
    scoring : ProteinScoring
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads, by default all.
    progress : callable, optional
        Called with the number of cells that are done since its last call.
    min_scores : iterable of int, optional
        For each case, the least score whose chain is wanted; a case occurs once then. Below it a
        result has strand and score alone, which takes less time.

    Returns
    -------
    list of ProteinAlignment
        In the order of the cases; without a chain where none scores more than a chain without
        nucleotides, all residues left out.

    Raises
    ------
    InputError
        If a protein is empty, or tables do not fit.
    ScoringError
        If a score could leave 32 bits.

    Notes
    -----
    Ties: ``+`` goes before ``-``; then the chain that ends first in reading direction, with the
    fewest residues; `gpu_tools.splicing.proteins.walk` has the order of moves.
    """
    cases, threads = list(cases), cpu_threads(threads)
    for case in cases:
        case.check()
    where, done = resolve(device), progress or (lambda cells: None)
    least = {} if min_scores is None else dict(zip(map(id, cases), min_scores, strict=True))

    def on_cpu(cases: list[ProteinCase]) -> list[ProteinAlignment]:
        return _aligned_on_cpu(cases, scoring, least, threads, done)

    def on_gpus(ordinals: tuple[int, ...]) -> list[ProteinAlignment]:
        from gpu_tools.sites.proteins.gpu.schedule import align_on_gpus

        def finish(case: ProteinCase, found: BestSweep | None) -> ProteinAlignment:
            result = _result(case, found, least.get(id(case)))
            done(case.cells)
            return result

        return align_on_gpus(cases, scoring, ordinals, threads, finish, on_cpu)

    return on_gpu_or_cpu(where, on_gpus, lambda: on_cpu(cases))


def _aligned_on_cpu(
    cases: list[ProteinCase], scoring: ProteinScoring, least: dict[int, int], threads: int,
    done: Callable[[int], None],
) -> list[ProteinAlignment]:  # fmt: skip
    """Align cases, the largest first; `least` are scores whose chains are wanted, by identity."""
    order = sorted(range(len(cases)), key=lambda k: -cases[k].cells)
    aside = max(threads // max(len(cases), 1), 1)

    def aligned(k: int) -> ProteinAlignment:
        return _aligned(cases[k], scoring, least.get(id(cases[k])), aside, done)

    found = map_on_threads(threads, aligned, order)
    results = dict(zip(order, found, strict=True))
    return [results[k] for k in range(len(cases))]


def _aligned(
    case: ProteinCase, scoring: ProteinScoring, least: int | None, threads: int,
    progress: Callable[[int], None],
) -> ProteinAlignment:  # fmt: skip
    tally = CaseProgress(case.cells, progress)

    def swept(strand: str) -> ProteinSweep:
        codes, table = case.codes(strand), case.tables[strand]
        return ProteinSweep(codes, case.target.codes, table, scoring).run(tally.add)

    names = [strand for strand in "+-" if strand in case.tables]
    sweeps = dict(zip(names, map_on_threads(threads, swept, names), strict=True))
    scored = [name for name in names if sweeps[name].score is not None]
    # the first of equals: + before -
    best = max(scored, key=lambda name: sweeps[name].score, default=None)
    found = best and BestSweep(best, sweeps[best].score, lambda: sweeps[best])
    result = _result(case, found, least)
    tally.finish()
    return result


def _result(
    case: ProteinCase, found: BestSweep | None, least: int | None = None
) -> ProteinAlignment:
    common = {
        "base": case.base.name, "target": case.target.name, "base_length": len(case.base),
        "target_length": len(case.target), "cells": case.cells,
    }  # fmt: skip
    if found is None:
        return ProteinAlignment(**common)
    common |= {"strand": found.strand, "score": found.score}
    if least is not None and found.score < least:
        return ProteinAlignment(**common)
    strand, sweep = found.strand, found.sweep()
    traced, length = trace(sweep), len(case.base)
    stop = stop_behind(sweep.codes, traced.intervals[-1][1], sweep.scoring)
    parts = shown(traced, StrandAndProtein(sweep.codes, sweep.target, sweep.scoring), stop)
    intervals = with_stop(traced.intervals) if stop else traced.intervals
    chain = tuple((s, e) if strand == "+" else (length - e, length - s) for s, e in intervals)
    return ProteinAlignment(**common, chain=chain, **parts)
