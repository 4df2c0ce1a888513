"""Operations on rows of cells, of which site mode on a GPU and rising penalties are made."""

from __future__ import annotations

from gpu_tools.hardware.compiled import njit

RAISE, PUT, BEGIN, CLEAR, FINAL, ADVANCE, LOWER = range(7)
"""Operations (kind, to, source, bonus). `RAISE` raises row `to` to row `source` plus the bonus;
`PUT` sets it to that. `BEGIN` raises it to the empty chain's row plus the bonus. `CLEAR` sets it to
the floor. `FINAL` looks for the best end in row `to` at boundary `source`. `ADVANCE` advances row
`to` by the symbol `source`. `LOWER` sets row `to` to row `source` plus the bonus, which is
negative, but not below the floor.
"""


@njit
def emit(operations, n, kind, to, source, bonus):
    """Append an operation; return how many there are."""
    operations[n, 0], operations[n, 1] = kind, to
    operations[n, 2], operations[n, 3] = source, bonus
    return n + 1
