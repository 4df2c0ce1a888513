"""All parses of one sequence: from a model's scores to exons with probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.features import coding_sums, next_stops, sites_over
from gpu_tools.exons.lattice import (
    BETWEEN,
    FIRST_OF_PHASE,
    N_INTRONS,
    Lattice,
    States,
    best_path,
    posteriors,
)
from gpu_tools.exons.model import ExonModel
from gpu_tools.hardware.compiled import njit
from gpu_tools.model.exon_set import EXON_TYPES, ExonSet
from gpu_tools.model.json_model import HUNDREDTHS
from gpu_tools.model.sequences import OTHER, encode, reverse_complement

# Every exon of one strand that sites and reading frames allow, in reading direction.


INIT, INTR, TERM, SNGL = (EXON_TYPES.index(name) for name in ("Init", "Intr", "Term", "Sngl"))
START, END, BEFORE, AFTER, SCORE, TYPE = range(6)
"""Columns of the rows that `enumerate_exons` returns."""


class SiteScores(NamedTuple):
    """Rising positions of sites and their scores in hundredths of a bit."""

    positions: NDArray[np.int64]
    scores: NDArray[np.int64]


class StrandScores(NamedTuple):
    """One strand in reading direction."""

    codes: NDArray[np.uint8]  # shape (n,): encoded sequence
    # shape (n + 3,): first stop codon at or after each position, in its frame; n if there is
    # none
    stops: NDArray[np.int64]
    # shape (3, n + 1): running sums of the coding scores when codons begin at positions 0, 1,
    # 2 modulo 3
    coding: NDArray[np.int64]
    acceptors: SiteScores  # scores over their cut-offs
    donors: SiteScores
    starts: SiteScores


class Rules(NamedTuple):
    """What an exon must fulfil."""

    shortest: int  # least length, at least 3, and greatest
    longest: int
    # nucleotides at an exon's start, whose context lies outside, that do not count as coding
    skipped: int
    # shape (6, 5, 5): whether what an intron state has of a codon and the codes of the next
    # two nucleotides make a stop codon
    split_stops: NDArray[np.bool_]


def enumerate_exons(
    strand: StrandScores, rules: Rules, most: int | None = None
) -> NDArray[np.int64] | None:
    """List all exons of a strand."""
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


SITE_BITS = (4.0, 4.0, 6.0)
"""Bits that AG, GT and ATG (or a stop codon) count: how rare they are among random nucleotides."""


@dataclass(frozen=True)
class Parsed:
    """The exons of a sequence and what its parses make of them."""

    # every exon that sites and frames allow, sorted by strand (+ first), start, end and type,
    # with score and posterior probability
    exons: ExonSet
    logarithms: NDArray[np.float64]  # shape (B,): logarithms to base 2 of the probabilities
    chosen: NDArray[np.bool_]  # shape (B,): whether the exon is in the best parse
    total: float  # logarithms to base 2 of the weights of all parses together and of the best one
    best: float


def parse(codes: NDArray[np.uint8], model: ExonModel, most: int | None = None) -> Parsed | None:
    """Weigh all parses of a sequence."""
    n = len(codes)
    strands = [_one_strand(side, model, most) for side in (codes, reverse_complement(codes))]
    if any(strand is None for strand in strands):
        return None
    rows, reverse = _both_strands(*strands, n)
    starts, ends, before, after = (rows[:, k].copy() for k in (START, END, BEFORE, AFTER))
    weights = rows[:, SCORE] / HUNDREDTHS + exon_weights(model)[rows[:, TYPE], ends - starts]
    lattice, states = Lattice(starts, ends, before, after, weights), states_of(model)
    logarithms, total = posteriors(lattice, states, n)
    path, best = best_path(lattice, states, n)
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[path] = True
    return Parsed(*_merged(rows, reverse, logarithms, chosen), total, best)


def _both_strands(
    forward: NDArray[np.int64], mirrored: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows of both strands on the forward strand, and which are of the reverse one."""
    reverse = mirrored.copy()
    reverse[:, START], reverse[:, END] = n - mirrored[:, END], n - mirrored[:, START]
    for column, other in ((BEFORE, AFTER), (AFTER, BEFORE)):
        reverse[:, column] = _mirror(mirrored[:, other])
    rows = np.concatenate([forward, reverse])
    return rows, np.arange(len(rows)) >= len(forward)


