"""The traceback of site mode: from a sweep to the best chain and its alignment.

`gpu_tools.splicing.traceback` describes how an exon is found; ties are those of
`gpu_tools.spliced.cpu.traceback`. The sweep has not stored the rows at sites: blocks of rows are
computed again where the chain has exons.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.sites.cpu.chain import (
    COLUMN,
    END,
    FRAME,
    LAST,
    LOST,
    NUMBERS,
    STAGE,
    THERE,
    VALUE,
)
from gpu_tools.sites.cpu.sweep import SiteSweep
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.codons import FRAMES
from gpu_tools.splicing.traceback import TracedChain, chain_of


def trace(
    sweep: SiteSweep,
    table: SiteTable,
    codes: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
) -> TracedChain:
    """Recover the best chain and its alignment.

    Parameters
    ----------
    sweep : SiteSweep
        With a score.
    table : SiteTable
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring

    Returns
    -------
    TracedChain
    """
    numbers = [0] * NUMBERS
    numbers[END], numbers[COLUMN], numbers[FRAME] = sweep.end, sweep.column, sweep.end % FRAMES
    numbers[VALUE] = sweep.score - table.last.at(sweep.end) - scoring.gap * sweep.column
    numbers[LAST], numbers[THERE] = 1, -1
    path = np.array(numbers)
    exons, *runs = sweep.follow(path)
    if path[STAGE] == LOST:
        raise ValueError("no exon or exit explains a value: the sweep is wrong")
    return chain_of(exons, *runs, scoring)
