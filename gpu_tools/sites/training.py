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
    census: IntronCensus, content: dict[str, Any], records: Sequence[AnnotatedSequence]
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
    yield from _model_rows(content, records)


def _model_rows(content, records) -> Iterator[tuple[str, object, object]]:
    model = sites_from_dict(content)
    yield "shortest intron of the model", model.shortest_intron, None
    strands = [strand for record in records for strand in strands_of(record)]
    for kind in ("donor", "acceptor"):
        bits = _mean_bits(strands, kind, model)
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
    return float(every.mean()) / 100 if len(every) else None


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
    penalty: int = 14
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
    """Estimate a site model: matrices, lengths of introns, sites per kb."""
    design = design or SiteDesign()
    strands = [strand for record in records for strand in strands_of(record)]
    donor = strands, "donors", design.donor, design.site_weight, design.cutoff
    acceptor = strands, "acceptors", design.acceptor, design.site_weight, design.acceptor_cutoff
    major = {"donor": site_matrix(*donor), "acceptor": site_matrix(*acceptor)}
    lengths = np.array([end - start for s in strands for start, end in s.distinct_introns])
    lengths = lengths[lengths >= LEAST_SHORTEST]
    quartile = float(np.percentile(lengths, 75)) if len(lengths) else design.rising_length
    introns = shortest_intron(lengths, design), rising_penalties(quartile, design)
    content = site_model(name, source, major, introns, design)
    per_kb = sites_per_kb_of(sites_from_dict(content), [strand.codes for strand in strands])
    return content | {"sites_per_kb": per_kb._asdict()}


def site_model(
    name: str, source: str, major: dict[str, Any], introns: tuple[int, list], design: SiteDesign
) -> dict[str, Any]:
    """Return a site model with given matrices of the introns GT-AG."""
    minor = {
        "donor": _consensus(MINOR_DONOR, 0, slice(0, 2), design),
        "acceptor": _consensus(MINOR_ACCEPTOR, len(MINOR_ACCEPTOR), slice(-2, None), design),
    }
    lengths = {
        "from": [introns[0]], "penalties": [design.penalty], "rising": introns[1],
    }  # fmt: skip
    return {
        "format": SITE_FORMAT, "version": SITE_VERSION, "name": name, "source": source,
        "units": "bits", "points_per_bit": design.points_per_bit,
        "introns": [major | lengths, minor | lengths],
        "start": 0, "stop": 0, "begin": design.anywhere, "end": design.anywhere,
        "stops": list(STOP_CODONS),
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
