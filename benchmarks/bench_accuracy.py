"""Accuracy of gene structures from diverged targets: site mode beside other programs.

Run ``python -m benchmarks.bench_accuracy [RECORD.json [FIGURE.svg]]``. Genes are the complete ones
of resources/training with 3 kb on both sides, each scored by a site model trained on the other
records; a target is the gene's own coding sequence, mutated. The other programs get a sample of the
genes, for they are slow; site mode is also counted on that sample.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy_cases import Counts, Gene, annotated_records, genes, mutated
from benchmarks.accuracy_figure import figure
from benchmarks.accuracy_peers import exons_of, installed
from gpu_tools import Sequence, SiteCase, site_align, tables_of
from gpu_tools.exons.training import folds
from gpu_tools.sequences import decode
from gpu_tools.sites.model import sites_from_dict
from gpu_tools.sites.training import train_sites

DIVERGENCES = tuple(range(5, 55, 5))
BIASED_DIVERGENCES = (15, 25, 35, 45)
SAMPLE = 3
"""Every so manieth gene goes to the other programs."""
SEED = 2026
OURS = "gpu-tools site mode"


class Aligner:
    """Site mode on one core, with models that have not seen the gene's record."""

    def __init__(self, records):
        self.models = [
            sites_from_dict(train_sites(others, "held out", held_out.sequence.name))
            for held_out, others in folds(records)
        ]

    def exons(self, gene: Gene, target) -> list[tuple[int, int]]:
        """Return the chain on either strand; on the wrong one it is no true exon."""
        base, cdna = Sequence("locus", gene.codes), Sequence("target", target)
        case = SiteCase(base, cdna, tables_of(base, self.models[gene.record]))
        (result,) = site_align([case], threads=1)
        return list(result.chain) if result.strand == "+" else []


def peer_exons(peer: str, gene: Gene, target, folder: Path) -> list[tuple[int, int]]:
    """Return the exons that another program finds."""
    for name, codes in (("locus", gene.codes), ("target", target)):
        (folder / f"{name}.fa").write_text(f">{name}\n{decode(codes)}\n", encoding="ascii")
    return exons_of(peer, folder / "locus.fa", folder / "target.fa")


def row(method: str, cases, find) -> dict:
    """Return accuracy and seconds a gene of one method."""
    counts, seconds = Counts.zero(), 0.0
    for gene, target in cases:
        begin = time.perf_counter()
        chain = find(gene, target)
        seconds += time.perf_counter() - begin
        counts.add(gene, chain)
    return {
        "method": method,
        "genes": len(cases),
        "exons": int(counts.exons[2]),
        "exon_f1": round(Counts.f1(counts.exons), 4),
        "nucleotide_f1": round(Counts.f1(counts.nucleotides), 4),
        "seconds_a_gene": round(seconds / len(cases), 4),
    }


def rows(records, folder: Path, divergences=DIVERGENCES, biased=BIASED_DIVERGENCES) -> list[dict]:
    """Return a row a mutation model, divergence and method."""
    aligner, every = Aligner(records), genes(records)
    found = []
    levels = [("uniform", d) for d in divergences] + [("biased", d) for d in biased]
    for mutation, divergence in levels:
        rng = np.random.default_rng([SEED, divergence])
        cases = [(g, mutated(rng, g.coding, divergence / 100, mutation == "biased")) for g in every]
        level = {"mutations": mutation, "divergence": divergence}
        found.append(level | row(OURS, cases, aligner.exons))
        found.append(level | row(f"{OURS}, sample", cases[::SAMPLE], aligner.exons))
        for peer in installed():
            find = lambda gene, target, peer=peer: peer_exons(peer, gene, target, folder)  # noqa: E731
            found.append(level | row(peer, cases[::SAMPLE], find))
    return found


def main() -> None:
    """Print the table; write the record and the figure."""
    with tempfile.TemporaryDirectory() as folder:
        found = rows(annotated_records(), Path(folder))
    print("\t".join(found[0]))
    for line in found:
        print("\t".join(map(str, line.values())))
    if len(sys.argv) > 1:
        record.write(sys.argv[1], {"accuracy": found})
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(figure(found), encoding="utf-8")


if __name__ == "__main__":
    main()
