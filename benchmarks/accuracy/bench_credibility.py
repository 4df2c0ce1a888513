"""E-values of shuffled and of true targets, on genomic sequence that the calibration never saw.

Run ``python -m benchmarks.accuracy.bench_credibility FOLDER [RECORD.json]``. FOLDER holds
``genome.fa.gz``, ``cds.fa.gz`` and ``truth.gtf.gz``, whose CDS features say where each coding
sequence lies. A true target is a coding sequence with 35 % of its nucleotides substituted, its
first and last codon excepted; its unrelated ones are shuffles of the sequence. The
base is a piece of the genome that holds the gene. Pieces begin at a grid, so that genes share them.
A folder that `OWN_MODELS` names has rows with its species' site model.
GENES and PIECE in the environment are the number of coding sequences, each shuffled four times, and
the length of a base; SETTINGS are the numbers of the settings to measure, by commas, in this order.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from gpu_tools import (
    Case,
    Sequence,
    SiteCase,
    SplicedScoring,
    load_sites,
    null_laws,
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
from gpu_tools.model.scoring import ENDS
from gpu_tools.splicing.shuffles import shuffled

SEED, SHUFFLES, DIVERGENCE = 5, 4, 0.35
GENES = int(os.environ.get("GENES", "500"))
PIECE = int(os.environ.get("PIECE", "50000"))
NUMBERS = os.environ.get("SETTINGS", "")
LENGTHS = range(150, 2001)
LIMITS = (0.1, 0.01, 0.001)
CODON = 3


class Setting(NamedTuple):
    """What a row is about; without `sites` candidates are listed."""

    sites: str | None
    reading: str
    scoring: SplicedScoring


LISTED = SplicedScoring(exon_weight=0.5, intron_penalty=10, ends="free-target")
FREE_TARGET = SplicedScoring(ends="free-target")
SETTINGS = (
    Setting("vertebrate", "any", FREE_TARGET),
    Setting("vertebrate", "complete", FREE_TARGET),
    Setting(None, "any", SplicedScoring()),
    Setting(None, "any", LISTED),
    Setting(None, "complete", LISTED),
)
"""Defaults of the command, and list mode's pure score."""
LISTED_CODING = tuple(
    Setting(None, reading, SplicedScoring(exon_weight=0.5, intron_penalty=10, ends=ends))
    for reading, ends in (
        ("complete", "global"), ("incomplete", "free-target"), ("incomplete", "global")
    )
)  # fmt: skip
"""Other chains of listed candidates that translate."""
OWN_MODELS = {"fly2L": "fly", "at": "arabidopsis"}


def settings_of(folder: Path) -> list[Setting]:
    """Return the settings for a folder; its species' model has all ends, before the last three."""
    own = OWN_MODELS.get(folder.name)
    every = (*product(("any", "complete"), ENDS), ("incomplete", "free-target")) if own else ()
    models = (Setting(own, r, SplicedScoring(ends=ends)) for r, ends in every)
    return [*SETTINGS, *models, *LISTED_CODING]


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


def genes_by_piece(folder: Path, count: int) -> dict[tuple[str, int], list[Sequence]]:
    """Return coding sequences by record and start of a piece of it that holds them."""
    where, pieces = spans(folder / "truth.gtf.gz"), defaultdict(list)
    known = [s for s in read_fasta(folder / "cds.fa.gz") if s.name in where and len(s) in LENGTHS]
    order = np.random.default_rng(SEED).permutation(len(known))
    for coding in [known[k] for k in order[:count]]:
        name, start, end = where[coding.name]
        first = start // (PIECE // 4) * (PIECE // 4)
        if end <= first + PIECE:
            pieces[name, first].append(coding)
    return pieces


def diverged(coding: Sequence, random: np.random.Generator) -> Sequence:
    """Return a sequence with some nucleotides substituted, not those of its outer codons."""
    codes = coding.codes.copy()
    hit = random.random(len(codes)) < DIVERGENCE
    hit[:CODON] = hit[-CODON:] = False
    codes[hit] = (codes[hit] + random.integers(1, 4, hit.sum())) % 4
    return Sequence(coding.name, codes)


def evalues(setting: Setting, base: Sequence, targets: list[Sequence]) -> list[float]:
    """Return the shipped E-values of some targets on one base."""
    model = load_sites(setting.sites) if setting.sites else None
    if model:
        tables = tables_of(base, model, "+-", setting.scoring.ends, setting.reading)
        cases = [SiteCase(base, target, tables) for target in targets]
        results = site_align(cases, setting.scoring)
    else:
        exons = predict_exons(base.codes, load_model("vertebrate"))
        cases = [Case(base, target, exons) for target in targets]
        results = spliced_align(cases, setting.scoring, reading=setting.reading)
    laws = null_laws(null_model(setting.scoring, setting.reading, model), cases)
    return [a.evalue for a in with_evalues(results, laws)]


def row(setting: Setting, genome: dict[str, Sequence], pieces) -> dict:
    """Return which parts of the shuffled and of the true targets reach some E-values."""
    random, found = np.random.default_rng(SEED), {"shuffled": [], "true": []}
    for (name, first), genes in pieces.items():
        base = Sequence(name, genome[name].codes[first : first + PIECE])
        numbers = range(SHUFFLES)
        unrelated = [shuffled(g, k, setting.reading != "any") for g in genes for k in numbers]
        values = evalues(setting, base, unrelated + [diverged(gene, random) for gene in genes])
        found["shuffled"] += values[: len(unrelated)]
        found["true"] += values[len(unrelated) :]
    return reached(found, setting.sites, setting.reading, setting.scoring)


def reached(found: dict[str, list[float]], sites: str | None, reading: str, scoring) -> dict:
    """Return what a row is about, and how many E-values of each kind are at most each limit."""
    about = {"sites": sites, "reading": reading, "ends": scoring.ends,
             "exon_weight": scoring.exon_weight}  # fmt: skip
    for kind, each in found.items():
        about[kind] = len(each)
        about |= {f"{kind} at {x}": sum(e <= x for e in each) for x in LIMITS}
    return about


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield the rows of all settings."""
    genome = {sequence.name: sequence for sequence in read_fasta(folder / "genome.fa.gz")}
    pieces = genes_by_piece(folder, 8 if tiny else GENES)
    settings = settings_of(folder)
    for number in map(int, NUMBERS.split(",")) if NUMBERS else range(len(settings)):
        yield f"{folder.name} {number}", [row(settings[number], genome, pieces)]


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
