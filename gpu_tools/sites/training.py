"""Training of site models from annotated sequences, and figures about what it saw."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.annotation import AnnotatedSequence, CodingSequence, ReadingStrand, strands_of
from gpu_tools.model.sequences import OTHER, decode, encode
from gpu_tools.model.translation import STOP_CODONS
from gpu_tools.sites.model import (
    LEAST_EVERY,
    SITE_FORMAT,
    SITE_VERSION,
    GeneSites,
    SiteBits,
    SitesPerKb,
    sites_from_dict,
)
from gpu_tools.splicing.site_matrix import SiteModel, Window, site_matrix, site_scores

KB = 1000
CHUNK = 1_000_000
"""Nucleotides that are scored at once."""
MOST_CHUNKS = 40
"""Chunks that are looked at, evenly spread."""


def sites_per_kb_of(model: GeneSites, strands: Iterable[NDArray[np.uint8]]) -> SitesPerKb:
    """Count the sites of a model in strands."""
    totals, known = np.zeros(2), 0
    for chunk in _sample(list(strands)):
        known += np.count_nonzero(chunk != OTHER)
        for k, kind in enumerate(("donor", "acceptor")):
            totals[k] += _count(chunk, [getattr(intron, kind) for intron in model.introns])
    return SitesPerKb(*(round(float(n * KB / max(known, 1)), 2) for n in totals))


def _sample(strands: list[NDArray[np.uint8]]) -> Iterator[NDArray[np.uint8]]:
    starts = [(s, k) for s, codes in enumerate(strands) for k in range(0, len(codes), CHUNK)]
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(MOST_CHUNKS, len(starts))).astype(int))
    for number in chosen:
        strand, start = starts[number]
        yield strands[strand][start : start + CHUNK]


def _count(codes: NDArray[np.uint8], sites: list[SiteModel]) -> int:
    passes = [site_scores(codes, site) >= site.cutoff for site in sites]
    return int(np.count_nonzero(np.any(passes, axis=0)))


# What the training of a site model saw, as figures that an annotator can judge.

CENSUS_COLUMNS = ("quantity", "value", "share")
QUANTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
FEW_INTRONS, MANY_UNUSUAL = 200, 0.05
_KINDS = {("GT", "AG"): "GT-AG", ("GC", "AG"): "GC-AG", ("AT", "AC"): "AT-AC"}
_UNUSUAL = "other"


class IntronCensus(NamedTuple):
    """What a site model was trained on."""

    n_annotated: int  # coding sequences of the annotation, also those that training left out
    n_coding: int  # coding sequences that training used
    n_genes: int  # groups of them that overlap on one strand
    n_introns: int  # introns of all coding sequences, those of several as often
    kinds: Counter[str]  # distinct introns by the words at their ends: `GT-AG`, ..., `other`
    lengths: NDArray[np.int64]  # lengths of the distinct introns
    n_nucleotides: int  # nucleotides of all coding sequences

    def warnings(self) -> Iterator[str]:
        """Yield what speaks against a model, one line each."""
        distinct = self.kinds.total()
        if distinct < FEW_INTRONS:
            yield (
                f"only {distinct} distinct introns; the matrices lean on the background, and "
                f"{FEW_INTRONS} or more make a better model"
            )
        if distinct and self.kinds[_UNUSUAL] > MANY_UNUSUAL * distinct:
            yield (
                f"{self.kinds[_UNUSUAL]} of {distinct} introns are neither GT-AG nor GC-AG nor "
                "AT-AC; expected few: is the annotation of this genome and version?"
            )


def census_of(records: Sequence[AnnotatedSequence], n_annotated: int) -> IntronCensus:
    """Count the coding sequences and introns of annotated sequences."""
    kinds: Counter[str] = Counter()
    lengths = []
    for strand in (strand for record in records for strand in strands_of(record)):
        for start, end in strand.distinct_introns:
            kinds[_kind(strand.codes[start:end])] += 1
            lengths.append(end - start)
    coding = [one for record in records for one in record.coding]
    return IntronCensus(
        n_annotated,
        len(coding),
        sum(_n_genes(record.coding) for record in records),
        sum(len(one.segments) - 1 for one in coding),
        kinds,
        np.array(lengths, dtype=np.int64),
        sum(segment.end - segment.start for one in coding for segment in one.segments),
    )


def _kind(intron: NDArray[np.uint8]) -> str:
    return _KINDS.get((decode(intron[:2]), decode(intron[-2:])), _UNUSUAL)


def _n_genes(coding: Sequence[CodingSequence]) -> int:
    """Count the groups of coding sequences that overlap on one strand."""
    groups = 0
    for strand in "+-":
        spans = sorted(
            (min(s.start for s in one.segments), max(s.end for s in one.segments))
            for one in coding
            if one.strand == strand
        )
        furthest = -1
        for start, end in spans:
            groups += start >= furthest
            furthest = max(furthest, end)
    return groups


def census_rows(
    census: IntronCensus, content: dict[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """Yield the rows of the report: quantity, value, and its share of the whole if it has one."""
    left_out = census.n_annotated - census.n_coding
    yield "coding sequences annotated", census.n_annotated, None
    yield "coding sequences left out", left_out, _share(left_out, census.n_annotated)
    yield "coding sequences used", census.n_coding, _share(census.n_coding, census.n_annotated)
    yield "genes", census.n_genes, None
    yield "introns", census.n_introns, None
    distinct = census.kinds.total()
    yield "distinct introns", distinct, None
    for kind in (*_KINDS.values(), _UNUSUAL):
        yield f"distinct introns {kind}", census.kinds[kind], _share(census.kinds[kind], distinct)
    for percent in QUANTILES:
        length = np.percentile(census.lengths, percent, method="lower")
        yield f"intron length {percent} %", int(length), None
    yield "introns per kb of coding sequence", content["introns_per_kb"], None
    yield from _model_rows(content)


def _model_rows(content) -> Iterator[tuple[str, object, object]]:
    model = sites_from_dict(content)
    yield "shortest intron of the model", model.shortest_intron, None
    for least, penalty in model.introns[0].penalties:
        yield f"points of an intron of {least} nucleotides", penalty, None
    yield "points of an intron AT-AC", model.introns[-1].penalties[0][1], None
    for kind in SiteBits._fields:
        bits = getattr(model.mean_bits, kind, None)
        yield f"mean bits of the {kind}s", None if bits is None else f"{bits:.2f}", None
    for kind, per_kb in content["sites_per_kb"].items():
        yield f"{kind} per kb", per_kb, None


def _share(part: int, whole: int) -> str | None:
    return f"{part / whole:.4f}" if whole else None


def _mean_bits(strands: list[ReadingStrand], kind: str, model: GeneSites) -> float | None:
    """Return the mean score of the true sites of the first kind of intron."""
    site = getattr(model.introns[0], kind)
    bits = [_bits(strand.codes, getattr(strand, f"{kind}s"), site) for strand in strands]
    passing = [b[b >= site.cutoff] for b in bits]
    every = np.concatenate(passing)
    return round(float(every.mean()) / 100, 2) if len(every) else None


def _bits(codes: NDArray[np.uint8], edges: NDArray[np.int64], site: SiteModel) -> NDArray:
    """Return the scores of some edges that have the whole window, in hundredths of a bit."""
    width = len(site.scores)
    inside = edges[(edges >= site.before) & (edges - site.before + width <= len(codes))]
    columns = np.arange(width)
    return site.scores[columns, codes[inside[:, None] - site.before + columns]].sum(axis=1)


ACCEPTOR, DONOR = Window(30, 3, ("AG",), -2), Window(3, 6, ("GT", "GC"), 0)
LEAST_SHORTEST, LARGEST_SHORTEST = 20, 60
"""Bounds of the least length of an intron; what annotations have below bridges frameshifts."""
ENOUGH_FOR_SHORTEST = 1000
"""Introns from which their least length is estimated."""
MINOR_DONOR, MINOR_ACCEPTOR = "ATATCCTT", "CCAC"
"""Consensus of the introns AT-AC at their first and at their last nucleotides."""


class IntronFigures(NamedTuple):
    """What the introns of a genome are like."""

    shares: NDArray[np.float64]  # share of the introns of each length, from 0 on
    number: int  # introns that they are counted on
    shortest: int  # least length of an intron
    per_nucleotide: float  # introns per coding nucleotide
    minor: int = 0  # introns AT-AC among them

    def length_at(self, share: float) -> int:
        """Return the length that a share of the introns does not exceed."""
        return int(np.searchsorted(np.cumsum(self.shares), share))

    def modal_class(self) -> tuple[int, float]:
        """Return the lower end of the most usual lengths, and the share of each of them.

        They are the shortest ranges that hold a tenth of the introns, or `MODAL_INTRONS` of few.
        """
        held = min(max(MODAL_SHARE, MODAL_INTRONS / max(self.number, 1)), 1.0)
        sums = np.concatenate([[0.0], np.cumsum(self.shares)])
        # introns that lie outside of the lengths known, or rounding
        held = min(held, float(sums[-1] - sums[self.shortest]) * (1 - 1e-9))
        low = np.arange(self.shortest, len(self.shares))
        high = np.searchsorted(sums, sums[low] + held)
        low, high = low[high < len(sums)], high[high < len(sums)]
        narrow = high - low == (high - low).min()
        shares = (sums[high] - sums[low])[narrow] / (high - low).min()
        return int(low[narrow][0]), float(shares.max())

    def classes(self) -> list[tuple[int, float]]:
        """Return least lengths and what introns of these cost, in bits, rising lengths.

        It is -log2 of the introns per coding nucleotide and of the share of one length: first that
        of the lengths below the most usual ones, if they are rarer, then that of these.
        """
        low, usual = self.modal_class()
        below = float(self.shares[self.shortest : low].sum()) + 0.5 / max(self.number, 1)
        share = below / max(low - self.shortest, 1)
        density = -math.log2(self.per_nucleotide)
        short = [(self.shortest, density - math.log2(share))] if share < usual else []
        least = low if short and low > self.shortest else self.shortest
        return [*short[: least != self.shortest], (least, density - math.log2(usual))]

    def minor_bits(self) -> float:
        """Return what introns AT-AC cost more: -log2 of their share, of the usual one of few."""
        share = (self.minor + MINOR_SHARE * MINOR_WEIGHT) / (self.number + MINOR_WEIGHT)
        return -math.log2(share)


MODAL_SHARE, MODAL_INTRONS = 0.1, 20
"""Share of the introns that the most usual lengths hold, and introns at least."""
MINOR_SHARE, MINOR_WEIGHT = 0.001, 1000
"""Usual share of introns AT-AC, and introns as whose count it counts."""


@dataclass(frozen=True)
class SiteDesign:
    """The choices that training does not estimate."""

    acceptor: Window = ACCEPTOR  # columns and words of the sites
    donor: Window = DONOR
    site_weight: float = 12.0  # pseudo-observations of the background in each column
    # smallest scores of sites in bits, so low that only hopeless ones are spared: true acceptors,
    # which have many columns, score as low as -12.3
    cutoff: float = -10.0
    acceptor_cutoff: float = -14.0
    points_per_bit: float = 0.85  # weight of the sites
    shortest: int = 30  # least length of an intron, where few are seen
    # how the penalty rises with the length, see `gpu_tools.sites.table.IntronClass`; distances are
    # powers of two, which can be halved
    rising: tuple[tuple[int, int], ...] = ((0, 1024), (4, 8192), (8, 65536))
    # upper quartile of the intron lengths that `rising` is for: penalties rise faster where introns
    # are shorter. Each halving of the distances doubles the work
    rising_length: int = 700
    most_doublings: int = 2
    anywhere: int = -8  # points for beginning without a start codon and ending without a stop codon
    # introns AT-AC: score of a nucleotide that agrees with the consensus, and of another; smallest
    # score of a site, as they are rare and every boundary counts against them
    consensus_bits: float = 1.5
    other_bits: float = -2.5
    consensus_cutoff: float = -1.0


def train_sites(
    records: Iterable[AnnotatedSequence], name: str, source: str, design: SiteDesign | None = None
) -> dict[str, Any]:
    """Estimate a site model: matrices, lengths and density of introns, sites per kb."""
    records, design = list(records), design or SiteDesign()
    strands = [strand for record in records for strand in strands_of(record)]
    donor = strands, "donors", design.donor, design.site_weight, design.cutoff
    acceptor = strands, "acceptors", design.acceptor, design.site_weight, design.acceptor_cutoff
    major = {"donor": site_matrix(*donor), "acceptor": site_matrix(*acceptor)}
    content = site_model(name, source, major, intron_figures(records, design), design)
    model = sites_from_dict(content)
    per_kb = sites_per_kb_of(model, [strand.codes for strand in strands])
    bits = {kind: _mean_bits(strands, kind, model) for kind in SiteBits._fields}
    known = {"mean_bits": bits} if None not in bits.values() else {}
    return content | {"sites_per_kb": per_kb._asdict()} | known


def intron_figures(records: Sequence[AnnotatedSequence], design: SiteDesign) -> IntronFigures:
    """Count the introns of annotated sequences; those that bridge frameshifts are left out."""
    census = census_of(records, 0)
    lengths = census.lengths[census.lengths >= LEAST_SHORTEST]
    shortest, number = shortest_intron(lengths, design), len(lengths)
    if not number:  # nothing is known of them
        lengths = np.arange(shortest, design.rising_length)
    per_nucleotide = max(census.n_introns, 1) / max(census.n_nucleotides, 1)
    shares = np.bincount(lengths) / len(lengths)
    minor = census.kinds[_KINDS["AT", "AC"]]
    return IntronFigures(shares, number, shortest, per_nucleotide, minor)


def site_model(
    name: str, source: str, major: dict[str, Any], figures: IntronFigures, design: SiteDesign
) -> dict[str, Any]:
    """Return a site model with given matrices of the introns GT-AG."""
    minor = {
        "donor": _consensus(MINOR_DONOR, 0, slice(0, 2), design),
        "acceptor": _consensus(MINOR_ACCEPTOR, len(MINOR_ACCEPTOR), slice(-2, None), design),
    }
    rising = rising_penalties(figures.length_at(0.75), design)

    def lengths(classes: list[tuple[int, float]]) -> dict[str, Any]:
        penalties = [round(design.points_per_bit * bits) for _, bits in classes]
        return {"from": [least for least, _ in classes], "penalties": penalties, "rising": rising}

    classes = figures.classes()
    rare = [(figures.shortest, classes[-1][1] + figures.minor_bits())]
    return {
        "format": SITE_FORMAT, "version": SITE_VERSION, "name": name, "source": source,
        "units": "bits", "points_per_bit": design.points_per_bit,
        "introns": [major | lengths(classes), minor | lengths(rare)],
        "start": 0, "stop": 0, "begin": design.anywhere, "end": design.anywhere,
        "stops": list(STOP_CODONS), "introns_per_kb": round(figures.per_nucleotide * KB, 3),
    }  # fmt: skip


def shortest_intron(lengths: NDArray[np.int64], design: SiteDesign) -> int:
    """Return the least length of introns: a tenth less than all but one of a thousand have."""
    few = len(lengths) < ENOUGH_FOR_SHORTEST
    usual = np.sort(lengths)[len(lengths) // 1000] * 9 // 10 if len(lengths) else design.shortest
    largest = min(design.shortest, LARGEST_SHORTEST) if few else LARGEST_SHORTEST
    return int(min(max(usual, LEAST_SHORTEST), largest))


def rising_penalties(quartile: float, design: SiteDesign) -> list[list[int]]:
    """Return how penalties rise where three of four introns are at most `quartile` long.

    The distances of the design's lines are halved as often as the quartile is half of
    `design.rising_length`, rounded, but not more often than `design.most_doublings`, and none
    below `LEAST_EVERY`.
    """
    doublings = round(math.log2(design.rising_length / quartile))
    divisor = 2 ** min(max(doublings, 0), design.most_doublings)
    while divisor > 1 and design.rising and design.rising[0][1] // divisor < LEAST_EVERY:
        divisor //= 2
    return [[extra, every // divisor] for extra, every in design.rising]


def _consensus(word: str, before: int, fixed: slice, design: SiteDesign) -> dict[str, Any]:
    """Return a matrix that favours a word and demands a part of it."""
    scores = np.full((len(word), 4), design.other_bits)
    scores[np.arange(len(word)), encode(word)] = design.consensus_bits
    rows = scores.tolist()
    for k in range(*fixed.indices(len(word))):
        rows[k] = [0.0 if code == encode(word)[k] else None for code in range(4)]
    return {"before": before, "scores": rows, "cutoff": design.consensus_cutoff}
