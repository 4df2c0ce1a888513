"""What junctions are worth to cDNAs: covered introns, false junctions that are followed, and time.

Run ``python -m benchmarks.annotate.bench_evidence FOLDER [RECORD.json]``; FOLDER is one of
`bench_wild`. The longest mRNA of each gene, of fly and Arabidopsis the coding part, has some per
cent of its nucleotides substituted, and is aligned to its gene and 1,000 nucleotides on either
side, both strands, by one thread. The junctions are those of `bench_protein_evidence`: 80 % of the
introns annotated, and 5 % of as many that are none; these were seen as often as true ones, or
``rare``, one to three times. Weights were chosen on ``at`` and ``fly2L``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.annotate.bench_protein_evidence import (
    Junctions,
    followed,
    introns_of,
    junctions_of,
)
from benchmarks.annotate.bench_wild import (
    SEED,
    Wild,
    _models,
    coding_mrnas,
    longest,
    substituted,
)
from benchmarks.annotate.gene_sets import CodingModel
from gpu_tools import (
    EvidenceWeights,
    Sequence,
    SpliceEvidence,
    load_sites,
    site_align,
    tables_of,
)
from gpu_tools.model.evidence import RecordJunctions
from gpu_tools.model.locus import Locus
from gpu_tools.model.scoring import SITE_SCORING
from gpu_tools.model.sequences import decode
from gpu_tools.sites.api import case_of

FLANK = 1000
SUBSTITUTED = 0, 15, 25, 35
WEIGHTS = None, 0.0, 0.5, 0.85, 1.7, 2.5, 4.0
"""Points of a junction that was seen once; None for no evidence at all."""


def evidence_of(seen: Junctions, weight: float) -> SpliceEvidence:
    """Return junctions as evidence."""
    rows: dict[str, list] = {}
    for (name, strand, start, end), count in (seen.true | seen.false).items():
        rows.setdefault(name, []).append((start, end, strand == "-", count))
    junctions = {
        name: RecordJunctions.summed(*map(np.array, zip(*own, strict=True)))
        for name, own in rows.items()
    }
    return SpliceEvidence(junctions, weights=EvidenceWeights(weight))


def found_with(
    data: Wild, own: list[CodingModel], percent: int, evidence: SpliceEvidence | None
) -> tuple[list[CodingModel], float]:
    """Return the chains of the models' mRNAs, and the seconds of their alignment."""
    rng, model, cases = np.random.default_rng([SEED, percent]), load_sites(_models(data)[0]), []
    for number, one in enumerate(own):
        text = substituted(rng, decode(data.spliced(one).codes), percent / 100)
        whole = data.genome[one.record]
        low, high = max(one.exons[0][0] - FLANK, 0), min(one.exons[-1][1] + FLANK, len(whole))
        base = Sequence(Locus(one.record, low, high).name, whole.codes[low:high])
        target = Sequence.from_text(f"t{number}", text)
        tables = tables_of(base, model, ends="free-target", coding=True, evidence=evidence)
        cases.append(case_of(base, target, tables, model.stops))
    begun = time.perf_counter()
    results = site_align(cases, SITE_SCORING, device="cpu", threads=1)
    seconds = time.perf_counter() - begun
    chains = []
    for one, case, result in zip(own, cases, results, strict=True):
        moved = result.moved(Locus.of(case.base))
        chains.append(CodingModel(one.record, result.strand, tuple(sorted(moved.chain))))
    return chains, seconds


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield a row for each rate of substitutions, weight, and frequency of false junctions."""
    data = Wild.read(folder)
    own = longest(coding_mrnas(data) if len(data.mrnas) > len(data.coding) else data.coding)
    own = own[: 4 if tiny else None]
    annotated = introns_of([*data.coding, *data.mrnas])
    found_with(data, own[:1], 0, evidence_of(junctions_of(data, False), 1.0))  # compiles
    for percent in SUBSTITUTED[:1] if tiny else SUBSTITUTED:
        for rare in (False, True):
            seen = junctions_of(data, rare)
            for weight in WEIGHTS[2:4] if tiny else WEIGHTS[rare:]:
                evidence = None if weight is None else evidence_of(seen, weight)
                found, seconds = found_with(data, own, percent, evidence)
                reported = introns_of(found)
                figures = {
                    "targets": len(own), "weight": weight, "substituted": percent, "rare": rare,
                    "exact": sum(a.introns == b.introns for a, b in zip(own, found, strict=True)),
                    "introns": len(reported), "annotated": len(reported & annotated),
                    **followed(found, own, seen), "seconds": round(seconds, 2),
                }  # fmt: skip
                yield f"junctions {percent} {'rare ' if rare else ''}{weight}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
