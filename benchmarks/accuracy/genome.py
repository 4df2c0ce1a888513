"""Accuracy of gene structures on whole pieces of a genome, beside minimap2, spaln and exonerate.

Run ``python -m benchmarks.accuracy.genome FOLDER [RECORD.json]``; METHODS, DATA, BASES and
DIVERGENCES in the environment choose programs, data sets, bases and per cents, by commas,
TRANSCRIPTS and TARGETS how many transcripts, the same ones for all programs, and how many targets
of each. DEVICE is for gpu-tools; PROCESSES of other programs run at a time. FOLDER holds folders
with ``genome.fa.gz`` and ``truth.gtf.gz``: ``fly2L`` (*D. melanogaster* 2L:1-3,000,000, FlyBase
r6.44) and ``at`` (1.2 Mb of *A. thaliana*, TAIR10), and ``sim4_hs_mm`` of Debian's sim4 with more
human sequence. ``human`` are the genes of resources/training, each in its record, and in all human
sequence one after the other. Targets are the transcripts' coding sequences, mutated; the base is
the whole piece, or the gene with flanks. Models are trained on the other half of the windows of 200
kb, human ones on the other records.
"""

from __future__ import annotations

import gzip
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import record
from benchmarks.accuracy import programs
from benchmarks.accuracy.cases import Counts, annotated_records, substituted, with_indels
from benchmarks.accuracy.choice import held_out_models
from gpu_tools import Sequence, site_align, tables_of
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence, CodingSegment, CodingSequence
from gpu_tools.model.sequences import decode, reverse_complement
from gpu_tools.sites.api import case_of
from gpu_tools.sites.model import GeneSites, sites_from_dict
from gpu_tools.sites.training import train_sites

DIVERGENCES = tuple(map(int, os.environ.get("DIVERGENCES", "0,5,15,25,35,45").split(",")))
TARGETS = int(os.environ.get("TARGETS", "1"))
"""Targets of each transcript, mutated differently."""
FLANKS = {"gene": 0, "1 kb": 1_000, "3 kb": 3_000, "100 kb": 100_000}
WHOLE = "whole piece"
MORE = "whole and 1.3 Mb more"
"""Human records alone have it."""
WINDOW = 200_000
SEED = 2028
LONGEST_TARGET = 6_000
LONG_BASE = 6_000
"""Bases from this length on are indexed for spaln, as it wants them."""
BATCH = 200
BASES = os.environ.get("BASES", ",".join([WHOLE, *FLANKS, MORE])).split(",")
DEVICE = os.environ.get("DEVICE", "auto")


class Transcript(NamedTuple):
    """A transcript: its piece, its strand, and its coding exons on the forward strand."""

    piece: Sequence
    model: GeneSites
    name: str
    strand: str
    exons: tuple[tuple[int, int], ...]

    @property
    def coding(self) -> NDArray[np.uint8]:
        """The coding sequence."""
        joined = np.concatenate([self.piece.codes[start:end] for start, end in self.exons])
        return joined if self.strand == "+" else reverse_complement(joined)


def pieces(folder: Path) -> list[AnnotatedSequence]:
    """Read the pieces of a genome with the coding sequences of a GTF file."""
    found = defaultdict(lambda: defaultdict(list))
    with gzip.open(folder / "truth.gtf.gz", "rt", encoding="utf-8") as lines:
        for fields in (line.rstrip("\n").split("\t") for line in lines):
            name = fields[8].split('transcript_id "')[1].split('"')[0]
            found[fields[0]][name, fields[6]].append((int(fields[3]) - 1, int(fields[4])))
    return [
        AnnotatedSequence(piece, tuple(_coding(*key, e) for key, e in found[piece.name].items()))
        for piece in read_fasta(folder / "genome.fa.gz")
    ]


def _coding(name: str, strand: str, exons: list) -> CodingSequence:
    """Return a complete coding sequence."""
    segments, length = [], 0
    for start, end in sorted(exons, reverse=strand == "-"):
        segments.append(CodingSegment(start, end, -length % 3, False))
        length += end - start
    return CodingSequence(name, strand, tuple(segments))


def transcripts(folder: Path, name: str) -> list[Transcript]:
    """Return the transcripts of a data set, each with a model that has not seen it."""
    if name == "human":
        records = annotated_records()
        return [
            t for r, m in zip(records, held_out_models(records), strict=True) for t in _of(r, m)
        ]
    every = pieces(folder / name)
    halves = [[half_of(piece, k) for piece in every] for k in (0, 1)]
    models = [sites_from_dict(train_sites(half, name, name)) for half in halves]
    return [t for k in (0, 1) for half in halves[1 - k] for t in _of(half, models[k])]


