"""What a model says of the positions of a sequence: sites, coding scores, stop codons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.model import GC_CLASSES, CodingModel
from gpu_tools.model.json_model import FORBIDDEN
from gpu_tools.model.sequences import OTHER, encode
from gpu_tools.splicing.site_matrix import SiteModel, site_scores


def sites_over(codes: NDArray[np.uint8], site: SiteModel) -> tuple[NDArray, NDArray]:
    """Return the rising positions of a sequence's sites and their scores, both int64."""
    scores = site_scores(codes, site)
    positions = np.flatnonzero(scores >= max(site.cutoff, FORBIDDEN // 2))
    return positions, scores[positions]


def coding_sums(codes: NDArray[np.uint8], model: CodingModel) -> NDArray[np.int64]:
    """Return running sums of the coding scores in the three frames."""
    word, known = words_before(codes, model.order)
    classes, position = gc_classes(codes, model.window), np.arange(len(codes))
    sums = np.zeros((3, len(codes) + 1), dtype=np.int64)
    for frame in range(3):
        scores = model.scores[classes, (position - frame) % 3, word]
        np.cumsum(np.where(known, scores, 0), out=sums[frame, 1:])
    return sums


def gc_classes(codes: NDArray[np.uint8], window: int) -> NDArray[np.int64]:
    """Return for each nucleotide the class of the share of G and C around it."""
    strong = np.concatenate([[0], np.cumsum((codes == 1) | (codes == 2))])
    known = np.concatenate([[0], np.cumsum(codes != OTHER)])
    n = len(codes)
    size = min(window // 2 * 2 + 1, n)
    low = np.clip(np.arange(n) - window // 2, 0, n - size)
    share = (strong[low + size] - strong[low] + 1) / (known[low + size] - known[low] + 2)
    nearest = np.floor((share - GC_CLASSES[0]) / (GC_CLASSES[1] - GC_CLASSES[0]) + 0.5)
    return np.clip(nearest, 0, len(GC_CLASSES) - 1).astype(np.int64)


def words_before(
    codes: NDArray[np.uint8], order: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each nucleotide the word of it and the `order` nucleotides before it."""
    n = len(codes)
    word = np.zeros(n, dtype=np.int64)
    known = np.ones(n, dtype=bool)
    known[:order] = False
    for back in range(min(order, n - 1) + 1):
        word[back:] += (codes[: n - back].astype(np.int64) & 3) << (2 * back)
        known[back:] &= codes[: n - back] != OTHER
    return word, known


def next_stops(codes: NDArray[np.uint8], stops: tuple[str, ...]) -> NDArray[np.int64]:
    """Return for each position the first stop codon at or after it in the same frame."""
    n = len(codes)
    is_stop = np.zeros(n + 3, dtype=bool)
    word, known = words_before(codes, 2)
    wanted = [encode(stop) @ (16, 4, 1) for stop in stops]
    is_stop[: max(n - 2, 0)] = (known & np.isin(word, wanted))[2:]
    following = np.where(is_stop, np.arange(n + 3), n)
    for frame in range(3):
        in_frame = following[frame::3]
        in_frame[:] = np.minimum.accumulate(in_frame[::-1])[::-1]
    return following
