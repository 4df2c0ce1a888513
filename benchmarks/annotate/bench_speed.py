"""Time and memory of ``gpu-tools annotate`` beside spaln's: whole processes, two threads each.

Run ``python -m benchmarks.annotate.bench_speed FOLDER [RECORD.json]`` on an idle machine. FOLDER
holds ``fly2L`` of `benchmarks.accuracy.genome`. PROTEINS and PROGRAMS in the environment choose how
many proteins and, by commas, which programs.

The genome is the fly's piece and copies of it, shuffled. Of the annotated proteins all are taken
once as they are, and then again with 80, 60 or 40 % of their residues left and with gaps, each time
with other substitutions. Every program reads FASTA files, makes its index of the genome, and writes
GFF3. Seconds are elapsed ones and a processor's, of all processes together, and memory is that of
the largest one. ``true`` are the annotated loci at which a program has a transcript; what it finds
elsewhere is ``outside``. A first run of ours, which may compile, is not counted.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy.programs import versions
from benchmarks.accuracy.proteins import diverged
from benchmarks.annotate import peers
from benchmarks.annotate.bench_annotation import GenomeData
from benchmarks.annotate.gene_sets import CodingModel, loci, models_of_gff
from gpu_tools.model.sequences import decode
from gpu_tools.sites.model import load_sites

SEED = 2034
COPIES, PROTEINS = 4, int(os.environ.get("PROTEINS", "5000"))
IDENTITIES = 80, 60, 40


def genome_of(data: GenomeData, copies: int) -> str:
    """Return the pieces and copies of them, shuffled, as FASTA text of one record a piece."""
    rng, text = np.random.default_rng(SEED), []
    for piece in data.genome:
        copied = [piece.codes, *(rng.permutation(piece.codes) for _ in range(copies - 1))]
        text.append(f">{piece.name}\n{decode(np.concatenate(copied))}\n")
    return "".join(text)


def proteins_of(data: GenomeData, most: int) -> Iterator[tuple[str, int, str]]:
    """Yield name, identity and residues of `most` different proteins."""
    names = list(data.proteins().items())
    for turn, identity in enumerate((100, *islice(cycle(IDENTITIES), most // len(names)))):
        for k, (name, protein) in enumerate(names[: most - turn * len(names)]):
            rng = np.random.default_rng([SEED, turn, k])
            yield f"{name}_{turn}", identity, diverged(rng, protein, identity, True)


def found(models: set[CodingModel], truth: set[CodingModel]) -> dict[str, int]:
    """Count transcripts, loci, and the true loci where some of them lie."""
    both = loci(models | truth)
    met = [any(model in models for model in locus) for locus in both]
    true = [any(model in truth for model in locus) for locus in both]
    return {
        "transcripts": len(models), "loci": len(loci(models)),
        "true": sum(a and b for a, b in zip(met, true, strict=True)), "true_loci": len(loci(truth)),
        "outside": sum(a and not b for a, b in zip(met, true, strict=True)),
    }  # fmt: skip


def rows(data: GenomeData, copies: int, most: int) -> Iterator[tuple[str, dict]]:
    """Yield what is searched, and a row a program."""
    proteins = list(proteins_of(data, most))
    with tempfile.TemporaryDirectory() as name:
        files = [Path(name, f"{key}.fa") for key in ("genome", "proteins")]
        files[0].write_text(genome_of(data, copies))
        _write_proteins(files[1], proteins[:2])
        peers.run(peers.OURS, *files, "fly2L")  # compiled
        _write_proteins(files[1], proteins)
        yield "input", {
            "nucleotides": copies * sum(map(len, data.genome)), "proteins": len(proteins),
            "residues": sum(len(residues) for *_, residues in proteins),
            "identities": dict(Counter(str(identity) for _, identity, _ in proteins)),
            "threads": int(peers.THREADS), "nice": os.nice(0),
        }  # fmt: skip
        for name in _chosen():
            times, lines = peers.run(name, *files, "fly2L")
            models = models_of_gff(lines, peers.PROGRAMS[name].feature, {})
            yield name, times | found(set(models), data.truth)


def _write_proteins(path: Path, proteins: list[tuple[str, int, str]]) -> None:
    path.write_text("".join(f">{name}\n{residues}\n" for name, _, residues in proteins))


def _chosen() -> list[str]:
    here = [peers.OURS, *peers.installed()]
    return [name for name in os.environ.get("PROGRAMS", ",".join(here)).split(",") if name in here]


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield versions, the input, and a row a program."""
    data = GenomeData(folder if tiny else folder / "fly2L", "fly2L", load_sites("fly"))
    yield "versions", versions()
    yield from rows(data, 2 if tiny else COPIES, 3 if tiny else PROTEINS)


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