def half_of(piece: AnnotatedSequence, k: int) -> AnnotatedSequence:
    """Return a piece with the transcripts that begin in every second window."""
    coding = [c for c in piece.coding if min(s.start for s in c.segments) // WINDOW % 2 == k]
    return AnnotatedSequence(piece.sequence, tuple(coding))


def _of(piece: AnnotatedSequence, model: GeneSites) -> list[Transcript]:
    """Return the complete transcripts of a piece, one for each structure."""
    found = {}
    for coding in piece.coding:
        exons = tuple(sorted((s.start, s.end) for s in coding.segments))
        length = sum(end - start for start, end in exons)
        complete = not any(segment.partial for segment in coding.segments)
        if complete and length % 3 == 0 and length <= LONGEST_TARGET:
            name = coding.name
            found[exons, coding.strand] = Transcript(
                piece.sequence, model, name, coding.strand, exons
            )
    return list(found.values())


class Trial(NamedTuple):
    """A transcript, where its base lies in its piece, and a target."""

    transcript: Transcript
    base: Sequence
    first: int
    target: NDArray[np.uint8]

    @property
    def truth(self) -> list[tuple[int, int]]:
        """The exons on the base's forward strand."""
        return [(start - self.first, end - self.first) for start, end in self.transcript.exons]


def trials_of(chosen: list[Transcript], base: str, divergence: int, more=None) -> list[Trial]:
    """Return targets of a divergence for each transcript; `more` sequence makes bases longer."""
    cut, every = {}, chosen * TARGETS
    return [_trial(t, base, divergence, k, more, cut) for k, t in enumerate(every)]


def _trial(transcript: Transcript, base: str, divergence: int, k: int, more, cut: dict) -> Trial:
    rng, piece = np.random.default_rng([SEED, divergence, k]), transcript.piece
    target = transcript.coding
    if divergence:
        target = with_indels(rng, substituted(rng, target, divergence / 100, False))
    low, high = 0, len(piece)
    if base != WHOLE:
        low = max(transcript.exons[0][0] - FLANKS[base], 0)
        high = min(transcript.exons[-1][1] + FLANKS[base], len(piece))
    key = piece.name, low, high
    if key not in cut:
        codes, first = piece.codes[low:high], low
        name = f"{piece.name}:{low + 1}-{high}"
        if more is not None:
            codes, first, name = np.concatenate([more, codes]), low - len(more), piece.name
        # named as the commands name what they cut: so a locus has its record's intron penalties
        cut[key] = Sequence(name, codes), first
    return Trial(transcript, *cut[key], target)


Found = list[list[tuple[str, int, int]]]
"""Strand and interval of the exons found for each trial."""


def ours(trials: list[Trial]) -> Found:
    """Return the chains of site mode, both strands tried."""
    tables, found = {}, []
    for begin in range(0, len(trials), BATCH):
        cases = []
        for trial in trials[begin : begin + BATCH]:
            model = trial.transcript.model
            key = id(trial.base), id(model)
            if key not in tables:
                tables[key] = tables_of(trial.base, model, coding=True)
            target = Sequence("t", trial.target)
            cases.append(case_of(trial.base, target, tables[key], model.stops))
        for result in site_align(cases, device=DEVICE):
            found.append(sorted((result.strand, *exon) for exon in result.chain or ()))
        if len(tables) > BATCH:
            tables.clear()
    return found


def peer(name: str, trials: list[Trial]) -> Found:
    """Return the exons that another program finds; spaln wants an index of long bases."""
    pairs = [(trial.base.codes, decode(trial.target)) for trial in trials]
    species = trials[0].transcript.model.name
    long = [name != "spaln" or len(codes) >= LONG_BASE for codes, _ in pairs]
    found: Found = [[] for _ in pairs]
    for kind, program in ((True, name), (False, "spaln, short base")):
        own = [k for k, each in enumerate(long) if each == kind]
        exons, _ = programs.run(programs.OF_CDNAS[program], [pairs[k] for k in own], species)
        for k, chain in zip(own, exons, strict=True):
            found[k] = chain
    return found


PEERS = "minimap2", "spaln", "exonerate"
METHODS = {"gpu-tools": ours} | {name: partial(peer, name) for name in PEERS}


def row(method: str, trials: list[Trial]) -> dict:
    """Return exon F1 and whole structures of a method, and what time it took.

    A processor's seconds are those of this process and of the programs that it ran.
    """
    begin, busy = time.perf_counter(), sum(os.times()[:4])
    chains = METHODS[method](trials)
    busy = sum(os.times()[:4]) - busy
    seconds, counts, whole = time.perf_counter() - begin, np.zeros(3, int), 0
    for trial, chain in zip(trials, chains, strict=True):
        truth = [(trial.transcript.strand, *exon) for exon in trial.truth]
        counts += len(set(chain) & set(truth)), len(chain), len(truth)
        whole += sorted(chain) == sorted(truth)
    return {
        "method": method, "transcripts": len(trials), "exons": int(counts[2]),
        "exon_f1": round(Counts.f1(counts), 4), "whole": int(whole),
        "seconds": round(seconds, 2), "processor_seconds": round(busy, 2),
    }  # fmt: skip


def sample(chosen: list, size: int) -> list:
    """Return `size` of the transcripts, evenly spread."""
    return chosen[:: max(len(chosen) // size, 1)][:size]


def human_more(folder: Path) -> NDArray[np.uint8]:
    """Return the human sequence of sim4's examples, one record behind the other."""
    return np.concatenate(
        [s.codes for s in read_fasta(folder / "sim4_hs_mm" / "sample.gen.fasta.gz")]
    )


def rows(folder: Path, methods: tuple[str, ...], tiny: bool = False) -> Iterator[dict]:
    """Yield a row a data set, base, divergence and method."""
    size = int(os.environ.get("TRANSCRIPTS", 10**6))
    names = os.environ.get("DATA", "fly2L,at,human").split(",")
    for name in names[-1:] if tiny else names:
        every = transcripts(folder, name)
        every = sample(every, min(2 if tiny else size, len(every)))
        for base in ["gene"] if tiny else (b for b in BASES if b != MORE or name == "human"):
            more = human_more(folder) if base == MORE else None
            for divergence in DIVERGENCES[:1] if tiny else DIVERGENCES:
                trials = trials_of(every, WHOLE if more is not None else base, divergence, more)
                for method in methods:
                    level = {"data": name, "base": base, "divergence": divergence}
                    yield level | row(method, trials)


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Yield the rows of all programs that are here."""
    wanted = os.environ.get("METHODS", "gpu-tools,minimap2,spaln,exonerate").split(",")
    methods = [m for m in wanted if m == "gpu-tools" or shutil.which(m)]
    for k, figures in enumerate(rows(folder, tuple(methods), tiny)):
        yield f"row {k}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
