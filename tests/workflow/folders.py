"""A working folder with a small sheet, and Snakemake run in it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.workflow.launch import snakemake

ROOT = Path(__file__).parents[2]
LOCI = ROOT / "resources" / "demo" / "loci.fa.gz"
MRNAS = ROOT / "resources" / "demo" / "mrnas.fa.gz"
# the two shortest of the demo's loci and their orthologues' mRNAs
BASES = ("NM_198149.1", "NM_000572.2")
TARGETS = ("NM_175259.3", "NM_010548.1")
HEADER = ("base", "base_fasta", "target", "target_fasta")
# the command's options for the files of a gene set, and their names
GENE_SET = {
    "output": "genes.gff3", "table": "genes.tsv", "targets-table": "targets.tsv",
    "protein-sequences": "proteins.fa", "cds-sequences": "cds.fa", "summary": "summary.json",
}  # fmt: skip
# Snakemake's plugin for SLURM asks SLURM for its configuration whenever Snakemake starts; where the
# controller is down that takes nine seconds. Without a configuration it takes none.
ENVIRONMENT = {"PYTHONPATH": str(ROOT), "SLURM_CONF": os.devnull}


def write_sheet(path, rows, header=HEADER):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join("\t".join(map(str, row)) + "\n" for row in (header, *rows)))


def write_annotation(path, settings):
    """Write a genome, two files of proteins, and settings that name them."""
    from gpu_tools.formats.sequences.fasta import write_fasta
    from tests.annotate.test_parts import RECORDS, A, B

    write_fasta(path / "genome.fa", RECORDS)
    for name, protein in (("a", A), ("b", B)):
        (path / f"{name}.fa").write_text(f">{name}\n{protein}\n")
    (path / "settings.yaml").write_text(settings)


def gene_set_of_command(folder, *more):
    """Return the files that the command makes of what `write_annotation` wrote, by their names."""
    from gpu_tools.cli.main import main

    path = folder / "command"
    path.mkdir()
    words = ["--genome", folder / "genome.fa", "--site-model", "vertebrate"]
    words += [word for name in "ab" for word in ("--proteins", folder / f"{name}.fa")]
    words += [word for option, name in GENE_SET.items() for word in (f"--{option}", path / name)]
    assert main(["annotate", *map(str, words), "--device", "cpu", "--quiet", *more]) == 0
    return gene_set_in(path)


def gene_set_in(path):
    """Return the files of a gene set by name, the summary without the run, which has its paths."""
    found = {name: (path / name).read_bytes() for name in GENE_SET.values()}
    summary = json.loads(found["summary.json"])
    run = summary.pop("run")
    assert run["inputs"]
    assert run["command"].startswith(("gpu-tools annotate ", "snakemake "))
    return found | {"summary.json": summary}


def demo_rows():
    return [(base, LOCI, target, MRNAS) for base in BASES for target in TARGETS]


class Folder:
    """A working folder of the workflow."""

    def __init__(self, path: Path, snakefile: Path):
        self.path = path
        self.snakefile = snakefile

    def run(self, *arguments, code=0):
        words = ["--snakefile", self.snakefile, "--cores", "2", *arguments]
        with tempfile.NamedTemporaryFile("r") as printed:
            environment = os.environ | ENVIRONMENT
            returned = snakemake(list(map(str, words)), self.path, environment, printed.name)
            output = printed.read()
        assert (returned != 0) == (code != 0), output
        assert "Traceback" not in output
        return output

    def start(self, *arguments, module="snakemake", **environment):
        """Start Snakemake in a session of its own, its output in output.txt."""
        command = [sys.executable, "-m", module, "--snakefile", self.snakefile, *arguments]
        with (self.path / "output.txt").open("w") as output:
            return subprocess.Popen(
                command, cwd=self.path, env=os.environ | environment, start_new_session=True,
                stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def counts(self, *arguments):
        """Return how many jobs of each rule Snakemake would run."""
        plan = self.run("--dry-run", "--quiet", "rules", *arguments)
        words = [line.split() for line in plan.splitlines()]
        return {rule: int(n) for rule, n in (w for w in words if len(w) == 2) if n.isdecimal()}

    def batches(self, name):
        """Return the files of one name of all batches."""
        return sorted((self.path / "results" / "batches").glob(f"*/{name}"))

    def table(self, name):
        lines = (self.path / name).read_text().splitlines()
        columns, *rows = [line.split("\t") for line in lines]
        return [dict(zip(columns, row, strict=True)) for row in rows]
