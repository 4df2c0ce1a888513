"""Recall, size and time of the windows that the search finds.

Run ``python -m benchmarks.search.bench_search FOLDER [RECORD.json]``. FOLDER holds ``fly2L`` and
``at`` of `benchmarks.accuracy.genome`. PARTS and DATA in the environment choose parts and data
sets, by commas; TARGETS limits the targets of each set. Of ``exhaustive`` SAMPLE is how many
proteins of at most LONGEST residues are aligned.

Parts: ``proteins`` and ``cdnas``: targets of annotated genes, mutated; how many genes lie in a
window of their target, and what the windows hold of the genome. ``exhaustive``: a sample of
proteins is aligned to the whole piece and to its windows; of the alignments with an E-value of at
most 0.001 on the piece, how many have the same score and structure in a window. ``speed``: a genome
of the fly's piece and shuffled copies of it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import record
from benchmarks.accuracy.cases import substituted, translated
from benchmarks.accuracy.genome import Transcript, sample, transcripts
from benchmarks.accuracy.proteins import MATRIX, SEED, diverged
from gpu_tools import Sequence
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.model.significance import null_laws, null_model
from gpu_tools.search.api import SearchOptions, find_windows
from gpu_tools.sites import load_sites
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)

IDENTITIES = {"protein": (100, 80, 60, 40), "cdna": (100, 90, 80, 70)}
DATA = "fly2L", "at"
OPTIONS = SearchOptions()
MODELS = {"fly2L": "fly", "at": "arabidopsis"}
SAMPLES = {name: int(os.environ.get("SAMPLE", most)) for name, most in (("fly2L", 20), ("at", 150))}
"""Proteins that are aligned to the whole piece."""
LONGEST_OF_SAMPLE = int(os.environ.get("LONGEST", "700"))
MAX_EVALUE = 1e-3
SHUFFLED = {"12 Mb": (4, 5_000), "34 Mb": (11, 366)}
"""Copies of the fly's piece, all but the first one shuffled, and targets."""


class Genes(NamedTuple):
    """Transcripts, and the records that they lie in."""

    chosen: list[Transcript]
    records: list[Sequence]

    @property
    def size(self) -> int:
        """Nucleotides of all records."""
        return sum(map(len, self.records))

    def record_of(self, transcript: Transcript) -> int:
        """Return the number of the record in which a transcript lies."""
        return next(k for k, r in enumerate(self.records) if r is transcript.piece)


def genes_of(folder: Path, name: str, tiny: bool = False) -> Genes:
    """Read a data set."""
    every = transcripts(folder, name)
    records = list({id(t.piece): t.piece for t in every}.values())
    most = 2 if tiny else int(os.environ.get("TARGETS", 10**6))
    return Genes(sample(every, min(len(every), most)), records)


def protein_of(transcript: Transcript, k: int, identity: int) -> ProteinSequence:
    """Return the protein of a transcript with substitutions; `k` is the transcript's number."""
    rng = np.random.default_rng([SEED, identity, k])
    letters = diverged(rng, translated(transcript.coding), identity)
    return ProteinSequence.from_text(transcript.name, letters)


def cdna_of(transcript: Transcript, k: int, identity: int) -> Sequence:
    """Return the coding sequence of a transcript with substitutions."""
    rng = np.random.default_rng([SEED, identity, k])
    codes = substituted(rng, transcript.coding, 1 - identity / 100, True)
    return Sequence(transcript.name, codes)


