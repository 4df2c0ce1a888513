"""E-values of shuffled and of true targets, on genomic sequence that the calibration never saw.

Run ``python -m benchmarks.accuracy.bench_credibility FOLDER [RECORD.json] [--part proteins]``.
FOLDER holds ``genome.fa.gz``, ``cds.fa.gz`` and ``truth.gtf.gz``, whose CDS features say where each
coding sequence lies; with ``--part proteins`` it holds such folders, by default ``fly2L`` and
``at``: DATA in the environment names others, by commas. A true target is a coding sequence with
35 % of its nucleotides substituted, its first and last codon excepted, or a protein with 60 % of
its residues left, at BLOSUM62's rates; its unrelated ones are shuffles of the sequence. The base is
a piece of the genome that holds the gene. Pieces begin at a grid, so that genes share them. A
folder that `OWN_MODELS` names has rows with its species' site model. GENES and PIECE in the
environment are the number of coding sequences, each shuffled four times, and the length of a base;
SETTINGS are the numbers of the settings to measure, by commas, in this order.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import translated
from benchmarks.accuracy.proteins import MATRIX
from benchmarks.accuracy.proteins import diverged as diverged_protein
from gpu_tools import (
    Case,
    Sequence,
    SplicedScoring,
    is_coding,
    load_sites,
    null_model,
    site_align,
    spliced_align,
    tables_of,
    with_evalues,
)
from gpu_tools.exons.model import load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.scoring import CANDIDATE_WEIGHTS, ENDS, ProteinScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.model.significance import circumstances_of, laws_by
from gpu_tools.sites.api import case_of
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)
from gpu_tools.spliced.proteins.api import ListedProteinCase, protein_spliced_align
from gpu_tools.splicing.shuffles import shuffled

SEED, SHUFFLES, DIVERGENCE, IDENTITY = 5, 4, 0.35, 60
GENES, PROTEINS = (int(os.environ.get("GENES", most)) for most in ("500", "250"))
PIECE = int(os.environ.get("PIECE", "50000"))
NUMBERS = os.environ.get("SETTINGS", "")
LENGTHS = range(150, 2001)
LIMITS = (0.1, 0.01, 0.001)
CODON = 3
OWN_MODELS = {"fly2L": "fly", "at": "arabidopsis"}


class Setting(NamedTuple):
    """What a row is about; without `sites` candidates are listed."""

    sites: str | None
    reading: str
    scoring: SplicedScoring | ProteinScoring


def _listed(reading: str, ends: str) -> Setting:
    return Setting(None, reading, SplicedScoring(exon_weight=0.5, intron_penalty=10, ends=ends))


SETTINGS = (
    Setting("vertebrate", "any", SplicedScoring(ends="free-target")),
    Setting("vertebrate", "complete", SplicedScoring(ends="free-target")),
    Setting(None, "any", SplicedScoring()),
    _listed("any", "free-target"),
    _listed("complete", "free-target"),
)
"""Defaults of the command, and list mode's pure score."""
LISTED_CODING = (
    _listed("complete", "global"), _listed("incomplete", "free-target"),
    _listed("incomplete", "global"),
)  # fmt: skip
"""Other chains of listed candidates that translate."""


def settings_of(folder: Path) -> list[Setting]:
    """Return the settings for a folder; its species' model has all ends, before the last three."""
    own = OWN_MODELS.get(folder.name)
    every = (*product(("any", "complete"), ENDS), ("incomplete", "free-target")) if own else ()
    models = (Setting(own, r, SplicedScoring(ends=ends)) for r, ends in every)
    return [*SETTINGS, *models, *LISTED_CODING]


def protein_settings_of(name: str) -> list[Setting]:
    """Return list mode's settings, and those of the species' site model."""
    every = product((None, OWN_MODELS.get(name, "vertebrate")), ("global", "free-target"))
    weights = {None: CANDIDATE_WEIGHTS}
    return [
        Setting(sites, "any", ProteinScoring(MATRIX, ends=ends, **weights.get(sites, {})))
        for sites, ends in every
    ]


def spans(path: Path) -> dict[str, tuple[str, int, int]]:
    """Return record, start and end of each transcript's CDS features in a GTF file, 0-based."""
    found = {}
    for _, line in read_lines(path):
        fields = line.split("\t")
        if len(fields) > 8 and fields[2] == "CDS":
            name = re.search(r'transcript_id "([^"]+)"', fields[8])[1]
            _, start, end = found.get(name, (fields[0], int(fields[3]) - 1, 0))
            found[name] = fields[0], min(start, int(fields[3]) - 1), max(end, int(fields[4]))
    return found


Pieces = list[tuple[Sequence, list[Sequence]]]
"""Pieces of a genome with the coding sequences that lie there."""


