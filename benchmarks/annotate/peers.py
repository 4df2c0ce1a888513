"""Programs that find genes of a genome by proteins: processes, and the GFF3 they write."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks.accuracy.programs import MINIPROT, SPALN_SPECIES

THREADS = "2"
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


class GenomeProgram(NamedTuple):
    """Commands in order; all but the last one make an index. The last one writes GFF3.

    Words may name the files ``genome``, ``proteins`` and ``output``, and ``species``. Coding exons
    are features of one type.
    """

    commands: tuple[tuple[str, ...], ...]
    feature: str


def _spaln(most: str) -> GenomeProgram:
    return GenomeProgram(
        (
            ("spaln", "-W", "-KP", f"-t{THREADS}", "{genome}"),
            ("spaln", "-Q7", "-O0", f"-M{most}", f"-t{THREADS}", "-T{species}", "-d./genome",
             "{proteins}"),
        ),
        "cds",
    )  # fmt: skip


OURS = "gpu-tools"
COMMAND = (
    sys.executable, "-m", "gpu_tools", "annotate", "--genome", "{genome}", "--proteins",
    "{proteins}", "--site-model", "fly", "--device", "cpu", "--threads", THREADS, "--quiet",
    "--output", "{output}",
)  # fmt: skip
PEERS = {
    "spaln": _spaln("1"),
    "spaln 4 loci": _spaln("4"),
    "miniprot": GenomeProgram(
        ((MINIPROT, f"-t{THREADS}", "--gff", "{genome}", "{proteins}"),), "CDS"
    ),
}
"""By default spaln writes one locus a protein; miniprot up to 30."""
PROGRAMS = {OURS: GenomeProgram((COMMAND,), "CDS")} | PEERS


def installed() -> list[str]:
    """Return the other programs that are here."""
    return [name for name, own in PEERS.items() if shutil.which(own.commands[-1][0])]


def run(name: str, genome: Path, proteins: Path, data: str) -> tuple[dict, list[str]]:
    """Return times and memory of a program's commands, and the lines of its GFF3."""
    return run_program(PROGRAMS[name], genome, proteins, species=SPALN_SPECIES[data])


def run_program(
    program: GenomeProgram, genome: Path, proteins: Path, **words: str
) -> tuple[dict, list[str]]:
    """Return times and memory of commands, which may name further words, and the lines written."""
    with tempfile.TemporaryDirectory() as folder:
        # spaln writes its index beside the genome
        words |= {"genome": shutil.copy(genome, folder), "proteins": shutil.copy(proteins, folder)}
        output, figures = Path(folder, "output.gff3"), []
        writes = any("{output}" in command for command in program.commands)
        printed = Path(folder, "printed") if writes else output
        words["output"] = str(output)
        for command in program.commands:
            own = [word.format(**words) for word in command]
            launcher = [sys.executable, "-c", LAUNCHER, str(printed), *own]
            # an installed program has its modules compiled
            own_env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            done = subprocess.run(
                launcher, cwd=folder, check=True, stdout=subprocess.PIPE, env=own_env
            )
            figures.append(json.loads(done.stdout))
        times = {
            "seconds": round(sum(f["seconds"] for f in figures), 1),
            "index_seconds": round(sum(f["seconds"] for f in figures[:-1]), 1),
            "processor_seconds": round(sum(f["processor"] for f in figures), 1),
            "peak_megabytes": round(max(f["megabytes"] for f in figures)),
        }
        return times, output.read_text("utf-8").splitlines()
