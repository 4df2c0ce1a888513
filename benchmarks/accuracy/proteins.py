"""Accuracy of gene structures from proteins, beside miniprot, spaln, exonerate and genewise.

Run ``python -m benchmarks.accuracy.proteins FOLDER [RECORD.json]``. FOLDER holds ``fly2L`` and
``at`` of `genome`, ``augustus_cgp_ENm008`` of `species`, and ``kogs`` with ``human.fa.gz``,
``fly.fa.gz`` and ``arabidopsis.fa.gz``, conserved proteins whose names end in ``___`` and the
number of their family. ``human`` are the genes of resources/training. PARTS and DATA in the
environment choose parts and data sets, by commas; METHODS chooses programs, all that are installed
by default; TRANSCRIPTS limits how many transcripts.

Parts: ``speed`` on genes; ``species``: proteins of one vertebrate on the region of another;
``kogs``: conserved proteins of other kingdoms on the genes of their families; ``short``: every
transcript with an exon of at most 15 nucleotides, its own protein; ``identity``: proteins of
annotated genes with residues substituted at the rates that BLOSUM62 says, and with gaps. The base
is the whole piece and the best hit counts, but slow programs get a sample, and each gene with 3 kb
on both sides. Site models are trained on the other half of the windows of 200 kb, or on the other
records. Seconds are of a processor.
"""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterable, Iterator
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy import programs
from benchmarks.accuracy.cases import Counts, annotated_records, genes, translated
from benchmarks.accuracy.choice import held_out_models
from benchmarks.accuracy.genome import Transcript, sample, transcripts
from benchmarks.accuracy.programs import Exons
from benchmarks.accuracy.species import ANNOTATIONS, annotated_region, orthologues
from gpu_tools import Sequence
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.sites.model import GeneSites
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)

IDENTITIES = (100, 80, 60, 40, 30)
FLANK = 3_000
SEED = 2029
OURS = "gpu-tools"
SIZES = {"fly2L": 40, "at": 120, "human": 100}
SLOW = 12
"""Transcripts that slow programs get of each data set."""
SHORT = 15
INDELS = 0.05
"""Gaps for each substituted residue, in the setting with gaps; their mean length is two."""
MATRIX = load_matrix("BLOSUM62")
RESIDUES = "ARNDCQEGHILKMFPSTWYV"
BACKGROUND = np.array(
    [78, 51, 41, 52, 24, 34, 59, 83, 25, 62, 92, 56, 24, 43, 43, 59, 55, 14, 34, 72]
)
"""Residues of 1,000 in the sequences that BLOSUM62 was made of."""
SPEED_GENES = 3
LONGEST_OF_SPEED = 1300


class ProteinTrial(NamedTuple):
    """A protein, the base it is searched in, the true exons there, and our model of sites."""

    base: Sequence
    truth: tuple[tuple[str, int, int], ...]
    protein: str
    model: GeneSites


def substitution_rates() -> np.ndarray:
    """Return the probability of each other residue, given one and that it is substituted.

    BLOSUM62's scores are half bits: a pair is 2^(s / 2) times as frequent as chance makes it.
    """
    order = [MATRIX.letters.index(letter) for letter in RESIDUES]
    rates = BACKGROUND * 2.0 ** (MATRIX.scores[np.ix_(order, order)] / 2)
    np.fill_diagonal(rates, 0)
    return rates / rates.sum(axis=1, keepdims=True)


def diverged(rng, protein: str, identity: int, gaps: bool = False) -> str:
    """Return a protein with `identity` per cent of its residues left, and with gaps on request."""
    rates, letters = substitution_rates(), []
    for letter in protein:
        if letter in RESIDUES and rng.random() >= identity / 100:
            letter = RESIDUES[rng.choice(20, p=rates[RESIDUES.index(letter)])]
        letters.append(letter)
    return with_gaps(rng, letters, INDELS * (1 - identity / 100)) if gaps else "".join(letters)


def with_gaps(rng, letters: list[str], rate: float) -> str:
    """Return letters with insertions and deletions of geometric length, half of them each."""
    made, k = [], 0
    while k < len(letters):
        if rng.random() < rate:
            length = rng.geometric(0.5)
            if rng.random() < 0.5:
                k += length
                continue
            made += rng.choice([*RESIDUES], length, p=BACKGROUND / BACKGROUND.sum()).tolist()
        made.append(letters[k])
        k += 1
    return "".join(made) or letters[0]


def trial_of(transcript: Transcript, protein: str) -> ProteinTrial:
    """Return a trial on the whole piece."""
    truth = tuple((transcript.strand, *exon) for exon in transcript.exons)
    return ProteinTrial(transcript.piece, truth, protein, transcript.model)


