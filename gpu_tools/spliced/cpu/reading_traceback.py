"""The traceback of chains that translate; ties as in `gpu_tools.spliced.cpu.traceback`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import reverse_complement
from gpu_tools.spliced.case import PreparedCase, result_of
from gpu_tools.spliced.cpu.free_ends import traced_result
from gpu_tools.spliced.cpu.reading import FIRST, LAST, ReadingSweep, reading_sweep
from gpu_tools.spliced.cpu.traceback import BestEnd, best_end
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import CELL_LIMIT
from gpu_tools.splicing.codons import completes, split_bases, stop_words, translation_of
from gpu_tools.splicing.exon_traceback import Entries, ExonRows, pair_scores, trace_exon
from gpu_tools.splicing.traceback import TracedExon, trace_back


class Reading:
    """Alignment of cases whose chains translate: strand by strand, then the better one.

    Parameters
    ----------
    scoring : SplicedScoring
    complete : bool
        See `gpu_tools.spliced.cpu.reading.framed_tracks`.
    """

    def __init__(self, scoring: SplicedScoring, complete: bool):
        self.scoring, self.complete = scoring, complete

    def sweep(self, prepared: PreparedCase, graph: ExonGraph) -> ReadingSweep:
        """Sweep one strand of a case on one thread; `graph` has at least one exon."""
        codes, target = strand_codes(prepared, graph), prepared.case.target.codes
        return reading_sweep(graph, codes, target, self.scoring, self.complete)

    def conclude(self, prepared: PreparedCase, sweeps: list[ReadingSweep]) -> SplicedAlignment:
        """Return the result of a case from the sweeps of its exon graphs."""
        target, found = prepared.case.target.codes, []
        for graph, sweep in zip(prepared.graphs, sweeps, strict=True):
            best = _best_reading(sweep, len(target), self.scoring)
            if best is not None:
                found.append((best, graph, sweep))
        if not found:
            return result_of(prepared)
        # the first of equals: + before -
        best, graph, sweep = max(found, key=lambda one: one[0].score)
        codes = strand_codes(prepared, graph)
        tracer = _ReadingTracer(graph, sweep, codes, target, self.scoring)
        traced = trace_back(tracer, best.end, best.column, self.scoring)
        translation = translation_of(codes, traced.intervals)
        return traced_result(prepared, graph, traced, best.score, best.column, **translation)


def strand_codes(prepared: PreparedCase, graph: ExonGraph) -> NDArray[np.uint8]:
    """Return the nucleotides of a graph's strand, in reading direction."""
    forward = prepared.case.base.codes
    return reverse_complement(forward) if graph.reverse else forward


def _best_reading(sweep: ReadingSweep, columns: int, scoring: SplicedScoring) -> BestEnd | None:
    """Return where the best chain ends, its `end` the number of an exit; None without a chain."""
    last = np.flatnonzero(sweep.framed.exit_kinds == LAST)
    if not len(last):
        return None
    best = best_end(sweep.exits[last], columns, scoring)
    return best._replace(end=int(last[best.end])) if best.score > -CELL_LIMIT else None


class _ReadingTracer:
    """The exons of a chain that translates; an end is the number of an exit.

    An exon's `entry` is its number in the graph and that of its framed track.
    """

    def __init__(self, graph: ExonGraph, sweep: ReadingSweep, codes, target, scoring):
        self.graph, self.sweep, self.codes, self.target = graph, sweep, codes, target
        self.scoring, self.pairs = scoring, pair_scores(target, scoring)
        counts = np.diff(sweep.framed.first_exons)
        self.framed_of_exon = np.repeat(np.arange(len(counts)), counts)
        self.unused = np.empty(0, dtype=np.int32)

    def exon_before(self, end: int, column: int) -> TracedExon:
        """Return the shortest exon; of equals the one of a chain's first framed track."""
        graph, framed = self.graph, self.sweep.framed
        reaching = np.flatnonzero(framed.exits == end)
        numbers, exons = self.framed_of_exon[reaching], framed.exons[reaching]
        starts = graph.starts[graph.exit_tracks[exons]]
        order = np.lexsort((framed.overhangs[numbers] != FIRST, -starts))
        numbers, exons, starts = numbers[order], exons[order], starts[order]
        boundary = int(framed.exit_ends[end])
        row = graph.track_rows[graph.exit_tracks[exons[-1]]]
        wanted = self.sweep.exits[end, column] - graph.exit_bonus[exons]
        k, column, operations = trace_exon(
            ExonRows(
                graph.codes[row : row + boundary - starts[-1]], self.target[:column],
                *self.pairs, self.scoring.gap,
            ),
            Entries(boundary - starts, numbers, wanted, self.sweep.entries, self.unused),
        )  # fmt: skip
        entry = int(exons[k]), int(numbers[k])
        return TracedExon(int(starts[k]), boundary, column, operations, entry)

    def end_before(self, exon: TracedExon) -> int | None:
        """Return the nearest exit that explains a framed track's entry, None for a first exon."""
        framed, (_, number) = self.sweep.framed, exon.entry
        overhang = int(framed.overhangs[number])
        if overhang == FIRST:
            return None
        before = np.searchsorted(framed.exit_ends, exon.start, side="right")
        wanted = int(self.sweep.entries[number, exon.column]) + self.scoring.intron_penalty
        for exit_ in np.flatnonzero(self.sweep.exits[:before, exon.column] == wanted)[::-1]:
            kind = int(framed.exit_kinds[exit_])
            if kind == LAST or split_bases(kind) != overhang:
                continue
            if completes(self.codes, stop_words(), kind, exon.start):
                return int(exit_)
        raise ValueError("no exit explains the value of an entry: the sweep is wrong")
