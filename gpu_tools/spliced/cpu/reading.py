"""Chains of listed candidates that translate, on a CPU.

A candidate is read with up to four *overhangs*: as a chain's first exon, or behind an intron that
splits a codon after 0, 1 or 2 nucleotides. A track with an overhang is a *framed track*. Framed
tracks are swept one after another, each from its entry row on and up to the first stop codon
in its frame. The row behind an exon is stored by the exon's end and by what is left of a codon
there; `gpu_tools.sites.cpu.coding` describes how stop codons across introns are excluded.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import CELL_FLOOR, check_cells
from gpu_tools.splicing.codons import (
    FRAMES,
    SPLITS,
    completes,
    split_bases,
    split_class,
    stop_words,
)
from gpu_tools.splicing.rows import next_row, put, raise_to
from gpu_tools.splicing.strip import by_column, lanes_of, padded, strip_of

FIRST = FRAMES
"""The overhang of a chain's first exon; others are nucleotides of a split codon before an exon."""
OVERHANGS = FRAMES + 1
LAST = SPLITS
"""The kind of exit of a chain's last exon; the others are classes of split codons."""
_A, _G, _T = 0, 2, 3


class FramedTracks(NamedTuple):
    """The framed tracks of an exon graph, and their exits.

    Attributes
    ----------
    tracks, overhangs, rows : ndarray of int64, shape (W,)
        Track, overhang, and how many rows of the track are read.
    first_exons : ndarray of int64, shape (W + 1,)
        Where the exons of each framed track begin in the next two; last, their number.
    exons, exits : ndarray of int64, shape (L,)
        Exon of the graph, and the exit that it reaches; those of a framed track by length.
    exit_ends, exit_kinds : ndarray of int64, shape (X,)
        Boundary of each exit, rising, and what of a codon is left there.
    """

    tracks: NDArray[np.int64]
    overhangs: NDArray[np.int64]
    rows: NDArray[np.int64]
    first_exons: NDArray[np.int64]
    exons: NDArray[np.int64]
    exits: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_kinds: NDArray[np.int64]


class ReadingSweep(NamedTuple):
    """Rows at each exit and each framed track's entry, by target column."""

    framed: FramedTracks
    exits: NDArray[np.int32]
    entries: NDArray[np.int32]


