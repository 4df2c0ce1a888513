"""Compiles a kernel of site mode without starting it, or what the CPU does beside a GPU.

As a program of its own: processes that compile one each finish them sooner.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import cuda, int32, int64, uint8

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.gpu.codon_sweep import sweep_codons_warp
from gpu_tools.sites.gpu.row_plan import listed_sites
from gpu_tools.sites.gpu.steps import compile_steps
from gpu_tools.sites.gpu.sweep import sweep_packed_warp
from gpu_tools.sites.gpu.traceback import trace_packed_warp
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.cpu import parts
from gpu_tools.sites.proteins.gpu.plan import ProteinStrand
from gpu_tools.sites.proteins.gpu.resumed import ResumedSweep
from gpu_tools.sites.proteins.gpu.strips import ROWS_AGAIN, LaidOutProtein, ProteinJob
from gpu_tools.sites.proteins.gpu.sweep import sweep_proteins_warp

_TABLE, _STRIPS, _ENDS = int64[:, ::1], int32[:, ::1], int32[:, :, ::1]
_WORDS, _PAIRS, _BYTES = int32[::1], int64[::1], uint8[::1]

KERNELS = {
    "sweep": (
        sweep_packed_warp,
        (_TABLE, _STRIPS, _WORDS, _BYTES, _WORDS, _ENDS, _WORDS),
    ),
    "sweep_codons": (
        sweep_codons_warp,
        (_TABLE, _STRIPS, _WORDS, _WORDS, _BYTES, _WORDS, _PAIRS, _WORDS, _ENDS, _WORDS),
    ),
    "trace": (
        trace_packed_warp,
        (_TABLE, _TABLE, *[_WORDS] * 2, *[_BYTES] * 2, *[_WORDS] * 3, _STRIPS, _WORDS),
    ),
    "sweep_proteins": (
        sweep_proteins_warp,
        (_TABLE, _STRIPS, *[_WORDS] * 4, _PAIRS, *[_WORDS] * 3),
    ),
}
"""Each part's kernel, and the types of what it is started with."""


def compile_steps_of_a_table() -> None:
    """Compile what makes the steps of a table."""
    codes, ends = np.zeros(9, np.uint8), SplicedScoring().ends
    compile_steps(listed_sites(codes, load_sites("vertebrate").table(codes, ends, "any", 0, 1)))


def compile_traceback_of_proteins() -> None:
    """Compile what follows a protein's chain from checkpoints of a GPU."""
    strand = ProteinStrand(parts.CODES, parts.table_of_codes(), parts.SCORING, ROWS_AGAIN)
    job = ProteinJob(strand, LaidOutProtein(parts.TARGET, parts.SCORING))
    sweep = ResumedSweep(job, 0, 0, fetch=lambda *of: None)  # there is no checkpoint before part 0
    parts.compile_traceback(sweep, sweep.stored, sweep.checkpoints(0))


HOST = {"steps": compile_steps_of_a_table, "trace_proteins": compile_traceback_of_proteins}
"""What compiles a part for the CPU."""


def compile_part(name: str, device: str = "cuda:0") -> None:
    """Compile a kernel of `KERNELS` for the kind of a GPU, or a part of `HOST`."""
    if name in HOST:
        HOST[name]()
        return
    kernel, types = KERNELS[name]
    cuda.select_device(int(device.partition(":")[2] or 0))
    kernel.compile(types)


if __name__ == "__main__":
    compile_part(*sys.argv[1:])
