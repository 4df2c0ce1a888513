"""Time and memory of ``gpu-tools annotate`` beside spaln's: whole processes, two threads each.

Run ``python -m benchmarks.annotate.bench_speed FOLDER [RECORD.json]`` on an idle machine. FOLDER
holds ``fly2L`` of `benchmarks.accuracy.genome`. PROTEINS and PROGRAMS in the environment choose how
many proteins and, by commas, which programs.

The genome is the fly's piece and copies of it, shuffled. Of the annotated proteins all are taken
once as they are, and then again and again with so many percent of their residues left and with
gaps, each time with other substitutions. Every program reads FASTA files, makes its index of the
genome, and writes GFF3. Seconds are elapsed ones and a processor's, of all processes together, and
memory is that of the largest one. ``true`` are the annotated loci at which a program has a
transcript; what it finds elsewhere is ``outside``. A first run of ours, which may compile, is not
counted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmarks import record
from benchmarks.accuracy.protein_peers import SPALN_SPECIES, versions
from benchmarks.accuracy.proteins import diverged
from benchmarks.annotate import peers
from benchmarks.annotate.bench_annotation import GenomeData
from benchmarks.annotate.gene_sets import CodingModel, loci, models_of_gff
from gpu_tools.model.sequences import decode
from gpu_tools.sites.model import load_sites

SEED = 2034
OURS = "gpu-tools"
COPIES, PROTEINS = 4, int(os.environ.get("PROTEINS", "5000"))
IDENTITIES = 80, 60, 40
COMMAND = (
    sys.executable, "-m", "gpu_tools", "annotate", "--genome", "{genome}", "--proteins",
    "{proteins}", "--site-model", "fly", "--device", "cpu", "--threads", peers.THREADS, "--quiet",
    "--output", "{folder}/genes.gff3",
)  # fmt: skip
PROGRAMS = {OURS: peers.GenomeProgram((COMMAND,), "CDS")} | peers.PROGRAMS
# a process begins with the memory of the one that starts it as its peak: a small one starts it
LAUNCHER = """
import json, resource, subprocess, sys, time
begin = time.perf_counter()
with open(sys.argv[1], "wb") as stream:
    subprocess.run(sys.argv[2:], check=True, stdout=stream, stderr=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps({
    "seconds": time.perf_counter() - begin, "processor": usage.ru_utime + usage.ru_stime,
    "megabytes": usage.ru_maxrss / 1024,
}))
"""


def genome_of(data: GenomeData, copies: int) -> str:
    """Return the pieces and copies of them, shuffled, as FASTA text of one record a piece."""
    rng, text = np.random.default_rng(SEED), []
    for piece in data.genome:
        copied = [piece.codes, *(rng.permutation(piece.codes) for _ in range(copies - 1))]
        text.append(f">{piece.name}\n{decode(np.concatenate(copied))}\n")
    return "".join(text)


def proteins_of(data: GenomeData, most: int) -> Iterator[tuple[str, int, str]]:
    """Yield name, identity and residues of so many different proteins."""
    names = list(data.proteins().items())
    for turn, identity in enumerate((100, *islice(cycle(IDENTITIES), most // len(names)))):
        for k, (name, protein) in enumerate(names[: most - turn * len(names)]):
            rng = np.random.default_rng([SEED, turn, k])
            yield f"{name}_{turn}", identity, diverged(rng, protein, identity, True)


def run(name: str, files: dict[str, Path]) -> tuple[dict, list[str]]:
    """Run the commands of a program; return times, memory, and GFF3."""
    with tempfile.TemporaryDirectory() as folder:
        # spaln writes its index beside the genome
        here = {key: shutil.copy(path, folder) for key, path in files.items()}
        words = here | {"folder": folder, "species": SPALN_SPECIES["fly2L"]}
        output, figures = Path(folder, "output"), []
        for command in PROGRAMS[name].commands:
            program = [word.format(**words) for word in command]
            launcher = [sys.executable, "-c", LAUNCHER, str(output), *program]
            done = subprocess.run(launcher, cwd=folder, check=True, stdout=subprocess.PIPE)
            figures.append(json.loads(done.stdout))
        output = Path(folder, "genes.gff3") if name == OURS else output
        return _total(figures), output.read_text("utf-8").splitlines()


def _total(figures: list[dict]) -> dict:
    """Return the figures of commands together; all but the last one make an index."""
    return {
        "seconds": round(sum(f["seconds"] for f in figures), 1),
        "index_seconds": round(sum(f["seconds"] for f in figures[:-1]), 1),
        "processor_seconds": round(sum(f["processor"] for f in figures), 1),
        "peak_megabytes": round(max(f["megabytes"] for f in figures)),
    }  # fmt: skip


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
        files = {key: Path(name, f"{key}.fa") for key in ("genome", "proteins")}
        files["genome"].write_text(genome_of(data, copies))
        _write_proteins(files["proteins"], proteins[:2])
        run(OURS, files)  # compiled
        _write_proteins(files["proteins"], proteins)
        yield "input", {
            "nucleotides": copies * sum(map(len, data.genome)), "proteins": len(proteins),
            "residues": sum(len(residues) for *_, residues in proteins),
            "identities": dict(Counter(str(identity) for _, identity, _ in proteins)),
            "threads": int(peers.THREADS), "nice": os.nice(0),
        }  # fmt: skip
        for name in _chosen():
            times, lines = run(name, files)
            models = models_of_gff(lines, PROGRAMS[name].feature, {})
            yield name, times | found(set(models), data.truth)


def _write_proteins(path: Path, proteins: list[tuple[str, int, str]]) -> None:
    path.write_text("".join(f">{name}\n{residues}\n" for name, _, residues in proteins))


def _chosen() -> list[str]:
    here = [OURS, *peers.installed()]
    return [name for name in os.environ.get("PROGRAMS", ",".join(here)).split(",") if name in here]


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield versions, the input, and a row a program."""
    data = GenomeData(folder if tiny else folder / "fly2L", "fly2L", 10**9, load_sites("fly"))
    yield "versions", versions()
    yield from rows(data, 2 if tiny else COPIES, 3 if tiny else PROTEINS)


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