def pieces_of(folder: Path, count: int) -> Pieces:
    """Return pieces of a genome that hold some of its coding sequences."""
    genome = {sequence.name: sequence.codes for sequence in read_fasta(folder / "genome.fa.gz")}
    where, pieces = spans(folder / "truth.gtf.gz"), defaultdict(list)
    known = [s for s in read_fasta(folder / "cds.fa.gz") if s.name in where and len(s) in LENGTHS]
    order = np.random.default_rng(SEED).permutation(len(known))
    for coding in [known[k] for k in order[:count]]:
        name, start, end = where[coding.name]
        first = start // (PIECE // 4) * (PIECE // 4)
        if end <= first + PIECE:
            pieces[name, first].append(coding)
    return [
        (Sequence(name, genome[name][first : first + PIECE]), own)
        for (name, first), own in pieces.items()
    ]


def diverged(coding: Sequence, random: np.random.Generator) -> Sequence:
    """Return a sequence with some nucleotides substituted, not those of its outer codons."""
    codes = coding.codes.copy()
    hit = random.random(len(codes)) < DIVERGENCE
    hit[:CODON] = hit[-CODON:] = False
    codes[hit] = (codes[hit] + random.integers(1, 4, hit.sum())) % 4
    return Sequence(coding.name, codes)


def targets_of(genes: list[Sequence], setting: Setting, random) -> tuple[list, list]:
    """Return the shuffles of some genes, and the diverged genes."""
    numbers, codons = range(SHUFFLES), setting.reading != "any"
    unrelated = [shuffled(gene, k, codons) for gene in genes for k in numbers]
    return unrelated, [diverged(gene, random) for gene in genes]


def proteins_of(genes: list[Sequence], setting: Setting, random) -> tuple[list, list]:
    """Return the shuffles of some genes' proteins, and the diverged proteins."""
    texts = [translated(gene.codes) for gene in genes]
    proteins = [ProteinSequence.from_text(g.name, t) for g, t in zip(genes, texts, strict=True)]
    true = [
        ProteinSequence.from_text(g.name, diverged_protein(random, text, IDENTITY))
        for g, text in zip(genes, texts, strict=True)
    ]
    return [shuffled(protein, k) for protein in proteins for k in range(SHUFFLES)], true


def evalues(setting: Setting, base: Sequence, targets: list) -> list[float]:
    """Return the shipped E-values of some targets on one base; 1 of those without a chain."""
    scoring, reading = setting.scoring, setting.reading
    protein = isinstance(scoring, ProteinScoring)
    model = load_sites(setting.sites) if setting.sites else None
    if model and protein:
        model = protein_sites(model)
        tables = protein_tables_of(base, model, scoring)
        cases = [ProteinCase(base, target, tables) for target in targets]
        results = protein_align(cases, scoring, device="cpu")
    elif model:
        tables = tables_of(base, model, "+-", scoring.ends, reading, coding=True)
        cases = [case_of(base, target, tables, model.stops) for target in targets]
        results = site_align(cases, scoring)
    else:
        exons = predict_exons(base.codes, load_model("vertebrate"))
        cases = [(ListedProteinCase if protein else Case)(base, t, exons) for t in targets]
        results = (
            protein_spliced_align(cases, scoring, device="cpu") if protein
            else spliced_align(cases, scoring, reading=reading)
        )  # fmt: skip
    coding = [model and not protein and is_coding(target, model.stops) for target in targets]
    models = [null_model(scoring, reading, model, bool(own)) for own in coding]
    found = with_evalues(results, laws_by(models, circumstances_of(cases)))
    return [1.0 if a.evalue is None else a.evalue for a in found]


def row(setting: Setting, pieces: Pieces, make: Callable) -> dict:
    """Return how many of the shuffled and of the true targets reach some E-values."""
    random, found = np.random.default_rng(SEED), {"shuffled": [], "true": []}
    for base, genes in pieces:
        unrelated, true = make(genes, setting, random)
        values = evalues(setting, base, unrelated + true)
        found["shuffled"] += values[: len(unrelated)]
        found["true"] += values[len(unrelated) :]
    about = {"sites": setting.sites, "reading": setting.reading, "ends": setting.scoring.ends,
             "exon_weight": setting.scoring.exon_weight}  # fmt: skip
    for kind, each in found.items():
        about[kind] = len(each)
        about |= {f"{kind} at {x}": sum(e <= x for e in each) for x in LIMITS}
    return about


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield the rows of all settings for cDNAs."""
    pieces, settings = pieces_of(folder, 8 if tiny else GENES), settings_of(folder)
    for number in map(int, NUMBERS.split(",")) if NUMBERS else range(len(settings)):
        yield f"{folder.name} {number}", [row(settings[number], pieces, targets_of)]


def measure_proteins(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield the rows of all data sets and settings for proteins."""
    for name in ["."] if tiny else os.environ.get("DATA", "fly2L,at").split(","):
        pieces = pieces_of(folder / name, 4 if tiny else PROTEINS)
        for number, setting in enumerate(protein_settings_of(name)[:: 2 if tiny else 1]):
            yield f"{name} {number}", [{"data": name} | row(setting, pieces, proteins_of)]


if __name__ == "__main__":
    record.main(measure, proteins=measure_proteins, needs_folder=True)
