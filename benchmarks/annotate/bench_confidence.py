"""How often introns and exons of gene sets are annotated, by their confidence.

Run ``python -m benchmarks.annotate.bench_confidence FOLDER [RECORD.json]``. FOLDER is one of those
of `benchmarks.annotate.bench_wild`. Targets are the longest protein of each gene, and conserved
proteins of other kingdoms, as in its parts ``own`` and ``distant``.

A row has for each range of confidences, named by its least one, how many different introns or exons
have it, and how many of them an annotated transcript has, exactly.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from benchmarks import record
from benchmarks.accuracy.proteins import _kogs
from benchmarks.annotate.bench_wild import KINGDOMS, MODELS, Wild, longest
from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.options import AnnotationOptions, longest_intron_of
from gpu_tools.annotate.targets import protein_targets
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.sites.model import load_sites

RANGES = (0, 5, 10, 15, 20, 30, 40, 60, 80)
Part = tuple[str, str, int, int]
"""Record, strand, and an intron or an exon."""


def confidences(data: Wild, targets: dict[str, str]) -> tuple[dict[Part, int], dict[Part, int]]:
    """Return the introns and the exons of a gene set, each with its least confidence."""
    sites = load_sites(MODELS.get(data.folder.name, ("vertebrate",))[0])
    options = AnnotationOptions(max_intron=longest_intron_of(sites), confidence=True)
    proteins = [ProteinSequence.from_text(*each) for each in targets.items()]
    found = annotate_genome([*data.genome.values()], [protein_targets(proteins, sites)], options)
    introns, exons = {}, {}
    for own in (t.alignment for gene in found.genes for t in gene.transcripts):
        ordered = sorted(own.chain)
        between = [(one[1], other[0]) for one, other in pairwise(ordered)]
        turn = 1 if own.strand == "+" else -1
        for known, parts, points in (
            (introns, between, own.intron_confidences), (exons, ordered, own.exon_confidences),
        ):  # fmt: skip
            for part, confidence in zip(parts, points[::turn], strict=True):
                key = own.base, own.strand, *part
                known[key] = min(confidence, known.get(key, confidence))
    return introns, exons


def by_range(found: dict[Part, int], annotated: set[Part]) -> dict[str, list[int]]:
    """Return for each range of confidences how many parts have it, and how many are annotated."""
    counts = {least: [0, 0] for least in RANGES}
    for part, confidence in found.items():
        own = counts[RANGES[bisect_right(RANGES, confidence) - 1]]
        own[0] += 1
        own[1] += part in annotated
    return {str(least): pair for least, pair in counts.items() if pair[0]}


def sources(data: Wild, tiny: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the names of sets of targets, and the targets."""
    own = longest(data.coding)[: 5 if tiny else None]
    yield "own", {f"t{k}": data.protein(model) for k, model in enumerate(own)}
    others = [one for one in KINGDOMS if one not in MODELS.get(data.folder.name, ())]
    for kingdom in () if tiny else others:
        yield kingdom, _kogs(data.folder.parent / "kogs" / f"{kingdom}.fa.gz")


def annotated_parts(models: Iterable) -> tuple[set[Part], set[Part]]:
    """Return the introns and the exons of transcripts."""
    models = list(models)
    introns = {(*m.introns[:2], *one) for m in models for one in m.introns[2]}
    return introns, {(m.record, m.strand, *one) for m in models for one in m.exons}


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the rows of each set of targets."""
    data = Wild.read(folder)
    introns, _ = annotated_parts([*data.coding, *data.mrnas])
    _, exons = annotated_parts(data.coding)
    for name, targets in sources(data, tiny):
        found = confidences(data, targets)
        yield name, {
            "targets": len(targets), "introns": by_range(found[0], introns),
            "exons": by_range(found[1], exons),
        }  # fmt: skip


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
