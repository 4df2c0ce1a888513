"""The public function that carries an annotation from one genome to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Sequence as List
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads, resolve
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.lift.alignment import (
    CODING,
    EXON,
    KINDS,
    OUTSIDE_OF_EXONS,
    UNIT,
    GeneLocus,
    LiftScores,
    Rates,
    add_junctions,
    align_locus,
    boundary_bits,
)
from gpu_tools.lift.options import LiftOptions
from gpu_tools.lift.places import (
    SAME,
    GeneInOrder,
    GenePlace,
    GeneQuery,
    PlacesTaken,
    chosen_places,
    find_places,
    overlap,
    place_beside,
)
from gpu_tools.lift.transcripts import (
    LiftedLocus,
    Reading,
    TranscriptChain,
    TranscriptOutcome,
    exon_figures,
)
from gpu_tools.model.evidence import SpliceEvidence
from gpu_tools.model.genes import LiftedGene, ReferenceGene
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence, reverse_complement
from gpu_tools.sites.model import GeneSites

GENE_FLANK = 200
"""Nucleotides beside a gene that are aligned with it, so that its ends are found."""
_LEARNED_FROM = 300
"""Genes from which the rates of two genomes are learned."""
_TIMES_LEARNED = 2
"""Rounds in which rates are learned, where gaps keep frames: what splits gaps is less then."""
_LONG_GAP = 50
"""Gaps that rates do not count: events of another kind."""
_MUCH_BETTER = 0.05
"""By so much an alignment over more than a gene's length has to be better."""
_LEAST_OF_COPY = 0.3
"""Score of a further place to be aligned, as a fraction of the best one's."""
NOT_FOUND = "no place of enough similarity"
TOO_WEAK = "the best place is not similar enough"
TAKEN = "its place is that of another gene"


class LiftedGeneOutcome(NamedTuple):
    """A gene on the new genome with what is known of its transcripts."""

    lifted: LiftedGene
    outcomes: tuple[TranscriptOutcome, ...]
    coverage: float  # of the exons of all transcripts together
    identity: float


class UnmappedGene(NamedTuple):
    """A gene that was not carried over, and why."""

    gene: ReferenceGene
    reason: str


@dataclass(frozen=True)
class Lift:
    """An annotation on a new genome.

    Parameters
    ----------
    genes : list of LiftedGeneOutcome
        In the order of the reference, copies behind their gene.
    unmapped : list of UnmappedGene
    scores : LiftScores
        What was learned of the differences between the genomes.
    """

    genes: list[LiftedGeneOutcome]
    unmapped: list[UnmappedGene]
    scores: LiftScores = field(repr=False)


