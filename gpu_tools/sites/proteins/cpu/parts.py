"""Compiles the traceback of proteins in site mode, as a program of its own.

The sweep and the traceback are two large compiled functions. Two processes that compile one each
finish them sooner.
"""

from __future__ import annotations

import numpy as np
from numba import typeof

from gpu_tools.formats.values.matrices import load_matrix
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.cpu.chain import NUMBERS, follow
from gpu_tools.sites.proteins.cpu.question import StoredBlocks, question_of, trace_memory
from gpu_tools.sites.proteins.cpu.state import fresh_state, states_of
from gpu_tools.sites.proteins.cpu.strand import ProteinSweep
from gpu_tools.sites.proteins.sites import protein_sites, protein_table


def compile_traceback() -> None:
    """Compile what follows a chain, for the types of a sweep whose cells have 16 bits."""
    scoring = ProteinScoring(load_matrix("BLOSUM62"))
    codes, target = np.zeros(9, np.uint8), np.zeros(1, np.uint8)
    table = protein_table(protein_sites(load_sites("vertebrate")), codes, 0, scoring)
    sweep = ProteinSweep(codes, target, table, scoring)
    question = question_of(sweep.lists, sweep.columns, target, scoring, 0, sweep.sizes.maxima)
    ends = np.full((1, 2, sweep.columns.width), sweep.columns.none)
    stored = StoredBlocks(0, sweep.block, states_of(fresh_state(table, sweep.columns), 1), ends)
    memory = trace_memory(sweep.columns, sweep.sizes, sweep.block, sweep.blocks_again)
    path, runs = np.zeros(NUMBERS, np.int64), np.empty((1, 2), np.int64)
    arguments = question, stored, None, memory, path, runs, runs
    follow.compile(tuple(map(typeof, arguments)))


if __name__ == "__main__":
    compile_traceback()
