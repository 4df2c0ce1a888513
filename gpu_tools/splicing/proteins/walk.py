"""The walk back through the cells of an exon, the alignment it gives, and results of proteins.

Of moves that explain a cell the first of these is taken: a codon with a residue; a frameshift with
a residue, of one nucleotide, then of two; a codon left out; a frameshift, of one nucleotide, then
of two; residues left out, as few as can be; the first exon's begin; an intron. In front of a codon,
with a residue or left out, a chain that goes on is taken before one that begins with a start codon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu.simd import first_from
from gpu_tools.hardware.threads import CaseProgress, map_on_threads
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import TGA_CODON, ProteinScoring
from gpu_tools.model.sequences import (
    AMINO_ACIDS,
    ProteinSequence,
    decode_protein,
    encode_protein,
)
from gpu_tools.model.translation import amino_acids
from gpu_tools.splicing.best_chains import is_banned
from gpu_tools.splicing.proteins.target_introns import PHASES, intron_points

(
    _PAIR, _SHIFT_PAIR_1, _SHIFT_PAIR_2, _LEFT_OUT, _SHIFT_1, _SHIFT_2, _RESIDUES, BEGIN, AT_INTRON,
    BEFORE,
) = range(10)  # fmt: skip
CODON, RESIDUE, MISSING, SHIFT, SHIFTED, INTRON = "M", "I", "D", "F", "G", "NUV"
"""Letters of runs, those of miniprot's CIGAR: codons with residues, residues left out, codons left
out, nucleotides too many, nucleotides too few with a residue, introns by phase."""
LETTERS = CODON + RESIDUE + MISSING + SHIFT + SHIFTED + INTRON
CODON_RUN, RESIDUE_RUN, MISSING_RUN, SHIFT_RUN, SHIFTED_RUN, INTRON_RUN = range(6)
"""Numbers of letters in `LETTERS`."""


class TracedProtein(NamedTuple):
    """A chain and its alignment, in reading direction of the strand."""

    intervals: list[tuple[int, int]]
    first: int  # residues before the alignment
    last: int
    runs: list[tuple[str, int]]  # letters, and codons, residues, or nucleotides


class Cell(NamedTuple):
    """A cell on the path."""

    boundary: int
    column: int  # residues
    value: int  # H'
    inside: bool  # whether its exon must have nucleotides
    gap: bool = False  # whether the path leaves the codon out that ends there


@njit(cache=True, nogil=True)
def with_room(runs, count):
    """Return pairs of numbers in space for at least `count` of them."""
    if count <= len(runs):
        return runs
    more = np.empty((2 * count, 2), np.int64)
    # numba takes long to compile an assignment to a slice
    for k in range(len(runs)):
        more[k, 0], more[k, 1] = runs[k, 0], runs[k, 1]
    return more


@njit(nogil=True)
def add_run(runs, count, first, second):
    """Append a pair of numbers if there is space for it; return how many there are then."""
    if count < len(runs):
        runs[count, 0], runs[count, 1] = first, second
    return count + 1


@njit(cache=True, nogil=True)
def add_moves(runs, count, moves, n_moves):
    """Append moves as runs, numbers of `LETTERS` and lengths; return what `add_run` returns.

    Codons with residues are joined, and so is what is left out in one gap.
    """
    for k in range(n_moves):
        move, length = moves[k, 0], moves[k, 1]
        if move == _RESIDUES:
            letter = RESIDUE_RUN
        elif move == _PAIR:
            letter = CODON_RUN
        elif move == _LEFT_OUT:
            letter = MISSING_RUN
        else:
            letter = SHIFT_RUN if move in (_SHIFT_1, _SHIFT_2) else SHIFTED_RUN
            length = 1 if move in (_SHIFT_1, _SHIFT_PAIR_1) else 2
        joins = letter in (CODON_RUN, MISSING_RUN) and 0 < count <= len(runs)
        if joins and runs[count - 1, 0] == letter:
            runs[count - 1, 1] += length
        else:
            count = add_run(runs, count, letter, length)
    return count


def traced_of(runs: NDArray, exons: NDArray, first: int, last: int) -> TracedProtein:
    """Return a chain from its runs and its exons, both appended from the last one on."""
    found = [(LETTERS[letter], length) for letter, length in runs[::-1].tolist()]
    return TracedProtein([*map(tuple, exons[::-1].tolist())], first, last, found)


@njit(cache=True, nogil=True)
def walk(
    inside_rows, whole, gap_rows, places, low, codes, codons, pairs, banned, codon_costs, weights,
    begins, i, j, value, inside, gap, found,
):  # fmt: skip
    """Follow a path through the rows of a block; return where it leaves them, and why.

    `places` are the elements of columns. `pairs` are what pairs add to H', by codon and residue,
    and the residues. `begins` are boundaries, the points of chains whose first codon begins there,
    and H' of a chain that begins, points left out, by column. Moves and lengths are written to
    `found`; the result is a `Cell`'s fields, the number of moves, and what follows: `BEFORE` for
    the block before, `BEGIN` where such a chain begins, or `AT_INTRON` where no move explains the
    cell, so that an intron or another chain's begin does.
    """
    count = 0
    gap_open, shift, extend = weights[0], weights[1], weights[2]
    while i >= low:
        k = i - low + PHASES
        codon = np.int64(codons[codes[i - 3], codes[i - 2], codes[i - 1]]) if i >= 3 else -1
        if gap:
            found[count, 0], found[count, 1] = _LEFT_OUT, 1
            value += codon_costs[codon]
            gap = whole[k - 3, places[j]] - gap_open != value
            i, count = i - 3, count + 1
            if gap and _begun(begins, i, j) - gap_open == value:
                return _first_codon(found, count, begins[2], gap_open, i, j)
            if not gap:
                value, inside = np.int64(whole[k - 3, places[j]]), False
            continue
        move, length = _move(
            inside_rows if inside else whole, whole, gap_rows, places, k, i, j, value, codon,
            pairs, banned, gap_open, shift, extend, begins,
        )  # fmt: skip
        if move == _LEFT_OUT:
            gap = True
            continue
        if move == AT_INTRON:
            return i, j, value, inside, gap, count, move
        found[count, 0], found[count, 1] = _PAIR if move == BEGIN else move, length
        count += 1
        if move == BEGIN:
            return _first_codon(found, count, begins[2], gap_open, i - 3, j - 1)
        if move == _RESIDUES:
            j -= length
            value = np.int64((inside_rows if inside else whole)[k, places[j]])
            continue
        if move in (_PAIR, _SHIFT_PAIR_1, _SHIFT_PAIR_2):
            j -= 1
        i -= 3 if move == _PAIR else (1 if move in (_SHIFT_1, _SHIFT_PAIR_1) else 2)
        value, inside = np.int64(whole[i - low + PHASES, places[j]]), False
    return i, j, value, inside, gap, count, BEFORE


@njit(nogil=True)
def _move(
    here, whole, gap_rows, places, k, i, j, value, codon, pairs, banned, gap_open, shift, extend,
    begins,
):  # fmt: skip
    """Return the first move that explains a cell, and its length; `AT_INTRON` if none does.

    `BEGIN` is a codon with a residue with which a chain begins.
    """
    at, before = places[j], places[max(j - 1, 0)]
    if i >= 3 and j and not is_banned(banned, i - 3, j - 1):
        paired = value - pairs[0][codon, pairs[1][j - 1]]
        if whole[k - 3, before] == paired:
            return _PAIR, 1
        if _begun(begins, i - 3, j - 1) == paired:
            return BEGIN, 1
    if j and i >= 1 and whole[k - 1, before] - shift + extend == value:
        return _SHIFT_PAIR_1, 1
    if j and i >= 2 and whole[k - 2, before] - shift + extend == value:
        return _SHIFT_PAIR_2, 1
    if i >= 3 and gap_rows[k, at] == value:
        return _LEFT_OUT, 1
    if i >= 1 and whole[k - 1, at] - shift == value:
        return _SHIFT_1, 1
    if i >= 2 and whole[k - 2, at] - shift == value:
        return _SHIFT_2, 1
    for length in range(1, j + 1):
        if here[k, places[j - length]] - gap_open == value:
            return _RESIDUES, length
    return AT_INTRON, 0


@njit(nogil=True)
def _first_codon(found, count, start, gap_open, i, j):
    """Return the end of a walk to a chain's first codon, residues left out in front of it first."""
    if j and start[0] - gap_open == start[j]:
        found[count, 0], found[count, 1] = _RESIDUES, j
        count, j = count + 1, 0
    return i, j, start[j], False, False, count, BEGIN


