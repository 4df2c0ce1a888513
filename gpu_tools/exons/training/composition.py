"""Estimation of the composition of coding and other sequence."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.features import gc_classes, words_before
from gpu_tools.exons.model import GC_CLASSES
from gpu_tools.exons.training.design import Design
from gpu_tools.model.annotated_strands import ReadingStrand
from gpu_tools.model.sequences import encode
from gpu_tools.model.translation import STOP_CODONS

Frequencies = NDArray[np.float64]
RARE = 1e-6
"""Share of a codon that the codon usage does not know."""


def estimate_composition(
    strands: list[ReadingStrand], design: Design, usage: Frequencies | None = None
) -> tuple[Frequencies, Frequencies]:
    """Estimate the frequency of each nucleotide after those before it, where half are G or C.

    Interpolated Markov chains: the frequencies behind a context are smoothed by those behind the
    next shorter one or, where codons say as much, by the codon usage. An observation counts for
    less or more by how likely G+C around makes it, so that records of any G+C can be pooled.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `gpu_tools.model.annotated_strands.strands_of`.
    design : Design
        Gives the order, the weights and the influence of G+C.
    usage : ndarray of float64, shape (64,), optional
        Codon usage, codons in the order AAA, AAC, ... TTT, to any scale; stop codons do not count.

    Returns
    -------
    coding : ndarray of float64, shape (3, 4 ** (order + 1))
        By position in the codon and word of context and nucleotide; each context adds up to 1.
    other : ndarray of float64, shape (1, 4 ** (order + 1))
        The same outside coding segments, both strands.
    """
    prepared = [_observations(strand, design) for strand in strands]
    coding, other = np.full((3, 4), 0.25), np.full((1, 4), 0.25)
    for order in range(design.order + 1):
        counts = [_counts(strand, *p, order) for strand, p in zip(strands, prepared, strict=True)]
        seen, background = (sum(several) for several in zip(*counts, strict=True))
        priors, weights = _longer(coding, order), np.full(3, design.context_weight)
        for position in range(3) if usage is not None else ():
            if order <= position:
                priors[position] = _from_usage(usage, position, order)
                weights[position] = design.usage_weight
        coding = _smoothed(seen, priors, weights)
        other = _smoothed(background, _longer(other, order), np.array([design.context_weight]))
    return coding, other


def _observations(strand: ReadingStrand, design: Design) -> tuple[NDArray, NDArray]:
    """Return each nucleotide's position in a codon (3: none), and its weight in the counts.

    A frequency that G+C around multiplies by a factor is divided by it.
    """
    n = len(strand.codes)
    row = np.full(n, 3)
    for start, end, phase in strand.readings:
        row[start:end] = (np.arange(end - start) - phase) % 3
    share = GC_CLASSES[gc_classes(strand.codes, design.gc_window)]
    gain = np.log(share / (1 - share)) * np.array(design.gc_shifts)[row]
    strong = (strand.codes == 1) | (strand.codes == 2)
    return row, np.exp(np.where(strong, -gain, 0.0))


def _counts(strand: ReadingStrand, row, weight, order: int) -> tuple[Frequencies, Frequencies]:
    """Count words by codon position inside readings, and in all the rest of the strand."""
    size = 4 ** (order + 1)
    word, known = words_before(strand.codes, order)
    inside = np.zeros(len(word), dtype=bool)
    for start, end, _ in strand.readings:
        inside[start + order : end] = True
    counts = [
        np.bincount(word[where], weight[where], minlength=size)
        for where in (known & (row == k) & (inside | (k == 3)) for k in range(4))
    ]
    return np.array(counts[:3]), np.array(counts[3:])


def _longer(frequencies: Frequencies, order: int) -> Frequencies:
    """Return frequencies of words of one more nucleotide, the first of which does not matter."""
    return frequencies if order == 0 else np.tile(frequencies, (1, 4))


def _from_usage(usage: Frequencies, position: int, order: int) -> Frequencies:
    """Return the frequency of a nucleotide at a position after `order` others, by codon usage."""
    codons = np.array(usage, dtype=np.float64)
    codons[[encode(stop) @ (16, 4, 1) for stop in STOP_CODONS]] = 0.0
    codons = codons.reshape(4, 4, 4) + RARE * codons.sum()
    before, behind = tuple(range(position - order)), tuple(range(position + 1, 3))
    joint = codons.sum(axis=before + behind)
    return (joint / joint.sum(axis=-1, keepdims=True)).ravel()


def _smoothed(counts: Frequencies, priors: Frequencies, weights: Frequencies) -> Frequencies:
    """Return frequencies given the context, smoothed by `priors` that count for `weights`."""
    rows, words = counts.shape
    by_context, prior = counts.reshape(rows, -1, 4), priors.reshape(rows, -1, 4)
    weight = weights[:, None, None]
    totals = by_context.sum(axis=2, keepdims=True)
    return ((by_context + weight * prior) / (totals + weight)).reshape(rows, words)
