"""The choices that training does not estimate."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tools.splicing.site_matrix import Window

ACCEPTOR, DONOR = Window(20, 3, ("AG",), -2), Window(3, 6, ("GT", "GC"), 0)
START = Window(9, 6, ("ATG",), 0)


@dataclass(frozen=True)
class Design:
    """The choices that training does not estimate.

    Attributes
    ----------
    acceptor, donor, start : Window
        The three kinds of site.
    site_weight : float
        Pseudo-observations of the background in each column of a site.
    pair_weight : float
        Pseudo-observations, in a column behind each nucleotide, of the column alone; of a start's
        columns no pairs are formed.
    site_cutoff : float
        Smallest score of a site in bits.
    order : int
        Nucleotides of context of coding and other sequence.
    context_weight : float
        Pseudo-observations of the next shorter context.
    usage_weight : float
        Pseudo-observations of the codon usage, where there is one.
    coding_weight : float
        Factor of the coding scores: neighbouring words, and the nucleotides of one region, are not
        independent, and the whole sum would outweigh the sites.
    gc_window : int
        Nucleotides, around a nucleotide, whose G and C count.
    gc_shifts : tuple of float
        What the logit of the frequency of G or C gains for each unit of the logit of the share
        of G+C around: at the three positions of a codon, and in other sequence.
    length_bandwidth : float
        Standard deviation, in natural logarithms, that smooths exon lengths.
    length_weight : float
        Pseudo-observations, for the lengths of each type, of those of all types.
    state_weight : float
        Pseudo-observations of the usual gene: seven introns, single in one of ten.
    min_length, max_length : int
        Shortest and longest exon.
    shortest_intron : int
        Fewest nucleotides of an intron.
    min_probability : float
        Smallest posterior probability of a candidate.
    """

    acceptor: Window = ACCEPTOR
    donor: Window = DONOR
    start: Window = START
    site_weight: float = 4.0
    pair_weight: float = 30.0
    site_cutoff: float = -6.0
    order: int = 4
    context_weight: float = 400.0
    usage_weight: float = 3000.0
    coding_weight: float = 0.6
    gc_window: int = 5000
    gc_shifts: tuple[float, float, float, float] = (0.44, 0.18, 1.67, 1.0)
    length_bandwidth: float = 0.3
    length_weight: float = 20.0
    state_weight: float = 10.0
    min_length: int = 3
    max_length: int = 10_000
    shortest_intron: int = 30
    min_probability: float = 3e-5
