"""Accuracy of gene structures between species: real divergence instead of mutations.

Run ``python -m benchmarks.accuracy.species FOLDER [RECORD.json] [--part vertebrates]``, FOLDER
holding the examples of comparative gene prediction of Debian's package augustus-doc: ENCODE region
ENm008 of five species, RefSeq transcripts of the human one, AUGUSTUS's predictions for the others.
Genes of two species are paired if each one's protein is the other's best; human loci are compared
with RefSeq, the others with the predictions, which are no annotation. Site mode's model saw nothing
of the region. The targets of ``vertebrates`` are the species' own coding sequences, mutated.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks import record
from benchmarks.accuracy.bench_accuracy import (
    OURS,
    Aligner,
    Trial,
    peer_rows,
    row,
    trials_of,
)
from benchmarks.accuracy.bench_accuracy import OURS_BY as MUTATED_BY
from benchmarks.accuracy.cases import Gene, annotated_records, genes, translated
from gpu_tools import Sequence
from gpu_tools.formats.scales import load_matrix
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.local import local_align
from gpu_tools.model.annotation import AnnotatedSequence, CodingSegment, CodingSequence
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import ProteinSequence

HUMAN = "human"
DIVERGENCES = (5, 15, 25, 35, 45)
ANNOTATIONS = {
    HUMAN: ("hg38", "refseq.hg38.gtf"),
    "mouse": ("mm10", "augustus_cgp_joined_mm10.gff"),
    "dog": ("canFam3", "augustus_cgp_joined_canFam3.gff"),
    "opossum": ("monDom5", "augustus_cgp_joined_monDom5.gff"),
    "chicken": ("galGal4", "augustus_cgp_joined_galGal4.gff"),
}
OURS_BY = {
    "": ("global", "any"),
    ", free target ends": ("free-target", "any"),
    ", free target ends, coding": ("free-target", "incomplete"),
}
"""Ends and reading that site mode is called with, for each of its rows."""
PROTEIN_SCORING = AffineScoring(matrix=load_matrix("BLOSUM62"), gap_open=12, gap_extend=1)
_TRANSCRIPT = re.compile(r'transcript_id "([^"]+)"')


def annotated_region(folder: Path, species: str) -> AnnotatedSequence:
    """Return a species' region with its coding sequences, complete where both codons are named."""
    assembly, annotation = ANNOTATIONS[species]
    (sequence,) = read_fasta(folder / f"{assembly}.fa.gz")
    parts = defaultdict(lambda: defaultdict(list))
    for line in (folder / annotation).read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) == 9 and (found := _TRANSCRIPT.search(fields[8])):
            interval = int(fields[3]) - 1, int(fields[4])
            parts[found[1], fields[6]][fields[2]].append(interval)
    coding = (_coding(name, strand, features) for (name, strand), features in parts.items())
    return AnnotatedSequence(sequence, tuple(c for c in coding if c.segments))


def _coding(name: str, strand: str, features: dict) -> CodingSequence:
    """Return a coding sequence with its stop codon; RefSeq's CDS leaves it out, AUGUSTUS's not."""
    segments = sorted(features["CDS"])
    for start, end in features["stop_codon"]:
        if segments and strand == "+" and segments[-1][1] == start:
            segments[-1] = segments[-1][0], end
        if segments and strand == "-" and segments[0][0] == end:
            segments[0] = start, segments[0][1]
    partial = not (features["start_codon"] and features["stop_codon"])
    ordered = segments if strand == "+" else segments[::-1]
    return CodingSequence(
        name, strand, tuple(CodingSegment(start, end, 0, partial) for start, end in ordered)
    )


def orthologues(ours: list[Gene], others: list[Gene]) -> list[tuple[Gene, Gene]]:
    """Return pairs of genes whose proteins are each other's best by local alignment."""
    proteins = [[_protein(gene) for gene in side] for side in (ours, others)]
    pairs = [(a, b) for a in proteins[0] for b in proteins[1]]
    found = local_align(pairs, PROTEIN_SCORING, device="cpu")
    scores = [alignments[0].score if alignments else 0 for alignments in found]
    table = [scores[k : k + len(others)] for k in range(0, len(scores), len(others))]
    best = [max(range(len(others)), key=line.__getitem__) for line in table]
    back = [max(range(len(ours)), key=lambda k: table[k][j]) for j in range(len(others))]
    return [(gene, others[best[k]]) for k, gene in enumerate(ours) if back[best[k]] == k]


def _protein(gene: Gene) -> ProteinSequence:
    return ProteinSequence.from_text(gene.name, translated(gene.coding))


def identity(pairs: list[tuple[Gene, Gene]]) -> float:
    """Return the mean identity of the best local alignments of coding sequences."""
    sequences = [tuple(Sequence(g.name, g.coding) for g in pair) for pair in pairs]
    found = local_align(sequences, device="cpu")
    return sum(alignments[0].identity for alignments in found) / len(found)


def rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a pair of species, direction and method; tiny: only the first pair."""
    records = annotated_records()
    aligners = {f"{OURS}{name}": Aligner(records, *how) for name, how in OURS_BY.items()}
    others = list(ANNOTATIONS)[1 : 2 if tiny else None]
    every = {name: genes([annotated_region(folder, name)]) for name in (HUMAN, *others)}
    for species in others:
        pairs = orthologues(every[HUMAN], every[species])
        alike = round(identity(pairs), 4)
        for locus, target in ((HUMAN, species), (species, HUMAN)):
            ordered = [pair if locus == HUMAN else pair[::-1] for pair in pairs]
            trials = [Trial(a, b.coding, translated(b.coding)) for a, b in ordered]
            level = {"locus": locus, "target": target, "identity": alike}
            ours = [row(name, trials, aligner) for name, aligner in aligners.items()]
            yield from (level | line for line in (*ours, *peer_rows(trials, tiny)))


def mutated_rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a species, mutation model, divergence and reading; tiny: only the first ones."""
    records, first = annotated_records(), slice(1 if tiny else None)
    aligners = {f"{OURS}{name}": Aligner(records, *how) for name, how in MUTATED_BY.items()}
    for species in [name for name in ANNOTATIONS if name != HUMAN][first]:
        every = genes([annotated_region(folder, species)])
        for mutations, divergence in [*product(("uniform", "biased"), DIVERGENCES)][first]:
            trials = trials_of(every, divergence, mutations == "biased")
            level = {"species": species, "mutations": mutations, "divergence": divergence}
            yield from (level | row(name, trials, of) for name, of in aligners.items())


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield the rows of targets of other species."""
    yield "species", list(rows(folder, tiny))


def measure_mutated(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield the rows of the vertebrates' own coding sequences."""
    yield "vertebrates", list(mutated_rows(folder, tiny))


if __name__ == "__main__":
    record.main(measure, vertebrates=measure_mutated, needs_folder=True)
