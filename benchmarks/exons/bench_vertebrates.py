"""The built-in predictor on other vertebrates: regions orthologous to a human training record.

Run ``python -m benchmarks.exons.bench_vertebrates FOLDER [RECORD.json]``. FOLDER holds the genomes
of Debian's package augustus-doc (examples/cgp): mm10.fa.gz, canFam3.fa.gz, monDom5.fa.gz and
galGal4.fa.gz, regions orthologous to human ENm008. Their genes are what the human coding sequences
align to by site mode, exactly, with chains that read through; chains count that have as many exons
as in human, so the truth is incomplete, and only sensitivity is given. The model has not seen the
human record.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import annotated_records
from benchmarks.exons.bench_exons import held_out_models
from benchmarks.exons.evaluation import rank_probabilities
from gpu_tools import Sequence, SiteCase, load_sites, site_align, tables_of
from gpu_tools.exons import load_model
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence, CodingSegment, CodingSequence
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import reverse_complement

SPECIES = {"mm10": "mouse", "canFam3": "dog", "monDom5": "opossum", "galGal4": "chicken"}
HUMAN = "ENm008"


def spliced(human: AnnotatedSequence, coding: CodingSequence) -> Sequence:
    """Return the bases of a coding sequence."""
    parts = [human.sequence.codes[s.start : s.end] for s in coding.segments]
    parts = [reverse_complement(p) for p in parts] if coding.strand == "-" else parts
    return Sequence(coding.name, np.concatenate(parts))


def found_coding(found: SplicedAlignment) -> CodingSequence:
    """Return a chain that reads through as a coding sequence."""
    segments, phase = [], 0
    for start, end in sorted(found.chain, reverse=found.strand == "-"):
        segments.append(CodingSegment(start, end, phase))
        phase = (phase - (end - start)) % 3
    return CodingSequence(found.target, found.strand, tuple(segments))


def orthologues(region: Sequence, human: AnnotatedSequence) -> AnnotatedSequence:
    """Find the human genes in a region."""
    tables = tables_of(region, load_sites("vertebrate"), reading="complete")
    results = site_align([SiteCase(region, spliced(human, c), tables) for c in human.coding])
    coding = [
        found_coding(result)
        for result, original in zip(results, human.coding, strict=True)
        if len(result.chain) == len(original.segments)
    ]
    return AnnotatedSequence(region, tuple(coding))


def row(species: str, one: AnnotatedSequence, model) -> dict:
    """Return what the model's cut-off gives."""
    ranking, cutoff = rank_probabilities(one, model), load_model("vertebrate").log_min_probability
    codes = one.sequence.codes
    found = ranking.found(cutoff)
    return {
        "species": species, "bases": len(codes),
        "gc": round(float(((codes == 1) | (codes == 2)).mean()), 3), "segments": len(found),
        "found": int(found.sum()), "sensitivity": round(float(found.mean()), 4),
        "internal": round(float(found[ranking.internal].mean()), 4),
        "density": round(ranking.density(cutoff), 1),
    }  # fmt: skip


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield a row a species; tiny: only the first."""
    records = annotated_records()
    number = [r.sequence.name for r in records].index(HUMAN)
    model, rows = held_out_models(records)[number], []
    for name in list(SPECIES)[: 1 if tiny else None]:
        (region,) = read_fasta(folder / f"{name}.fa.gz")
        rows.append(row(SPECIES[name], orthologues(region, records[number]), model))
    yield "vertebrates", rows


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
