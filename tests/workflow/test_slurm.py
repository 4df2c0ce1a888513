"""The workflow on a real SLURM of one node with two units of a GPU that is not there."""

import subprocess
import time

import pytest

from tests.programs import leave_out, require
from tests.workflow.folders import (
    BASES,
    LOCI,
    MRNAS,
    ROOT,
    TARGETS,
    Folder,
    gene_set_in,
    gene_set_of_command,
    write_annotation,
    write_sheet,
)

SECONDS = 400
INDEXES = ("", ".fai", ".gzi")
COMMON = (
    "--workflow-profile", ROOT / "workflow" / "profiles" / "slurm",
    "--latency-wait", "5", "--retries", "0", "--max-threads", "1",
)  # fmt: skip
STARTED = {"module": "tests.workflow.polling", "PYTHONPATH": str(ROOT)}
OPTIONS = (*COMMON, "--config", "batch_size=1", "mode=candidates")
ANNOTATION = """
cases:
device: cpu
annotation:
  genome: genome.fa
  proteins: [a.fa, b.fa]
  search: exhaustive
  longest_gene: 600
  target_parts: 1
  genome_parts: 2
"""
# the node may have less than the profile wants
LITTLE = [f"annotation_{rule}:mem_mb=1500" for rule in ("hits", "genes")]


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
def folder(tmp_path):
    """Return a folder; jobs that are left at the end are cancelled."""
    require_slurm()
    before = {job for job, *_ in jobs()}
    yield Folder(tmp_path, ROOT / "workflow" / "Snakefile")
    for job, *_ in jobs("PENDING,RUNNING"):
        if job not in before:
            subprocess.run(["scancel", "--full", job])


@pytest.fixture
def small(folder):
    """Return a folder with two cases, each a batch of its own."""
    rows = [(BASES[0], LOCI, target, MRNAS) for target in TARGETS]
    write_sheet(folder.path / "config" / "cases.tsv", rows)
    return folder


def test_killed_job_is_done_again_and_nothing_else(small):
    before = {job for job, *_ in jobs()}

    def alignment():
        new = [job for job in jobs("RUNNING") if job[0] not in before]
        return next((job for job in new if "spliced_align" in job[2]), None)

    process = small.start(*OPTIONS, **STARTED)
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

    again = small.start(*OPTIONS, **STARTED)
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


def test_jobs_of_parts_make_the_gene_set_of_the_command(folder):
    """Two parts of the genome are jobs at the same time; genes and page are one more job."""
    before = {job for job, *_ in jobs()}
    write_annotation(folder.path, ANNOTATION)
    process = folder.start(
        *COMMON, "--configfile", "settings.yaml", "--set-resources", *LITTLE, "--", "annotation",
        **STARTED,
    )  # fmt: skip
    try:
        assert process.wait(SECONDS) == 0, (folder.path / "output.txt").read_text()
    finally:
        process.kill()
    results = folder.path / "results" / "annotation"
    files = gene_set_of_command(folder.path, "--search", "exhaustive", "--longest-gene", "600")
    assert b"\tgene\t" in files["genes.gff3"]
    assert gene_set_in(results) == files
    assert "2 of 2</b><span>targets have a gene" in (results / "report.html").read_text()
    ours = [(state, comment) for job, state, comment in jobs() if job not in before]
    print(*map(" ".join, ours), sep="\n")
    assert sorted(state for state, _ in ours) == ["COMPLETED"] * 3
    assert sum("annotation_hits" in comment for _, comment in ours) == 2


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
