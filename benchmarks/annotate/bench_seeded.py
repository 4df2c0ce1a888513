"""Seeded annotations beside exhaustive ones: which hits and genes the seeded search misses.

Run ``python -m benchmarks.annotate.bench_seeded FOLDER [RECORD.json]``. FOLDER holds ``fly2L`` and
``at`` of `benchmarks.accuracy.genome`. DATA and IDENTITIES in the environment choose, by commas;
EVERY takes each so many-th of the annotated proteins, INTRON is the longest intron in place of the
model's, and WORK names a folder that keeps the results and the time of the exhaustive search for
further runs.

Hits and genes of the exhaustive search, all with an E-value of at most 0.001 on the genome, count
as found if the seeded search has one of the same target, or a gene, that shares a nucleotide; and
as the same if the exons are the same, of genes those of all transcripts. The time is the
processor's, without the index.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.genome import pieces
from benchmarks.accuracy.proteins import diverged
from benchmarks.annotate.bench_annotation import SEED, GenomeData
from gpu_tools import ProteinSequence
from gpu_tools.annotate.api import annotation_of
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.hits import results_of
from gpu_tools.annotate.options import Alignment, AnnotationOptions, longest_intron_of
from gpu_tools.annotate.parts import PartOfGenome, PartRun, Share, hits_of_part
from gpu_tools.annotate.targets import ProteinTargets, protein_targets
from gpu_tools.annotate.windows import index_of
from gpu_tools.model.loci import interval_of
from gpu_tools.sites.model import GeneSites, load_sites

MODELS = {"fly2L": "fly", "at": "arabidopsis"}
EVERY = int(os.environ.get("EVERY", "3"))
IDENTITIES = tuple(map(int, os.environ.get("IDENTITIES", "80,60,40").split(",")))
WORK = os.environ.get("WORK")
INTRON = int(os.environ.get("INTRON", "0"))


class Places(NamedTuple):
    """What lies where: exons by key (a target's name, or none), record and strand."""

    of: dict[tuple, list[tuple]]
    """Intervals and structures."""

    @classmethod
    def of_hits(cls, hits: Iterable[tuple[int, Alignment]]) -> Places:
        """Return the places of hits, each a structure of its target."""
        return cls._grouped(
            ((number, hit.base, hit.strand), interval_of(hit), hit.chain) for number, hit in hits
        )

    @classmethod
    def of_genes(cls, annotation: GenomeAnnotation) -> Places:
        """Return the places of genes, with the chains of all their transcripts."""
        return cls._grouped(
            ((gene.record, gene.strand), (gene.start, gene.end),
             frozenset(one.alignment.chain for one in gene.transcripts))
            for gene in annotation.genes
        )  # fmt: skip

    @classmethod
    def _grouped(cls, items: Iterable[tuple]) -> Places:
        places: dict[tuple, list[tuple]] = {}
        for key, interval, structure in items:
            places.setdefault(key, []).append((interval, structure))
        return cls(places)

    def __iter__(self) -> Iterator[tuple]:
        return ((key, *own) for key, several in self.of.items() for own in several)

    def there(self, key: tuple, interval: tuple[int, int]) -> list:
        """Return the structures of a key that share a nucleotide with an interval."""
        return [
            structure for (start, end), structure in self.of.get(key, ())
            if start < interval[1] and interval[0] < end
        ]  # fmt: skip


class SearchRun(NamedTuple):
    """What a search has found, and the processor's seconds, None if they are not known."""

    hits: list[tuple[int, Alignment]]
    annotation: GenomeAnnotation
    seconds: float | None


def sites_of(name: str) -> GeneSites:
    """Return the shipped site model of a data set."""
    return load_sites(MODELS.get(name, "vertebrate"))


def proteins_of(folder: Path, name: str, identity: int, every: int) -> ProteinTargets:
    """Return each so many-th annotated protein with so many percent of its residues left."""
    data = GenomeData(folder, name, 10**9, sites_of(name))
    chosen = list(data.proteins().items())[::every]
    rngs = (np.random.default_rng([SEED, identity, k]) for k in range(len(chosen)))
    texts = [diverged(rng, p, identity, True) for rng, (_, p) in zip(rngs, chosen, strict=True)]
    found = [ProteinSequence.from_text(n, text) for text, (n, _) in zip(texts, chosen, strict=True)]
    return protein_targets(found, data.models[0])


def searched(
    genome: GenomeRecords, targets: ProteinTargets, options: AnnotationOptions,
    index: str | None, work: Path | None,
) -> SearchRun:  # fmt: skip
    """Return the hits and genes of a search."""
    whole, resumed = PartOfGenome(genome, None, genome.summary), bool(work and work.exists())
    run = PartRun(index, work, "cpu")
    begin = time.process_time()
    found = hits_of_part(whole, [targets], options, Share(), run)
    seconds = _kept(work, round(time.process_time() - begin, 1), resumed)
    chosen = results_of(found, options.accepts)
    hits = [(number, hit) for number, hit in chosen if options.accepts(hit)]
    return SearchRun(hits, annotation_of(genome, [targets], options, found, 1), seconds)


def _kept(work: Path | None, seconds: float, resumed: bool) -> float | None:
    """Return the seconds of the run that filled a folder of results, None if it was stopped."""
    if work is None:
        return seconds
    path = work / "seconds"
    if not resumed:
        path.write_text(str(seconds))
    return float(path.read_text()) if path.exists() else None


def shares(wanted: Places, found: Places) -> dict:
    """Count what is wanted, what is found at the same place, and what is the same."""
    each = [(structure, found.there(key, where)) for key, where, structure in wanted]
    return {
        "exhaustive": len(each), "found": sum(bool(there) for _, there in each),
        "same": sum(structure in there for structure, there in each),
    }  # fmt: skip


def missed(targets: ProteinTargets, exhaustive: SearchRun, seeded: SearchRun) -> list[list]:
    """Return hits of the exhaustive search alone.

    Each is its target, residues, E-value, score, strand, start, end and number of exons, and the
    best score that the seeded search has there, or None.
    """
    there, found = Places.of_hits(seeded.hits), []
    scores = {(number, hit.base, hit.strand, hit.chain): hit.score for number, hit in seeded.hits}
    for number, hit in exhaustive.hits:
        key = number, hit.base, hit.strand
        own = {chain: scores[*key, chain] for chain in there.there(key, interval_of(hit))}
        if hit.chain not in own:
            one = targets.sequences[number]
            found.append([
                one.name, len(one), float(f"{hit.evalue:.2g}"), hit.score, hit.strand,
                *interval_of(hit), len(hit.chain), max(own.values(), default=None),
            ])  # fmt: skip
    return found


def compared(folder: Path, name: str, identity: int, every: int, index: str) -> dict:
    """Return figures of both searches for proteins of an identity."""
    targets = proteins_of(folder, name, identity, every)
    genome = GenomeRecords(piece.sequence for piece in pieces(folder))
    index_of(genome, targets.kind, targets.genetic_code, index, 1)
    work = WORK and Path(WORK, f"{name}-{identity}-{every}")
    options = AnnotationOptions("exhaustive", INTRON or longest_intron_of(sites_of(name)), batch=20)
    by_seeds = replace(options, search="seeded")
    few = replace(targets, sequences=targets.sequences[:2])
    searched(genome, few, by_seeds, index, None)  # compiled
    exhaustive = searched(genome, targets, options, None, work)
    seeded = searched(genome, targets, by_seeds, index, None)
    hits = [Places.of_hits(run.hits) for run in (exhaustive, seeded)]
    genes = [Places.of_genes(run.annotation) for run in (exhaustive, seeded)]
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
        with tempfile.TemporaryDirectory() as index:
            for identity in IDENTITIES[:1] if tiny else IDENTITIES:
                figures = compared(folder / name, name, identity, 1 if tiny else EVERY, index)
                yield f"{name} {identity}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