def lift_genes(
    genes: Iterable[ReferenceGene],
    reference: Iterable[Sequence],
    genome: Iterable[Sequence],
    sites: GeneSites,
    options: LiftOptions | None = None,
    *,
    evidence: SpliceEvidence | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Lift:
    """Carry the genes of one genome to another one.

    Parameters
    ----------
    genes : iterable of ReferenceGene
        Genes of the reference.
    reference, genome : iterable of Sequence
        The records of the two genomes.
    sites : GeneSites
        Splice sites of the species, see `gpu_tools.load_sites`.
    options : LiftOptions, optional
        Limits, and whether further copies are wanted.
    evidence : SpliceEvidence, optional
        Introns that were seen in the new genome; their splice sites gain bits.
    device : str
        Checked; the CPU does the work on every device.
    threads : int, optional
        Threads of the CPU, by default all.
    progress : callable, optional
        Called with the number of genes that are done since its last call.

    Returns
    -------
    Lift
        The same for any device and number of threads.

    Raises
    ------
    InputError
        If a gene lies on no record of the reference or beyond its end, or a genome is empty.
    """
    resolve(device)
    run = _Run(list(genes), list(reference), list(genome), sites, options or LiftOptions(),
               cpu_threads(threads), progress or (lambda number: None), evidence)  # fmt: skip
    return run.lifted()


class _Gene(NamedTuple):
    """A gene of the reference, ready for alignment."""

    locus: GeneLocus
    chains: list[TranscriptChain]
    order: GeneInOrder
    before: int  # nucleotides of the flank before it
    behind: int


class _Found(NamedTuple):
    """A gene's alignment at a place."""

    place: GenePlace  # where the gene came to lie
    lifted: LiftedLocus
    coverage: float
    identity: float
    is_good: bool


class _Run:
    """A lift in the making."""

    def __init__(self, genes, reference, genome, sites, options, threads, progress, evidence):
        self.genes, self.sites, self.options = genes, sites, options
        self.evidence = evidence
        self.threads, self.progress, self.genome = threads, progress, genome
        self.records = {record.name: record for record in reference}
        self.scores = LiftScores(kept=(0.0,) * len(KINDS))
        self.shortest_intron = min((one.penalties[0][0] for one in sites.introns), default=1)
        self.own = map_on_threads(threads, self._prepared, genes)

    def lifted(self) -> Lift:
        """Find places, learn rates, align, and collect genes."""
        queries = [self._query(k) for k in range(len(self.genes))]
        places = find_places(self.genome, queries, self.threads)
        order = [own.order for own in self.own]
        chosen = chosen_places(order, places)
        for _ in range(_TIMES_LEARNED):
            self.scores = self._learned(chosen)
            if not self.scores.keeps_frames:
                break
        found = self._aligned(list(range(len(self.genes))), chosen)
        found = self._by_neighbours(found)
        kept, reasons = self._without_conflicts(found, places)
        copies = self._copies(kept, places) if self.options.copies else {}
        numbers = range(len(self.genes))
        unmapped = [UnmappedGene(self.genes[k], reasons[k]) for k in numbers if kept[k] is None]
        placed = [
            (k, one, n) for k in numbers
            for n, one in enumerate((kept[k], *copies.get(k, ()))) if one is not None
        ]  # fmt: skip
        genes = map_on_threads(self.threads, lambda each: self._outcome(*each), placed)
        return Lift(genes, unmapped, self.scores)

    # ---- genes of the reference

    def _prepared(self, gene: ReferenceGene) -> _Gene:
        record = self.records.get(gene.record)
        if record is None:
            raise InputError(
                f"gene {gene.id!r} lies on record {gene.record!r}, which the reference has not",
                expected="the genome of the annotation",
            )  # fmt: skip
        start = min(one.exons[0][0] for one in gene.transcripts)
        end = max(one.exons[-1][1] for one in gene.transcripts)
        if end > len(record):
            raise InputError(
                f"gene {gene.id!r} ends at {end} of record {gene.record!r}, which has "
                f"{len(record)} nucleotides", expected="the genome of the annotation",
            )  # fmt: skip
        low, high = max(start - GENE_FLANK, 0), min(end + GENE_FLANK, len(record))
        codes, reading = record.codes[low:high], Reading(gene.strand, low, high)
        codes = codes if gene.strand == "+" else reverse_complement(codes)
        chains = [TranscriptChain.of(one, reading) for one in gene.transcripts]
        locus = GeneLocus.of(codes, [(c.exons, c.coding) for c in chains], self.sites)
        order = GeneInOrder(gene.record, start, end, gene.strand)
        return _Gene(locus, chains, order, int(locus.edges[0]), len(codes) - int(locus.edges[-1]))

    def _query(self, k: int) -> GeneQuery:
        own = self.own[k]
        codes = own.locus.codes[own.before : len(own.locus.codes) - own.behind]
        exons = ((a - own.before, b - own.before) for one in own.chains for a, b in one.exons)
        return GeneQuery.of(self.genes[k].id, codes, exons)

    # ---- alignment at places

    def _at(self, k: int, place: GenePlace) -> _Found:
        """Align a gene at a place: at its own length, or as far as words reach if more is there."""
        found = self._within(k, place)
        wide = place.low is not None and (
            place.low < place.start - self._slack(k) or place.high > place.end + self._slack(k)
        )
        if not wide:
            return found
        other = self._within(k, place._replace(start=place.low, end=place.high))
        more = (1 + _MUCH_BETTER) * max(found.place.score, 0)
        return other if other.place.score > more else found

    def _slack(self, k: int) -> int:
        """Return the nucleotides by which a gene may be longer or lie elsewhere."""
        return GENE_FLANK + len(self.own[k].locus.codes) // 4

    def _within(self, k: int, place: GenePlace) -> _Found:
        """Align a gene to the stretch around a place."""
        own, record = self.own[k], self.genome[place.record]
        before, behind = own.before, own.behind
        slack = self._slack(k)
        if place.strand == "-":
            before, behind = behind, before
        low = max(place.start - before - slack, 0)
        high = min(place.end + behind + slack, len(record))
        window = record.codes[low : max(high, low)]
        window = window if place.strand == "+" else reverse_complement(window)
        bits = self._bits(window, record, place.strand, low, high)
        aligned = align_locus(own.locus, window, bits, self.scores)
        reading = Reading(place.strand, low, max(high, low))
        ends = reading.to_forward(int(aligned.edges[0]), int(aligned.edges[-1]))
        lifted = LiftedLocus(
            own.locus, aligned, window, reading, len(record), bits, self.shortest_intron
        )
        union = _union(own.locus.labels)
        figures = exon_figures(own.locus, aligned, window, union, lifted.gained)
        good = (
            figures.aligned > 0
            and figures.coverage >= self.options.min_coverage
            and figures.identity >= self.options.min_identity
            and aligned.score >= _LEAST_BITS * UNIT
        )
        there = GenePlace(place.record, place.strand, *ends, float(aligned.score))
        return _Found(there, lifted, figures.coverage, figures.identity, good)

    def _bits(self, window, record: Sequence, strand: str, low: int, high: int) -> dict:
        """Return the bits of the boundaries of a window, with those of introns seen there."""
        bits = boundary_bits(window, self.sites)
        locus = Locus.of(record)
        seen = self.evidence and self.evidence.junctions.get(locus.record)
        if seen:
            locus, reverse = locus.part(low, high), strand == "-"
            own = seen.within(locus, reverse)
            starts, ends = seen.starts[own] - locus.start, seen.ends[own] - locus.start
            if reverse:
                starts, ends = len(window) - ends, len(window) - starts
            add_junctions(bits, starts, ends, seen.counts[own])
        return bits

    def _aligned(self, numbers: List[int], places: List[GenePlace | None]) -> list[_Found | None]:
        def at(k: int, place: GenePlace | None) -> _Found | None:
            found = place and self._at(k, place)
            self.progress(1)
            return found

        return map_on_threads(self.threads, at, numbers, places)

    def _learned(self, chosen: List[GenePlace | None]) -> LiftScores:
        """Learn the rates of the two genomes from some genes' alignments."""
        there = [k for k, place in enumerate(chosen) if place is not None]
        some = there[:: max(len(there) // _LEARNED_FROM, 1)]
        found = map_on_threads(self.threads, lambda k: self._at(k, chosen[k]), some)
        counts = [_counts(one) for one in found if one.is_good]
        if not counts:
            return LiftScores()
        return _scores_of(*(np.sum(each, axis=0) for each in zip(*counts, strict=True)))

    def _by_neighbours(self, found: list[_Found | None]) -> list[_Found | None]:
        """Align genes that have no good place where their neighbours' places suggest."""
        order = sorted(range(len(found)), key=lambda k: self.own[k].order)
        good = [k for k in order if found[k] is not None and found[k].is_good]
        where = {k: n for n, k in enumerate(order)}
        missing = [k for k in order if found[k] is None or not found[k].is_good]
        ranks = np.array([where[k] for k in good])

        def tried(k: int) -> _Found | None:
            at, best = int(np.searchsorted(ranks, where[k])), found[k]
            for neighbour in (*good[max(at - 1, 0) : at], *good[at : at + 1]):
                mine, other = self.own[k].order, self.own[neighbour].order
                if mine.record != other.record:
                    continue
                place = place_beside(mine, other, found[neighbour].place)
                if 0 <= place.start < len(self.genome[place.record]) and place.end > 0:
                    one = self._at(k, place)
                    if one.is_good and (
                        best is None or not best.is_good or one.place.score > best.place.score
                    ):
                        best = one
            return best

        more = dict(zip(missing, map_on_threads(self.threads, tried, missing), strict=True))
        return [more.get(k, one) for k, one in enumerate(found)]

    def _without_conflicts(self, found, places):
        """Leave out genes that are not good, and those whose place is another gene's."""
        kept: list[_Found | None] = [None] * len(found)
        reasons = [NOT_FOUND if one is None else TOO_WEAK for one in found]
        ranked = sorted(
            (k for k, one in enumerate(found) if one is not None and one.is_good),
            key=lambda k: (-found[k].place.score, k),
        )
        taken = PlacesTaken([own.order for own in self.own])
        for k in ranked:
            one = found[k]
            if taken.rivals(k, one.place):
                one = next(
                    (
                        other for place in places[k] if overlap(place, one.place) < SAME
                        for other in [self._at(k, place)]
                        if other.is_good and not taken.rivals(k, other.place)
                    ), None,
                )  # fmt: skip
            if one is None:
                reasons[k] = TAKEN
                continue
            kept[k] = one
            taken.add(k, one.place)
        return kept, reasons

    def _copies(self, kept, places) -> dict[int, list[_Found]]:
        """Return further places of genes, each place of the gene that fits it best."""
        taken = PlacesTaken([own.order for own in self.own])
        for k, one in enumerate(kept):
            if one is not None:
                taken.add(k, one.place)
        wanted = [
            (k, place) for k, one in enumerate(kept) if one is not None
            for place in places[k]
            if place.score >= _LEAST_OF_COPY * places[k][0].score and not taken.is_taken(k, place)
        ]  # fmt: skip
        tried = map_on_threads(self.threads, lambda k, place: (k, self._at(k, place)),
                               *zip(*wanted, strict=True)) if wanted else []  # fmt: skip
        tried.sort(key=lambda pair: (-pair[1].place.score, pair[0], pair[1].place))
        copies: dict[int, list[_Found]] = {}
        for k, one in tried:
            enough = one.identity >= self.options.min_copy_identity
            if one.is_good and enough and not taken.is_taken(k, one.place):
                taken.add(k, one.place)
                copies.setdefault(k, []).append(one)
        for several in copies.values():
            several.sort(key=lambda one: one.place)
        return copies

    def _outcome(self, k: int, one: _Found, copy: int) -> LiftedGeneOutcome:
        found = (one.lifted.outcome(chain) for chain in self.own[k].chains)
        outcomes = tuple(each for each in found if each is not None)
        outcomes = tuple(_with_attributes(each) for each in outcomes)
        record = self.genome[one.place.record].name
        own = self.genes[k]
        more = (("coverage", _shown(one.coverage)), ("identity", _shown(one.identity)))
        if any(each.feature is None for each in own.transcripts):
            more = ()  # the transcript's attributes stand on the gene's line
        parts = tuple(each.lifted for each in outcomes)
        gene = LiftedGene(own, record, one.place.strand, parts, more, copy)
        return LiftedGeneOutcome(gene, outcomes, one.coverage, one.identity)


_LEAST_BITS = 20
"""Least bits of a locus's alignment: chance does not reach them where a gene is expected."""


def _union(labels: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return the exons of all transcripts of a locus together."""
    inside = np.concatenate(([0], (labels != OUTSIDE_OF_EXONS).astype(np.int8), [0]))
    steps = np.diff(inside)
    starts, ends = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _counts(one: _Found) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Count by label pairs, differences, gaps and their nucleotides; by kind edges and sites.

    And of the gaps in coding sequence those of whole codons.
    """
    lifted = one.lifted
    columns, labels = lifted.found.columns, lifted.locus.labels
    counts = np.zeros((3, 4))
    rows = np.flatnonzero(columns >= 0)
    there = columns[rows]
    differ = lifted.locus.codes[rows] != lifted.window[there]
    for label in (OUTSIDE_OF_EXONS, EXON, CODING):
        own = labels[rows] == label
        lost, more = np.diff(rows)[own[1:]] - 1, np.diff(there)[own[1:]] - 1
        gaps = [gap[(gap > 0) & (gap < _LONG_GAP)] for gap in (lost, more)]
        counts[label] = (
            own.sum(),
            differ[own].sum(),
            sum(map(len, gaps)),
            sum(gap.sum() for gap in gaps),
        )
    codons = np.array([np.sum(gap % 3 == 0) for gap in gaps], np.float64)
    kept = np.zeros((len(KINDS), 2))
    for n, kind in enumerate(KINDS):
        of_kind = (lifted.locus.kinds & kind) > 0
        kept[n] = of_kind.sum(), (lifted.there[of_kind] & kind > 0).sum()
    return counts, kept, codons


def _scores_of(
    counts: NDArray[np.float64], kept: NDArray[np.float64], codons: NDArray[np.float64]
) -> LiftScores:
    """Return scores of counted differences; a kind of sequence that is rare looks like the rest."""
    total, rates = counts.sum(axis=0), []
    usual = total / max(total[0], 1) * 1000
    for own in counts:
        pairs, differ, gaps, nucleotides = own + usual
        substitution = min(max(differ / pairs, 0.002), 0.45)
        gap = min(max(gaps / pairs, 0.0005), 0.1)
        extension = min(max(1 - gaps / nucleotides, 0.2), 0.9) if nucleotides else 0.6
        rates.append(Rates(float(substitution), float(gap), float(extension)))
    shares = [(there + 1) / (edges + 2) for edges, there in kept]
    whole = (codons.sum() + 1) / (counts[CODING, 2] + 2)
    return LiftScores(
        tuple(rates), tuple(min(max(s, 0.0), 0.995) for s in shares), min(float(whole), 0.995)
    )


def _with_attributes(each: TranscriptOutcome) -> TranscriptOutcome:
    """Return a transcript that says what is known of it."""
    more = [("coverage", _shown(each.coverage)), ("identity", _shown(each.identity))]
    if each.protein_identity is not None:
        more.append(("protein_identity", _shown(each.protein_identity)))
    more.append(("status", ",".join(each.statuses).replace(" ", "_")))
    return replace(each, lifted=replace(each.lifted, attributes=tuple(more)))


def _shown(value: float) -> str:
    return f"{value:.4f}"
