"""Prediction of candidate exons by a generalised hidden Markov model of genes.

A sequence is parsed window by window: all exons that sites and reading frames allow make a lattice,
whose paths give each exon a posterior probability and the best parse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.exons import lattice
from gpu_tools.exons.lattice import BETWEEN, FIRST_OF_PHASE, N_INTRONS
from gpu_tools.exons.model import ExonModel, coding_sums, next_stops, sites_over
from gpu_tools.hardware.compiled import njit
from gpu_tools.model.exon_set import EXON_TYPES, ExonSet
from gpu_tools.model.json_model import HUNDREDTHS
from gpu_tools.model.sequences import OTHER, encode, reverse_complement


class WindowSizes(NamedTuple):
    """How a long sequence is split: longer ones take more time, not more memory."""

    window: int = 2_000_000  # nucleotides that are parsed at once
    # nucleotides, at most, that are parsed on either side of a window, as its surroundings
    margin: int = 100_000
    # exons of a strand in memory at once. A window with more, say a tandem repeat, is halved.
    most_exons: int = 5_000_000
    smallest: int = 20_000  # nucleotides of a window that is not halved


SIZES = WindowSizes()


def predict_exons(
    codes: NDArray[np.uint8],
    model: ExonModel,
    min_score: float | None = None,
    min_probability: float | None = None,
    sizes: WindowSizes = SIZES,
) -> ExonSet:
    """Predict the candidate exons of a sequence on both strands.

    A candidate begins at an acceptor or at ATG and ends at a donor or with a stop codon: Init is
    ATG to donor, Intr acceptor to donor, Term acceptor to stop codon, Sngl ATG to stop codon. It
    has a frame without a stop codon inside. Its probability is the share of the parses of the
    sequence that have it, by the model's weights; candidates are the exons whose probability
    reaches a cut-off, and those of the best parse.
    """
    score, logarithm = _cutoffs(model, min_score, min_probability)
    sets = []
    for window, parsed in parsed_windows(codes, model, sizes):
        chosen = (parsed.chosen | (parsed.logarithms >= logarithm)) & (parsed.exons.scores >= score)
        sets.append(window.starting_in(parsed.exons.take(chosen)))
    return _sorted(ExonSet.concatenate(sets))


def best_parse(codes: NDArray[np.uint8], model: ExonModel) -> ExonSet:
    """Predict the genes of a sequence: the parse of the greatest weight."""
    exons = [
        window.starting_in(parsed.exons.take(parsed.chosen))
        for window, parsed in parsed_windows(codes, model, SIZES)
    ]
    return _sorted(ExonSet.concatenate(exons))


def _cutoffs(
    model: ExonModel, min_score: float | None, min_probability: float | None
) -> tuple[float, float]:
    """Return the smallest score, a little lowered for rounding, and the smallest logarithm."""
    score = -np.inf if min_score is None else min_score
    probability = model.min_probability if min_probability is None else min_probability
    if min_score is not None and not np.isfinite(min_score):
        raise ScoringError(f"smallest score {min_score} is not a finite number")
    if not 0 <= probability <= 1:
        raise ScoringError(f"smallest probability {probability} is not between 0 and 1")
    return score - 1e-6, np.log2(probability) if probability > 0 else -np.inf


@dataclass(frozen=True)
class ParsedWindow:
    """A window of a sequence, parsed with a margin on either side."""

    low: int
    high: int
    margin: int

    @property
    def first(self) -> int:
        """First position of the window with its margin."""
        return max(self.low - self._width, 0)

    @property
    def _width(self) -> int:
        return min(self.margin, self.high - self.low)

    def cut(self, codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the window's nucleotides with its margins."""
        return codes[self.first : self.high + self._width]

    def starting_in(self, exons: ExonSet) -> ExonSet:
        """Return the exons that begin in the window, in the positions of the sequence."""
        exons = replace(exons, starts=exons.starts + self.first, ends=exons.ends + self.first)
        return exons.take((exons.starts >= self.low) & (exons.starts < self.high))

    def halves(self) -> list[ParsedWindow]:
        """Return the window in two."""
        middle = (self.low + self.high) // 2
        return [replace(self, high=middle), replace(self, low=middle)]


def parsed_windows(
    codes: NDArray[np.uint8], model: ExonModel, sizes: WindowSizes
) -> Iterator[tuple[ParsedWindow, Parsed]]:
    """Yield the windows of a sequence and their parses; each nucleotide is in one of them."""
    n = len(codes)
    count = max(-(-n // sizes.window), 1)
    edges = [n * k // count for k in range(count + 1)]
    left = [ParsedWindow(low, high, sizes.margin) for low, high in pairwise(edges)]
    while left:
        window = left.pop(0)
        small = window.high - window.low <= sizes.smallest
        parsed = parse(window.cut(codes), model, None if small else sizes.most_exons)
        if parsed is None:
            left[:0] = window.halves()
        else:
            yield window, parsed


def _sorted(exons: ExonSet) -> ExonSet:
    return exons.take(np.lexsort((exons.types, exons.ends, exons.starts, exons.reverse)))


# All parses of a sequence.

SITE_BITS = (4.0, 4.0, 6.0)
"""Bits that AG, GT and ATG (or a stop codon) count: how rare they are among random nucleotides."""


@dataclass(frozen=True)
class Parsed:
    """The exons of a sequence, their posterior probabilities and the best parse."""

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
    edges, states = lattice.Lattice(starts, ends, before, after, weights), states_of(model)
    logarithms, total = lattice.posteriors(edges, states, n)
    path, best = lattice.best_path(edges, states, n)
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
    stops = next_stops(codes, model.stops)
    coding = coding_sums(codes, model.coding)
    rules = ExonRules(
        model.min_length, model.max_length, model.coding.order, _split_stops(model.stops)
    )
    strand = StrandScores(codes, stops, coding, acceptors, donors, starts)
    return enumerate_exons(strand, rules, most)


def _split_stops(stops: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return `ExonRules.split_stops` for stop codons, which begin with T."""
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


def states_of(model: ExonModel) -> lattice.States:
    """Return what the states of a model cost."""
    gene = model.gene
    stay = np.log2(1 - 1 / np.array([gene.between] + [gene.intron] * 2 * N_INTRONS))
    shortest = np.array([1] + [gene.shortest_intron] * 2 * N_INTRONS)
    # introns for each time between genes, by state; each strand knows its state of entry
    frequent = np.log2((1 - gene.single) / 2 / gene.last * np.array(gene.introns))
    none = np.zeros(N_INTRONS)
    return lattice.States(
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


class ExonRules(NamedTuple):
    """Limits of the exons of a strand."""

    shortest: int  # least length, at least 3, and greatest
    longest: int
    # nucleotides at an exon's start, whose context lies outside, that do not count as coding
    skipped: int
    # shape (6, 5, 5): whether what an intron state has of a codon and the codes of the next
    # two nucleotides make a stop codon
    split_stops: NDArray[np.bool_]


def enumerate_exons(
    strand: StrandScores, rules: ExonRules, most: int | None = None
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