def with_flanks(trial: ProteinTrial) -> ProteinTrial:
    """Return a trial on the gene with `FLANK` nucleotides on both sides."""
    low = max(trial.truth[0][1] - FLANK, 0)
    high = min(trial.truth[-1][2] + FLANK, len(trial.base))
    base = Sequence("gene", trial.base.codes[low:high])
    truth = tuple((strand, start - low, end - low) for strand, start, end in trial.truth)
    return trial._replace(base=base, truth=truth)


def ours(trials: list[ProteinTrial]) -> tuple[list[Exons], float]:
    """Return the exons that gpu-tools finds on both strands, and seconds of a processor."""
    scoring, begin = ProteinScoring(MATRIX), time.process_time()
    tables, models, cases = {}, {}, []
    for trial in trials:
        model = models.setdefault(id(trial.model), protein_sites(trial.model))
        key = id(trial.base), id(model)
        if key not in tables:
            tables[key] = protein_tables_of(trial.base, model, scoring)
        target = ProteinSequence.from_text("protein", trial.protein)
        cases.append(ProteinCase(trial.base, target, tables[key]))
    found = protein_align(cases, scoring, device="cpu")
    exons = [sorted((r.strand, start, end) for start, end in r.chain) for r in found]
    return exons, time.process_time() - begin


def theirs(name: str, trials: list[ProteinTrial], data: str) -> tuple[list[Exons], float]:
    """Return the exons that another program finds, and seconds of a processor."""
    pairs = [(trial.base.codes, trial.protein) for trial in trials]
    return programs.run(programs.OF_PROTEINS[name], pairs, data)


def row(method: str, trials: list[ProteinTrial], data: str) -> dict:
    """Return exon F1, whole structures and short exons by place of a method."""
    if method == OURS:
        chains, seconds = ours(trials)
    else:
        chains, seconds = theirs(method, trials, data)
    counts, whole, lengths = np.zeros(3, int), 0, {}
    for trial, chain in zip(trials, chains, strict=True):
        counts += len(set(chain) & set(trial.truth)), len(set(chain)), len(trial.truth)
        whole += set(chain) == set(trial.truth)
        for place, exon in zip(places(trial.truth), trial.truth, strict=True):
            if exon[2] - exon[1] <= SHORT:
                pair = lengths.setdefault(f"{place}, to {SHORT}", [0, 0])
                pair[0] += exon in set(chain)
                pair[1] += 1
    return {
        "method": method, "proteins": len(trials), "exons": int(counts[2]),
        "exon_f1": round(Counts.f1(counts), 4), "whole": int(whole), "lengths": lengths,
        "processor_seconds": round(seconds, 3),
    }  # fmt: skip


def places(truth) -> list[str]:
    """Return for each exon of a structure whether it is single, first, internal or last."""
    if len(truth) == 1:
        return ["single"]
    names = ["first", *["internal"] * (len(truth) - 2), "last"]
    return names if truth[0][0] == "+" else names[::-1]


def methods() -> list[str]:
    """Return gpu-tools and the other programs that are installed and chosen."""
    here = [OURS, *programs.installed(programs.OF_PROTEINS)]
    return [m for m in here if m in os.environ.get("METHODS", ",".join(here)).split(",")]


def method_rows(trials: list[ProteinTrial], data: str, slow: int = SLOW) -> Iterator[dict]:
    """Yield a row a method; slow programs get a sample with flanks, and gpu-tools also gets it."""
    here = methods()
    fast = [m for m in here if m == OURS or not programs.OF_PROTEINS[m].singly]
    for method in fast:
        yield {"base": "whole piece"} | row(method, trials, data)
    if slow:
        few = [with_flanks(trial) for trial in sample(trials, slow)]
        for method in here:
            yield {"base": "gene and 3 kb, sample"} | row(method, few, data)


def proteins_of(chosen: list[Transcript]) -> list[str]:
    """Return the proteins of transcripts."""
    return [translated(transcript.coding) for transcript in chosen]


