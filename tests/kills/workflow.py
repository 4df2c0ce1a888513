"""The workflow, killed at a random moment: Snakemake, all of its processes, or one of its jobs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random

from tests.kills.cases import normal
from tests.kills.killing import PATHS, ROOT, Kill, group_lives
from tests.workflow.folders import BASES, TARGETS, write_annotation, write_sheet

RECEIVERS = ("process", "group", "job")
_ON_SLURM = (
    "--workflow-profile", str(ROOT / "workflow" / "profiles" / "slurm"),
    "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5",
    "--seconds-between-status-checks", "2", "--retries", "0",
    "--set-threads", "spliced_align=1", "site_align=1",  # the node may have no more
)  # fmt: skip
_OUTSIDE = ("logs", "benchmarks")
"""Folders of results that hold times."""
_LONGEST = 600.0
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


class WorkflowKiller:
    """Kills runs of a small sheet, or of the annotation of a small genome.

    Parameters
    ----------
    slurm : bool
        Have SLURM run the jobs.
    annotation : bool
    """

    def __init__(self, slurm: bool = False, annotation: bool = False):
        self.slurm, self.seconds = slurm, 0.0
        self.prepared = prepared_annotation if annotation else prepared
        self.name = "annotation" if annotation else "workflow"
        self.expected: dict[str, bytes] = {}
        more = _ON_SLURM if slurm else ("--cores", "2", "--rerun-incomplete")
        self.words = [
            sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "workflow" / "Snakefile"),
            *more, "--config", "batch_size=1", "device=cpu",
        ]  # fmt: skip
        self.words += ["--configfile", "settings.yaml"] if annotation else []

    @classmethod
    def rows(cls, options) -> list[dict]:
        """Kill as often as options say; return a row for each kill."""
        killer = cls(options.slurm, options.annotation)
        killer.measure()
        print(f"{killer.name}: {killer.seconds:.0f} s, {len(killer.expected)} files", flush=True)
        at_once = 1 if options.slurm else max(options.processes // 2, 1)
        with ThreadPoolExecutor(at_once) as pool:
            return list(pool.map(lambda k: killer._row(k, options), range(options.workflow)))

    def _row(self, number: int, options) -> dict:
        name = f"{self.name} on SLURM" if self.slurm else self.name
        if options.until and time.monotonic() > options.until:
            return {"case": name, "kill": "not done", "in_time": False, "faults": []}
        rng = Random(f"{options.seed} {self.name} {number}")
        kill = Kill.drawn(rng, self.seconds, RECEIVERS)._replace(over_old=False)
        found, in_time, unlocked = self.faults(kill, rng)
        for fault in found:
            print(f"kill {number}, {name}, {kill}: {fault}", flush=True)
        row = {"case": name, "kill": str(kill), "in_time": in_time, "faults": found}
        return row | {"unlocked": unlocked}

    def measure(self) -> None:
        """Run undisturbed twice: what differs between the runs is not compared later."""
        found = []
        for _ in range(2):
            with tempfile.TemporaryDirectory(prefix="kills-") as name:
                folder, start = self.prepared(Path(name)), time.monotonic()
                if self._ended(folder):
                    raise SystemExit((folder / "output.txt").read_text("utf-8", "replace")[-3000:])
                self.seconds = time.monotonic() - start
                found.append(results(folder))
        self.expected = {n: text for n, text in found[0].items() if found[1].get(n) == text}
        differing = sorted({*found[0], *found[1]} - self.expected.keys())
        print(f"not compared: {differing}", flush=True)

    def faults(self, kill: Kill, rng: Random) -> tuple[list[str], bool, bool]:
        """Kill a run and repeat it.

        Returns
        -------
        (list of str, bool, bool)
            What is wrong, whether the kill came in time, and whether Snakemake had to be unlocked.
        """
        with tempfile.TemporaryDirectory(prefix="kills-") as name:
            folder = self.prepared(Path(name))
            process = self._started(folder)
            in_time = self._killed(process, kill, rng)
            found = [*self._faults_of_end(process, folder)]
            found += self._faults_of_files(folder)
            more, unlocked = self._faults_of_rerun(folder)
        return found + more, in_time, unlocked

    def _started(self, folder: Path, *more: str) -> subprocess.Popen:
        environment = os.environ | {"PYTHONPATH": PATHS, "GPU_TOOLS_TINY_RUN": "1"}
        if not self.slurm:
            environment["SLURM_CONF"] = os.devnull
        with open(folder / "output.txt", "ab") as output:
            return subprocess.Popen(
                [*self.words, *more], cwd=folder, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def _ended(self, folder: Path, *more: str) -> int:
        """Run Snakemake undisturbed; return its exit code, or -9 if it had to be ended."""
        process = self._started(folder, *more)
        try:
            return process.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.wait()

    def _killed(self, process: subprocess.Popen, kill: Kill, rng: Random) -> bool:
        with suppress(subprocess.TimeoutExpired):
            process.wait(kill.moment)
            return False
        if kill.receiver == "group":
            os.killpg(process.pid, kill.signal)
        elif kill.receiver == "process":
            process.send_signal(kill.signal)
        elif self.slurm:
            _kill_slurm_job(kill.signal, rng)
        elif jobs := descendants(process.pid):
            with suppress(ProcessLookupError):
                os.kill(rng.choice(jobs), kill.signal)
        return True

    def _faults_of_end(self, process: subprocess.Popen, folder: Path) -> Iterator[str]:
        try:
            process.wait(_LONGEST)
        except subprocess.TimeoutExpired:
            yield "Snakemake does not end"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if self.slurm:
            _wait_for_slurm()
        if group_lives(process.pid, 60.0):  # jobs whose Snakemake was killed come to their end
            yield "jobs live on"
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def _faults_of_files(self, folder: Path) -> Iterator[str]:
        for name, content in results(folder).items():
            if name in self.expected and content != self.expected[name]:
                yield f"{name} is not complete"

    def _faults_of_rerun(self, folder: Path) -> tuple[list[str], bool]:
        unlocked = False
        code = self._ended(folder)
        printed = (folder / "output.txt").read_text("utf-8", "replace")
        if code and "LockException" in printed:  # Snakemake itself demands it
            unlocked = True
            self._ended(folder, "--unlock")
            code = self._ended(folder)
        if code:
            printed = (folder / "output.txt").read_text("utf-8", "replace")
            return [f"the next run fails: {printed[-2000:]}"], unlocked
        found, after = [], results(folder)
        wrong = sorted(n for n, text in self.expected.items() if after.get(n) != text)
        if wrong:
            found.append(f"the next run writes something else: {wrong}")
        left = [str(path) for path in folder.rglob(".*gpu-tools-*")]
        if left:
            found.append(f"temporary files are left: {left}")
        return found, unlocked


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


def _kill_slurm_job(number: signal.Signals, rng: Random) -> None:
    if jobs := _slurm_jobs("RUNNING"):
        word = number.name.removeprefix("SIG")
        subprocess.run(["scancel", "--full", f"--signal={word}", rng.choice(jobs)], check=False)


def _wait_for_slurm() -> None:
    """Wait until SLURM has nothing to do; what waits in its queue is taken away."""
    for job in _slurm_jobs("PENDING"):
        subprocess.run(["scancel", job], check=False)
    until = time.monotonic() + _LONGEST
    while _slurm_jobs("RUNNING,COMPLETING") and time.monotonic() < until:
        time.sleep(0.5)
