"""Compiles what follows a search for alignments, as a program of its own.

The score pass and the search are large compiled functions. Two processes that compile one part each
finish them sooner.
"""

from __future__ import annotations

import sys

import numpy as np

from gpu_tools.formats.scales import load_matrix
from gpu_tools.local.problem import USUAL_SIZES, make_problem
from gpu_tools.local.search.corridor import KnownEnd
from gpu_tools.local.search.tiles import Tiles
from gpu_tools.local.search.traceback import trace
from gpu_tools.model.scoring import AffineScoring

_TILES = 8


def compile_traceback(scoring: AffineScoring) -> None:
    """Align a sequence with itself, and use the alignment up: its end is known beforehand."""
    side, most = USUAL_SIZES.smallest_tile, int(scoring.table()[0, 0])
    length = _TILES * side
    problem = make_problem(*np.zeros((2, length), np.uint8), scoring)
    bounds = np.full((_TILES, _TILES), length * most, np.int32)
    tiles = Tiles(problem, side, bounds)
    end = KnownEnd(length * most, (length, length), None)
    start, _, cigar = trace(problem, end, tiles.corridor_inputs, USUAL_SIZES.cells_at_once)
    tiles.use_up(start, end.end, cigar)


if __name__ == "__main__":
    compile_traceback(
        AffineScoring(matrix=load_matrix("BLOSUM62") if "matrix" in sys.argv else None)
    )
