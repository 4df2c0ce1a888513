"""GENSCAN as a provider of candidate exons: the user's own binary and parameter matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.providers.program import output_for
from gpu_tools.exons.providers.windows import join_windows, windows
from gpu_tools.formats.exons.genscan import parse_report
from gpu_tools.model.exon_set import ExonSet


@dataclass(frozen=True)
class Genscan:
    """GENSCAN 1.0, run as ``genscan MATRIX SEQUENCE -subopt CUTOFF``.

    Attributes
    ----------
    matrix : str
        Path of the parameter matrix, such as HumanIso.smat.
    program : str
        Name or path of the binary.
    min_probability : float
        Smallest probability of a suboptimal exon; GENSCAN takes 0.01 and more. The exons of its
        best parse are candidates whatever their probability.
    window, overlap : int
        A sequence longer than `window` is split into windows of that size that overlap by at
        least `overlap` nucleotides; see `gpu_tools.exons.providers.windows.join_windows`.
    """

    matrix: str
    program: str = "genscan"
    min_probability: float = 0.01
    window: int = 1_000_000
    overlap: int = 100_000

    def exons(self, codes: NDArray[np.uint8]) -> ExonSet:
        """Return the candidate exons of a sequence, both strands.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n,)
            Encoded nucleotides.

        Returns
        -------
        ExonSet
            With the scores (``Tscr``) and probabilities of the report, sorted by strand, start,
            end and type, equal ones once.

        Raises
        ------
        ProgramError
            If the program cannot be run.
        InputError
            If what it prints is not a report on the whole sequence.
        """
        parts = [
            (window, self._exons_of_window(codes[slice(*window)]))
            for window in windows(len(codes), self.window, self.overlap)
        ]
        return join_windows(parts)

    def _exons_of_window(self, codes: NDArray[np.uint8]) -> ExonSet:
        choice = "-subopt", f"{self.min_probability:g}"
        lines = output_for(codes, lambda fasta: [self.program, self.matrix, fasta, *choice])
        return parse_report(f"what {self.program} printed", lines, len(codes))
