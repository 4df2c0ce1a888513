"""Gene structures from diverged targets: candidates of held-out models, aligned exactly."""

from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.exons.evaluation import folds, trained_on
from gpu_tools.exons import predict_exons
from gpu_tools.exons.accuracy import compare_exons
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.scales import read_codon_usage
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import Sequence, reverse_complement
from gpu_tools.spliced.api import spliced_align
from gpu_tools.spliced.case import Case

FLANK = 3_000
LONGEST_GENE = 39_000
INDELS = 0.005


@dataclass
class Gene:
    """A locus, its coding sequence, its annotated exons and the candidates."""

    locus: Sequence
    coding: np.ndarray
    truth: ExonSet
    candidates: ExonSet


@pytest.fixture(scope="module")
def genes():
    records, aligned = (
        annotated(*names)
        for names in (
            ("training/records.fa.gz", "training/annotation.gff3"),
            ("demo/loci.fa.gz", "training/aligned.gff3"),
        )
    )
    usage = read_codon_usage(resource_path("training", "codon_usage.tsv"))
    return [
        gene(record.sequence, transcript, model)
        for record, others in folds(records)
        for model in [trained_on([*others, *aligned], usage=usage)]
        for transcript in spliced_transcripts(record.coding)
    ]


def annotated(sequences, annotation):
    coding = read_coding(resource_path(annotation))
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(resource_path(sequences))]


def spliced_transcripts(coding):
    """Return complete transcripts of at least three segments, one a locus, not too long."""
    taken = []
    for transcript in coding:
        start, end = bounds(transcript)
        free = all(end <= s or e <= start for s, e in map(bounds, taken))
        complete = not any(segment.partial for segment in transcript.segments)
        if complete and free and len(transcript.segments) >= 3 and end - start < LONGEST_GENE:
            taken.append(transcript)
    return taken


def bounds(transcript):
    return min(s.start for s in transcript.segments), max(s.end for s in transcript.segments)


def gene(sequence, transcript, model):
    start, end = bounds(transcript)
    first = max(start - FLANK, 0)
    codes = sequence.codes[first : end + FLANK]
    intervals = [(s.start - first, s.end - first) for s in transcript.segments]
    parts = [codes[a:b] for a, b in intervals]
    if transcript.strand == "-":
        parts = [reverse_complement(part) for part in parts]
    return Gene(
        Sequence(transcript.name, codes),
        np.concatenate(parts),
        ExonSet.from_intervals(intervals, transcript.strand),
        predict_exons(codes, model).unique(),
    )


def diverged(coding, fraction, rng):
    """Substitute a fraction of the bases, then delete and insert single ones."""
    codes = coding.copy()
    hit = rng.random(len(codes)) < fraction
    codes[hit] = (codes[hit] + rng.integers(1, 4, hit.sum())) % 4
    codes = codes[rng.random(len(codes)) >= INDELS / 2]
    places = np.flatnonzero(rng.random(len(codes)) < INDELS / 2)
    return np.insert(codes, places, rng.integers(0, 4, len(places))).astype(np.uint8)


def accuracy(genes, fraction, scoring):
    rng = np.random.default_rng(1)
    cases = [
        Case(g.locus, Sequence("t", diverged(g.coding, fraction, rng)), g.candidates) for g in genes
    ]
    results = spliced_align(cases, scoring, device="cpu")
    chains = {r.base: ExonSet.from_intervals(r.chain, r.strand) for r in results}
    return compare_exons(chains, {g.locus.name: g.truth for g in genes})


def test_genes_and_candidates(genes):
    assert len(genes) == len({g.locus.name for g in genes}) == 27
    assert sum(len(g.truth) for g in genes) == 231
    n_candidates = sum(len(g.candidates) for g in genes)
    assert n_candidates / sum(len(g.locus) for g in genes) * 500 < 40


@pytest.mark.parametrize("fraction", [0.15, 0.25, 0.35])
def test_candidate_scores_make_the_exons_right(genes, fraction):
    pure = accuracy(genes, fraction, SplicedScoring())
    scored = accuracy(genes, fraction, SplicedScoring(exon_weight=1, intron_penalty=15))
    print(f"{fraction:.0%}", pure["exon"].f1, scored["exon"].f1, scored["nucleotide"].f1)
    assert scored["exon"].f1 >= 0.96
    assert scored["nucleotide"].f1 >= 0.99
    assert pure["exon"].f1 < scored["exon"].f1 - 0.05
