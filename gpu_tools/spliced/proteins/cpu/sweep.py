"""The sweep of a protein over the tracks of a strand: rows of H from boundary to boundary.

Rows and the carry are those of `gpu_tools.splicing.proteins.rows`. A track begins with its entry
rows: of chains that begin there or follow an intron between two codons, and of chains whose last
codon is split and complete behind one nucleotide of the track, or two. `before` are the maxima over
the exits that may precede an entry, `SPLITS` rows. An end has `EXITS` rows: one for each phase of
an intron behind it, by its number of nucleotides of a split codon, and that of chains which end in
front of the stop codon there.
"""

from __future__ import annotations

import numpy as np

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.splicing.proteins.rows import (
    ONE,
    PHASES,
    RECENT,
    SPLITS,
    TWO,
    carried,
    leave_residues_out,
    next_codon_row,
    raise_paired,
    settle_row,
)
from gpu_tools.splicing.rows import clear, put, raise_to

EXITS = PHASES + 1
BEFORE_STOP = PHASES
"""The row of an end at which a chain ends in front of a stop codon."""


@njit(cache=True, nogil=True)
def sweep_tracks(codes, tracks, part, columns, codons, penalty, exits, entries, work, record):
    """Sweep tracks of a strand behind those before them, or one again to record its rows.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        The strand's nucleotides in reading direction.
    tracks : ProteinTracks
    part : tuple of (int, int)
        The first track, and the one behind the last.
    columns : ProteinColumns
    codons : ndarray of uint8, shape (5, 5, 5)
        Rows of the profile.
    penalty : int
        Of an intron.
    exits : ndarray, shape (EXITS * D, W)
        The rows of the ends: raised by the sweep, `none` before.
    entries : ndarray, shape (3 * T, W)
        The rows with which tracks begin: raised by the sweep, `none` before.
    work : ndarray, shape (SPLITS + RECENT + PHASES, W)
        Of the type of cells: all `none`, or as the part before has left it.
    record : tuple of ndarray
        Empty, or filled in for one track: rows of H and of chains that leave a codon out, from the
        fourth on the row of the track's first boundary.
    """
    before, rows, gaps = work[:SPLITS], work[SPLITS : SPLITS + RECENT], work[SPLITS + RECENT :]
    first, past = part
    again, taken = len(record[0]) > 0, tracks.before[first - 1] if first else 0
    for track in range(first, past):
        while not again and taken < tracks.before[track]:
            _take(before, exits, taken, tracks.ends[taken], codes, codons, columns, -penalty)
            taken += 1
        if not again:
            _enter(entries, track, before, codes, codons, tracks, columns)
        _sweep_track(codes, tracks, track, columns, codons, entries, rows, gaps, exits, record)


@njit(nogil=True)
def _take(before, exits, end, boundary, codes, codons, columns, bonus):
    """Raise the maxima before entries to the exits of an end."""
    width, lanes, first = exits.shape[1], columns.lanes, end * EXITS
    raise_to(before, 0, exits, first, width, lanes, bonus)
    row = ONE + np.int64(codes[boundary - 1])
    raise_to(before, row, exits, first + 1, width, lanes, bonus)
    if boundary < 2:
        return
    one, two = codes[boundary - 2], codes[boundary - 1]
    for last in range(columns.symbols):
        raise_paired(
            before, TWO + last, exits, first + 2, columns.profile,
            np.int64(codons[one, two, last]) * width, bonus, columns.none, lanes, width,
        )  # fmt: skip


@njit(nogil=True)
def _enter(entries, track, before, codes, codons, tracks, columns):
    """Fill in the entry rows of a track that its phase admits."""
    width, lanes, row = entries.shape[1], columns.lanes, track * PHASES
    start, phase, left = tracks.starts[track], tracks.phases[track], tracks.lasts[track]
    left -= start
    if phase <= 0:
        for k in range(0, width, lanes):
            simd.store(entries, row * width + k, simd.load(columns.start, k))
        raise_to(entries, row, before, 0, width, lanes, 0)
    if phase in (-1, 1):
        source = TWO + np.int64(codes[start])
        raise_to(entries, row + 1, before, source, width, lanes, 0)
    if phase in (-1, 2) and left >= 2:
        for one in range(columns.symbols):
            pairs = np.int64(codons[one, codes[start], codes[start + 1]]) * width
            raise_paired(
                entries, row + 2, before, ONE + one, columns.profile, pairs, 0, columns.none,
                lanes, width,
            )  # fmt: skip


