"""Alignment of a gene's locus in the reference to a stretch of the new genome.

The locus is the gene with its introns and a flank at both ends, in reading direction. Its edges,
where exons and coding sequences of the transcripts begin and end, are mapped by one alignment, so
transcripts that share an edge share it in the new genome. Long exact matches are taken as they are;
between them boxes are aligned exactly (`gpu_tools.lift.cpu`).
"""

from __future__ import annotations

from collections.abc import Sequence as List
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import ceil, log2
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.lift.cpu import (
    EDGE,
    NO_CODONS,
    OUTSIDE,
    align_box,
    best_chain,
    exact_matches,
    words_of,
)
from gpu_tools.model.evidence import JUNCTION_BITS
from gpu_tools.model.sequences import OTHER
from gpu_tools.sites.model import GeneSites
from gpu_tools.splicing.reading import stop_words
from gpu_tools.splicing.site_matrix import site_scores

DONOR, ACCEPTOR, START, STOP = 1, 2, 4, 8
"""What an edge is, if the reference has the site or codon there; an edge may be several."""
KINDS = DONOR, ACCEPTOR, START, STOP
OUTSIDE_OF_EXONS, EXON, CODING, BEGIN, END = range(5)
"""Labels of nucleotides, and of edges: what is inserted at the begin or end of an exon or a coding
sequence is no part of it, where the choice is free."""
UNIT = 8
"""Points of a bit."""
_TRIM, _LEAST_ANCHOR = 3, 8
"""Nucleotides of an exact match, at either end, that are aligned with the box beside it, and how
many must be left."""
_SHIFT = 6.0
"""Points of a chain of exact matches that a change of the distance costs."""
_LARGE_BOX = 50_000_000
"""Cells of a box above which the middle of introns is left out."""
_KEPT_OF_INTRON = 400
"""Nucleotides at either end of an intron that such a box keeps."""
_MORE_SPACE = 500
"""Further nucleotides of the new genome that an end of the locus may need."""


class Rates(NamedTuple):
    """How two genomes differ in one kind of sequence."""

    substitution: float = 0.1
    gap: float = 0.01  # of insertions and of deletions together, a nucleotide
    extension: float = 0.6  # of a gap by a further nucleotide

    @property
    def codons_by_chance(self) -> float:
        """Part of the gaps that are whole codons if their lengths do not care for frames."""
        return self.extension**2 * (1 - self.extension) / (1 - self.extension**3)


