"""AUGUSTUS as a provider of candidate exons: gene structures that it samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.providers.program import output_for
from gpu_tools.formats.exons.augustus import parse_augustus
from gpu_tools.model.exon_set import ExonSet

_OPTIONS = (
    # all structures that were sampled, however improbable, not a choice of them
    "--alternatives-from-sampling=true", "--minexonintronprob=0", "--minmeanexonintronprob=0",
    "--maxtracks=-1",
    # exons with their types, the stop codon within the last one, and nothing else
    "--gff3=off", "--exonnames=on", "--stopCodonExcludedFromCDS=false", "--UTR=off", "--cds=off",
    "--introns=off", "--start=off", "--stop=off", "--protein=off", "--codingseq=off",
)  # fmt: skip


@dataclass(frozen=True)
class Augustus:
    """AUGUSTUS 3, sampling gene structures from their posterior distribution.

    Attributes
    ----------
    program : str
        Name or path of the program.
    species : str
        Name of its model, as ``augustus --species=help`` lists them.
    samples : int
        Gene structures to sample; an exon's probability is the share of them that has it.
    min_probability : float
        Smallest probability of a candidate.
    """

    program: str = "augustus"
    species: str = "human"
    samples: int = 100
    min_probability: float = 0.0

    def exons(self, codes: NDArray[np.uint8]) -> ExonSet:
        """Return the candidate exons of a sequence, both strands.

        Parameters
        ----------
        codes : ndarray of uint8, shape (n,)
            Encoded nucleotides.

        Returns
        -------
        ExonSet
            Sorted by strand, start, end and type; the score is `log_odds` of the probability.

        Raises
        ------
        ProgramError
            If the program cannot be run.
        InputError
            If it prints anything but exons.
        """
        choices = f"--species={self.species}", f"--sample={self.samples}"
        lines = output_for(codes, lambda fasta: [self.program, *choices, *_OPTIONS, fasta])
        found = parse_augustus(f"what {self.program} printed", lines)
        retained = found.take(found.probabilities >= self.min_probability)
        return replace(retained, scores=log_odds(retained.probabilities, self.samples))


def log_odds(probabilities: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    """Return the log-odds, in bits, of shares of a number of samples.

    Half a sample is added on either side, so that all and none are finite: the score lies between
    -log2(2 n + 1) and log2(2 n + 1) for n samples. Two decimals.
    """
    counts = probabilities * samples
    return np.round(np.log2((counts + 0.5) / (samples - counts + 0.5)), 2)
