"""The workflow as a whole: its jobs, time and CPU time, and the time of its plan alone.

Run ``python -m benchmarks.workflow.bench_workflow [RECORD.json] [--tiny]``.
Cases are random genes of three exons and mutated copies of their mRNAs, four or five a gene. The
workflow aligns them in both modes with two cores, in a new folder; then again with one row of the
sheet changed. The plans are those of ``--dry-run``, of a sheet with a line for each case and of one
that pairs all with all in one line. Machine code is compiled before anything is timed.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import record
from gpu_tools.model.sequences import decode

SEED, CORES = 2026, 2
LOCI, CASES, PLANNED = 240, 1_000, 100_000
EXON, INTRON, FLANK = 120, (300, 1_200), 500
DONOR, ACCEPTOR = "CAGGTAAGT", "TTTTTTTTTTTTCAGG"
SNAKEFILE = Path(__file__).parents[2] / "workflow" / "Snakefile"
COLUMNS = "base\tbase_fasta\ttarget\ttarget_fasta\n"


def gene(rng) -> tuple[str, str]:
    """Return a locus with flanks and its mRNA."""
    exons = [decode(rng.integers(0, 4, EXON, dtype=np.uint8)) for _ in range(3)]
    between = [decode(rng.integers(0, 4, rng.integers(*INTRON), dtype=np.uint8)) for _ in range(2)]
    flanks = [decode(rng.integers(0, 4, FLANK, dtype=np.uint8)) for _ in range(2)]
    introns = [f"{DONOR}{text}{ACCEPTOR}" for text in between]
    parts = [flanks[0], exons[0], introns[0], exons[1], introns[1], exons[2], flanks[1]]
    # the consensus reaches into the exons by three nucleotides and by one
    return "".join(parts), f"{exons[0]}CAG{'G'}{exons[1]}CAGG{exons[2]}"


def mutated(rng, text: str) -> str:
    """Return a copy with a tenth of its nucleotides drawn anew."""
    symbols = np.array(list(text))
    changed = rng.random(len(symbols)) < 0.1
    symbols[changed] = rng.choice(list("ACGT"), int(changed.sum()))
    return "".join(symbols)


def write_cases(folder: Path, loci: int, cases: int) -> None:
    """Write FASTA files and a sheet of genes with their mutated mRNAs."""
    rng = np.random.default_rng(SEED)
    genes = [gene(rng) for _ in range(loci)]
    owners = sorted(k % loci for k in range(cases))
    targets = [mutated(rng, genes[owner][1]) for owner in owners]
    write_fasta(folder / "loci.fa", ((f"locus{k}", text) for k, (text, _) in enumerate(genes)))
    write_fasta(folder / "mrnas.fa", ((f"mrna{k}", text) for k, text in enumerate(targets)))
    rows = (f"locus{owner}\tloci.fa\tmrna{k}\tmrnas.fa\n" for k, owner in enumerate(owners))
    write_sheet(folder, rows)


def write_fasta(path: Path, records: Iterable[tuple[str, str]]) -> None:
    """Write records, each in one line."""
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records))


def write_sheet(folder: Path, rows: Iterable[str]) -> None:
    """Write the sheet of cases."""
    (folder / "cases.tsv").write_text(COLUMNS + "".join(rows))


def run(folder: Path, *arguments: str, mode: str = "both") -> dict:
    """Run Snakemake in a folder; return jobs, seconds and CPU seconds."""
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
    command += ["--cores", str(CORES), "--config", "cases=cases.tsv", "device=cpu", f"mode={mode}"]
    before, start = cpu_seconds(), time.perf_counter()
    done = subprocess.run(
        [*command, *arguments], cwd=folder, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:])
    words = (line.split() for line in done.stdout.splitlines())
    totals = [int(w[1]) for w in words if len(w) == 2 and w[0] == "total"]
    return {
        "jobs": totals[0],
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(cpu_seconds() - before, 1),
    }


def cpu_seconds() -> float:
    """Return the CPU time of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def change_first_row(folder: Path) -> None:
    """Give the first locus of the sheet another target, the last one."""
    header, first, *others = (folder / "cases.tsv").read_text().splitlines()
    base, fasta, _, *rest = first.split("\t")
    target = others[-1].split("\t")[2]
    lines = [header, "\t".join([base, fasta, target, *rest]), *others, ""]
    (folder / "cases.tsv").write_text("\n".join(lines))


def planned(folder: Path, rows: Iterable[str], mode: str) -> dict:
    """Return the figures of a plan."""
    write_sheet(folder, rows)
    return run(folder, "--dry-run", "--quiet", "rules", mode=mode)


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure the workflow, and its plans; at a tiny size plans alone."""
    loci, cases, lines = (2, 4, 100) if tiny else (LOCI, CASES, PLANNED)
    mode, more = ("sites", ["--dry-run"]) if tiny else ("both", [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not tiny:
            compiled = folder / "compiled"
            compiled.mkdir()
            write_cases(compiled, 2, 4)
            run(compiled)
        write_cases(folder, loci, cases)
        shape = {"loci": loci, "cases": cases}
        yield "workflow, both modes", shape | run(folder, *more, mode=mode)
        change_first_row(folder)
        yield "workflow, one row changed", shape | run(folder, *more, mode=mode)
        write_fasta(folder / "planned.fa", ((f"planned{k}", "ATG") for k in range(lines)))
        each = (f"locus{k % loci}\tloci.fa\tplanned{k}\tplanned.fa\n" for k in range(lines))
        yield "plan, a line a case", {"cases": lines, **planned(folder, sorted(each), mode)}
        every = ["*\tloci.fa\t*\tmrnas.fa\n"]
        yield (
            "plan, all with all in one line",
            {"cases": loci * cases, **planned(folder, every, mode)},
        )


if __name__ == "__main__":
    record.main(measure)