@njit(nogil=True)
def _begun(begins, boundary, column):
    """Return H' of a chain whose first codon begins at a boundary, very low if it has no points."""
    boundaries, points, start = begins
    first = first_from(boundaries, boundary)
    if first < len(boundaries) and boundaries[first] == boundary:
        return points[first] + start[column]
    return np.int64(-(2**62))


_CODON = 3
_STOP, _U = encode_protein(b"*U")
_ASCII = np.frombuffer(
    decode_protein(np.arange(len(AMINO_ACIDS), dtype=np.uint8)).encode(), np.uint8
)
"""Letters of residues, by number."""
_GAP, _SHIFT_SIGN, _LOWER = ord("-"), ord("!"), 0x20
"""Signs in an alignment, and the bit that a lower-case letter has; ``*`` has it, too."""


class StrandAndProtein(NamedTuple):
    """A strand's nucleotides in reading direction, residues, and their scoring."""

    codes: NDArray[np.uint8]
    target: NDArray[np.uint8]
    scoring: ProteinScoring


def stop_behind(codes: NDArray[np.uint8], end: int, scoring: ProteinScoring) -> bool:
    """Return whether a stop codon begins at a boundary."""
    word = tuple(codes[end : end + _CODON])
    return len(word) == _CODON and bool(amino_acids(scoring.genetic_code)[word] == _STOP)


