"""Position weight matrices of splice sites and start codons: their scores and their estimation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.annotation import ReadingStrand
from gpu_tools.model.json_model import FORBIDDEN, ModelReader
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.model.sequences import OTHER, encode

N_BASES = 4
LARGEST_WINDOW = 1_000


def site_scores(codes: NDArray[np.uint8], site: SiteModel) -> NDArray[np.int64]:
    """Score every edge of a sequence as a site."""
    low, high = -site.before - 1, len(codes) + len(site.scores) - site.before
    return _window_sums(_padded(codes, low, high), _by_pair(site), len(codes) + 1)


class SiteMatrices(NamedTuple):
    """The kinds of a site as compiled loops read them, an axis for the kind in front.

    `scores` have as many columns as the widest matrix. `most` is what the columns from each one on
    add at most. `possible` has a bit for each kind that admits two neighbouring symbols, the first
    of them `ahead` nucleotides behind the edge: there these exclude most edges.
    """

    scores: NDArray[np.int64]
    most: NDArray[np.int64]
    widths: NDArray[np.int64]
    before: NDArray[np.int64]
    cutoffs: NDArray[np.int64]
    possible: NDArray[np.int64]
    ahead: int

    @classmethod
    def of(cls, sites: Sequence[SiteModel]) -> SiteMatrices:
        """Return the matrices of several kinds."""
        numbers = np.array([(len(site.scores), site.before, site.cutoff) for site in sites])
        widths, before, cutoffs = np.ascontiguousarray(numbers.T)
        scores = np.zeros((len(sites), widths.max(), N_SYMBOLS, N_SYMBOLS), np.int64)
        for kind, site in enumerate(sites):
            scores[kind, : widths[kind]] = _by_pair(site)
        highest = scores.max(axis=(2, 3))[:, ::-1].cumsum(axis=1)[:, ::-1]
        most = np.pad(highest, ((0, 0), (0, 1)))
        places = range(-before.max() - 1, (widths - before).max())
        pairs = [_possible(scores, widths, before + place) for place in places]
        best = min(range(len(pairs)), key=lambda k: np.bitwise_count(pairs[k]).sum())
        return cls(scores, most, widths, before, cutoffs, pairs[best], places[best])


def _possible(scores, widths, columns) -> NDArray[np.int64]:
    """Return which kinds admit two symbols, of which the first lies in a column of each kind."""
    found = np.zeros((N_SYMBOLS, N_SYMBOLS), np.int64)
    for kind, (own, width, column) in enumerate(zip(scores, widths, columns, strict=True)):
        known = np.zeros((2, N_SYMBOLS, N_SYMBOLS), np.int64)  # unknown ones beside the matrix
        for k in range(2):
            if 0 <= column + k < width:
                known[k] = own[column + k]
        admitted = (known[0].max(axis=0)[:, None] > FORBIDDEN) & (known[1] > FORBIDDEN)
        found += admitted.astype(np.int64) << kind
    return found


def sites_between(
    codes: NDArray[np.uint8], matrices: SiteMatrices, low: int, high: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]:
    """Find the sites at edges `low` to `high` - 1: edges, scores of the best kind, these kinds.

    A site scores at least the cut-off of its kind; of equals the first kind is taken.
    """
    before = int(matrices.before.max()) + 1
    behind = int((matrices.widths - matrices.before).max()) + 1
    padded = _padded(codes, low - before, high + behind)
    edges, scores = np.empty((2, high - low), dtype=np.int64)
    kinds = np.empty(high - low, np.uint8)
    n = _find_sites(padded, before, *matrices, edges, scores, kinds)
    return low + edges[:n], scores[:n], kinds[:n]


def _by_pair(site: SiteModel) -> NDArray[np.int64]:
    """Return a matrix by column, code of the base before and code, shape (w, 5, 5)."""
    scores = site.scores
    if scores.ndim == 2:  # the base before does not matter
        scores = np.repeat(scores[:, None, :], N_SYMBOLS, axis=1)
    return np.ascontiguousarray(scores)


def _padded(codes, low: int, high: int) -> NDArray[np.uint8]:
    """Return the symbols from `low` to before `high`, unknown ones outside of the sequence."""
    padded = np.full(high - low, OTHER, dtype=np.uint8)
    begin, end = max(low, 0), min(high, len(codes))
    padded[begin - low : end - low] = codes[begin:end]
    return padded


@njit(cache=True, nogil=True, makes_arrays=False)
def _find_sites(
    padded, margin, scores, most, widths, before, cutoffs, possible, ahead, edges, found, kinds
):  # fmt: skip
    """Write edges, scores and kinds of sites; return how many there are."""
    n = 0
    for edge in range(len(edges)):
        place = np.uint64(edge + margin + ahead)  # a signed one would be compared with 0
        left = possible[padded[place], padded[place + np.uint64(1)]]
        best, kind = FORBIDDEN, 0
        while left >> kind:
            score, column, width = 0, 0, widths[kind] if left >> kind & 1 else 0
            first = edge + margin - before[kind]  # in `padded`, of the first column
            while column < width and score + most[kind, column] >= cutoffs[kind]:
                score += _column_score(scores, kind, column, padded, first)
                column += 1
            if width and column == width and score >= cutoffs[kind] and score > best:
                best = score
                edges[n], found[n], kinds[n] = edge, score, kind
            kind += 1
        if best > FORBIDDEN:
            n += 1
    return n


@njit(nogil=True, makes_arrays=False)
def _column_score(scores, kind, column, padded, first):
    """Return the score of a column, of which the first one lies at `first`."""
    place = np.uint64(first + column)  # a signed one would be compared with 0
    before = padded[place - np.uint64(1)]
    return scores[np.uint64(kind), np.uint64(column), before, padded[place]]


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
    """Read a site's matrix from its JSON object."""
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
    """Compare each column at the annotated sites with all positions that hold one of the words."""
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
    """Compare each column, behind each base before it, with all positions that hold the words."""
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
