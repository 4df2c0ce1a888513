"""Prediction of candidate exons: every interval between two sites with an open reading frame."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

import gpu_tools.kernel_cache  # noqa: F401  (compiled functions on disk: one process at a time)
from gpu_tools.errors import ScoringError
from gpu_tools.exons.candidates import EXON_TYPES, ExonSet
from gpu_tools.exons.model import FORBIDDEN, HUNDREDTHS, ExonModel, SiteModel
from gpu_tools.sequences import OTHER, encode, reverse_complement

INIT, INTR, TERM, SNGL = (EXON_TYPES.index(name) for name in ("Init", "Intr", "Term", "Sngl"))


def predict_exons(
    codes: NDArray[np.uint8], model: ExonModel, min_score: float | None = None
) -> ExonSet:
    """Predict the candidate exons of a sequence on both strands.

    A candidate begins at an acceptor or at ATG and ends at a donor or with a stop codon: Init is
    ATG to donor, Intr acceptor to donor, Term acceptor to stop codon, Sngl ATG to stop codon.
    Sites are those that reach the model's cut-offs. A candidate has a frame without a stop codon
    inside it; Init and Sngl have the frame of their ATG, Term that of its stop codon. Its score
    is the sum of the scores of its sites, its length, and its bases in its best open frame; a
    stop codon, and the first bases, whose context lies outside, do not count.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, see `gpu_tools.sequences.encode`.
    model : ExonModel
        See `load_model`.
    min_score : float, optional
        Smallest score, in bits, of a candidate; the model's by default.

    Returns
    -------
    ExonSet
        0-based half-open intervals on the forward strand, sorted by strand (+ first), start, end
        and type; scores in bits, multiples of 0.01. An interval that two types admit is there
        twice.

    Raises
    ------
    ScoringError
        If `min_score` is not finite.
    """
    cutoff = model.min_score if min_score is None else _hundredths(min_score)
    forward = _one_strand(codes, model, cutoff)
    mirrored = _one_strand(reverse_complement(codes), model, cutoff)
    n = len(codes)
    reverse = ExonSet(
        n - mirrored.ends, n - mirrored.starts, ~mirrored.reverse, mirrored.scores, mirrored.types
    )
    return ExonSet.concatenate(_sorted(exons) for exons in (forward, reverse))


def _hundredths(min_score: float) -> int:
    if not np.isfinite(min_score):
        raise ScoringError(f"smallest score {min_score} is not a finite number")
    # 1e-6: 0.29 * 100 must not become 29.000000000000004 and then 30
    return max(int(np.ceil(min_score * HUNDREDTHS - 1e-6)), FORBIDDEN // 2)


def _sorted(exons: ExonSet) -> ExonSet:
    return exons.take(np.lexsort((exons.types, exons.ends, exons.starts)))


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
    n, width = len(codes), len(site.scores)
    padded = np.full(n + width, OTHER, dtype=np.uint8)
    padded[site.before : site.before + n] = codes
    total = np.zeros(n + 1, dtype=np.int64)
    for column in range(width):
        total += site.scores[column][padded[column : column + n + 1]]
    return total


def coding_sums(codes: NDArray[np.uint8], model: ExonModel) -> NDArray[np.int64]:
    """Return running sums of the coding scores in the three frames.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    model : ExonModel
        The coding scores.

    Returns
    -------
    ndarray of int64, shape (3, n + 1)
        Element (f, i) sums the bases before i when codons begin at positions f modulo 3. A base
        scores 0 where it or its context is ambiguous or begins before the sequence.
    """
    n = len(codes)
    word, known = words_before(codes, model.coding_order)
    sums = np.zeros((3, n + 1), dtype=np.int64)
    for frame in range(3):
        position = (np.arange(n) - frame) % 3
        np.cumsum(np.where(known, model.coding[position, word], 0), out=sums[frame, 1:])
    return sums


def words_before(
    codes: NDArray[np.uint8], order: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each base the word of it and the `order` bases before it.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence, in reading direction.
    order : int
        Bases before.

    Returns
    -------
    word : ndarray of int64, shape (n,)
        Words in base 4, first base most significant.
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
        Position of the stop codon's first base; n if there is none.
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


class _Sites(NamedTuple):
    """Rising positions of sites and their scores."""

    positions: NDArray[np.int64]
    scores: NDArray[np.int64]


class _Strand(NamedTuple):
    """One strand's stop codons and running coding sums, in reading direction."""

    stops: NDArray[np.int64]
    sums: NDArray[np.int64]


