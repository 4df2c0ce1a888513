"""Estimation of a model of genes from annotated sequences: sites, lengths, states."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.annotation import AnnotatedSequence
from gpu_tools.exons.candidates import EXON_TYPES
from gpu_tools.exons.composition import estimate_composition
from gpu_tools.exons.design import Design, Window
from gpu_tools.exons.lattice import FIRST_OF_PHASE, N_INTRONS
from gpu_tools.exons.model import FORMAT, STOP_CODONS, VERSION
from gpu_tools.exons.strands import ReadingStrand, strands_of
from gpu_tools.sequences import OTHER, encode

__all__ = ["Design", "Window", "estimate", "site_matrix", "strands_of"]

DIGITS = 2
UNNAMED = "unnamed"
LENGTHS = (1, 3, 6, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 600, 1000,
           2000, 5000, 10_000)  # fmt: skip
"""Lengths at which a model's file has probabilities."""
ANY_LENGTH = 0.03
"""Share of exons of any length at all, evenly by the length's logarithm."""
USUAL_INTRONS, USUAL_SINGLE = 7.0, 0.1


def estimate(
    records: Iterable[AnnotatedSequence],
    design: Design,
    usage: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Estimate a model; its name and source are left open.

    Parameters
    ----------
    records : iterable of AnnotatedSequence
        What to train on.
    design : Design
        Choices that are not estimated.
    usage : ndarray of float64, shape (64,), optional
        Codon usage known from elsewhere, codons in the order AAA, AAC, ... TTT, to any scale;
        it is what coding sequence is taken for where the records say little.

    Returns
    -------
    dict
        Content of a model's JSON file.
    """
    strands = [strand for record in records for strand in strands_of(record)]
    return {
        "format": FORMAT,
        "version": VERSION,
        "name": UNNAMED,
        "source": UNNAMED,
        "units": "bits",
        "acceptor": dependent_matrix(strands, "acceptors", design.acceptor, design),
        "donor": dependent_matrix(strands, "donors", design.donor, design),
        "start": site_matrix(strands, "starts", design.start, design),
        "stops": list(STOP_CODONS),
        "coding": _coding(strands, design, usage),
        "length": exon_lengths(strands, design),
        "min_length": design.min_length,
        "max_length": design.max_length,
        "gene": gene_states(strands, design),
        "min_probability": design.min_probability,
    }


def _coding(strands: list[ReadingStrand], design: Design, usage) -> dict[str, Any]:
    coding, other = estimate_composition(strands, design, usage)
    return {
        "order": design.order,
        "window": design.gc_window,
        "weight": design.coding_weight,
        "gc": 0.5,
        "gc_shifts": list(design.gc_shifts),
        "coding": _rounded(np.log2(coding)),
        "other": _rounded(np.log2(other)),
    }


def _rounded(scores: NDArray[np.float64]) -> list:
    """Return nested lists with two decimals; null for a score of minus infinity."""
    rounded = np.round(scores, DIGITS) + 0.0  # + 0.0 makes -0.0 plain
    return [
        _rounded(row) if np.ndim(row) else (None if np.isneginf(row) else float(row))
        for row in rounded
    ]


def site_matrix(
    strands: list[ReadingStrand], kind: str, window: Window, design: Design
) -> dict[str, Any]:
    """Compare each column at the annotated sites with all places that hold one of the words.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `strands_of`.
    kind : {"acceptors", "donors", "starts"}
        Which of the strands' edges.
    window : Window
        Columns and words.
    design : Design
        Gives the pseudo-observations and the cut-off.

    Returns
    -------
    dict
        The site as a model's JSON file holds it.
    """
    seen, background = (
        pairs.sum(axis=1) for pairs in _pairs_of(strands, kind, window, window.before)
    )
    scores = _log_odds(*_columns(seen, background, design))
    return {"before": window.before, "scores": _rounded(scores), "cutoff": design.site_cutoff}


def dependent_matrix(
    strands: list[ReadingStrand], kind: str, window: Window, design: Design
) -> dict[str, Any]:
    """Compare each column, behind each base before it, with all places that hold the words.

    Parameters
    ----------
    strands, kind, window, design
        As for `site_matrix`.

    Returns
    -------
    dict
        The site as a model's JSON file holds it; the first column is independent.
    """
    seen, background = _pairs_of(strands, kind, window, window.before + 1)
    observed, chance = _columns(seen.sum(axis=1), background.sum(axis=1), design)
    paired = [
        _behind(pairs, alone, design.pair_weight)
        for pairs, alone in ((seen, observed), (background, chance))
    ]
    paired[0][0], paired[1][0] = observed[0], chance[0]
    scores = _log_odds(*paired)
    scores[np.isneginf(_log_odds(observed, chance))[:, None, :].repeat(4, axis=1)] = -np.inf
    return {"before": window.before, "scores": _rounded(scores), "cutoff": design.site_cutoff}


def _columns(seen, background, design: Design) -> tuple[NDArray, NDArray]:
    """Return frequencies by column at the sites, smoothed, and at all places."""
    chance = background / background.sum(axis=1, keepdims=True)
    weighted = seen + design.site_weight * chance
    return weighted / weighted.sum(axis=1, keepdims=True), chance


def _behind(pairs: NDArray, alone: NDArray, weight: float) -> NDArray[np.float64]:
    """Return frequencies by column, base before and base, smoothed by those of the column."""
    return (pairs + weight * alone[:, None, :]) / (pairs.sum(axis=2, keepdims=True) + weight)


def _log_odds(observed: NDArray, chance: NDArray) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance > 0, np.log2(observed / chance), -np.inf)


def _pairs_of(
    strands: list[ReadingStrand], kind: str, window: Window, before: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count pairs by column, base before and base, at the annotated sites and at all places.

    Edges count that lie `before` bases or more within the sequence.
    """
    totals = np.zeros((2, window.before + window.after, 4, 4), dtype=np.int64)
    for strand in strands:
        everywhere = np.arange(len(strand.codes) + 1)
        for total, edges in zip(totals, (getattr(strand, kind), everywhere), strict=True):
            total += _pairs(strand.codes, _with_word(strand.codes, edges, window, before), window)
    return totals[0], totals[1]


def _with_word(
    codes: NDArray[np.uint8], edges: NDArray[np.int64], window: Window, before: int
) -> NDArray[np.int64]:
    """Return the edges that have the window inside the sequence and one of its words."""
    edges = edges[(edges >= before) & (edges <= len(codes) - window.after)]
    matches = [
        np.all([codes[edges + window.offset + k] == c for k, c in enumerate(encode(w))], axis=0)
        for w in window.words
    ]
    return edges[np.any(matches, axis=0)]


def _pairs(codes: NDArray[np.uint8], edges: NDArray[np.int64], window: Window) -> NDArray[np.int64]:
    """Count in each column the four bases behind the four before; behind N counts as behind A."""
    counts = []
    for column in range(-window.before, window.after):
        here = codes[edges + column]
        previous = codes[np.maximum(edges + column - 1, 0)]
        pair = np.where(previous == OTHER, 0, previous) * (OTHER + 1) + here
        counts.append(np.bincount(pair, minlength=4 * (OTHER + 1)).reshape(4, OTHER + 1)[:, :4])
    return np.array(counts)


def exon_lengths(strands: list[ReadingStrand], design: Design) -> dict[str, list]:
    """Smooth the lengths of the annotated exons.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `strands_of`.
    design : Design
        Gives how much.

    Returns
    -------
    dict of str to list
        Lengths under ``at``, and for each type the logarithms to base 2 of one length's
        probability there. Each exon is a bell curve over the length's logarithm.
    """
    at = np.array([n for n in LENGTHS if n <= design.max_length])
    seen = [[end - start for s in strands for start, end, t in s.exons if t == code] for code in
            range(len(EXON_TYPES))]  # fmt: skip
    every = _density(np.concatenate(seen), at, design)
    lengths: dict[str, list] = {"at": at.tolist()}
    for name, own in zip(EXON_TYPES[1:], seen[1:], strict=True):
        weight = len(own) / (len(own) + design.length_weight)
        density = weight * _density(own, at, design) + (1 - weight) * every
        lengths[name] = _rounded(np.log2(density))
    return lengths


def _density(lengths, at: NDArray[np.int64], design: Design) -> NDArray[np.float64]:
    """Return the probability of each length `at`, as one of many."""
    total = np.log(design.max_length / design.min_length)
    density = np.full(len(at), 1 / total)
    if len(lengths):
        width = design.length_bandwidth
        distance = np.subtract.outer(np.log(at), np.log(lengths)) / width
        bells = np.exp(-(distance**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi))
        density = (1 - ANY_LENGTH) * bells + ANY_LENGTH * density
    return density / at


def gene_states(strands: list[ReadingStrand], design: Design) -> dict[str, Any]:
    """Estimate how genes are built.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `strands_of`.
    design : Design
        Gives the usual gene and its weight.

    Returns
    -------
    dict
        The key ``gene`` of a model's JSON file. Means of geometric lengths are those that have
        the medians seen: few long introns would make all the others unlikely.
    """
    types = [t for s in strands for *_, t in s.exons]
    single, first = (types.count(EXON_TYPES.index(name)) for name in ("Sngl", "Init"))
    introns = [intron for s in strands for intron in s.introns]
    weight = design.state_weight
    n_genes, n_introns = first + weight, len(introns) + weight * USUAL_INTRONS
    lengths = [end - start for start, end, _ in introns]
    bases = sum(len(s.codes) for s in strands) / 2
    return {
        "between": round(max(bases / (first + single + 1), 2.0), 1),
        "intron": round(max(float(np.median(lengths) / np.log(2)), 2.0), 1),
        "shortest_intron": min(design.shortest_intron, *lengths),
        "single": round((single + weight * USUAL_SINGLE) / (single + first + weight), 4),
        "last": round(min(n_genes / n_introns, 0.9), 4),
        "introns": [round(float(share), 4) for share in _intron_shares(strands)],
    }


def _intron_shares(strands: list[ReadingStrand]) -> NDArray[np.float64]:
    """Return the shares of the intron states, one observation added to each."""
    counts = np.ones(N_INTRONS)
    for strand in strands:
        for start, _, phase in strand.introns:
            taken = (3 - phase) % 3
            left = strand.codes[start - taken : start].tolist()
            split = {(3,): 1, (3, 0): 1, (3, 2): 2}.get(tuple(left), 0)
            counts[FIRST_OF_PHASE[taken] + split] += 1
    return counts / counts.sum()
