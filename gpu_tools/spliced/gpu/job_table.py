"""The tables that kernels of list mode read: a row of numbers for each job, and the scoring.

A job is one strand of one case. The constants of this module number the columns of the job table
and the elements of the scoring.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.scoring import N_SYMBOLS, SplicedScoring

# counts: columns of the target and column 0, elements of a stored row, warp tiles, parts, spans,
# sources and exits of the graph; where the graph's tables begin, and the target; where the job's
# parts of the buffers begin; the jobs of the same case, as first and past the last; and the
# elements from one copy of the target's words to the next, see `graph_tables.write_job_inputs`
(
    COLUMNS, STRIDE, TILES, PARTS, SPANS, N_SOURCES, N_EXITS,
    NUMBERS, GRAPH_SOURCES, EXITS, SYMBOLS, TARGET,
    CELLS, SOURCES, WORDS, STRIPS, BORDERS, MOVES, FOUND,
    FIRST_RIVAL, PAST_RIVALS, WORD_STRIDE, FIELDS,
) = range(23)  # fmt: skip

# the scoring: the gap, whether ends are free, the intron penalty, the most that a pair adds to S',
# at least 0; of each target symbol what a pair with each of the four nucleotides adds to S'', and
# to S', as bytes
GAP, FREE, PENALTY, MOST, RAISED = range(5)
LIFTED = RAISED + N_SYMBOLS


def scoring_table(scoring: SplicedScoring) -> NDArray[np.int32]:
    """Return the elements of a scoring as the kernels read them."""
    lifted = (scoring.substitution() - scoring.gap).astype(np.int64)
    table = np.zeros(LIFTED + N_SYMBOLS, dtype=np.int32)
    table[[GAP, PENALTY]] = scoring.gap, scoring.intron_penalty
    table[FREE] = scoring.ends != "global"
    table[MOST] = max(int(lifted.max()), 0)
    nucleotides = lifted[:4].T
    table[RAISED : RAISED + N_SYMBOLS] = _words(np.maximum(nucleotides - scoring.gap, 0))
    table[LIFTED:] = _words(nucleotides)
    return table


def _words(scores: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return words of four bytes each; scores beyond a byte are for the 32-bit kernel alone."""
    return np.ascontiguousarray((scores & 0xFF).astype(np.uint8)).view(np.int32).ravel()