class _Rules(NamedTuple):
    """What a candidate must fulfil, and the scores of lengths."""

    length_scores: NDArray[np.int64]
    min_length: int
    max_length: int
    skipped: int
    cutoff: int


def _one_strand(codes: NDArray[np.uint8], model: ExonModel, cutoff: int) -> ExonSet:
    strand = _Strand(next_stops(codes, model.stops), coding_sums(codes, model))
    acceptors, donors, starts = (
        _sites(codes, site) for site in (model.acceptor, model.donor, model.start)
    )
    rules = _Rules(
        model.length_scores, model.min_length, model.max_length, model.coding_order, cutoff
    )
    scans = (
        (INTR, _scan_spliced, (acceptors, 3, donors)),
        (TERM, _scan_stopped, (acceptors, 3)),
        (INIT, _scan_spliced, (starts, 1, donors)),
        (SNGL, _scan_stopped, (starts, 1)),
    )
    return ExonSet.concatenate(
        _exon_set(_run(scan, strand, rules, sites), exon_type) for exon_type, scan, sites in scans
    )


def _sites(codes: NDArray[np.uint8], site: SiteModel) -> _Sites:
    scores = site_scores(codes, site)
    positions = np.flatnonzero(scores >= max(site.cutoff, FORBIDDEN // 2))
    return _Sites(positions, scores[positions])


def _run(scan, strand: _Strand, rules: _Rules, sites: tuple) -> NDArray[np.int64]:
    """Return rows of start, end and score; a scan that needs more rows is run again."""
    rows = np.empty((len(strand.stops), 3), dtype=np.int64)
    found = scan(strand, rules, rows, *sites)
    if found > len(rows):
        rows = np.empty((found, 3), dtype=np.int64)
        scan(strand, rules, rows, *sites)
    return rows[:found]


def _exon_set(rows: NDArray[np.int64], exon_type: int) -> ExonSet:
    n = len(rows)
    return ExonSet(
        rows[:, 0].copy(),
        rows[:, 1].copy(),
        np.zeros(n, dtype=bool),
        rows[:, 2] / HUNDREDTHS,
        np.full(n, exon_type, dtype=np.uint8),
    )


@njit(cache=True)
def _coding(strand, start, frame, skipped, end):
    """Coding score of [start, end) when codons begin at start + frame."""
    sums = strand.sums[(start + frame) % 3]
    return sums[end] - sums[min(start + skipped, end)]


@njit(cache=True)
def _best_open(strand, start, end, n_frames, skipped):
    """Best coding score of [start, end) over the frames without a stop codon inside it."""
    best = FORBIDDEN
    for frame in range(n_frames):
        if strand.stops[start + frame] + 3 > end:
            best = max(best, _coding(strand, start, frame, skipped, end))
    return best


@njit(cache=True)
def _last_open(strand, start, n_frames):
    """Largest end of an interval from `start` with an open frame."""
    last = 0
    for frame in range(n_frames):
        last = max(last, strand.stops[start + frame] + 2)
    return last


@njit(cache=True)
def _keep(rows, found, start, end, score):
    if found < len(rows):
        rows[found, 0], rows[found, 1], rows[found, 2] = start, end, score
    return found + 1


@njit(cache=True)
def _scan_spliced(strand, rules, rows, lefts, n_frames, donors):
    """Fill rows with the candidates from a left site to a donor; return how many there are."""
    found = first = 0
    for k, start in enumerate(lefts.positions):
        while first < len(donors.positions) and donors.positions[first] < start + rules.min_length:
            first += 1
        last = min(_last_open(strand, start, n_frames), start + rules.max_length)
        j = first
        while j < len(donors.positions) and donors.positions[j] <= last:
            end = donors.positions[j]
            score = _best_open(strand, start, end, n_frames, rules.skipped)
            score += lefts.scores[k] + donors.scores[j] + rules.length_scores[end - start]
            if score >= rules.cutoff:
                found = _keep(rows, found, start, end, score)
            j += 1
    return found


@njit(cache=True)
def _scan_stopped(strand, rules, rows, lefts, n_frames):
    """Fill rows with the candidates from a left site through a stop codon; return their number."""
    found, n = 0, strand.sums.shape[1] - 1
    for k, start in enumerate(lefts.positions):
        for frame in range(n_frames):
            stop = strand.stops[start + frame]
            length = stop + 3 - start
            if stop == n or not rules.min_length <= length <= rules.max_length:
                continue
            score = _coding(strand, start, frame, rules.skipped, stop)
            score += lefts.scores[k] + rules.length_scores[length]
            if score >= rules.cutoff:
                found = _keep(rows, found, start, stop + 3, score)
    return found
