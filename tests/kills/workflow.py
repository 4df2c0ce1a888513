"""The workflow, killed at a random moment: Snakemake, all of its processes, or one of its jobs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import choice

from tests.kills.cases import normal
from tests.kills.killing import ROOT, Kill, Killer, ended, group_lives, printed
from tests.workflow.folders import BASES, TARGETS, write_annotation, write_sheet

_ON_SLURM = (
    "--workflow-profile", str(ROOT / "workflow" / "profiles" / "slurm"),
    "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5",
    "--seconds-between-status-checks", "2", "--retries", "0",
    "--set-threads", "spliced_align=1", "site_align=1",  # the node may have no more
)  # fmt: skip
_OUTSIDE = ("logs", "benchmarks")
"""Folders of results that hold times."""
ANNOTATION = """
cases:
annotation:
  genome: genome.fa
  proteins: [a.fa, b.fa]
  search: exhaustive
  longest_gene: 600
  target_parts: 2
  genome_parts: 2
"""


def results(folder: Path) -> dict[str, bytes]:
    """Return all files of the results by their paths, but for logs and times."""
    root = folder / "results"
    return {
        str(path.relative_to(root)): normal(path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
        and path.relative_to(root).parts[0] not in _OUTSIDE
        and "gpu-tools-" not in path.name
        and ".snakemake" not in path.name
    }


class WorkflowKiller(Killer):
    """Kills runs of a small sheet, or of the annotation of a small genome, also on SLURM."""

    receivers = ("process", "group", "job")
    longest, old_outputs = 600.0, False
    outputs = staticmethod(results)

    def __init__(self, slurm: bool = False, annotation: bool = False):
        self.slurm, self.annotation, self.unlocked = slurm, annotation, 0
        words = [
            sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "workflow" / "Snakefile"),
            *(_ON_SLURM if slurm else ("--cores", "2", "--rerun-incomplete")),
            "--config", "batch_size=1", "device=cpu",
        ]  # fmt: skip
        words += ["--configfile", "settings.yaml"] if annotation else []
        name = "annotation" if annotation else "workflow"
        super().__init__(f"{name} on SLURM" if slurm else name, words)
        if not slurm:
            self.environment["SLURM_CONF"] = os.devnull

    def prepared(self, folder: Path, over_old: bool = False) -> Path:
        """Return a folder with the inputs of a run; old outputs are none of its cases."""
        return prepared_annotation(folder) if self.annotation else prepared(folder)

    def send(self, process: subprocess.Popen, kill: Kill) -> None:
        """Send the signal of a kill, to any of the jobs if one is to receive it."""
        if kill.receiver != "job":
            super().send(process, kill)
        elif self.slurm:
            _kill_slurm_job(kill.signal)
        elif jobs := descendants(process.pid):
            with suppress(ProcessLookupError):
                os.kill(choice(jobs), kill.signal)

    def faults_of_end(self, process, kill: Kill, in_time: bool, folder: Path) -> Iterator[str]:
        """Yield what is wrong with the end of Snakemake."""
        start = time.monotonic()
        ended(process, self.longest)
        if time.monotonic() - start >= self.longest:
            yield "Snakemake does not end"
        if self.slurm:
            _wait_for_slurm(self.longest)
        if group_lives(process.pid, 60.0):  # jobs whose Snakemake was killed come to their end
            yield "jobs live on"

    def faults_of_files(self, code: int, kill: Kill, folder: Path) -> Iterator[str]:
        """Yield which results are there and not complete."""
        for name, content in results(folder).items():
            if name in self.expected and content != self.expected[name]:
                yield f"{name} is not complete"

    def faults_of_rerun(self, folder: Path) -> Iterator[str]:
        """Yield what is wrong with the run after it, before which Snakemake may be unlocked."""
        code = self.ended(folder, self.longest)
        if code and "LockException" in printed(folder):  # Snakemake itself demands it
            self.unlocked += 1
            self.ended(folder, self.longest, "--unlock")
            code = self.ended(folder, self.longest)
        if code:
            yield f"the next run fails: {printed(folder)[-2000:]}"
            return
        after = results(folder)
        if wrong := sorted(n for n, text in self.expected.items() if after.get(n) != text):
            yield f"the next run writes something else: {wrong}"
        if left := [str(path) for path in folder.rglob(".*gpu-tools-*")]:
            yield f"temporary files are left: {left}"


def prepared(folder: Path) -> Path:
    """Return a folder with two loci, two mRNAs and the sheet of their cases."""
    work = folder / "work"
    work.mkdir()
    for name in ("loci.fa.gz", "mrnas.fa.gz"):
        shutil.copy(ROOT / "resources" / "demo" / name, work / name)
    rows = [(base, "loci.fa.gz", TARGETS[0], "mrnas.fa.gz") for base in BASES]
    write_sheet(work / "config" / "cases.tsv", rows)
    return work


def prepared_annotation(folder: Path) -> Path:
    """Return a folder with a genome, proteins and settings: four jobs find hits."""
    work = folder / "work"
    work.mkdir()
    write_annotation(work, ANNOTATION)
    return work


def descendants(process: int) -> list[int]:
    """Return the processes that a process has started, and those that these have."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError):
                words = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
                children.setdefault(int(words[1]), []).append(int(entry.name))
    found, open_ones = [], [process]
    while open_ones:
        own = children.get(open_ones.pop(), [])
        found += own
        open_ones += own
    return found


def _slurm_jobs(states: str) -> list[str]:
    command = ["squeue", "--noheader", "--me", "--states", states, "--format=%i"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def _kill_slurm_job(number: signal.Signals) -> None:
    if jobs := _slurm_jobs("RUNNING"):
        word = number.name.removeprefix("SIG")
        subprocess.run(["scancel", "--full", f"--signal={word}", choice(jobs)], check=False)


def _wait_for_slurm(seconds: float) -> None:
    """Wait until SLURM has nothing to do; what waits in its queue is taken away."""
    for job in _slurm_jobs("PENDING"):
        subprocess.run(["scancel", job], check=False)
    until = time.monotonic() + seconds
    while _slurm_jobs("RUNNING,COMPLETING") and time.monotonic() < until:
        time.sleep(0.5)
