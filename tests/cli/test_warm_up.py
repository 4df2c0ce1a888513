"""Warm-up leaves nothing to compile, and a command says that it compiles, once."""

import os
import subprocess
import sys
from contextlib import ExitStack
from multiprocessing import parent_process
from pathlib import Path

import pytest

from gpu_tools.cli.common.options import _telling_of_compilation
from gpu_tools.cli.common.warming import (
    AT_START,
    IN_MIDDLE,
    IN_RUN,
    ON_BOTH,
    TINY_RUNS,
    TinyRun,
    Warming,
    compiling_told,
    devices_to_warm,
    warm,
    write_inputs,
)
from gpu_tools.cli.main import main
from gpu_tools.hardware import about_to_compile

PROTEINS = "--query proteins.fa --subject proteins.fa --matrix BLOSUM62"
BY_HAND = (
    "spliced-align --base base.fa --targets targets.fa --exons exons.tsv --ends free-target",
    "spliced-align --base base.fa --targets targets.fa --exons exons.tsv --alignments a.gff3",
    "spliced-align --base base.fa --targets targets.fa --exons exons.tsv --max-evalue 1 --best 4",
    "spliced-align --base base.fa --targets targets.fa --site-model fly --strand +",
    "spliced-align --base base.fa --targets targets.fa --site-model fly --coding --best 4",
    "spliced-align --base base.fa --targets targets.fa --site-model vertebrate --coding",
    f"local-align {PROTEINS} --gap-open 11 --gap-extend 1 --k 4",
    "local-align --query targets.fa --subject base.fa --k 5 --both-strands",
    f"global-align {PROTEINS} --gap-open 11 --gap-extend 1",
    "match-exact --patterns patterns.fa --text base.fa --both-strands",
    "match-approximate --patterns patterns.fa --text base.fa --max-distance 3 --both-strands",
    "max-segments --sequence base.fa --scale cpg --all",
    "max-submatrix --matrix matrix.tsv",
    "lift --reference base.fa --annotation gene.gff3 --genome other.fa --site-model fly",
    "exons predict --base base.fa",
)
SEGMENTS = "max-segments --sequence base.fa --scale gc"
COUNTING = """
import sys
from numba.core import event

class Compiled(event.Listener):
    def on_start(self, found):
        print("compiled", found.data["dispatcher"], found.data["args"], file=sys.stderr)

    def on_end(self, found):
        pass

event.register("numba:compile", Compiled())
from gpu_tools.cli.main import main
raise SystemExit(max(main(line.split()) for line in sys.argv[1:]))
"""


@pytest.fixture
def inputs(tmp_path):
    """Return a folder with the files of the tiny runs."""
    write_inputs(tmp_path)
    return tmp_path


def python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def compiled():
    """Fill the compile cache of the checkout."""
    assert main(["warm-up", "--device", "cpu", "--quiet"]) == 0


def test_behind_a_warm_up_nothing_is_compiled(compiled, inputs):
    device = {line: "" if "predict" in line else "--device cpu" for line in BY_HAND}
    lines = [f"{line} {device[line]} --quiet --output out" for line in BY_HAND]
    done = python(inputs, "-c", COUNTING, *lines)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_second_warm_up_has_nothing_to_do(compiled, capsys):
    assert all(Warming(run, "cpu").is_done for run in TINY_RUNS if run.is_for("cpu"))
    assert main(["warm-up", "--device", "cpu"]) == 0
    assert capsys.readouterr().err == ""


def test_commands_can_be_chosen(inputs):
    line, cache = ["-m", "gpu_tools", "warm-up", "max-segments", "--device", "cpu"], inputs / "c"
    done = python(inputs, *line, NUMBA_CACHE_DIR=str(cache))
    runs = [run for run in TINY_RUNS if run.command == "max-segments"]
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"compiling, once: {n} of {len(runs)} parts remain" for n in range(len(runs), 0, -1)
    ]
    assert len(list(cache.rglob("warm-up.txt"))) == 1


def test_a_command_that_is_not_there_is_wrong_usage(capsys):
    assert main(["warm-up", "devices"]) == 2


@pytest.mark.parametrize("quiet", [(), ("--quiet",)])
def test_a_command_says_once_that_it_compiles(quiet, inputs, monkeypatch):
    monkeypatch.delenv(IN_RUN)
    line = ["-m", "gpu_tools", *SEGMENTS.split(), "--device", "cpu", "--output", "out"]
    cache = {"NUMBA_CACHE_DIR": str(inputs / "cache")}
    first, second = (python(inputs, *line, *quiet, **cache) for _ in range(2))
    assert first.returncode == second.returncode == 0
    assert first.stderr.count("compiling, once") == (0 if quiet else 1)
    assert "compiling" not in second.stderr


def test_compilation_in_the_middle_of_a_run_is_told_again(monkeypatch, capsys):
    """At its start it is told once; so is what is compiled ten seconds after the first units."""
    monkeypatch.delenv(IN_RUN)
    times = iter([0, 9, 12])
    with compiling_told(False), ExitStack() as blocks:
        update = _telling_of_compilation(lambda done: None, blocks, lambda: next(times))
        for done in (5, 1, 1):
            about_to_compile()
            update(done)
        assert capsys.readouterr().err.splitlines() == [AT_START]
        about_to_compile()
        about_to_compile()
    assert capsys.readouterr().err.splitlines() == [IN_MIDDLE]


def test_a_run_that_fails_is_told_and_not_recorded():
    bad = TinyRun("max-segments", "--sequence none.fa --scale gc", frozenset(), ON_BOTH)
    told = []
    (failure,) = warm([Warming(bad, "cpu")], 1, told.append)
    assert "none.fa" in failure
    assert not Warming(bad, "cpu").is_done
    assert told == ["compiling, once: 1 of 1 parts remain"]


def test_what_remains_is_told():
    runs = [TinyRun("max-segments", f"--sequence none{k}.fa --scale gc", frozenset(), ON_BOTH)
            for k in range(3)]  # fmt: skip
    told = []
    assert len(warm([Warming(run, "cpu") for run in runs], 1, told.append)) == 3
    assert told == [f"compiling, once: {n} of 3 parts remain" for n in (3, 2, 1)]


class OnlyAlone(Warming):
    """A run that ends a process which compiles beside others."""

    def attempt(self, folder, threads=None):
        if parent_process() is not None:
            os._exit(1)
        return super().attempt(folder, threads)


def test_what_processes_cannot_do_is_done_alone():
    runs = [OnlyAlone(run, "cpu") for run in TINY_RUNS if run.command == "max-segments"][:2]
    told = []
    assert warm(runs, 2, told.append) == []
    assert told == [f"compiling, once: {n} of 2 parts remain" for n in (2, 1)]


def test_devices_to_warm():
    assert devices_to_warm("cpu") == ["cpu"]


@pytest.mark.cuda
def test_with_a_gpu_auto_is_both():
    assert devices_to_warm("auto") == ["cpu", "cuda:0"]
    assert devices_to_warm("cuda") == ["cuda:0"]
