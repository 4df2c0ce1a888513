"""Gene sets by ``gpu-tools annotate`` beside spaln's and miniprot's, from the same proteins.

Run ``python -m benchmarks.annotate.bench_annotation FOLDER [RECORD.json]``. FOLDER holds ``fly2L``
and ``at`` of `benchmarks.accuracy.genome` and ``kogs`` of `benchmarks.accuracy.proteins`. PARTS,
DATA and IDENTITIES in the environment choose parts, data sets and identities, by commas; SEARCH
names our search, MINIPROT that program.

Parts: ``identity``: proteins of all annotated transcripts with residues substituted, at several
identities; ``kogs``: conserved proteins of other kingdoms; ``shuffled``: the annotated proteins,
each in random order; ``references``: KOGs of one and of two kingdoms, and annotated proteins once
and twice, with other substitutions. Our site models are trained on the other half of the windows of
200 kb: the genome is annotated with each of the two, and genes count in the half that the model has
not seen. Of other programs, which have seen these genomes, genes count in both halves.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy.genome import WINDOW, half_of, pieces
from benchmarks.accuracy.programs import versions, with_stop_codon
from benchmarks.accuracy.proteins import _kogs, diverged
from benchmarks.annotate import peers
from benchmarks.annotate.gene_sets import CodingModel, levels, loci, models_of_gff
from benchmarks.timing import processor_time
from gpu_tools import ProteinSequence
from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import protein_targets
from gpu_tools.model.sequences import decode, decode_protein, reverse_complement
from gpu_tools.model.translation import translate
from gpu_tools.sites.model import GeneSites, load_sites, sites_from_dict
from gpu_tools.sites.training import train_sites

SEED = 2031
IDENTITIES = tuple(map(int, os.environ.get("IDENTITIES", "80,60").split(",")))
OURS = "gpu-tools"
SHUFFLED_EVALUE = 0.01
SEARCH = os.environ.get("SEARCH", "seeded")
DATA = {"fly2L": ("human", "arabidopsis"), "at": ("human", "fly")}
"""Data sets, and the kingdoms whose conserved proteins are tried on each."""


class GenomeData:
    """A genome with its true transcripts, and a site model for each half of its windows."""

    def __init__(self, folder: Path, name: str, sites: GeneSites | None = None):
        self.name, self.annotated = name, pieces(folder)
        self.genome = [piece.sequence for piece in self.annotated]
        halves = [[half_of(piece, k) for piece in self.annotated] for k in (1, 0)]
        self.models = [sites or sites_from_dict(train_sites(h, name, name)) for h in halves]
        """The model for the genes of each half, trained on the other one."""

    @property
    def truth(self) -> set[CodingModel]:
        """The true transcripts."""
        return {
            CodingModel(piece.sequence.name, c.strand,
                        tuple(sorted((s.start, s.end) for s in c.segments)))
            for piece in self.annotated for c in piece.coding
        }  # fmt: skip

    def proteins(self) -> dict[str, str]:
        """Return the proteins of the true transcripts, each once, by name."""
        codes = {piece.name: piece.codes for piece in self.genome}
        found = {}
        for k, model in enumerate(sorted(self.truth)):
            joined = np.concatenate([codes[model.record][a:b] for a, b in model.exons])
            joined = joined if model.strand == "+" else reverse_complement(joined)
            protein = decode_protein(translate(joined)).removesuffix("*").replace("*", "X")
            found.setdefault(protein, f"p{k}")
        return {name: protein for protein, name in found.items() if protein}


def in_half(models, k: int) -> set[CodingModel]:
    """Return the transcripts that begin in windows of a half."""
    return {model for model in models if model.exons[0][0] // WINDOW % 2 == k}


def annotated(
    data: GenomeData, sites: GeneSites, proteins: dict[str, str], evalue: float = 1e-3
) -> GenomeAnnotation:
    """Annotate a genome with a site model."""
    targets = [ProteinSequence.from_text(name, text) for name, text in proteins.items()]
    options = AnnotationOptions(search=SEARCH, max_evalue=evalue)
    return annotate_genome(data.genome, [protein_targets(targets, sites)], options, device="cpu")


def models_of(annotation: GenomeAnnotation) -> set[CodingModel]:
    """Return the transcripts of a gene set."""
    return {
        CodingModel(gene.record, gene.strand, tuple(sorted(t.alignment.chain)))
        for gene in annotation.genes for t in gene.transcripts
    }  # fmt: skip


def ours(data: GenomeData, proteins: dict[str, str]):
    """Return our transcripts, each half by the model that has not seen it, and the mean times."""
    found, begin, spent = set(), time.perf_counter(), processor_time()
    for k, sites in enumerate(data.models):
        found |= in_half(models_of(annotated(data, sites, proteins)), k)
    wall, processor = time.perf_counter() - begin, processor_time() - spent
    return found, wall / len(data.models), processor / len(data.models)


def theirs(name: str, data: GenomeData, proteins: dict[str, str]):
    """Return the transcripts that another program finds, and its times."""
    with tempfile.TemporaryDirectory() as folder:
        genome, targets = Path(folder, "genome.fa"), Path(folder, "proteins.fa")
        genome.write_text("".join(f">{s.name}\n{decode(s.codes)}\n" for s in data.genome))
        targets.write_text("".join(f">{n}\n{p}\n" for n, p in proteins.items()))
        times, lines = peers.run(name, genome, targets, data.name)
    records = {sequence.name: sequence for sequence in data.genome}
    found = models_of_gff(lines, peers.PEERS[name].feature, records, with_stop_codon)
    return found, times["seconds"], times["processor_seconds"]


def rows(data: GenomeData, proteins: dict[str, str]) -> Iterator[dict]:
    """Yield a row a program: exons, intron chains, loci, and times."""
    for name in [OURS, *peers.installed()]:
        call = ours(data, proteins) if name == OURS else theirs(name, data, proteins)
        found, wall, processor = call
        yield {
            "method": name, "proteins": len(proteins), **levels(found, data.truth),
            "seconds": round(wall, 1), "processor_seconds": round(processor, 1),
            "nucleotides": sum(map(len, data.genome)),
        }  # fmt: skip


def identity_rows(folder: Path, tiny: bool) -> Iterator[dict]:
    """Yield rows of proteins of each identity."""
    for name in _chosen(tiny):
        data = _data(folder, name, tiny)
        for identity in IDENTITIES[:1] if tiny else IDENTITIES:
            proteins = _substituted(data, identity)
            yield from ({"data": name, "identity": identity} | row for row in rows(data, proteins))


def kog_rows(folder: Path, tiny: bool) -> Iterator[dict]:
    """Yield rows of conserved proteins of another kingdom, and of two; all truth counts."""
    for name in () if tiny else _chosen(tiny):
        data, one = _data(folder, name, tiny), DATA[name]
        for sources in ((one[0],), one):
            proteins = _conserved(folder, sources)
            level = {"data": name, "source": " and ".join(sources)}
            yield from (level | row for row in rows(data, proteins))


def _conserved(folder: Path, sources: tuple[str, ...]) -> dict[str, str]:
    return {
        f"{source}_{family}": protein
        for source in sources
        for family, protein in _kogs(folder / "kogs" / f"{source}.fa.gz").items()
    }


def shuffled_rows(folder: Path, tiny: bool) -> Iterator[dict]:
    """Yield how many loci proteins in random order give."""
    for name in _chosen(tiny):
        data = _data(folder, name, tiny)
        proteins = {}
        for k, (n, protein) in enumerate(data.proteins().items()):
            order = np.random.default_rng([SEED, k]).permutation(len(protein))
            proteins[n] = "".join(protein[j] for j in order)
        found = annotated(data, data.models[0], proteins, SHUFFLED_EVALUE)
        yield {
            "data": name, "nucleotides": sum(map(len, data.genome)), "proteins": len(proteins),
            "loci": len(found.genes),
            "targets_found": sum(target.loci > 0 for target in found.targets),
        }  # fmt: skip


def reference_rows(folder: Path, tiny: bool) -> Iterator[dict]:
    """Yield how many loci references give, and twice as many of them."""
    for name in () if tiny else _chosen(tiny):
        data = _data(folder, name, tiny)
        truth = loci(data.truth)
        for sources, proteins in _references(folder, name, data):
            found = annotated(data, data.models[0], proteins)
            yield {
                "data": name, "sources": sources, "proteins": len(proteins),
                "loci": len(found.genes), "true_loci": len(truth), "chimeras": found.chimeras,
                "mrnas": sum(len(gene.transcripts) for gene in found.genes),
                "outside": _outside(models_of(found), data.truth),
            }  # fmt: skip


def _references(
    folder: Path, name: str, data: GenomeData
) -> Iterator[tuple[list[str], dict[str, str]]]:  # fmt: skip
    """Yield sets of proteins: KOGs of one and of two kingdoms, annotated ones once and twice."""
    for sources in ((DATA[name][0],), (DATA[name][1],), DATA[name]):
        yield list(sources), _conserved(folder, sources)
    identity = min(IDENTITIES)
    once, again = (_substituted(data, identity, seed) for seed in (SEED, SEED + 1))
    yield [f"{identity} %"], once
    yield [f"{identity} %", "again"], once | {f"{n}_again": p for n, p in again.items()}


def _substituted(data: GenomeData, identity: int, seed: int = SEED) -> dict[str, str]:
    """Return the annotated proteins with `identity` per cent of their residues left."""
    return {
        n: diverged(np.random.default_rng([seed, identity, k]), p, identity, True)
        for k, (n, p) in enumerate(data.proteins().items())
    }


def _outside(found: set[CodingModel], truth: set[CodingModel]) -> int:
    """Return how many loci share no nucleotide with a true one on their strand."""
    return sum(
        not any(model in truth for model in locus)
        for locus in loci(found | truth)
        if any(model in found for model in locus)
    )


@cache
def _data(folder: Path, name: str, tiny: bool) -> GenomeData:
    if tiny:
        return GenomeData(folder, name, load_sites("vertebrate"))
    return GenomeData(folder / name, name)


def _chosen(tiny: bool) -> list[str]:
    names = os.environ.get("DATA", ",".join(DATA)).split(",")
    return names[:1] if tiny else names


PARTS = {
    "identity": identity_rows, "kogs": kog_rows, "shuffled": shuffled_rows,
    "references": reference_rows,
}  # fmt: skip


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield versions of the programs, and the rows of the parts."""
    yield "versions", versions()
    for part in os.environ.get("PARTS", ",".join(PARTS)).split(","):
        for k, figures in enumerate(PARTS[part](folder, tiny)):
            yield f"{part} {k}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
