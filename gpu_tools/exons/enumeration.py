"""Every exon of one strand that sites and reading frames allow, in reading direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.lattice import BETWEEN, FIRST_OF_PHASE
from gpu_tools.hardware.compiled import njit
from gpu_tools.model.exon_set import EXON_TYPES
from gpu_tools.model.sequences import OTHER

INIT, INTR, TERM, SNGL = (EXON_TYPES.index(name) for name in ("Init", "Intr", "Term", "Sngl"))
START, END, BEFORE, AFTER, SCORE, TYPE = range(6)
"""Columns of the rows that `enumerate_exons` returns."""


class SiteScores(NamedTuple):
    """Rising positions of sites and their scores in hundredths of a bit."""

    positions: NDArray[np.int64]
    scores: NDArray[np.int64]


class StrandScores(NamedTuple):
    """One strand in reading direction.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence.
    stops : ndarray of int64, shape (n + 3,)
        First stop codon at or after each position, in its frame; n if there is none.
    coding : ndarray of int64, shape (3, n + 1)
        Running sums of the coding scores when codons begin at positions 0, 1, 2 modulo 3.
    acceptors, donors, starts : SiteScores
        Scores over their cut-offs.
    """

    codes: NDArray[np.uint8]
    stops: NDArray[np.int64]
    coding: NDArray[np.int64]
    acceptors: SiteScores
    donors: SiteScores
    starts: SiteScores


class Rules(NamedTuple):
    """What an exon must fulfil.

    Attributes
    ----------
    shortest, longest : int
        Least length, at least 3, and greatest.
    skipped : int
        Nucleotides at an exon's start, whose context lies outside, that do not count as coding.
    split_stops : ndarray of bool, shape (6, 5, 5)
        Whether what an intron state has of a codon and the codes of the next two nucleotides make a
        stop codon.
    """

    shortest: int
    longest: int
    skipped: int
    split_stops: NDArray[np.bool_]


def enumerate_exons(
    strand: StrandScores, rules: Rules, most: int | None = None
) -> NDArray[np.int64] | None:
    """List all exons of a strand.

    Parameters
    ----------
    strand : StrandScores
        Sequence, sites and coding scores.
    rules : Rules
        What an exon must fulfil.
    most : int, optional
        How many rows there may be; any number by default.

    Returns
    -------
    ndarray of int64, shape (B, 6), or None
        Start, end, set of states before, set of states after (bits as in `lattice`, introns those
        of the forward strand), score in hundredths of a bit, and type. An interval is there once
        for each frame that it is open in. None if there are more than `most`.
    """
    scans = ((strand.acceptors, 3), (strand.starts, 1))
    nothing = np.empty((0, 6), dtype=np.int64)
    counts = [_scan(strand, rules, lefts, n_phases, nothing) for lefts, n_phases in scans]
    if most is not None and sum(counts) > most:
        return None
    rows = np.empty((sum(counts), 6), dtype=np.int64)
    for (lefts, n_phases), part in zip(scans, np.split(rows, [counts[0]]), strict=True):
        _scan(strand, rules, lefts, n_phases, part)
    return rows


@njit(cache=True)
def _scan(strand, rules, lefts, n_phases, rows):
    """Fill rows with the exons that begin at left sites; return how many there are.

    Three phases: the sites are acceptors; one: they are starts.
    """
    codes, stops, coding, _, (donors, donor_scores), _ = strand
    shortest, longest, skipped, split_stops = rules
    n = len(codes)
    spliced, stopped = (INTR, TERM) if n_phases == 3 else (INIT, SNGL)
    found = first = 0
    for k in range(len(lefts.positions)):
        start, left_score = lefts.positions[k], lefts.scores[k]
        while first < len(donors) and donors[first] < start + shortest:
            first += 1
        for phase in range(n_phases):
            frame = start + (3 - phase) % 3
            sums, stop = coding[frame % 3], stops[frame]
            before = _before(codes, start, phase, split_stops) if n_phases == 3 else 1 << BETWEEN
            inner, last = min(start + skipped, n), min(stop + 2, start + longest)
            j = first
            while j < len(donors) and donors[j] <= last:
                end = donors[j]
                if found < len(rows):
                    score = left_score + donor_scores[j] + sums[max(end, inner)] - sums[inner]
                    after = 1 << _after(codes, frame, end)
                    _write(rows[found], start, end, before, after, score, spliced)
                found += 1
                j += 1
            if stop < n and shortest <= stop + 3 - start <= longest:
                if found < len(rows):
                    score = left_score + sums[max(stop, inner)] - sums[inner]
                    _write(rows[found], start, stop + 3, before, 1 << BETWEEN, score, stopped)
                found += 1
    return found


@njit(cache=True)
def _write(row, start, end, before, after, score, exon_type):
    row[START], row[END], row[BEFORE], row[AFTER] = start, end, before, after
    row[SCORE], row[TYPE] = score, exon_type


@njit
def _before(codes, start, phase, split_stops):
    """Return the intron states of a phase after which an exon begins without a split stop codon."""
    first = codes[start] if start < len(codes) else OTHER
    second = codes[start + 1] if start + 1 < len(codes) else OTHER
    states = 0
    for intron in range(FIRST_OF_PHASE[phase], FIRST_OF_PHASE[phase + 1]):
        if not split_stops[intron, first, second]:
            states |= 2 << intron
    return states


@njit
def _after(codes, frame, end):
    """Return the intron state that an exon leaves whose codons begin at `frame`."""
    phase = (end - frame) % 3
    intron = FIRST_OF_PHASE[phase]
    if phase == 1 and codes[end - 1] == 3:
        intron += 1
    elif phase == 2 and codes[end - 2] == 3 and codes[end - 1] in (0, 2):
        intron += 1 if codes[end - 1] == 0 else 2
    return intron + 1
