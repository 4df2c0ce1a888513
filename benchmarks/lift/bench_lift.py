"""Annotations carried to mutated copies of their genome: what is exact, beside LiftOn and Liftoff.

Run ``python -m benchmarks.lift.bench_lift FOLDER [RECORD.json]``, where FOLDER is one of those of
`benchmarks.annotate.bench_wild`. Copies are those of `benchmarks.lift.mutated`, and figures those
of `benchmarks.lift.judge`. ``LIFT_COPIES`` in the environment chooses copies by name, as in
``free_5,kept_5``. Each program is a process of one thread; LiftOn needs miniprot and minimap2.
A program that is not on the path is left out with a word.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import record
from benchmarks.annotate import bench_wild, gene_sets, peers
from benchmarks.lift import judge, mutated
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.sequences import decode

_OURS = (
    sys.executable, "-m", "gpu_tools", "lift", "--reference", "{reference}", "--annotation",
    "{annotation}", "--genome", "{genome}", "--site-model", "{sites}", "--device", "cpu",
    "--threads", "1", "--quiet", "--output", "{output}",
)  # fmt: skip
PROGRAMS = {
    "gpu-tools": (_OURS, "--copies"),
    "LiftOn": (("lifton", "-t", "1", "-g", "{annotation}", "-o", "{output}", "{genome}",
                "{reference}"), "-copies"),
    "Liftoff": (("liftoff", "-p", "1", "-g", "{annotation}", "-o", "{output}", "{genome}",
                 "{reference}"), "-copies"),
}  # fmt: skip
"""The command of each program, and the option that makes it report copies."""

SERIES = {
    "free": "", "kept": ", sites stay", "frame": ", sites and frames stay",
    "moved": ", genes moved and copied",
}  # fmt: skip
"""What is said of copies, behind their rate of substitutions."""


def annotation_of(folder: Path, output: Path) -> None:
    """Write an annotation as GFF3 with genes, mRNAs, exons and CDS, which all programs read."""
    whole = folder / "annotation.gff3.gz"
    if whole.exists():
        text = subprocess.run(["gzip", "-cd", whole], check=True, stdout=subprocess.PIPE).stdout
        output.write_bytes(text)
        return
    coding = {
        gene_sets.CodingModel(name, c.strand, tuple(sorted((s.start, s.end) for s in c.segments))):
        c for name, several in read_coding(folder / "truth.gtf.gz").items() for c in several
    }  # fmt: skip
    with output.open("w") as stream:
        stream.write("##gff-version 3\n")
        for number, gene in enumerate(gene_sets.loci([*coding]), 1):
            first = next(iter(gene))
            ends = min(m.exons[0][0] for m in gene), max(m.exons[-1][1] for m in gene)
            stream.write(_row(first, "gene", ends, f"ID=gene{number}"))
            for model in sorted(gene):
                name = coding[model].name
                extent = model.exons[0][0], model.exons[-1][1]
                stream.write(_row(model, "mRNA", extent, f"ID={name};Parent=gene{number}"))
                for segment in coding[model].segments:
                    part = segment.start, segment.end
                    stream.write(_row(model, "exon", part, f"Parent={name}"))
                    stream.write(_row(model, "CDS", part, f"ID=CDS:{name};Parent={name}",
                                      segment.phase))  # fmt: skip


def _row(model, type: str, interval, attributes: str, phase: object = ".") -> str:
    start, end = interval
    fields = (model.record, "reference", type, start + 1, end, ".", model.strand, phase, attributes)
    return "\t".join(map(str, fields)) + "\n"


def programs() -> list[str]:
    """Return the programs that are here, and say which ones are not."""
    found = [name for name, (command, _) in PROGRAMS.items() if shutil.which(command[0])]
    for name in PROGRAMS:
        if name not in found:
            print(f"{name} is not on the path: left out", file=sys.stderr)
    return found


def run(name: str, files: dict[str, Path], copies: bool, sites: str) -> tuple[dict, list[str]]:
    """Return the times of a program, and the lines of its annotation."""
    command, more = PROGRAMS[name]
    command = tuple({"{reference}": "{proteins}"}.get(word, word) for word in command)
    command += (more,) * copies
    times, lines = peers.run_program(
        peers.GenomeProgram((command,), ""), files["genome"], files["reference"],
        annotation=str(files["annotation"]), sites=sites,
    )  # fmt: skip
    return times, lines


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, object]]:
    """Yield a row for each copy and program."""
    sites, _ = bench_wild.MODELS.get(folder.name, ("vertebrate", ""))
    with tempfile.TemporaryDirectory() as made:
        files = {name: Path(made, name) for name in ("reference.fa", "annotation.gff3")}
        reference, annotation = files.values()
        genome = list(read_fasta(folder / "genome.fa.gz"))
        reference.write_text("".join(f">{one.name}\n{decode(one.codes)}\n" for one in genome))
        annotation_of(folder, annotation)
        names = mutated.write(mutated.Reference.read(reference, annotation), Path(made))
        chosen = os.environ.get("LIFT_COPIES", ",".join(names[:1] if tiny else names)).split(",")
        for copy in chosen:
            for name in programs():
                own = Path(made, "own", name)
                shutil.rmtree(own.parent, ignore_errors=True)  # LiftOn leaves a database there
                own.mkdir(parents=True)
                words = {
                    "genome": Path(made, f"{copy}.fa"), "reference": reference,
                    "annotation": Path(shutil.copy(annotation, own)),
                }  # fmt: skip
                times, lines = run(name, words, copy.startswith("moved"), sites)
                lifted = own / "lifted.gff3"
                lifted.write_text("\n".join(lines) + "\n")
                series, percent = copy.split("_")
                yield f"{copy} {name}", {
                    "data": folder.name, "method": name,
                    "differences": f"{percent} %{SERIES[series]}",
                    **judge.judged(Path(made, f"{copy}.gff3"), lifted),
                    **{k: times[k] for k in ("seconds", "processor_seconds", "peak_megabytes")},
                }  # fmt: skip


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