@dataclass(frozen=True)
class LiftScores:
    """Points of an alignment: logarithms of odds by rates.

    `rates` are by label, `kept` the shares of sites and codons that are still there, by `KINDS`.
    `codon_gaps` is the part of the gaps in coding sequence that are whole codons; where it is not
    above what chance gives, frames cost nothing.
    """

    rates: tuple[Rates, ...] = (Rates(),) * 3
    kept: tuple[float, ...] = (0.95,) * 4
    codon_gaps: float = 0.0

    @property
    def keeps_frames(self) -> bool:
        """Whether gaps of whole codons cost less than others in coding sequence."""
        return self.codon_gaps > self.rates[CODING].codons_by_chance

    @cached_property
    def pairs(self) -> NDArray[np.int32]:
        """Points of pairs, shape (labels, 5, 5); 0 with a symbol that is not known."""
        found = np.zeros((len(self.rates), OTHER + 1, OTHER + 1), np.int32)
        for label, rate in enumerate(self.rates):
            found[label, :OTHER, :OTHER] = _points(4 * rate.substitution / 3)
            np.fill_diagonal(found[label, :OTHER, :OTHER], _points(4 * (1 - rate.substitution)))
        return found

    @cached_property
    def gaps(self) -> NDArray[np.int32]:
        """Costs of gaps by label, those of edges included, shape (5, 6)."""
        found = []
        for label, rate in enumerate(self.rates):
            extend = max(-_points(rate.extension), 1)
            opening = max(-_points(rate.gap / 2 * (1 - rate.extension)) - extend, 1)
            long = opening + (6 if label == OUTSIDE_OF_EXONS else 10) * UNIT
            found.append((opening, extend, long, 0, NO_CODONS, 0))
        highest, lowest = np.max(found, axis=0), np.min(found, axis=0)
        dearer = np.array([1, 0, 1, 0, 0, 0])
        opening, extend, *long = found[CODING][:4]
        if self.keeps_frames:
            chance = self.rates[CODING].codons_by_chance
            broken = opening - _points((1 - self.codon_gaps) / (1 - chance))
            whole = max(opening - _points(self.codon_gaps / chance), 1)
            found[CODING] = broken, extend, *long, whole, 3 * extend
        return np.array([*found, highest + dearer, lowest - dearer], np.int32)

    def points(self, kind: int, bits: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the points of boundaries by the bits of a site there, -inf where there is none.

        A site was kept or was not: odds of a mixture. Half of them, for the pairs beside the
        boundary say the other half.
        """
        kept = self.kept[KINDS.index(kind)]
        odds = kept * np.exp2(np.minimum(bits, 12.0)) + 1 - kept
        return np.rint(UNIT * np.log2(odds) / 2).astype(np.int32)


def _points(odds: float) -> int:
    return round(UNIT * log2(odds))


@dataclass(frozen=True)
class GeneLocus:
    """A gene of the reference with its flanks, in reading direction.

    Attributes
    ----------
    codes : ndarray of uint8, shape (n,)
    labels : ndarray of uint8, shape (n,)
    edges : ndarray of int64, shape (e,)
        Boundaries where exons and coding sequences begin and end, rising; the first and the last
        one are the gene's ends.
    kinds : ndarray of int64, shape (e,)
        Which of `KINDS` each edge is, as a sum.
    sides : ndarray of uint8, shape (e,)
        `BEGIN`, `END`, or `OUTSIDE_OF_EXONS` for an edge that is both.
    """

    codes: NDArray[np.uint8] = field(repr=False)
    labels: NDArray[np.uint8] = field(repr=False)
    edges: NDArray[np.int64] = field(repr=False)
    kinds: NDArray[np.int64] = field(repr=False)
    sides: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def of(cls, codes, chains: List[tuple[List, List]], sites: GeneSites) -> GeneLocus:
        """Return the locus of transcripts, each given as its exons and its coding segments."""
        labels, kinds = np.full(len(codes), OUTSIDE_OF_EXONS, np.uint8), {}
        begins, ends = set(), set()
        for exons, coding in chains:
            for segments, label in ((exons, EXON), (coding, CODING)):
                for start, end in segments:
                    labels[start:end] = np.maximum(labels[start:end], label)
                    begins.add(start)
                    ends.add(end)
            kinds |= {edge: kinds.get(edge, 0) for exon in exons + coding for edge in exon}
            for (_, donor), (acceptor, _) in pairwise(exons):
                kinds[donor] |= DONOR
                kinds[acceptor] |= ACCEPTOR
            if coding:
                kinds[coding[0][0]] |= START
                kinds[coding[-1][1]] |= STOP
        edges = np.array(sorted(kinds), np.int64)
        there = boundary_bits(codes, sites)
        of_edges = [
            sum(kind for kind in KINDS if kinds[e] & kind and there[kind][e] > -np.inf)
            for e in edges.tolist()
        ]
        sides = [
            OUTSIDE_OF_EXONS if e in begins and e in ends else BEGIN if e in begins else END
            for e in edges.tolist()
        ]
        kinds = np.array(of_edges, np.int64)
        return cls(codes, labels, edges, kinds, np.array(sides, np.uint8))


def boundary_bits(codes: NDArray[np.uint8], sites: GeneSites) -> dict[int, NDArray[np.float64]]:
    """Return the bits of each kind of edge at each boundary, -inf where there is no site."""
    found = {}
    for kind, name in ((DONOR, "donor"), (ACCEPTOR, "acceptor")):
        best = np.full(len(codes) + 1, -np.inf)
        for intron in sites.introns:
            site = getattr(intron, name)
            scores = site_scores(codes, site)
            best = np.maximum(best, np.where(scores >= site.cutoff, scores / 100, -np.inf))
        found[kind] = best
    for kind, words, shift in ((START, ("ATG",), 0), (STOP, sites.stops, 3)):
        bits = np.full(len(codes) + 1, -np.inf)
        if len(codes) > 2:
            is_word = stop_words(tuple(words))[codes[:-2], codes[1:-1], codes[2:]]
            bits[np.flatnonzero(is_word) + shift] = log2(64 / len(words))
        found[kind] = bits
    return found


def add_junctions(
    bits: dict[int, NDArray[np.float64]], donors: NDArray[np.int64], acceptors: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:  # fmt: skip
    """Add bits of introns that were seen to those of their boundaries, which become sites."""
    for kind, boundaries in ((DONOR, donors), (ACCEPTOR, acceptors)):
        seen = JUNCTION_BITS * np.log2(1.0 + counts)
        bits[kind][boundaries] = np.maximum(bits[kind][boundaries], 0) + seen


@dataclass(frozen=True)
class LocusAlignment:
    """Where the nucleotides and edges of a locus lie in a stretch of the new genome.

    `columns` are `GAP` for nucleotides that are not there and `OUTSIDE` beyond the alignment.
    """

    columns: NDArray[np.int64] = field(repr=False)
    edges: NDArray[np.int64] = field(repr=False)
    score: int = 0


def align_locus(
    locus: GeneLocus, window: NDArray[np.uint8], bits: dict[int, NDArray], scores: LiftScores
) -> LocusAlignment:
    """Align a locus to a window of the new genome, both in reading direction.

    `bits` are those of the window's boundaries, see `boundary_bits`.
    """
    return _Alignment(locus, window, bits, scores).made()


class _Alignment:
    """An alignment in the making."""

    def __init__(self, locus, window, bits, scores):
        self.locus, self.window, self.scores = locus, window, scores
        each = {kind: scores.points(kind, bits[kind]) for kind in KINDS}
        classes, self.classes = np.unique(locus.kinds, return_inverse=True)
        self.points = np.zeros((len(classes), len(window) + 1), np.int32)
        for row, kinds in zip(self.points, classes.tolist(), strict=True):
            for kind in KINDS:
                if kinds & kind:
                    row += each[kind]
        self.columns = np.full(len(locus.codes), OUTSIDE, np.int32)
        self.edges = np.full(len(locus.edges), OUTSIDE, np.int64)
        self.score = 0

    def made(self) -> LocusAlignment:
        """Align the boxes between anchors."""
        n, m, edges = len(self.locus.codes), len(self.window), self.locus.edges
        row = column = 0
        anchors = self._anchors()
        for k, (a, c, size) in enumerate(anchors):
            if k == 0:
                column = max(0, c - (3 * a // 2 + _MORE_SPACE))
            self._box((row, a), (column, c), k == 0, False)
            self._match(a, c, size)
            row, column = a + size, c + size
        last = min(m, column + 3 * (n - row) // 2 + _MORE_SPACE) if anchors else m
        self._box((row, n), (column, last), not anchors, True)
        assert (self.edges >= 0).all() or not len(edges)
        return LocusAlignment(self.columns, self.edges, int(self.score))

    def _anchors(self) -> list[tuple[int, int, int]]:
        """Return exact matches to be taken as they are: row, column and length."""
        one, two = self.locus.codes, self.window
        length = min(max(ceil(log2(max(len(one) * len(two), 2)) / 2) + 2, 10), 24)
        words = words_of(two, length)
        order = np.argsort(words, kind="stable")
        order = order[np.searchsorted(words[order], 0) :]
        chain = best_chain(exact_matches(one, two, order, words[order], length), _SHIFT)
        found, row, column = [], 0, 0
        for a, c, size in chain.tolist():
            low = max(_TRIM, row - a, column - c)
            if size - low - _TRIM < _LEAST_ANCHOR:
                continue
            row, column = a + size - _TRIM, c + size - _TRIM
            found.append((a + low, c + low, size - low - _TRIM))
        return found

    def _match(self, row: int, column: int, size: int) -> None:
        """Take an exact match."""
        locus = self.locus
        self.columns[row : row + size] = np.arange(column, column + size)
        inside = (locus.edges > row) & (locus.edges < row + size)
        self.edges[inside] = locus.edges[inside] - row + column
        labels, codes = locus.labels[row : row + size], locus.codes[row : row + size]
        self.score += self.scores.pairs[labels, codes, codes].sum()
        self.score += self.points[self.classes[inside], self.edges[inside]].sum()

    def _box(self, rows: tuple[int, int], columns: tuple[int, int], first: bool, last: bool):
        """Align a box, which may begin or end anywhere in the flanks if it is an outer one."""
        (low, high), (left, right), edges = rows, columns, self.locus.edges
        inside = np.flatnonzero((edges >= low) & (edges <= high))
        positions = self._rows_of(low, high, right - left)
        at = np.searchsorted(positions, edges[inside])
        symbols = np.insert(self.locus.codes[positions], at, EDGE)
        labels = np.insert(self.locus.labels[positions], at, self.locus.sides[inside])
        classes = np.zeros(len(symbols), np.int64)
        is_edge = symbols == EDGE
        classes[is_edge] = self.classes[inside]
        begin, end = -1, len(symbols) + 1
        if first:
            begin = int(np.searchsorted(positions, min(edges[0], high)))
        if last:
            beyond = len(positions) - int(np.searchsorted(positions, max(edges[-1], low)))
            end = len(symbols) - beyond
        points = self.points[:, left : right + 1]
        found, score = align_box(
            symbols, labels, classes, self.window[left:right], points,
            self.scores.pairs, self.scores.gaps, begin, end,
        )  # fmt: skip
        found = np.where(found >= 0, found + left, found)
        self.columns[positions] = found[~is_edge]
        self.edges[inside] = found[is_edge]
        self.score += score

    def _rows_of(self, low: int, high: int, width: int) -> NDArray[np.int64]:
        """Return the nucleotides of a box; of a large one without the middle of introns."""
        positions = np.arange(low, high)
        if (high - low) * width <= _LARGE_BOX:
            return positions
        near = np.zeros(high - low + 1, np.bool_)
        edges = self.locus.edges
        for edge in [low, high, *edges[(edges > low) & (edges < high)].tolist()]:
            near[max(edge - low - _KEPT_OF_INTRON, 0) : edge - low + _KEPT_OF_INTRON] = True
        return positions[near[:-1] | (self.locus.labels[low:high] != OUTSIDE_OF_EXONS)]
