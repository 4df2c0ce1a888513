"""What a model says of the places of a sequence: sites, coding scores, stop codons."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

import gpu_tools.hardware.compile_cache  # noqa: F401  (compiled functions on disk: one process at a time)
from gpu_tools.exons.model import GC_CLASSES, CodingModel
from gpu_tools.model.json_model import FORBIDDEN
from gpu_tools.model.sequences import OTHER, encode
from gpu_tools.splicing.site_matrix import SiteModel, site_scores

_FIRST_CLASS, _STEP = float(GC_CLASSES[0]), float(GC_CLASSES[1] - GC_CLASSES[0])
_N_CLASSES = len(GC_CLASSES)


def sites_over(codes: NDArray[np.uint8], site: SiteModel) -> tuple[NDArray, NDArray]:
    """Return the rising positions of a sequence's sites and their scores, both int64."""
    scores = site_scores(codes, site)
    positions = np.flatnonzero(scores >= max(site.cutoff, FORBIDDEN // 2))
    return positions, scores[positions]


def coding_sums(codes: NDArray[np.uint8], model: CodingModel) -> NDArray[np.int64]:
    """Return running sums of the coding scores in the three frames.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    model : CodingModel
        The coding scores.

    Returns
    -------
    ndarray of int64, shape (3, n + 1)
        Element (f, i) sums the nucleotides before i when codons begin at positions f modulo 3.
        A nucleotide scores 0 if it or its context is ambiguous or begins before the sequence.
    """
    word, known = words_before(codes, model.order)
    return _running_sums(model.scores, word, known, gc_classes(codes, model.window))


@njit(cache=True)
def _running_sums(scores, word, known, classes):
    n = len(word)
    sums = np.zeros((3, n + 1), dtype=np.int64)
    for frame in range(3):
        total = 0
        for i in range(n):
            if known[i]:
                total += scores[classes[i], (i + 3 - frame) % 3, word[i]]
            sums[frame, i + 1] = total
    return sums


def gc_classes(codes: NDArray[np.uint8], window: int) -> NDArray[np.int64]:
    """Return for each nucleotide the class of the share of G and C around it.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence.
    window : int
        Nucleotides that count: those within half of it on either side, and at an end of the
        sequence the outermost ones, as many.

    Returns
    -------
    ndarray of int64, shape (n,)
        Index into `GC_CLASSES` of the nearest share. One G or C and one A or T are added to the
        counts, so that a window of unknown symbols is average.
    """
    strong = np.concatenate([[0], np.cumsum((codes == 1) | (codes == 2))])
    known = np.concatenate([[0], np.cumsum(codes != OTHER)])
    return _nearest_classes(strong, known, window // 2)


@njit(cache=True)
def _nearest_classes(strong, known, half):
    n = len(strong) - 1
    size = min(2 * half + 1, n)
    classes = np.empty(n, dtype=np.int64)
    for i in range(n):
        low = min(max(i - half, 0), n - size)
        share = (strong[low + size] - strong[low] + 1) / (known[low + size] - known[low] + 2)
        nearest = int(np.floor((share - _FIRST_CLASS) / _STEP + 0.5))
        classes[i] = min(max(nearest, 0), _N_CLASSES - 1)
    return classes


def words_before(
    codes: NDArray[np.uint8], order: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each nucleotide the word of it and the `order` nucleotides before it.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    order : int
        Nucleotides before.

    Returns
    -------
    word : ndarray of int64, shape (n,)
        Words in base 4, first nucleotide most significant.
    known : ndarray of bool, shape (n,)
        Whether the word lies within the sequence and has no ambiguous symbol.
    """
    n = len(codes)
    word = np.zeros(n, dtype=np.int64)
    known = np.ones(n, dtype=bool)
    known[:order] = False
    for back in range(min(order, n - 1) + 1):
        word[back:] += (codes[: n - back].astype(np.int64) & 3) << (2 * back)
        known[back:] &= codes[: n - back] != OTHER
    return word, known


def next_stops(codes: NDArray[np.uint8], stops: tuple[str, ...]) -> NDArray[np.int64]:
    """Return for each position the first stop codon at or after it in the same frame.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    stops : tuple of str
        Stop codons.

    Returns
    -------
    ndarray of int64, shape (n + 3,)
        Position of the stop codon's first nucleotide; n if there is none.
    """
    n = len(codes)
    is_stop = np.zeros(n + 3, dtype=bool)
    for stop in stops:
        first, second, third = encode(stop)
        if n >= 3:
            is_stop[: n - 2] |= (
                (codes[:-2] == first) & (codes[1:-1] == second) & (codes[2:] == third)
            )
    following = np.where(is_stop, np.arange(n + 3), n)
    for frame in range(3):
        in_frame = following[frame::3]
        in_frame[:] = np.minimum.accumulate(in_frame[::-1])[::-1]
    return following
