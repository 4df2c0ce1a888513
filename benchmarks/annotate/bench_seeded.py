"""Seeded annotations beside exhaustive ones: which hits and genes the seeded search misses.

Run ``python -m benchmarks.annotate.bench_seeded FOLDER [RECORD.json]``. FOLDER holds ``fly2L`` and
``at`` of `benchmarks.accuracy.genome`. DATA and IDENTITIES in the environment choose, by commas;
EVERY = n takes one annotated protein in n, and INTRON is the longest intron instead of the model's.

Hits and genes of the exhaustive search, all with an E-value of at most 0.001 on the genome, count
as found if the seeded search has one of the same target, or a gene, that shares a nucleotide; and
as the same if the exons are the same, of genes those of all transcripts. The time is the
processor's, without the index.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.genome import pieces
from benchmarks.accuracy.proteins import diverged
from benchmarks.annotate.bench_annotation import SEED, GenomeData
from benchmarks.timing import processor_time
from gpu_tools import ProteinSequence
from gpu_tools.annotate.api import PartOfGenome, PartRun, Share, annotation_of, hits_of_part
from gpu_tools.annotate.choice import results_of
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import Alignment, AnnotationOptions, longest_intron_of
from gpu_tools.annotate.targets import ProteinTargets, protein_targets
from gpu_tools.model.loci import interval_of
from gpu_tools.sites.model import GeneSites, load_sites

MODELS = {"fly2L": "fly", "at": "arabidopsis"}
EVERY = int(os.environ.get("EVERY", "3"))
IDENTITIES = tuple(map(int, os.environ.get("IDENTITIES", "80,60,40").split(",")))
INTRON = int(os.environ.get("INTRON", "0"))


Place = tuple[tuple, tuple[int, int], object]
"""A key (a target's number or none, record, strand), an interval, and a structure."""


def places_of_hits(hits: Iterable[tuple[int, Alignment]]) -> list[Place]:
    """Return the places of hits, each a structure of its target."""
    return [((n, hit.base, hit.strand), interval_of(hit), hit.chain) for n, hit in hits]


def places_of_genes(annotation: GenomeAnnotation) -> list[Place]:
    """Return the places of genes, with the chains of all their transcripts."""
    return [
        ((gene.record, gene.strand), (gene.start, gene.end),
         frozenset(one.alignment.chain for one in gene.transcripts))
        for gene in annotation.genes
    ]  # fmt: skip


def met(wanted: Place, found: list[Place]) -> list:
    """Return the structures found that share a nucleotide with a place."""
    key, (low, high), _ = wanted
    return [own for k, (start, end), own in found if k == key and start < high and low < end]


class SearchRun(NamedTuple):
    """What a search has found, and the processor's seconds."""

    hits: list[tuple[int, Alignment]]
    annotation: GenomeAnnotation
    seconds: float


def sites_of(name: str) -> GeneSites:
    """Return the shipped site model of a data set."""
    return load_sites(MODELS.get(name, "vertebrate"))


def proteins_of(folder: Path, name: str, identity: int, every: int) -> ProteinTargets:
    """Return one annotated protein in `every`, with `identity` per cent of its residues left."""
    data = GenomeData(folder, name, sites_of(name))
    chosen = list(data.proteins().items())[::every]
    rngs = (np.random.default_rng([SEED, identity, k]) for k in range(len(chosen)))
    texts = [diverged(rng, p, identity, True) for rng, (_, p) in zip(rngs, chosen, strict=True)]
    found = [ProteinSequence.from_text(n, text) for text, (n, _) in zip(texts, chosen, strict=True)]
    return protein_targets(found, data.models[0])


def searched(
    genome: GenomeRecords, targets: ProteinTargets, options: AnnotationOptions
) -> SearchRun:
    """Return the hits and genes of a search."""
    whole = PartOfGenome(genome, None, genome.summary)
    run = PartRun(None, "cpu")
    begin = processor_time()
    found = hits_of_part(whole, [targets], options, Share(), run)
    seconds = round(processor_time() - begin, 1)
    chosen = results_of(found, options.is_hit)
    hits = [(number, hit) for number, hit in chosen if options.is_hit(hit)]
    return SearchRun(hits, annotation_of(genome, [targets], options, found, 1), seconds)


def shares(wanted: list[Place], found: list[Place]) -> dict:
    """Count what is wanted, what is found at the same place, and what is the same."""
    each = [(place[2], met(place, found)) for place in wanted]
    return {
        "exhaustive": len(each), "found": sum(bool(there) for _, there in each),
        "same": sum(structure in there for structure, there in each),
    }  # fmt: skip


def missed(targets: ProteinTargets, exhaustive: SearchRun, seeded: SearchRun) -> list[list]:
    """Return the hits of the exhaustive search alone.

    Each is its target, residues, E-value, score, strand, start, end and number of exons.
    """
    found = {(number, hit.base, hit.strand, hit.chain) for number, hit in seeded.hits}
    return [
        [targets.sequences[n].name, len(targets.sequences[n]), float(f"{hit.evalue:.2g}"),
         hit.score, hit.strand, *interval_of(hit), len(hit.chain)]
        for n, hit in exhaustive.hits if (n, hit.base, hit.strand, hit.chain) not in found
    ]  # fmt: skip


def compared(folder: Path, name: str, identity: int, every: int) -> dict:
    """Return figures of both searches for proteins of an identity."""
    targets = proteins_of(folder, name, identity, every)
    genome = GenomeRecords(piece.sequence for piece in pieces(folder))
    options = AnnotationOptions("exhaustive", INTRON or longest_intron_of(sites_of(name)), batch=20)
    by_seeds = replace(options, search="seeded")
    few = replace(targets, sequences=targets.sequences[:2])
    searched(genome, few, by_seeds)  # compiled
    exhaustive = searched(genome, targets, options)
    seeded = searched(genome, targets, by_seeds)
    hits = [places_of_hits(run.hits) for run in (exhaustive, seeded)]
    genes = [places_of_genes(run.annotation) for run in (exhaustive, seeded)]
    return {
        "data": name, "identity": identity, "proteins": len(targets.sequences),
        "nucleotides": sum(genome.lengths), "max_intron": options.max_intron,
        "hits": shares(*hits), "genes": shares(*genes),
        "more_hits": len(seeded.hits) - shares(*reversed(hits))["found"],
        "exhaustive_seconds": exhaustive.seconds, "seeded_seconds": seeded.seconds,
        "missed": missed(targets, exhaustive, seeded),
    }  # fmt: skip


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield a row a data set and identity."""
    for name in ["."] if tiny else os.environ.get("DATA", ",".join(MODELS)).split(","):
        for identity in IDENTITIES[:1] if tiny else IDENTITIES:
            figures = compared(folder / name, name, identity, 1 if tiny else EVERY)
            yield f"{name} {identity}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
