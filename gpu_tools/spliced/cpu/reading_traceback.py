"""From sweeps of candidates' ways to a result; ties as in `gpu_tools.spliced.cpu.traceback`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import reverse_complement
from gpu_tools.spliced.case import PreparedCase, result_of
from gpu_tools.spliced.cpu.reading import FIRST, LAST, ReadingSweep, check_magnitude, reading_sweep
from gpu_tools.spliced.cpu.traceback import BestEnd, best_end
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import CELL_LIMIT
from gpu_tools.splicing.codons import completes, stop_words, translation_of
from gpu_tools.splicing.traceback import (  # fmt: skip
    ROWS_BETWEEN_CHECKPOINTS,
    ExonRows,
    align_exon,
    cigar_of,
    entered_at,
    pair_scores,
    previous_row,
    with_leading_gap,
)


class Reading:
    """How cases are aligned whose chains translate: strand by strand, then the better one.

    Parameters
    ----------
    scoring : SplicedScoring
    complete : bool
        See `gpu_tools.spliced.cpu.reading.ways_of`.
    """

    def __init__(self, scoring: SplicedScoring, complete: bool):
        self.scoring, self.complete = scoring, complete

    def check(self, program: ExonGraph, columns: int) -> None:
        """Raise `ScoringError` if a cell or a step could reach the limit."""
        check_magnitude(program, columns, self.scoring)

    def sweep(self, prepared: PreparedCase, program: ExonGraph) -> ReadingSweep:
        """Sweep one strand of a case on one thread; `program` has at least one exon."""
        codes, target = strand_codes(prepared, program), prepared.case.target.codes
        return reading_sweep(program, codes, target, self.scoring, self.complete)

    def conclude(self, prepared: PreparedCase, sweeps: list[ReadingSweep]) -> SplicedAlignment:
        """Return the result of a case from the sweeps of its programs."""
        target, found = prepared.case.target.codes, []
        for program, sweep in zip(prepared.programs, sweeps, strict=True):
            best = best_reading(sweep, len(target), self.scoring)
            if best is not None:
                found.append((best, program, sweep))
        if not found:
            return result_of(prepared)
        # the first of equals: + before -
        best, program, sweep = max(found, key=lambda one: one[0].score)
        codes = strand_codes(prepared, program)
        return result_of(
            prepared,
            strand="-" if program.reverse else "+",
            score=best.score,
            n_exons=program.n_exons,
            **trace_reading(program, sweep, codes, target, best, self.scoring),
        )


def strand_codes(prepared: PreparedCase, program: ExonGraph) -> NDArray[np.uint8]:
    """Return the bases of a program's strand, in reading direction."""
    forward = prepared.case.base.codes
    return reverse_complement(forward) if program.reverse else forward


def best_reading(sweep: ReadingSweep, columns: int, scoring: SplicedScoring) -> BestEnd | None:
    """Return where the best chain ends, its `end` the number of an exit; None without a chain.

    Parameters
    ----------
    sweep : ReadingSweep
    columns : int
        Length of the target.
    scoring : SplicedScoring

    Returns
    -------
    BestEnd or None
    """
    last = np.flatnonzero(sweep.ways.exit_kinds == LAST)
    if not len(last):
        return None
    best = best_end(sweep.exits[last], columns, scoring)
    return best._replace(end=int(last[best.end])) if best.score > -CELL_LIMIT else None


def trace_reading(program: ExonGraph, sweep, codes, target, best, scoring) -> dict:
    """Recover the best chain and its alignment, as fields of `SplicedAlignment`.

    Parameters
    ----------
    program : ExonGraph
    sweep : ReadingSweep
    codes, target : ndarray of uint8
        The strand's bases in reading direction, and the target.
    best : BestEnd
        Of `best_reading`.
    scoring : SplicedScoring

    Returns
    -------
    dict
    """
    leaves, pairs = _leaves_of(sweep), pair_scores(target, scoring)
    exons, parts, exit_, column = [], [], best.end, best.column
    while exit_ >= 0:
        exon, way, column, operations = _exon_before(
            program, sweep, leaves, (exit_, column), target, (*pairs, scoring.gap)
        )
        exons.append(exon)
        parts.append(operations)
        exit_ = _predecessor(program, sweep, codes, way, column, scoring)
    chain = [program.exon(k) for k in exons[::-1]]
    first = column if scoring.ends != "global" and scoring.gap <= 0 else 0
    return {
        "chain": tuple(chain),
        "target_start": int(first),
        "target_end": best.column,
        "cigar": with_leading_gap(cigar_of(parts[::-1], chain), column - first),
        "exon_scores": tuple(float(program.exon_scores[k]) for k in exons[::-1]),
        **translation_of(codes, _reading_chain(program, chain)),
    }


