"""Loose ends of an alignment: what exons outside of the aligned part could win."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.annotate.options import longest_intron_of
from gpu_tools.model.results import ProteinAlignment, SplicedAlignment
from gpu_tools.model.scoring import ProteinScoring, SplicedScoring
from gpu_tools.search.windows import CONTEXT, USUAL
from gpu_tools.sites.model import GeneSites
from gpu_tools.splicing.proteins.scored import column_scores, sure_stretch
from gpu_tools.splicing.rows import kept_symbols


class LooseEnd(NamedTuple):
    """An end of a target, up to the first stretch that chance does not align."""

    # by how much its score is below what the rest of the target has for as many symbols
    points: float
    nucleotides: int

    def reach(self, sites: GeneSites, max_intron: int) -> int:
        """Return the nucleotides beside an alignment in which other exons could win the points."""
        intron = longest_intron_of(sites, int(self.points) + USUAL, max_intron)
        return self.nucleotides + intron + CONTEXT


def loose_ends_of_protein(
    alignment: ProteinAlignment, scoring: ProteinScoring, codons: tuple[int, int]
) -> tuple[LooseEnd, LooseEnd]:
    """Return both ends of a protein's alignment, in reading direction."""
    residues = len(alignment.residues.replace("-", ""))
    missing = (
        0 if alignment.start_codon else codons[0],
        0 if alignment.stop_codon else codons[1],
    )
    left_out = alignment.target_start, alignment.target_length - alignment.target_end
    columns = column_scores(alignment, scoring)
    return _both(*columns, residues, list(zip(left_out, missing, strict=True)), 3)


def loose_ends_of_cdna(
    alignment: SplicedAlignment, scoring: SplicedScoring, target: NDArray[np.uint8]
) -> tuple[LooseEnd, LooseEnd]:
    """Return both ends of a cDNA's alignment; its poly-A tail lies nowhere."""
    points = {"=": scoring.match, "X": scoring.mismatch, "I": scoring.gap, "D": scoring.gap}
    runs = [(points[letter], letter != "D", n) for letter, n in alignment.cigar if letter in points]
    scores, given, lengths = map(np.array, zip(*runs, strict=True))
    scores, own = np.repeat(scores, lengths), np.repeat(given * scoring.match, lengths)
    symbols = alignment.target_end - alignment.target_start
    left_out = alignment.target_start, max(kept_symbols(target) - alignment.target_end, 0)
    missing = [(n, scoring.clip_cost if n else 0) for n in left_out]
    return _both(scores, own, symbols, missing, 1)


def _both(
    scores: NDArray, own: NDArray, symbols: int, missing: list[tuple[int, int]], step: int
) -> tuple[LooseEnd, LooseEnd]:
    """Return both ends; of each the symbols outside of the columns, and points that it lacks."""
    expected = own * min(max(scores.sum() / max(own.sum(), 1), 0), 1)
    mean = expected.sum() / max(symbols, 1)
    ends = (scores, expected), (scores[::-1], expected[::-1])
    found = []
    for (columns, usual), (left_out, points) in zip(ends, missing, strict=True):
        _, sure = sure_stretch(columns)
        lacks = np.append(0, np.cumsum(usual - columns))[: sure + 1]
        most = int(lacks.argmax())
        lacking = float(lacks[most]) + mean * left_out + points
        found.append(LooseEnd(lacking, step * (most + left_out)))
    return found[0], found[1]
