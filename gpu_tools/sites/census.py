"""What the training of a site model saw, as figures that an annotator can judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.annotated_strands import ReadingStrand, strands_of
from gpu_tools.model.annotation import AnnotatedSequence, CodingSequence
from gpu_tools.model.sequences import decode
from gpu_tools.sites.model import GeneSites, sites_from_dict
from gpu_tools.splicing.site_matrix import SiteModel

CENSUS_COLUMNS = ("quantity", "value", "share")
QUANTILES = (0, 1, 5, 25, 50, 75, 95, 99, 100)
FEW_INTRONS, MANY_UNUSUAL = 200, 0.05
_KINDS = {("GT", "AG"): "GT-AG", ("GC", "AG"): "GC-AG", ("AT", "AC"): "AT-AC"}
_UNUSUAL = "other"


class IntronCensus(NamedTuple):
    """What a site model was trained on.

    Attributes
    ----------
    n_annotated : int
        Coding sequences of the annotation, those included that training left out.
    n_coding : int
        Coding sequences that training used.
    n_genes : int
        Groups of them that overlap on one strand.
    n_introns : int
        Introns of all coding sequences, those of several as often.
    kinds : Counter
        Distinct introns by the words at their ends: ``GT-AG``, ``GC-AG``, ``AT-AC``, ``other``.
    lengths : ndarray of int64
        Lengths of the distinct introns.
    """

    n_annotated: int
    n_coding: int
    n_genes: int
    n_introns: int
    kinds: Counter[str]
    lengths: NDArray[np.int64]

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
    """Count the coding sequences and introns of annotated sequences.

    Parameters
    ----------
    records : sequence of AnnotatedSequence
        What is trained on.
    n_annotated : int
        Coding sequences of the annotation.
    """
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
    """Yield the rows of the report: quantity, value, and its share of the whole if it has one.

    Parameters
    ----------
    census : IntronCensus
    content : dict
        The model, see `gpu_tools.sites.training.train_sites`.
    records : sequence of AnnotatedSequence
        What it was trained on.
    """
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
