"""The traceback of a protein: from a sweep to the best chain and its alignment.

Rows of a block are computed again where the chain has exons, and followed cell by cell. Of moves
that explain a cell the first of these is taken: a codon with a residue; a frameshift with a
residue; a codon left out; a frameshift; residues left out, as few as can be; the first exon's
begin; an intron, the shortest, and of these the one that splits the codon behind fewer nucleotides.
"""

from __future__ import annotations

import threading

import numpy as np

from gpu_tools.sites.proteins.cpu.chain import (
    BLOCK,
    BOUNDARY,
    COLUMN,
    EXONS,
    LAST,
    LOST,
    NUMBERS,
    RUNS,
    STAGE,
    follow,
)
from gpu_tools.sites.proteins.cpu.question import TraceMemory, question_of, trace_memory
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep
from gpu_tools.splicing.proteins.walk import TracedProtein, runs_in_order

_MOST_REUSED = 1 << 25
"""Bytes of memory, at most, that a thread keeps for its next traceback."""
_SPACE = 64
"""Exons and runs for which there is space at first."""


def trace(sweep: ProteinSweep) -> TracedProtein:
    """Recover the best chain of a sweep that has a score."""
    question = question_of(
        sweep.lists, sweep.columns, sweep.target, sweep.scoring, sweep.score, sweep.sizes.maxima
    )
    memory = _memory_of(sweep)
    path = np.zeros(NUMBERS, np.int64)
    path[[STAGE, BLOCK]] = sweep.begin
    path[[BOUNDARY, COLUMN]] = len(sweep.codes), len(sweep.target)
    runs = exons = np.empty((_SPACE, 2), np.int64)
    checkpoints, exons = sweep.checkpoints(None), exons.copy()
    while True:
        part, runs, exons = follow(question, sweep.stored, checkpoints, memory, path, runs, exons)
        if part < 0:
            break
        checkpoints = sweep.checkpoints(part)
    if part == LOST:
        raise ValueError("no move explains the value of a cell: the sweep is wrong")
    chain = exons[: path[EXONS]][::-1].tolist()
    return TracedProtein(
        [(start, end) for start, end in chain], int(path[COLUMN]), int(path[LAST]),
        runs_in_order(runs, path[RUNS]),
    )  # fmt: skip


class _Reused(threading.local):
    """Memory of the thread's latest traceback: fresh memory takes longer than the work in it."""

    key: tuple = ()
    memory: TraceMemory | None = None


_reused = _Reused()


def _memory_of(sweep: ProteinSweep) -> TraceMemory:
    """Return memory for a traceback, that of the thread's latest one if it has the same sizes."""
    own = sweep.sizes, sweep.block, sweep.blocks_again
    key = sweep.columns.width, sweep.columns.none.dtype, *own
    if key != _reused.key:
        made = trace_memory(sweep.columns, *own)
        if sum(part.nbytes for part in (made.rows, made.states.cells)) > _MOST_REUSED:
            return made
        _reused.key, _reused.memory = key, made
    _reused.memory.block[0] = -1
    return _reused.memory