def _mirror(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn sets of states of the forward strand into the same of the reverse one."""
    return (states & 1) | (states >> 1 << 1 + N_INTRONS)


def _one_strand(
    codes: NDArray[np.uint8], model: ExonModel, most: int | None
) -> NDArray[np.int64] | None:
    acceptors, donors, starts = (
        SiteScores(*sites_over(codes, site)) for site in (model.acceptor, model.donor, model.start)
    )
    stops, coding = next_stops(codes, model.stops), coding_sums(codes, model.coding)
    rules = Rules(model.min_length, model.max_length, model.coding.order, _split_stops(model.stops))
    strand = StrandScores(codes, stops, coding, acceptors, donors, starts)
    return enumerate_exons(strand, rules, most)


def _split_stops(stops: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which intron states and codes of the next two nucleotides make a stop codon.

    The shape is (6, 5, 5), the intron states those of `gpu_tools.exons.lattice`. Stop codons begin
    with T.
    """
    table = np.zeros((N_INTRONS, 5, 5), dtype=bool)
    after_t, after_ta, after_tg = 2, 4, 5
    for stop in stops:
        _, second, third = encode(stop)
        table[after_t, second, third] = True
        table[after_ta if second == 0 else after_tg, third, :] = True
    return table


def exon_weights(model: ExonModel) -> NDArray[np.float64]:
    """Return the bits that an exon adds to a parse besides its score."""
    gene, (acceptor, donor, start) = model.gene, SITE_BITS
    weights = model.lengths.copy()
    weights[INIT] += np.log2((1 - gene.single) / 2 / gene.between) + start + donor
    weights[INTR] += np.log2((1 - gene.last) / gene.intron) + acceptor + donor
    weights[TERM] += np.log2(gene.last / gene.intron) + acceptor + start
    weights[SNGL] += np.log2(gene.single / 2 / gene.between) + start + start
    return weights


def states_of(model: ExonModel) -> States:
    """Return what the states of a model cost."""
    gene = model.gene
    stay = np.log2(1 - 1 / np.array([gene.between] + [gene.intron] * 2 * N_INTRONS))
    shortest = np.array([1] + [gene.shortest_intron] * 2 * N_INTRONS)
    # introns for each time between genes, by state; each strand knows its state of entry
    frequent = np.log2((1 - gene.single) / 2 / gene.last * np.array(gene.introns))
    none = np.zeros(N_INTRONS)
    return States(
        stay, shortest, np.concatenate([[0], frequent, none]), np.concatenate([[0], none, frequent])
    )


def _merged(rows, reverse, logarithms, chosen) -> tuple[ExonSet, NDArray, NDArray]:
    """Make one exon of the rows of equal interval, strand and type."""
    order = np.lexsort((rows[:, TYPE], rows[:, END], rows[:, START], reverse))
    rows, reverse, logarithms = rows[order], reverse[order], logarithms[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (np.diff(rows[:, [START, END, TYPE]], axis=0) != 0).any(axis=1)
    first[1:] |= reverse[1:] != reverse[:-1]
    at = np.flatnonzero(first)
    together = np.logaddexp2.reduceat(logarithms, at)
    exons = ExonSet(
        rows[at, START], rows[at, END], reverse[at],
        np.maximum.reduceat(rows[:, SCORE], at) / HUNDREDTHS,
        rows[at, TYPE].astype(np.uint8), np.minimum(np.exp2(together), 1.0),
    )  # fmt: skip
    return exons, together, np.logical_or.reduceat(chosen[order], at)
