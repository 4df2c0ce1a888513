"""E-values of shuffled and of true proteins, on genomic sequence that the calibration never saw.

Run ``python -m benchmarks.accuracy.protein_credibility FOLDER [RECORD.json]``. FOLDER holds
folders of `bench_credibility`, by default ``fly2L`` and ``at``: DATA in the environment names
others, by commas. A true protein has 60 % of its residues left, the others substituted at the
rates that BLOSUM62 says; its unrelated ones are shuffles of the whole protein. Bases are pieces
of 50 kb, candidates those of ``exons predict``. GENES and PIECE are those of `bench_credibility`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.bench_credibility import (
    OWN_MODELS,
    PIECE,
    SEED,
    SHUFFLES,
    genes_by_piece,
    reached,
)
from benchmarks.accuracy.cases import translated
from benchmarks.accuracy.proteins import MATRIX, diverged
from gpu_tools import Sequence, load_sites, null_laws, null_model, with_evalues
from gpu_tools.exons.model import load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.protein_scoring import CANDIDATE_WEIGHTS, ProteinScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.sites.proteins.api import ProteinCase, protein_align, protein_tables_of
from gpu_tools.sites.proteins.sites import protein_sites
from gpu_tools.spliced.proteins.api import ListedProteinCase, protein_spliced_align
from gpu_tools.splicing.shuffles import shuffled

GENES = int(os.environ.get("GENES", "250"))
IDENTITY = 60


class Setting(NamedTuple):
    """What a row is about; without `sites` candidates are listed."""

    sites: str | None
    scoring: ProteinScoring


def settings_of(name: str) -> list[Setting]:
    """Return list mode's settings, and those of the species' site model."""
    every = product((None, OWN_MODELS.get(name, "vertebrate")), ("global", "free-target"))
    weights = {None: CANDIDATE_WEIGHTS}
    return [
        Setting(sites, ProteinScoring(MATRIX, ends=ends, **weights.get(sites, {})))
        for sites, ends in every
    ]


def evalues(setting: Setting, base: Sequence, targets: list[ProteinSequence]) -> list[float]:
    """Return the shipped E-values of some proteins on one base."""
    if setting.sites:
        model, align = protein_sites(load_sites(setting.sites)), protein_align
        tables = protein_tables_of(base, model, setting.scoring)
        cases = [ProteinCase(base, target, tables) for target in targets]
    else:
        model, align = None, protein_spliced_align
        exons = predict_exons(base.codes, load_model("vertebrate"))
        cases = [ListedProteinCase(base, target, exons) for target in targets]
    results = align(cases, setting.scoring, device="cpu")
    laws = null_laws(null_model(setting.scoring, sites=model), cases)
    # without a chain nothing passes
    return [1.0 if a.evalue is None else a.evalue for a in with_evalues(results, laws)]


def targets_of(genes: list[Sequence], random) -> tuple[list[ProteinSequence], ...]:
    """Return the shuffles of some genes' proteins, and the diverged proteins."""
    proteins = [ProteinSequence.from_text(g.name, translated(g.codes)) for g in genes]
    texts = (diverged(random, translated(g.codes), IDENTITY) for g in genes)
    return [shuffled(p, k) for p in proteins for k in range(SHUFFLES)], [
        ProteinSequence.from_text(g.name, text) for g, text in zip(genes, texts, strict=True)
    ]


def row(setting: Setting, genome: dict[str, Sequence], pieces) -> dict:
    """Return how many of the shuffled and of the true proteins reach some E-values."""
    random, found = np.random.default_rng(SEED), {"shuffled": [], "true": []}
    for (name, first), genes in pieces.items():
        base = Sequence(name, genome[name].codes[first : first + PIECE])
        unrelated, true = targets_of(genes, random)
        values = evalues(setting, base, unrelated + true)
        found["shuffled"] += values[: len(unrelated)]
        found["true"] += values[len(unrelated) :]
    return reached(found, setting.sites, "any", setting.scoring)


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield the rows of all data sets and settings."""
    for name in ["."] if tiny else os.environ.get("DATA", "fly2L,at").split(","):
        own = folder / name
        genome = {sequence.name: sequence for sequence in read_fasta(own / "genome.fa.gz")}
        pieces = genes_by_piece(own, 4 if tiny else GENES)
        for number, setting in enumerate(settings_of(name)[:: 2 if tiny else 1]):
            yield f"{name} {number}", [{"data": name} | row(setting, genome, pieces)]


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