@njit(nogil=True)
def _sweep_track(codes, tracks, track, columns, codons, entries, rows, gaps, exits, record):
    """Compute the rows of a track; raise its ends' exits, or record the rows."""
    profile, none, lanes = columns.profile, columns.none, columns.lanes
    gap_open, shift, shift_on = columns.weights[0], columns.weights[1], columns.weights[2]
    start, last, width = tracks.starts[track], tracks.lasts[track], rows.shape[1]
    whole, gap_rows = record
    recorded = len(whole) > 0
    _begin(rows, gaps, start, entries, track, gap_open, none, lanes)
    nothing = simd.splat(none)
    exon, carry = tracks.first_exons[track], nothing
    if recorded:
        put(whole, PHASES, rows, start % RECENT, width, lanes, 0)
    for i in range(start + 1, last + 1):
        now, pairs, cost = i % RECENT * width, 0, columns.costs[0]
        if i - start >= PHASES:
            codon = np.int64(codons[codes[i - 3], codes[i - 2], codes[i - 1]])
            pairs, cost = codon * width, columns.costs[codon]
        left = next_codon_row(
            False, rows, now, (i - 1) % RECENT * width, (i - 2) % RECENT * width,
            (i - 3) % RECENT * width, gaps, i % PHASES * width, carry, nothing, profile, pairs,
            columns.start, none, gap_open, cost, shift, shift_on, none, lanes,
        )  # fmt: skip
        carry = carried(left, gap_open, none)
        boundary = tracks.ends[tracks.exon_ends[exon]]
        if not (recorded or i - start < PHASES or i == boundary):
            continue
        settle_row(rows, now, carry, lanes, width)
        carry = nothing
        if i - start < PHASES:
            raise_to(rows, i % RECENT, entries, track * PHASES + i - start, width, lanes, 0)
            leave_residues_out(rows, now, gap_open, none, lanes, width)
        if recorded:
            put(whole, PHASES + i - start, rows, i % RECENT, width, lanes, 0)
            put(gap_rows, PHASES + i - start, gaps, i % PHASES, width, lanes, 0)
        elif i == boundary:
            end = tracks.exon_ends[exon]
            stop = tracks.stops[end]
            _leave(exits, end, rows, i, start, stop, tracks.bonuses[exon], lanes)
            exon += 1


@njit(nogil=True)
def _begin(rows, gaps, start, entries, track, gap_open, none, lanes):
    """Set the rows to those at a track's first boundary."""
    width, now = rows.shape[1], start % RECENT
    for row in range(RECENT):
        clear(rows, row, none, lanes)
    for row in range(PHASES):
        clear(gaps, row, none, lanes)
    put(rows, now, entries, track * PHASES, width, lanes, 0)
    leave_residues_out(rows, now * width, gap_open, none, lanes, width)


@njit(nogil=True)
def _leave(exits, end, rows, boundary, start, stop, bonus, lanes):
    """Raise the rows of an end to those of a candidate."""
    width = rows.shape[1]
    for back in range(EXITS if stop else PHASES):
        # in front of a stop codon the exon has nucleotides
        if boundary - back >= start + (back == BEFORE_STOP):
            row = (boundary - back) % RECENT
            raise_to(exits, end * EXITS + back, rows, row, width, lanes, bonus)


@njit(cache=True, nogil=True)
def best_ends(exits, lifts):
    """Return the largest score of chains at each end, in front of its stop codon and at the end.

    `lifts` are what H' is above scores, by element of a row, very much where no chain may end.
    """
    found = np.empty((len(exits) // EXITS, 2), np.int32)
    for end in range(len(found)):
        for k in range(2):
            row, best = exits[end * EXITS + (0 if k else BEFORE_STOP)], np.int32(-(2**31))
            for place in range(len(lifts)):
                best = max(best, np.int32(row[place]) - lifts[place])
            found[end, k] = best
    return found
