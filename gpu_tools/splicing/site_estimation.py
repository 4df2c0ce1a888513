"""Estimation of position weight matrices of sites from annotated sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.annotated_strands import ReadingStrand
from gpu_tools.model.sequences import OTHER, encode


@dataclass(frozen=True)
class Window:
    """Where a site's matrix lies and which words it must hold.

    Attributes
    ----------
    before, after : int
        Columns before the exon's edge and from it on.
    words : tuple of str
        Words that a site may have, all of one length.
    offset : int
        Position of the words' first base, counted from the edge.
    """

    before: int
    after: int
    words: tuple[str, ...]
    offset: int


DIGITS = 2
EDGES_AT_ONCE = 1_000_000
"""Positions whose words are looked up together, which bounds the memory."""


def rounded(scores: NDArray[np.float64]) -> list:
    """Return nested lists with two decimals; null for a score of minus infinity."""
    rows = np.round(scores, DIGITS) + 0.0  # + 0.0 makes -0.0 plain
    return [
        rounded(row) if np.ndim(row) else (None if np.isneginf(row) else float(row)) for row in rows
    ]


def site_matrix(
    strands: list[ReadingStrand], kind: str, window: Window, weight: float, cutoff: float
) -> dict[str, Any]:
    """Compare each column at the annotated sites with all positions that hold one of the words.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `strands_of`.
    kind : {"acceptors", "donors", "starts"}
        Which of the strands' edges.
    window : Window
        Columns and words.
    weight : float
        Pseudo-observations of the background in each column.
    cutoff : float
        Smallest score of a site in bits.

    Returns
    -------
    dict
        The site as a model's JSON file holds it.
    """
    seen, background = (
        pairs.sum(axis=1) for pairs in _pairs_of(strands, kind, window, window.before)
    )
    scores = _log_odds(*_columns(seen, background, weight))
    return {"before": window.before, "scores": rounded(scores), "cutoff": cutoff}


def dependent_matrix(
    strands: list[ReadingStrand],
    kind: str,
    window: Window,
    weight: float,
    pair_weight: float,
    cutoff: float,
) -> dict[str, Any]:
    """Compare each column, behind each base before it, with all positions that hold the words.

    Parameters
    ----------
    strands, kind, window, weight, cutoff
        As for `site_matrix`.
    pair_weight : float
        Pseudo-observations, in a column behind each base, of the column alone.

    Returns
    -------
    dict
        The site as a model's JSON file holds it; the first column is independent.
    """
    seen, background = _pairs_of(strands, kind, window, window.before + 1)
    observed, chance = _columns(seen.sum(axis=1), background.sum(axis=1), weight)
    paired = [
        _behind(pairs, alone, pair_weight)
        for pairs, alone in ((seen, observed), (background, chance))
    ]
    paired[0][0], paired[1][0] = observed[0], chance[0]
    scores = _log_odds(*paired)
    scores[np.isneginf(_log_odds(observed, chance))[:, None, :].repeat(4, axis=1)] = -np.inf
    return {"before": window.before, "scores": rounded(scores), "cutoff": cutoff}


def _columns(seen, background, weight: float) -> tuple[NDArray, NDArray]:
    """Return frequencies by column at the sites, smoothed, and at all positions."""
    chance = background / background.sum(axis=1, keepdims=True)
    weighted = seen + weight * chance
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
    """Count pairs by column, base before and base, at the annotated sites and at all positions.

    Edges count that lie `before` bases or more within the sequence.
    """
    totals = np.zeros((2, window.before + window.after, 4, 4), dtype=np.int64)
    for strand in strands:
        sites, everywhere = [getattr(strand, kind)], _everywhere(len(strand.codes) + 1)
        for total, parts in zip(totals, (sites, everywhere), strict=True):
            for edges in parts:
                with_word = _with_word(strand.codes, edges, window, before)
                total += _pairs(strand.codes, with_word, window)
    return totals[0], totals[1]


def _everywhere(n_edges: int) -> Iterator[NDArray[np.int64]]:
    """Yield all edges, `EDGES_AT_ONCE` at a time."""
    for first in range(0, n_edges, EDGES_AT_ONCE):
        yield np.arange(first, min(first + EDGES_AT_ONCE, n_edges))


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