def identity_rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a data set, identity, setting and method."""
    most = int(os.environ.get("TRANSCRIPTS", 10**6))
    names = os.environ.get("DATA", "human,at,fly2L").split(",")
    for name in names[:1] if tiny else names:
        every = transcripts(folder, name)
        if tiny:
            every = sorted(every, key=lambda t: t.exons[-1][1] - t.exons[0][0])
        chosen = every[:1] if tiny else sample(every, min(SIZES[name], most))
        for identity in IDENTITIES[:1] if tiny else IDENTITIES:
            for gaps in (False,) if tiny or identity == 100 else (False, True):
                trials = [
                    trial_of(t, diverged(np.random.default_rng([SEED, identity, gaps, k]), p,
                                         identity, gaps))
                    for k, (t, p) in enumerate(zip(chosen, proteins_of(chosen), strict=True))
                ]  # fmt: skip
                if tiny:
                    trials = [with_flanks(trial) for trial in trials]
                level = {"data": name, "identity": identity, "gaps": gaps}
                slow = 0 if tiny or gaps else min(SLOW, most)
                yield from (level | own for own in method_rows(trials, name, slow))


def short_rows(folder: Path) -> Iterator[dict]:
    """Yield a row a data set and method: transcripts with a short exon, with flanks."""
    for name in ("fly2L", "at"):
        chosen = [t for t in transcripts(folder, name) if min(b - a for a, b in t.exons) <= SHORT]
        trials = [
            with_flanks(trial_of(t, p)) for t, p in zip(chosen, proteins_of(chosen), strict=True)
        ]
        for method in methods():
            yield {"data": name} | row(method, trials, name)


def species_trials(
    folder: Path, models: list[GeneSites], locus: str, target: str
) -> list[ProteinTrial]:
    """Return trials of one species' proteins on the other one's region, of pairs of genes."""
    own, other = (annotated_region(folder, name) for name in (locus, target))
    structures = {
        c.name: tuple(sorted((c.strand, s.start, s.end) for s in c.segments)) for c in own.coding
    }
    return [
        ProteinTrial(own.sequence, structures[a.name], translated(b.coding), models[0])
        for a, b in orthologues(genes([own]), genes([other]))
    ]


def species_rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row an ordered pair of species and method."""
    region = folder / "augustus_cgp_ENm008"
    models = held_out_models(annotated_records())
    pairs = list(permutations(ANNOTATIONS, 2))
    for locus, target in pairs[:1] if tiny else pairs:
        trials = species_trials(folder if tiny else region, models, locus, target)
        level = {"locus": locus, "target": target}
        yield from (level | own for own in method_rows(trials, "vertebrate", 0 if tiny else SLOW))


def kog_rows(folder: Path) -> Iterator[dict]:
    """Yield a row a genome, source of proteins and method."""
    kogs = {name: _kogs(folder / "kogs" / f"{name}.fa.gz") for name in NAMES_OF_KOGS}
    for name, own, others in (
        ("fly2L", "fly", ("fly", "human", "arabidopsis")),
        ("at", "arabidopsis", ("arabidopsis", "human", "fly")),
    ):
        families = {protein: family for family, protein in kogs[own].items()}
        every = transcripts(folder, name)
        pairs = [
            (t, families[p]) for t, p in zip(every, proteins_of(every), strict=True)
            if p in families
        ]  # fmt: skip
        for other in others:
            trials = [trial_of(t, kogs[other][f]) for t, f in pairs if f in kogs[other]]
            level = {"locus": name, "target": other}
            yield from (level | line for line in method_rows(trials, name))


NAMES_OF_KOGS = "human", "fly", "arabidopsis"


def _kogs(path: Path) -> dict[str, str]:
    """Return the proteins by the number of their family."""
    with gzip.open(path, "rt", encoding="ascii") as stream:
        entries = stream.read().split(">")[1:]
    parts = (entry.partition("\n") for entry in entries)
    return {
        head.split("___")[1].strip(): "".join(body.split()).rstrip("*") for head, _, body in parts
    }


def speed_rows(tiny: bool = False) -> Iterator[dict]:
    """Yield processor seconds and GCUPS of gpu-tools and genewise on genes.

    Both strands are tried by all of them and count. A first call of ours compiles, and is not
    counted. exonerate's exact model is left out: ``--exhaustive`` of Debian's 2.4.0 gives no
    answer.
    """
    (model,) = held_out_models(annotated_records())[:1]
    every = [g for g in genes(annotated_records(), FLANK) if len(g.coding) // 3 <= LONGEST_OF_SPEED]
    every = sorted(every, key=lambda g: len(g.coding))[-SPEED_GENES:]
    trials = [ProteinTrial(Sequence(g.name, g.codes), (), translated(g.coding), model)
              for g in every][: 1 if tiny else None]  # fmt: skip
    cells = sum(2 * len(trial.base) * len(trial.protein) for trial in trials)
    sizes = [f"{len(trial.base)} x {len(trial.protein)}" for trial in trials]
    ours(trials)
    for name in [OURS, *([] if tiny else ["genewise"])]:
        if name == OURS:
            repeats = 1 if tiny else 20
            seconds = sum(ours(trials)[1] for _ in range(repeats)) / repeats
        else:
            seconds = theirs(name, trials, "human")[1]
        yield {
            "method": name, "genes": sizes, "processor_seconds": round(seconds, 4),
            "gcups": float(f"{cells / max(seconds, 1e-4) / 1e9:.4g}"),
        }  # fmt: skip


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the versions of the programs, and the rows of the parts."""
    parts: dict[str, Iterable] = {
        "speed": speed_rows(tiny), "species": species_rows(folder, tiny),
        "kogs": () if tiny else kog_rows(folder), "short": () if tiny else short_rows(folder),
        "identity": identity_rows(folder, tiny),
    }  # fmt: skip
    yield "versions", programs.versions()
    for name in os.environ.get("PARTS", ",".join(parts)).split(","):
        for k, figures in enumerate(parts[name]):
            yield f"{name} {k}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
