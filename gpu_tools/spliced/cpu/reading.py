"""Chains of listed candidates that translate, on a CPU.

A candidate is read in up to four *ways*: as a chain's first exon, or behind an intron that leaves
0, 1 or 2 bases of a codon. Its ways are swept one after another, each from an entry row of its own
and up to the first stop codon in its frame. What leaves a candidate is kept by its end and by what
it leaves of a codon; `gpu_tools.sites.cpu.coding` says how stop codons over an intron are kept out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.cpu import simd
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.exon_graph import ExonGraph
from gpu_tools.splicing.bounds import CELL_FLOOR, CELL_LIMIT
from gpu_tools.splicing.codons import FRAMES, SPLITS, completes, split_class, stop_words
from gpu_tools.splicing.rows import advance, put, raise_to, settle
from gpu_tools.splicing.strip import by_column, lanes_of, padded, strip_of

FIRST = FRAMES
"""The way of a chain's first exon; the others are the bases of a split codon before an exon."""
WAYS = FRAMES + 1
LAST = SPLITS
"""What a chain's last exon leaves behind; the others are classes of split codons."""
_A, _G, _T = 0, 2, 3


class Ways(NamedTuple):
    """The ways of all tracks, and where they are left.

    Attributes
    ----------
    tracks, ways, rows : ndarray of int64, shape (W,)
        Track, way, and how many rows of the track are read.
    first_leaves : ndarray of int64, shape (W + 1,)
        First leave of each way; last, the number of leaves.
    leave_exons, leave_exits : ndarray of int64, shape (L,)
        Exon of the program, and the exit that it reaches; a way's leaves by length.
    exit_ends, exit_kinds : ndarray of int64, shape (X,)
        Boundary of each exit, rising, and what of a codon is left there.
    """

    tracks: NDArray[np.int64]
    ways: NDArray[np.int64]
    rows: NDArray[np.int64]
    first_leaves: NDArray[np.int64]
    leave_exons: NDArray[np.int64]
    leave_exits: NDArray[np.int64]
    exit_ends: NDArray[np.int64]
    exit_kinds: NDArray[np.int64]


class ReadingSweep(NamedTuple):
    """Rows at each exit and each way's entry, by target column."""

    ways: Ways
    exits: NDArray[np.int32]
    entries: NDArray[np.int32]