def recall_rows(folder: Path, kind: str, target_of: Callable, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a data set and identity."""
    for name in data_sets(tiny):
        genes = genes_of(folder, name, tiny)
        for identity in IDENTITIES[kind][:1] if tiny else IDENTITIES[kind]:
            targets = [target_of(t, k, identity) for k, t in enumerate(genes.chosen)]
            find_windows(genes.records, targets[:1], OPTIONS)  # compiled
            begin = time.perf_counter(), time.process_time()
            found = find_windows(genes.records, targets, OPTIONS)
            took = time.perf_counter() - begin[0], time.process_time() - begin[1]
            yield {
                "data": name, "identity": identity, **recall(genes, found),
                **sizes(genes, targets, found), "seconds": round(took[0], 3),
                "processor_seconds": round(took[1], 3),
            }  # fmt: skip


def data_sets(tiny: bool) -> list[str]:
    """Return the chosen data sets; a tiny run has one without a folder of its own."""
    return ["."] if tiny else os.environ.get("DATA", ",".join(DATA)).split(",")


def recall(genes: Genes, found: list[SearchWindow]) -> dict:
    """Count genes that lie inside a window of their target, and those that lie there in part."""
    whole, part = set(), set()
    for window in found:
        gene = genes.chosen[window.target]
        if (window.record, window.strand) != (genes.record_of(gene), gene.strand):
            continue
        low, high = gene.exons[0][0], gene.exons[-1][1]
        if window.start < high and low < window.end:
            part.add(window.target)
        if window.start <= low and high <= window.end:
            whole.add(window.target)
    return {"genes": len(genes.chosen), "whole": len(whole), "part": len(part)}


def sizes(genes: Genes, targets: list, found: list[SearchWindow]) -> dict:
    """Return number and length of windows, and their share of an exhaustive search's cells."""
    cells = sum(len(w) * len(targets[w.target]) for w in found)
    every = 2 * genes.size * sum(map(len, targets))
    return {
        "windows": round(len(found) / len(targets), 2),
        "median_length": int(np.median([len(w) for w in found])) if found else 0,
        "share_of_cells": float(f"{cells / every:.3g}"),
    }


def exhaustive_rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a data set and identity: alignments in windows beside those to whole pieces."""
    for name in data_sets(tiny):
        genes = genes_of(folder, name)
        model = protein_sites(load_sites(MODELS.get(name, "vertebrate")))
        short = [t for t in genes.chosen if len(t.coding) <= 3 * LONGEST_OF_SAMPLE]
        few = sample(short, min(SAMPLES.get(name, 1), int(os.environ.get("TARGETS", 10**6))))
        for identity in IDENTITIES["protein"][:1] if tiny else IDENTITIES["protein"]:
            targets = [protein_of(t, k, identity) for k, t in enumerate(few)]
            found = find_windows(genes.records, targets, OPTIONS)
            counts = compared(genes, few, targets, found, model)
            yield {"data": name, "identity": identity, **counts}


def compared(genes: Genes, few, targets, found, model) -> dict:
    """Count credible alignments, and those that are the same in the windows of the piece."""
    scoring = ProteinScoring(MATRIX)
    pieces = {id(t.piece): t.piece for t in few}
    tables = {key: protein_tables_of(piece, model, scoring) for key, piece in pieces.items()}
    cases = [
        ProteinCase(t.piece, p, tables[id(t.piece)]) for t, p in zip(few, targets, strict=True)
    ]
    laws = null_laws(null_model(scoring, sites=model), cases)
    begin = time.process_time()
    every = protein_align(cases, scoring, device="cpu")
    between = time.process_time()
    credible, same, scores = 0, 0, 0
    for k, (t, law, whole) in enumerate(zip(few, laws, every, strict=True)):
        if whole.score is None or law.evalue(whole.score) > MAX_EVALUE:
            continue
        own = [w for w in found if w.target == k and genes.records[w.record] is t.piece]
        chains = [in_window(w, t.piece, targets[k], model, scoring) for w in own]
        credible += 1
        scores += any(score == whole.score for score, _ in chains)
        same += (whole.score, whole.chain) in chains
    return {
        "targets": len(few), "credible": credible, "same_score": scores, "same_structure": same,
        "processor_seconds": round(between - begin, 1),
        "processor_seconds_in_windows": round(time.process_time() - between, 1),
    }  # fmt: skip


def in_window(window: SearchWindow, piece: Sequence, target, model, scoring) -> tuple:
    """Return score and chain, in the piece's coordinates, of the alignment in a window."""
    name = f"{piece.name}:{window.start + 1}-{window.end}"
    base = Sequence(name, piece.codes[window.start : window.end])
    tables = protein_tables_of(base, model, scoring, window.strand)
    (found,) = protein_align([ProteinCase(base, target, tables)], scoring, device="cpu")
    chain = tuple((start + window.start, end + window.start) for start, end in found.chain or ())
    return found.score, chain


def speed_rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a genome: seconds of a search."""
    (name,) = data_sets(tiny)[:1]
    every = transcripts(folder, name)
    rng, piece = np.random.default_rng(SEED), every[0].piece.codes
    find_windows([Sequence("small", piece[:10_000])], [protein_of(every[0], 0, 60)])
    proteins = [protein_of(t, k, 60) for k, t in enumerate(every)]
    for label, (copies, most) in list(SHUFFLED.items())[: 1 if tiny else None]:
        targets = list(islice(cycle(proteins), 2 if tiny else most))
        codes = np.concatenate([piece, *(rng.permutation(piece) for _ in range(copies - 1))])
        begin = time.perf_counter(), time.process_time()
        found = find_windows([Sequence("genome", codes)], targets)
        end = time.perf_counter(), time.process_time()
        yield {
            "genome": label, "nucleotides": len(codes), "targets": len(targets),
            "residues": sum(map(len, targets)), "windows": len(found),
            "search_seconds": round(end[0] - begin[0], 2),
            "search_processor_seconds": round(end[1] - begin[1], 2),
        }  # fmt: skip


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield the rows of the parts."""
    parts = {
        "proteins": lambda: recall_rows(folder, "protein", protein_of, tiny),
        "cdnas": lambda: recall_rows(folder, "cdna", cdna_of, tiny),
        "exhaustive": lambda: exhaustive_rows(folder, tiny),
        "speed": lambda: speed_rows(folder, tiny),
    }
    for name in os.environ.get("PARTS", ",".join(parts)).split(","):
        for k, figures in enumerate(parts[name]()):
            yield f"{name} {k}", figures


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