def _reading_chain(program: ExonGraph, chain):
    """Return a chain in reading direction."""
    m = program.length
    return [(m - end, m - start) for start, end in chain] if program.reverse else chain


class _Leaves(NamedTuple):
    """Leaves in the order of their exits, those exits, and each leave's way."""

    by_exit: NDArray[np.int64]
    exits: NDArray[np.int64]
    ways: NDArray[np.int64]


def _leaves_of(sweep: ReadingSweep) -> _Leaves:
    by_exit = np.argsort(sweep.ways.leave_exits, kind="stable")
    ways = np.repeat(np.arange(len(sweep.ways.tracks)), np.diff(sweep.ways.first_leaves))
    return _Leaves(by_exit, sweep.ways.leave_exits[by_exit], ways)


def _exon_before(program: ExonGraph, sweep: ReadingSweep, leaves: _Leaves, end, target, scores):
    """Return exon, way, column of entry and operations of what leads to an exit and a column."""
    exit_, column = end
    found = leaves.by_exit[slice(*np.searchsorted(leaves.exits, [exit_, exit_ + 1]))]
    ways, exons = leaves.ways[found], sweep.ways.leave_exons[found]
    starts = program.starts[program.exit_tracks[exons]]
    # the shortest exon first, of equals the way of a chain's first one
    order = np.lexsort((sweep.ways.ways[ways] != FIRST, -starts))
    ways, exons, starts = ways[order], exons[order], starts[order]
    boundary = sweep.ways.exit_ends[exit_]
    row = program.track_rows[program.exit_tracks[exons[-1]]]
    rows = ExonRows(program.codes[row : row + boundary - starts[-1]], target[:column], *scores)
    values = sweep.exits[exit_, column] - program.exit_bonus[exons]
    k, entered, operations = _trace_exon(rows, boundary - starts, sweep.entries, ways, values)
    return int(exons[k]), int(ways[k]), entered, operations


@njit(cache=True, nogil=True)
def _trace_exon(rows, lengths, entries, ways, values):
    """Find the exon that leaves with its value, shortest first, and align it.

    Returns the place among the exons, the column it is entered at, and its operations.
    """
    columns, every, gap = len(rows.target) + 1, ROWS_BETWEEN_CHECKPOINTS, np.int32(rows.gap)
    n_rows = len(rows.base)
    checkpoints = np.zeros((n_rows // every + 1, columns), dtype=np.int32)
    gain, following = np.zeros(columns, dtype=np.int32), np.zeros(columns, dtype=np.int32)
    left, k = 0, 0
    while k < len(lengths):
        while left < lengths[k]:
            if left % every == 0:
                checkpoints[left // every] = gain
            scores = rows.profile[rows.base[n_rows - 1 - left]]
            previous_row(scores, columns - 1, gap, gain, 0, following)
            gain[:] = following
            left += 1
        best, found = columns, -1
        while k < len(lengths) and lengths[k] == left:
            column = entered_at(entries[ways[k]], gain, 0, values[k])
            if 0 <= column < best:
                best, found = column, k
            k += 1
        if found >= 0:
            return found, best, align_exon(rows, checkpoints, left, best)
    raise ValueError("no exon explains the value at its end: the sweep is wrong")


def _predecessor(program, sweep: ReadingSweep, codes, way: int, column: int, scoring) -> int:
    """Return the nearest exit that explains a way's entry, or -1 for a chain's first exon."""
    ways, bases = sweep.ways, int(sweep.ways.ways[way])
    if bases == FIRST:
        return -1
    start, stops = int(program.starts[ways.tracks[way]]), stop_words()
    before = np.searchsorted(ways.exit_ends, start, side="right")
    wanted = int(sweep.entries[way, column]) + scoring.intron_penalty
    for exit_ in np.flatnonzero(sweep.exits[:before, column] == wanted)[::-1]:
        kind = int(ways.exit_kinds[exit_])
        if kind != LAST and _bases(kind) == bases and completes(codes, stops, kind, start):
            return int(exit_)
    raise ValueError("no exit explains the value of an entry: the sweep is wrong")


def _bases(kind: int) -> int:
    """Return how many bases of a codon a class of split codons has."""
    return (0, 1, 1, 2, 2, 2)[kind]
