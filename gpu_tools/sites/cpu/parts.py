"""Compiles what the compiled functions of site mode call, as a program of its own.

A function that sweeps blocks and follows a path back is large. Processes that compile one half each
finish it sooner: it is made of what they have stored in the cache.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import typeof

from gpu_tools.hardware.inner_functions import compiling_inner
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.bounds import limits
from gpu_tools.sites.cpu.block import sweep_block
from gpu_tools.sites.cpu.coding import sweep_coding_block
from gpu_tools.sites.cpu.memory import SweepBuffers
from gpu_tools.sites.cpu.sweep import SweepInputs, inputs_of, strand_of
from gpu_tools.sites.cpu.traceback import NUMBERS, ChainLists, ChainWork, follow
from gpu_tools.sites.model import load_sites


def inputs_for(reading: str) -> SweepInputs:
    """Return what a sweep takes whose cells have 16 bits."""
    scoring, codes = SplicedScoring(), np.zeros(9, np.uint8)
    table = load_sites("vertebrate").table(codes, scoring.ends, reading, 0, 1)
    strand = strand_of(codes, table, scoring.gap)
    limit = limits(strand.known, 2, scoring)
    return inputs_of(strand, codes[:1], scoring, limit, 1, SweepBuffers())[0]


def compile_part(name: str, reading: str = "any") -> None:
    """Compile a function, with what it calls, for the types that it is called with.

    Parameters
    ----------
    name : str
        ``follow`` or ``sweep``.
    reading : str
        Whether chains translate, see `gpu_tools.tables_of`.
    """
    lists, introns, sizes, target, memory, weights = inputs_for(reading)
    path, integers = np.empty(NUMBERS, np.int64), np.empty((0, 0), np.int32)
    chain = ChainLists(lists.codes, lists.first, lists.acceptors, lists.donors, introns)
    work, of_sweep = ChainWork(*[integers] * 3), (lists, sizes, target, memory, weights)
    stops = None if reading == "any" else lists.stops
    function, *arguments = {
        "follow": (follow, chain, stops, sizes, target, memory.cells, path, work),
        "sweep": (sweep_block, *of_sweep, 0, (0, 0), False)
        if reading == "any"
        else (sweep_coding_block, *of_sweep, (0, 0), False),
    }[name]
    with compiling_inner():
        function.compile(tuple(map(typeof, arguments)))


if __name__ == "__main__":
    compile_part(*sys.argv[1].split())
