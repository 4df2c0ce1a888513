"""Gene sets by ``gpu-tools annotate`` beside spaln's and miniprot's, from the same proteins.

Run ``python -m benchmarks.annotate.bench_annotation FOLDER [RECORD.json]``. FOLDER holds ``fly2L``
and ``at`` of `benchmarks.accuracy.genome` and ``kogs`` of `benchmarks.accuracy.proteins`. PARTS
and DATA in the environment choose parts and data sets, by commas, SEARCH our search, and WORK a
folder that keeps our results of each batch, and then our rows have no seconds; NUCLEOTIDES limits
the genome to its first ones; IDENTITIES and PEERS choose further; MINIPROT names that program.

Parts: ``identity``: proteins of all annotated transcripts with residues substituted, at several
identities; ``kogs``: conserved proteins of other kingdoms; ``shuffled``: the annotated proteins,
each in random order; ``references``: KOGs of one and of two kingdoms, and annotated proteins once
and twice, with other substitutions. Our site models are trained on the other half of the windows of
200 kb: the genome is annotated with each of the two, and genes count in the half that the model has
not seen. Of other programs, which have seen these genomes, genes count in both halves.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy.genome import WINDOW, pieces
from benchmarks.accuracy.protein_peers import versions
from benchmarks.accuracy.proteins import _kogs, diverged
from benchmarks.annotate import peers
from benchmarks.annotate.gene_sets import CodingModel, levels, loci
from gpu_tools import ProteinSequence
from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.gene_set import GenomeAnnotation
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import protein_targets
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.sequences import decode_protein, reverse_complement
from gpu_tools.model.translation import translate
from gpu_tools.sites.model import GeneSites, load_sites, sites_from_dict
from gpu_tools.sites.training import train_sites

SEED = 2031
IDENTITIES = tuple(map(int, os.environ.get("IDENTITIES", "80,60").split(",")))
OURS = "gpu-tools"
SHUFFLED_EVALUE = 0.01
MOST = int(os.environ.get("NUCLEOTIDES", 10**9))
SEARCH = os.environ.get("SEARCH", "seeded")
WORK = os.environ.get("WORK")
DATA = {"fly2L": ("human", "arabidopsis"), "at": ("human", "fly")}
"""Data sets, and the kingdoms whose conserved proteins are tried on each."""


class GenomeData:
    """A genome with its true transcripts, and a site model for each half of its windows."""

    def __init__(self, folder: Path, name: str, most: int, sites: GeneSites | None = None):
        every = pieces(folder)
        self.name = name
        self.annotated = [_first(piece, most) for piece in every]
        self.genome = [piece.sequence for piece in self.annotated]
        halves = [[_half(piece, k) for piece in every] for k in (1, 0)]
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


def _first(piece: AnnotatedSequence, most: int) -> AnnotatedSequence:
    """Return the first nucleotides of a piece, with the transcripts that lie there."""
    coding = tuple(c for c in piece.coding if max(s.end for s in c.segments) <= most)
    sequence = type(piece.sequence)(piece.sequence.name, piece.sequence.codes[:most])
    return AnnotatedSequence(sequence, coding)


def _half(piece: AnnotatedSequence, k: int) -> AnnotatedSequence:
    coding = [c for c in piece.coding if min(s.start for s in c.segments) // WINDOW % 2 == k]
    return AnnotatedSequence(piece.sequence, tuple(coding))


def in_half(models, k: int) -> set[CodingModel]:
    """Return the transcripts that begin in windows of a half."""
    return {model for model in models if model.exons[0][0] // WINDOW % 2 == k}


def annotated(
    data: GenomeData, sites: GeneSites, proteins: dict[str, str], evalue: float = 1e-3
) -> GenomeAnnotation:
    """Annotate a genome with a site model."""
    targets = [ProteinSequence.from_text(name, text) for name, text in proteins.items()]
    options = AnnotationOptions(search=SEARCH, max_evalue=evalue)
    return annotate_genome(
        data.genome, [protein_targets(targets, sites)], options, work=WORK, device="cpu"
    )


def models_of(annotation: GenomeAnnotation) -> set[CodingModel]:
    """Return the transcripts of a gene set."""
    return {
        CodingModel(gene.record, gene.strand, tuple(sorted(t.alignment.chain)))
        for gene in annotation.genes for t in gene.transcripts
    }  # fmt: skip


def ours(data: GenomeData, proteins: dict[str, str]):
    """Return our transcripts, each half by the model that has not seen it, and the mean times."""
    found, begin, spent = set(), time.perf_counter(), time.process_time()
    for k, sites in enumerate(data.models):
        found |= in_half(models_of(annotated(data, sites, proteins)), k)
    wall, processor = time.perf_counter() - begin, time.process_time() - spent
    return found, wall / len(data.models), processor / len(data.models)


def rows(data: GenomeData, proteins: dict[str, str]) -> Iterator[dict]:
    """Yield a row a program: exons, intron chains, loci, and times."""
    for name in [OURS, *_chosen_peers()]:
        call = ours(data, proteins) if name == OURS else peers.run(
            name, data.genome, proteins, data.name
        )  # fmt: skip
        found, wall, processor = call
        yield {
            "method": name, "proteins": len(proteins), **levels(found, data.truth),
            "seconds": _known(name, wall), "processor_seconds": _known(name, processor),
            "nucleotides": sum(map(len, data.genome)),
        }  # fmt: skip


def _chosen_peers() -> list[str]:
    here = peers.installed()
    return [name for name in os.environ.get("PEERS", ",".join(here)).split(",") if name in here]


def _known(name: str, seconds: float) -> float | None:
    """Return seconds, None where kept results may have saved some."""
    return None if WORK and name == OURS else round(seconds, 1)


def identity_rows(folder: Path, tiny: bool) -> Iterator[dict]:
    """Yield rows of proteins with so many percent of their residues left."""
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
    """Return the annotated proteins with so many percent of their residues left."""
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
        return GenomeData(folder, name, MOST, load_sites("vertebrate"))
    return GenomeData(folder / name, name, MOST)


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
