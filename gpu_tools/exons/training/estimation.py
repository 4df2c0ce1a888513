"""Estimation of a model of genes from annotated sequences: sites, lengths, states."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.lattice import FIRST_OF_PHASE, N_INTRONS
from gpu_tools.exons.training.composition import estimate_composition
from gpu_tools.exons.training.design import Design
from gpu_tools.model.annotated_strands import ReadingStrand
from gpu_tools.model.exon_set import EXON_TYPES
from gpu_tools.splicing.site_matrix import rounded

LENGTHS = (1, 3, 6, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 600, 1000,
           2000, 5000, 10_000)  # fmt: skip
"""Lengths at which a model's file has probabilities."""
ANY_LENGTH = 0.03
"""Share of exons of any length at all, evenly by the length's logarithm."""
USUAL_INTRONS, USUAL_SINGLE = 7.0, 0.1


def coding_scores(strands: list[ReadingStrand], design: Design, usage) -> dict[str, Any]:
    """Return the key ``coding`` of a model's JSON file; see `estimate_composition`."""
    coding, other = estimate_composition(strands, design, usage)
    return {
        "order": design.order,
        "window": design.gc_window,
        "weight": design.coding_weight,
        "gc": 0.5,
        "gc_shifts": list(design.gc_shifts),
        "coding": rounded(np.log2(coding)),
        "other": rounded(np.log2(other)),
    }


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
    for name, of_type in zip(EXON_TYPES[1:], seen[1:], strict=True):
        weight = len(of_type) / (len(of_type) + design.length_weight)
        density = weight * _density(of_type, at, design) + (1 - weight) * every
        lengths[name] = rounded(np.log2(density))
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
    nucleotides = sum(len(s.codes) for s in strands) / 2
    return {
        "between": round(max(nucleotides / (first + single + 1), 2.0), 1),
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