def framed_tracks(graph: ExonGraph, codes: NDArray[np.uint8], complete: bool) -> FramedTracks:
    """Find the framed tracks that can be part of a chain that translates.

    Parameters
    ----------
    graph : ExonGraph
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides, in reading direction.
    complete : bool
        Whether chains begin with ATG and end with a stop codon; else they begin and end at any
        codon.

    Returns
    -------
    FramedTracks
    """
    ends = graph.ends[graph.exit_ends]
    found, first_exons, (exons, at, kinds) = _find_exits(
        codes, stop_words(), graph.starts, ends, graph.exit_tracks, complete
    )
    order = np.lexsort((kinds, at))
    keys = np.stack((at, kinds))[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    exits = np.empty(len(order), dtype=np.int64)
    exits[order] = np.cumsum(new) - 1
    return FramedTracks(*found, first_exons, exons, exits, *keys[:, new])


@njit(cache=True)
def _find_exits(codes, stops, starts, ends, tracks, complete):
    """Return framed tracks, where their exons begin, and exon, end and kind of the exons' exits."""
    found, n_framed = np.empty((3, OVERHANGS * len(starts)), dtype=np.int64), 0
    first_exons = np.zeros(OVERHANGS * len(starts) + 1, dtype=np.int64)
    exits, n = np.empty((3, 2 * OVERHANGS * len(ends)), dtype=np.int64), 0
    first_exon = 0
    for track in range(len(starts)):
        start, past_exon = starts[track], first_exon
        while past_exon < len(ends) and tracks[past_exon] == track:
            past_exon += 1
        for overhang in range(OVERHANGS):
            if overhang == FIRST and not _may_begin(codes, stops, start, complete):
                continue
            left = (FRAMES - overhang) % FRAMES
            stop = _first_stop(codes, stops, start + left, ends[past_exon - 1])
            before = n
            for exon in range(first_exon, past_exon):
                length = ends[exon] - start
                if ends[exon] > stop or length < (FRAMES if overhang == FIRST else left):
                    continue
                bases = (length - left) % FRAMES
                least = left + FRAMES * (2 if overhang == FIRST else 1)
                if bases == 0 and length >= least and (ends[exon] == stop or not complete):
                    exits[0, n], exits[1, n], exits[2, n] = exon, ends[exon], LAST
                    n += 1
                if ends[exon] < stop:
                    kind = split_class(codes, ends[exon], bases)
                    exits[0, n], exits[1, n], exits[2, n] = exon, ends[exon], kind
                    n += 1
            if n > before:
                found[0, n_framed], found[1, n_framed] = track, overhang
                found[2, n_framed] = exits[1, n - 1] - start
                n_framed += 1
                first_exons[n_framed] = n
        first_exon = past_exon
    return found[:, :n_framed], first_exons[: n_framed + 1], exits[:, :n]


@njit
def _may_begin(codes, stops, start, complete):
    if start + FRAMES > len(codes):
        return False
    first, second, third = codes[start], codes[start + 1], codes[start + 2]
    if complete:
        return first == _A and second == _T and third == _G
    return not stops[first, second, third]


@njit
def _first_stop(codes, stops, first_codon, end):
    """Return where the first stop codon from a codon on ends, or beyond `end`."""
    for boundary in range(first_codon + FRAMES, end + 1, FRAMES):
        if stops[codes[boundary - 3], codes[boundary - 2], codes[boundary - 1]]:
            return boundary
    return end + 1


@njit(nogil=True)
def _commit(maxima, exits, exit_ends, exit_kinds, committed, start, penalty):
    """Let the exits up to a start precede its entries; return how many there are."""
    width = maxima.shape[1]
    while committed < len(exit_ends) and exit_ends[committed] <= start:
        if exit_kinds[committed] != LAST:
            raise_to(maxima, exit_kinds[committed], exits, committed, width, 16, -penalty)
        committed += 1
    return committed


@njit(cache=True, nogil=True)
def _sweep_framed(graph, framed, strip, exits, entries, codes, stops, weights):
    """Fill in the rows at exits and entries."""
    symbols, bonus, (starts, track_rows) = graph.codes, graph.exit_bonus, graph.tracks[:2]
    all_tracks, overhangs, n_rows, first_exons, exons, exon_exits, ends, kinds = framed
    profile, empty = strip.profile, strip.start
    gap, penalty, floor = weights[0], weights[1], weights[2]
    width, lanes = len(empty), 16
    maxima, row = np.full((SPLITS, width), floor), np.full(width, floor)
    committed = 0
    for k in range(len(all_tracks)):
        track = all_tracks[k]
        committed = _commit(maxima, exits, ends, kinds, committed, starts[track], penalty)
        entries[k] = floor
        if overhangs[k] == FIRST:
            put(entries, k, empty, 0, width, lanes, 0)
        for split in range(SPLITS):
            if split_bases(split) == overhangs[k] and completes(codes, stops, split, starts[track]):
                raise_to(entries, k, maxima, split, width, lanes, 0)
        put(row, 0, entries, k, width, lanes, 0)
        n = first_exons[k]
        for done in range(n_rows[k]):
            next_row(row, profile, np.int64(symbols[track_rows[track] + done]), gap, floor, lanes)
            while n < first_exons[k + 1] and ends[exon_exits[n]] == starts[track] + done + 1:
                raise_to(exits, exon_exits[n], row, 0, width, lanes, bonus[exons[n]])
                n += 1


def reading_sweep(
    graph: ExonGraph,
    codes: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
    complete: bool,
) -> ReadingSweep:
    """Sweep one strand of one case.

    Parameters
    ----------
    graph : ExonGraph
        With at least one exon.
    codes : ndarray of uint8, shape (m,)
        The strand's nucleotides, in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    complete : bool
        See `framed_tracks`.

    Returns
    -------
    ReadingSweep
    """
    dtype = np.dtype(np.int32)
    width = padded(len(target) + 1, 1, dtype.itemsize)
    check_cells(_magnitude(graph, 2 * width, scoring))
    framed = framed_tracks(graph, codes, complete)
    strip = strip_of(target, 0, width, scoring, dtype)
    weights = np.array([scoring.gap, scoring.intron_penalty, CELL_FLOOR], dtype=dtype)
    exits = np.full((len(framed.exit_ends), width), CELL_FLOOR, dtype)
    entries = np.empty((len(framed.tracks), width), dtype)
    _sweep_framed(graph.arrays, framed, strip, exits, entries, codes, stop_words(), weights)
    lanes = lanes_of(dtype)
    return ReadingSweep(framed, by_column(exits, lanes), by_column(entries, lanes))


def _magnitude(graph: ExonGraph, columns: int, scoring: SplicedScoring) -> int:
    """Return a bound on the magnitude of any cell and any step."""
    lifted = int(np.abs(scoring.substitution() - scoring.gap).max())
    bonus = int(np.abs(graph.exit_bonus).max(initial=0))
    chain = (len(graph.starts) + 1) * (bonus + abs(scoring.intron_penalty))
    return columns * (lifted + abs(scoring.gap)) + graph.length * abs(scoring.gap) + chain
