"""Compiles what the compiled functions for many cases call, as a program of its own.

`gpu_tools.spliced.cpu.schedule.align_cases` is the largest compiled function of all. Processes that
compile one function each finish it sooner: it is made of what they have stored in the cache.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import typeof

from gpu_tools.hardware.inner_functions import compiling_inner
from gpu_tools.model.scoring import GENE_SCORING
from gpu_tools.spliced.cpu import schedule
from gpu_tools.spliced.cpu.sweep import Stream, terms_of
from gpu_tools.spliced.cpu.traceback import trace_chain
from gpu_tools.spliced.exon_graph import GraphArrays, Tracks
from gpu_tools.splicing.recurrence import Sweep
from gpu_tools.splicing.traceback import pair_scores


def compile_part(name: str, dtype: type = np.int16) -> None:
    """Compile a function, with what it calls, for the types that it is called with.

    Parameters
    ----------
    name : str
        ``trace`` or ``sweep``.
    dtype : type
        Of cells: int16 or int32.
    """
    numbers, symbols = np.empty(0, np.int64), np.empty(0, np.uint8)
    cells, rows = np.empty(0, dtype), np.empty((0, 0), dtype)
    graph = GraphArrays(symbols, numbers, Tracks(*[numbers] * len(Tracks._fields)))
    strand = schedule.StrandGraph(graph, Stream(cells, 0, *[numbers] * 4, cells), numbers)
    terms = terms_of(GENE_SCORING, np.dtype(dtype))
    costs = terms.gap, terms.penalty, terms.free
    pairs = pair_scores(symbols, GENE_SCORING)
    function, *arguments = {
        "trace": (trace_chain, graph, Sweep(rows, rows), symbols, pairs, costs, 0, 0),
        "sweep": (schedule._sweep, strand, symbols, terms, cells),
    }[name]
    with compiling_inner():
        function.compile(tuple(map(typeof, arguments)))


if __name__ == "__main__":
    compile_part(sys.argv[1])
