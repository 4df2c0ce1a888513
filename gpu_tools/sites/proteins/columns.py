"""The columns of a protein's sweep over the sites of a strand."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.sites.proteins.limits import pair_bounds, protein_limits
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.proteins.columns import ProteinColumns, lay_out
from gpu_tools.splicing.rows import padded


def columns_of(
    target: NDArray[np.uint8], table: SiteTable, scoring: ProteinScoring, symbols: int
) -> ProteinColumns:
    """Lay a protein's columns out for a sweep over the sites of a table."""
    width = int(padded(len(target) + 1, 1, 2))
    limits = protein_limits(table, pair_bounds(target, scoring), scoring, width)
    return lay_out(target, scoring, symbols, limits)