def ways_of(program: ExonGraph, codes: NDArray[np.uint8], complete: bool) -> Ways:
    """Work out which ways of which tracks can be part of a chain that translates.

    Parameters
    ----------
    program : ExonGraph
    codes : ndarray of uint8, shape (m,)
        The strand's bases, in reading direction.
    complete : bool
        Whether chains begin with ATG and end with a stop codon; else they begin and end at any
        codon.

    Returns
    -------
    Ways
    """
    ends = program.ends[program.exit_ends]
    found, first_leaves, (exons, at, kinds) = _find_leaves(
        codes, stop_words(), program.starts, ends, program.exit_tracks, complete
    )
    order = np.lexsort((kinds, at))
    keys = np.stack((at, kinds))[:, order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    leave_exits = np.empty(len(order), dtype=np.int64)
    leave_exits[order] = np.cumsum(new) - 1
    exit_ends, exit_kinds = keys[:, new]
    return Ways(*found, first_leaves, exons, leave_exits, exit_ends, exit_kinds)


@njit(cache=True)
def _find_leaves(codes, stops, starts, ends, tracks, complete):
    """Return track, way and rows of the ways, their first leaves; exon, end and kind of leaves."""
    found, n_ways = np.empty((3, WAYS * len(starts)), dtype=np.int64), 0
    first_leaves = np.zeros(WAYS * len(starts) + 1, dtype=np.int64)
    leaves, n = np.empty((3, 2 * WAYS * len(ends)), dtype=np.int64), 0
    first_exon = 0
    for track in range(len(starts)):
        start, last_exon = starts[track], first_exon
        while last_exon < len(ends) and tracks[last_exon] == track:
            last_exon += 1
        for way in range(WAYS):
            if way == FIRST and not _may_begin(codes, stops, start, complete):
                continue
            left = (FRAMES - way) % FRAMES
            stop = _first_stop(codes, stops, start + left, ends[last_exon - 1])
            before = n
            for exon in range(first_exon, last_exon):
                length = ends[exon] - start
                if ends[exon] > stop or length < (FRAMES if way == FIRST else left):
                    continue
                bases = (length - left) % FRAMES
                least = left + FRAMES * (2 if way == FIRST else 1)
                if bases == 0 and length >= least and (ends[exon] == stop or not complete):
                    leaves[0, n], leaves[1, n], leaves[2, n] = exon, ends[exon], LAST
                    n += 1
                if ends[exon] < stop:
                    kind = split_class(codes, ends[exon], bases)
                    leaves[0, n], leaves[1, n], leaves[2, n] = exon, ends[exon], kind
                    n += 1
            if n > before:
                found[0, n_ways], found[1, n_ways] = track, way
                found[2, n_ways] = leaves[1, n - 1] - start
                n_ways += 1
                first_leaves[n_ways] = n
        first_exon = last_exon
    return found[:, :n_ways], first_leaves[: n_ways + 1], leaves[:, :n]


@njit(cache=True)
def _may_begin(codes, stops, start, complete):
    if start + FRAMES > len(codes):
        return False
    first, second, third = codes[start], codes[start + 1], codes[start + 2]
    if complete:
        return first == _A and second == _T and third == _G
    return not stops[first, second, third]


@njit(cache=True)
def _first_stop(codes, stops, first_codon, end):
    """Return where the first stop codon from a codon on ends, or beyond `end`."""
    for boundary in range(first_codon + FRAMES, end + 1, FRAMES):
        if stops[codes[boundary - 3], codes[boundary - 2], codes[boundary - 1]]:
            return boundary
    return end + 1


@njit(cache=True, nogil=True)
def _commit(maxima, exits, exit_ends, exit_kinds, committed, start, penalty):
    """Let the exits up to a start precede its entries; return how many there are."""
    width = maxima.shape[1]
    while committed < len(exit_ends) and exit_ends[committed] <= start:
        if exit_kinds[committed] != LAST:
            raise_to(maxima, exit_kinds[committed], exits, committed, width, 16, -penalty)
        committed += 1
    return committed


@njit(cache=True, nogil=True)
def _sweep_ways(program, ways, strip, exits, entries, codes, stops, weights):
    """Fill in the rows at exits and entries."""
    symbols, track_rows, starts, bonus = program
    all_tracks, all_ways, n_rows, first_leaves, leave_exons, leave_exits, ends, kinds = ways
    profile, empty = strip.profile, strip.start
    gap, penalty, floor = weights[0], weights[1], weights[2]
    width, lanes, low = len(empty), 16, simd.splat(floor)
    maxima, row = np.full((SPLITS, width), floor), np.full(width, floor)
    committed = 0
    for k in range(len(all_tracks)):
        track, way = all_tracks[k], all_ways[k]
        committed = _commit(maxima, exits, ends, kinds, committed, starts[track], penalty)
        entries[k] = floor
        if way == FIRST:
            put(entries, k, empty, 0, width, lanes, 0)
        for split in range(SPLITS):
            bases = 0 if split == 0 else (1 if split < 3 else 2)
            if bases == way and completes(codes, stops, split, starts[track]):
                raise_to(entries, k, maxima, split, width, lanes, 0)
        put(row, 0, entries, k, width, lanes, 0)
        leave = first_leaves[k]
        for done in range(n_rows[k]):
            diagonal = simd.shift_in(simd.load(row, width - lanes), floor)
            symbol = np.int64(symbols[track_rows[track] + done])
            last = advance(row, profile, symbol, diagonal, low, low, gap, lanes)
            carry = simd.maximum(simd.prefix_maximum(simd.shift_in(last, floor)), low)
            settle(row, carry, lanes)
            while leave < first_leaves[k + 1] and (
                ends[leave_exits[leave]] == starts[track] + done + 1
            ):
                added = bonus[leave_exons[leave]]
                raise_to(exits, leave_exits[leave], row, 0, width, lanes, added)
                leave += 1


def reading_sweep(
    program: ExonGraph,
    codes: NDArray[np.uint8],
    target: NDArray[np.uint8],
    scoring: SplicedScoring,
    complete: bool,
) -> ReadingSweep:
    """Sweep one strand of one case.

    Parameters
    ----------
    program : ExonGraph
        With at least one exon.
    codes : ndarray of uint8, shape (m,)
        The strand's bases, in reading direction.
    target : ndarray of uint8, shape (n,)
        Encoded target.
    scoring : SplicedScoring
    complete : bool
        See `ways_of`.

    Returns
    -------
    ReadingSweep
    """
    dtype = np.dtype(np.int32)
    width = padded(len(target) + 1, 1, dtype.itemsize)
    check_magnitude(program, len(target) + 1, scoring)
    ways = ways_of(program, codes, complete)
    strip = strip_of(target, 0, width, scoring, dtype)
    weights = np.array([scoring.gap, scoring.intron_penalty, CELL_FLOOR], dtype=dtype)
    exits = np.full((len(ways.exit_ends), width), CELL_FLOOR, dtype)
    entries = np.empty((len(ways.tracks), width), dtype)
    stream = program.codes, program.track_rows, program.starts, program.exit_bonus
    _sweep_ways(stream, ways, strip, exits, entries, codes, stop_words(), weights)
    lanes = lanes_of(dtype)
    return ReadingSweep(ways, by_column(exits, lanes), by_column(entries, lanes))


def check_magnitude(program: ExonGraph, columns: int, scoring: SplicedScoring) -> None:
    """Raise `ScoringError` if a cell or a step could reach the limit."""
    lifted = int(np.abs(scoring.substitution() - scoring.gap).max())
    bonus = int(np.abs(program.exit_bonus).max(initial=0))
    chain = (len(program.starts) + 1) * (bonus + abs(scoring.intron_penalty))
    of_columns = 2 * padded(columns, 1, 4) * (lifted + abs(scoring.gap))
    magnitude = of_columns + program.length * abs(scoring.gap) + chain
    if magnitude >= CELL_LIMIT:
        raise ScoringError(f"scores up to {magnitude} could arise; expected less than 2^28")
