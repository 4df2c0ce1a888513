"""The workflow on a real SLURM of one node with two units of a GPU that is not there."""

import subprocess
import time

import pytest

from tests.programs import leave_out, require
from tests.workflow.folders import BASES, LOCI, MRNAS, ROOT, TARGETS, Folder, write_sheet

SECONDS = 150
INDEXES = ("", ".fai", ".gzi")
OPTIONS = (
    "--workflow-profile", ROOT / "workflow" / "profiles" / "slurm",
    "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5",
    "--seconds-between-status-checks", "2", "--retries", "0",
    "--set-threads", "spliced_align=1", "--config", "batch_size=1", "mode=candidates",
)  # fmt: skip


def require_slurm():
    """Skip, or where all tests have to run fail, unless SLURM is installed and answers."""
    require("sbatch", "sinfo")
    try:
        answers = subprocess.run(["sinfo"], capture_output=True, timeout=5).returncode == 0
    except subprocess.TimeoutExpired:
        answers = False
    if not answers:
        leave_out("SLURM does not answer")


pytestmark = pytest.mark.slurm


def jobs(states="all"):
    """Return (id, state, comment) of SLURM's jobs; the comment names the rule."""
    command = ["squeue", "--noheader", "--states", states, "--format=%i|%T|%k"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("|") for line in lines.splitlines()]


def described(job):
    command = ["scontrol", "show", "job", job]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def wait_for(condition, process):
    """Return the first true answer of a condition while Snakemake runs."""
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and process.poll() is None:
        if answer := condition():
            return answer
        time.sleep(0.1)
    raise AssertionError("never came true")


@pytest.fixture
def small(tmp_path):
    """Return a folder with two cases, each a batch of its own."""
    require_slurm()
    before = {job for job, *_ in jobs()}
    rows = [(BASES[0], LOCI, target, MRNAS) for target in TARGETS]
    write_sheet(tmp_path / "config" / "cases.tsv", rows)
    yield Folder(tmp_path, ROOT / "workflow" / "Snakefile")
    for job, *_ in jobs("PENDING,RUNNING"):
        if job not in before:
            subprocess.run(["scancel", "--full", job])


def test_killed_job_is_done_again_and_nothing_else(small):
    before = {job for job, *_ in jobs()}

    def alignment():
        new = [job for job in jobs("RUNNING") if job[0] not in before]
        return next((job for job in new if "spliced_align" in job[2]), None)

    process = small.start(*OPTIONS, PYTHONPATH=str(ROOT))
    try:
        job, *_ = wait_for(alignment, process)
        assert "TresPerJob=gres:gpu:1" in described(job)
        subprocess.run(["scancel", "--full", job], check=True)
        assert process.wait(SECONDS) != 0
    finally:
        process.kill()
    results = small.path / "results"
    check_nothing_half_written(results)
    done = {path: path.stat().st_mtime_ns for path in results.rglob("*") if path.is_file()}
    assert len(list(results.glob("batches/*/scores.tsv"))) < 2

    again = small.start(*OPTIONS, PYTHONPATH=str(ROOT))
    try:
        assert again.wait(SECONDS) == 0, (small.path / "output.txt").read_text()
    finally:
        again.kill()
    assert {path: path.stat().st_mtime_ns for path in done} == done
    # a table may have a row for each method
    assert {row["target"] for row in small.table("results/scores.tsv")} == set(TARGETS)
    assert {row["target"] for row in small.table("results/best.tsv")} == {TARGETS[0]}
    ours = [job for job in jobs() if job[0] not in before]
    print(*map(" ".join, ours), sep="\n")
    states = [state for _, state, comment in ours if "spliced_align" in comment]
    assert sorted(states) == ["CANCELLED", "COMPLETED", "COMPLETED"]
    assert len({comment for _, _, comment in ours}) >= 6


def check_nothing_half_written(results):
    """Every job has written all its tables and alignments, or none; no temporary file is left."""
    indexed = {f"{name}.fa.gz{index}" for name in ("bases", "targets") for index in INDEXES}
    inputs = indexed | {"predicted.gff3", "pairs.tsv"}
    alignments = ("gff3", "bed", "bam", "bam.bai")
    outputs = {"scores.tsv", *(f"alignments.{suffix}" for suffix in alignments)}
    for batch in (results / "batches").iterdir():
        written = {path.name for path in batch.iterdir()} - inputs
        for prefix in ("", "site_"):
            own = {f"{prefix}{name}" for name in outputs}
            assert written & own in (set(), own)
            written -= own
        assert written == set()
