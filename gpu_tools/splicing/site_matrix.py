"""Position weight matrices of splice sites and start codons, and their scores along a sequence."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.json_model import FORBIDDEN, ModelReader
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import OTHER

N_BASES = 4
LARGEST_WINDOW = 1_000


def site_scores(codes: NDArray[np.uint8], site: SiteModel) -> NDArray[np.int64]:
    """Score every edge of a sequence as a site.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    site : SiteModel
        The site's matrix.

    Returns
    -------
    ndarray of int64, shape (n + 1,)
        Hundredths of a bit by the position behind the edge; at most `FORBIDDEN` / 2 where there
        can be no site. Beyond the sequence's ends all symbols are unknown.
    """
    return _window_sums(_padded(codes, site, 0, len(codes) + 1), _by_pair(site), len(codes) + 1)


def sites_between(
    codes: NDArray[np.uint8], site: SiteModel, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the sites at some edges of a sequence: those that score at least the cut-off.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    site : SiteModel
        The site's matrix.
    low, high : int
        Edges `low` to `high` - 1 are looked at; edge k lies before nucleotide k.

    Returns
    -------
    tuple of ndarray of int64, shape (S,)
        The sites' edges, rising, less `low`; and their scores as `site_scores` has them.
    """
    strict = np.flatnonzero((site.scores == FORBIDDEN).any(axis=tuple(range(1, site.scores.ndim))))
    edges, scores = np.empty((2, high - low), dtype=np.int64)
    padded = _padded(codes, site, low, high)
    n = _find_sites(padded, _by_pair(site), strict, site.cutoff, edges, scores)
    return edges[:n], scores[:n]


def _by_pair(site: SiteModel) -> NDArray[np.int64]:
    """Return a matrix by column, code of the base before and code, shape (w, 5, 5)."""
    scores = site.scores
    if scores.ndim == 2:  # the base before does not matter
        scores = np.repeat(scores[:, None, :], N_SYMBOLS, axis=1)
    return np.ascontiguousarray(scores)


def _padded(codes, site: SiteModel, low: int, high: int) -> NDArray[np.uint8]:
    """Return the symbols that scores of edges `low` to `high` - 1 look at, unknown ones outside."""
    first = low - site.before - 1
    padded = np.full(high - low + len(site.scores), OTHER, dtype=np.uint8)
    begin, end = max(first, 0), min(first + len(padded), len(codes))
    padded[begin - first : end - first] = codes[begin:end]
    return padded


@njit(cache=True, nogil=True)
def _find_sites(padded, scores, strict, cutoff, edges, found):
    """Write edges and scores of sites; return how many there are.

    Columns that forbid a symbol, `strict`, are looked at first: they exclude most edges.
    """
    n = 0
    for edge in range(len(edges)):
        allowed = True
        for column in strict:
            if scores[column, padded[edge + column], padded[edge + column + 1]] == FORBIDDEN:
                allowed = False
                break
        if not allowed:
            continue
        score = 0
        for column in range(len(scores)):
            score += scores[column, padded[edge + column], padded[edge + column + 1]]
        if score >= cutoff:
            edges[n], found[n] = edge, score
            n += 1
    return n


@njit(cache=True)
def _window_sums(padded, scores, n_edges):
    total = np.empty(n_edges, dtype=np.int64)
    for edge in range(n_edges):
        score = 0
        for column in range(len(scores)):
            score += scores[column, padded[edge + column], padded[edge + column + 1]]
        total[edge] = max(score, FORBIDDEN)
    return total


@dataclass(frozen=True)
class SiteModel:
    """Position weights of one kind of site.

    Attributes
    ----------
    before : int
        Columns before the exon's edge; the first column is this many bases before it.
    scores : ndarray of int64, shape (w, 5) or (w, 5, 5)
        Hundredths of a bit by column and code, or by column, code of the base before and code;
        `FORBIDDEN` where no site has the symbol. An ambiguous symbol scores 0, or is forbidden in
        a column that forbids any.
    cutoff : int
        Smallest score, in hundredths of a bit, of a site.
    """

    before: int
    scores: NDArray[np.int64] = field(repr=False)
    cutoff: int


def read_site(reader: ModelReader, at_least: tuple[int, int], dependent: bool = False) -> SiteModel:
    """Read a site's matrix from its JSON object.

    Parameters
    ----------
    reader : ModelReader
        Of the object with the keys ``before``, ``scores`` and ``cutoff``.
    at_least : tuple of (int, int)
        Columns that the matrix must have before the exon's edge and from it on.
    dependent : bool
        Whether a score may also depend on the base before.

    Returns
    -------
    SiteModel

    Raises
    ------
    InputError
        Naming the first key at fault.
    """
    before = reader.integer("before", at_least[0], LARGEST_WINDOW)
    shapes = [(None, N_BASES), *([(None, N_BASES, N_BASES)] if dependent else [])]
    columns = reader.scores("scores", *shapes, holes=True)
    if not before + at_least[1] <= len(columns) <= LARGEST_WINDOW:
        raise reader.wrong("scores", f"{before + at_least[1]} to {LARGEST_WINDOW} columns")
    return SiteModel(before, _with_unknown(columns), reader.score("cutoff"))


def _with_unknown(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Add the code of the unknown base; behind one, a base scores the mean over all."""
    forbids = (columns == FORBIDDEN).any(axis=tuple(range(1, columns.ndim)))
    if columns.ndim == 3:
        forbidden = (columns == FORBIDDEN).any(axis=1, keepdims=True)
        mean = np.rint(columns.mean(axis=1, keepdims=True)).astype(np.int64)
        columns = np.concatenate([columns, np.where(forbidden, FORBIDDEN, mean)], axis=1)
    unknown = np.zeros((*columns.shape[:-1], 1), dtype=np.int64)
    unknown[forbids] = FORBIDDEN
    return np.concatenate([columns, unknown], axis=-1)