def with_stop(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return exons with the stop codon behind the last one."""
    start, end = intervals[-1]
    return [*intervals[:-1], (start, end + _CODON)]


def shown(traced: TracedProtein, question: StrandAndProtein, stop: bool) -> dict:
    """Return what a result shows of a chain; `stop` tells whether a stop codon is its end."""
    codons, residues, phases, positives = _columns(traced, question)
    return {
        "target_start": traced.first, "target_end": traced.last, "cigar": tuple(traced.runs),
        "translation": codons, "residues": residues, "positives": positives, "phases": phases,
        "start_codon": _begins_with_start(traced, question.codes),
        "stop_codon": stop,
    }  # fmt: skip


def _begins_with_start(traced: TracedProtein, codes: NDArray[np.uint8]) -> bool:
    """Return whether a chain's first codon is whole, lies in one exon, and is a start codon."""
    start = traced.intervals[0][0]
    letter = next(letter for letter, _ in traced.runs if letter != RESIDUE)
    return letter in (CODON, MISSING) and codes[start : start + _CODON].tolist() == [0, 3, 2]


def _columns(traced: TracedProtein, question: StrandAndProtein):
    """Return both lines of the alignment, the exons' phases, and the number of positive pairs."""
    sequence = np.concatenate([question.codes[s:e] for s, e in traced.intervals])
    runs = [(LETTERS.index(letter), length) for letter, length in traced.runs]
    # an intron has one column at most
    most = sum(length if letter < INTRON_RUN else 1 for letter, length in runs)
    lines, scoring = np.empty((2, most), np.uint8), question.scoring
    count, positives = _fill(
        lines, np.array(runs, dtype=np.int64), sequence, amino_acids(scoring.genetic_code),
        scoring.codons, scoring.substitution, _ASCII, question.target, traced.first,
    )  # fmt: skip
    codons, residues = (line.tobytes().decode("ascii") for line in lines[:, :count])
    phases = [INTRON_RUN - letter for letter, _ in runs if letter >= INTRON_RUN]
    return codons, residues, (0, *(phase % _CODON for phase in phases)), positives


@njit(cache=True, nogil=True)
def _fill(lines, runs, sequence, acids, codons, substitution, letters, target, residue):
    """Fill in both lines of the alignment; return their columns and the number of positive pairs.

    `residue` is the first one that is aligned.
    """
    at, count, positives = 0, 0, 0
    for run in range(len(runs)):
        kind, length = runs[run]
        if kind >= INTRON_RUN:
            kind, length = CODON_RUN, 1 if kind > INTRON_RUN else 0
        if kind in (SHIFT_RUN, SHIFTED_RUN):
            at += length
            length = 1 if kind == SHIFTED_RUN else 0
        for column in range(count, count + length):
            lines[0, column], lines[1, column] = _GAP, _GAP
            if kind in (CODON_RUN, MISSING_RUN):
                word = sequence[at], sequence[at + 1], sequence[at + 2]
                lines[0, column] = letters[acids[word]]
                if kind == CODON_RUN and codons[word] == TGA_CODON and target[residue] == _U:
                    lines[0, column] = letters[_U]
                at += _CODON
                if kind == MISSING_RUN:
                    lines[0, column] |= _LOWER
                elif substitution[codons[word], target[residue]] > 0:
                    positives += 1
            elif kind == SHIFTED_RUN:
                lines[0, column] = _SHIFT_SIGN
            if kind != MISSING_RUN:
                lines[1, column] = letters[target[residue]]
                residue += 1
        count += length
    return count, positives


Align = Callable[[Any, int, CaseProgress], ProteinAlignment]
"""Aligns a case with so many threads and a tally of its cells."""


def align_largest_first(
    cases: list, align: Align, threads: int, done: Callable[[int], None]
) -> list[ProteinAlignment]:
    """Align cases side by side, and return the results in their order."""
    own_threads = max(threads // max(len(cases), 1), 1)

    def aligned(k: int) -> ProteinAlignment:
        tally = CaseProgress(cases[k].cells, done)
        result = align(cases[k], own_threads, tally)
        tally.finish()
        return result

    order = sorted(range(len(cases)), key=lambda k: -cases[k].cells)
    found = dict(zip(order, map_on_threads(threads, aligned, order), strict=True))
    return [found[k] for k in range(len(cases))]


def swept_strands(strands: list[str], sweep: Callable[[str], Any], threads: int) -> dict[str, Any]:
    """Return the sweeps of strands by name."""
    return dict(zip(strands, map_on_threads(threads, sweep, strands), strict=True))


def without_chain(case) -> ProteinAlignment:
    """Return the result of a case in which there is no chain."""
    return ProteinAlignment(
        base=case.base.name, target=case.target.name, base_length=len(case.base),
        target_length=len(case.target), cells=case.cells,
    )  # fmt: skip


def points_of_introns(traced: TracedProtein, target: ProteinSequence) -> int:
    """Return the points of a chain's introns that lie where the protein's own gene has one."""
    if not target.introns:
        return 0
    points, total, residues = intron_points(target.introns, len(target)), 0, traced.first
    for letter, length in traced.runs:
        if letter in INTRON:
            phase = INTRON.index(letter)
            residues += phase > 0
            total += int(points[phase, residues])
        elif letter in (CODON, RESIDUE):
            residues += length
        elif letter == SHIFTED:
            residues += 1
    return total


def chain_fields(strand: str, traced: TracedProtein, question: StrandAndProtein, stop: bool):
    """Return the fields of a result that show a strand's chain; `stop` is as in `shown`."""
    length = len(question.codes)
    intervals = with_stop(traced.intervals) if stop else traced.intervals
    chain = tuple((s, e) if strand == "+" else (length - e, length - s) for s, e in intervals)
    return shown(traced, question, stop) | {"strand": strand, "chain": chain}
