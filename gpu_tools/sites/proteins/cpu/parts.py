"""Compiles the traceback of proteins in site mode, as a program of its own.

The sweep and the traceback are two large compiled functions. Two processes that compile one each
finish them sooner.
"""

from __future__ import annotations

import numpy as np
from numba import typeof

from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.cpu.memory import (
    Checkpoints,
    StoredBlocks,
    fresh_state,
    question_of,
    states_of,
    trace_memory,
)
from gpu_tools.sites.proteins.cpu.sweep import ProteinSweep
from gpu_tools.sites.proteins.cpu.traceback import NUMBERS, follow
from gpu_tools.sites.proteins.sites import protein_sites, protein_table
from gpu_tools.sites.table import SiteTable

SCORING = ProteinScoring(load_matrix("BLOSUM62"))
CODES, TARGET = np.zeros(9, np.uint8), np.zeros(1, np.uint8)


def table_of_codes() -> SiteTable:
    """Return the table of `CODES`."""
    return protein_table(protein_sites(load_sites("vertebrate")), CODES, 0, SCORING)


def compile_traceback(
    sweep: ProteinSweep, stored: StoredBlocks, checkpoints: Checkpoints | None
) -> None:
    """Compile what follows a chain, for the types of a sweep of `CODES` and `TARGET`."""
    question = question_of(sweep.lists, sweep.columns, TARGET, SCORING, 0, sweep.sizes.maxima)
    memory = trace_memory(sweep.columns, sweep.sizes, sweep.block, sweep.blocks_again)
    path, runs = np.zeros(NUMBERS, np.int64), np.empty((1, 2), np.int64)
    arguments = question, stored, checkpoints, memory, path, runs, runs
    follow.compile(tuple(map(typeof, arguments)))


def compile_on_cpu() -> None:
    """Compile the traceback of a sweep on the CPU whose cells have 16 bits."""
    table = table_of_codes()
    sweep = ProteinSweep(CODES, TARGET, table, SCORING)
    ends = np.full((1, 2, sweep.columns.width), sweep.columns.none)
    states = states_of(fresh_state(table, sweep.columns), 1)
    compile_traceback(sweep, StoredBlocks(0, sweep.block, states, ends), None)


if __name__ == "__main__":
    compile_on_cpu()
