"""Points of introns that lie where the protein's own gene has one.

Positions of introns outlive the sequence around them by far. So an intron that lies at the same
residue, in the same phase, as one of the protein's own gene has points, and one a residue beside it
some. An alignment of diverged residues may be off by one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

PHASES = 3
SAME, BESIDE = 12, 4
"""Points of an intron at the same place, and one residue beside it, in units of BLOSUM62.

Chosen on genes of Arabidopsis and the fly, judged on others of both and on the worm.
"""


def intron_points(introns: tuple[int, ...], residues: int) -> NDArray[np.int64]:
    """Return the points of introns by phase, and by the residues that end before the next codon.

    An intron behind a codon's first or second nucleotide lies within the last one of these
    residues. `introns` are codons' nucleotides before each intron of the protein's gene.
    """
    points = np.zeros((PHASES, residues + 1), np.int64)
    if not introns:
        return points
    places = np.array([at for at in introns if 0 < at < PHASES * residues], np.int64)
    phases, columns = places % PHASES, -(-places // PHASES)
    for shift, bonus in ((-1, BESIDE), (1, BESIDE), (0, SAME)):
        beside = columns + shift
        inside = (beside >= (phases > 0)) & (beside <= residues)
        np.maximum.at(points, (phases[inside], beside[inside]), bonus)
    return points
