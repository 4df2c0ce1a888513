"""Warm-up leaves nothing to compile, and a command says that it compiles, once."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from gpu_tools.cli.common import warming
from gpu_tools.cli.common.tiny_runs import (
    ON_BOTH,
    TINY_RUNS,
    WIDE,
    TinyRun,
    modes_of,
    write_inputs,
)
from gpu_tools.cli.common.warming import IN_RUN, Warming, devices_to_warm
from gpu_tools.cli.main import cli, main
from gpu_tools.hardware.compiling import about_to_compile
from gpu_tools.hardware.device import simulated

PROTEINS = "--query proteins.fa --subject proteins.fa --matrix BLOSUM62"
BY_HAND = (
    "spliced-align --base base.fa --targets targets.fa --exons exons.tsv --ends free-target",
    "spliced-align --base base.fa --targets targets.fa --exons exons.tsv --alignments a.gff3",
    "spliced-align --base base.fa --targets targets.fa --site-model fly --strand +",
    "spliced-align --base base.fa --targets targets.fa --site-model vertebrate --coding",
    f"local-align {PROTEINS} --gap-open 11 --gap-extend 1 --k 4",
    "local-align --query targets.fa --subject base.fa --k 5 --both-strands",
    f"global-align {PROTEINS} --gap-open 11 --gap-extend 1",
    "match-exact --patterns patterns.fa --text base.fa --both-strands",
    "match-approximate --patterns patterns.fa --text base.fa --max-distance 3 --both-strands",
    "max-segments --sequence base.fa --scale cpg --all",
    "max-submatrix --matrix matrix.tsv",
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
raise SystemExit(main())
"""

MISSED = """
import sys
from importlib import import_module
from gpu_tools.cli.main import main
from gpu_tools.sites.proteins.cpu.chain import follow

family, *line = sys.argv[1:]
assert main(line) == 0
kernels = {k: one for k, (one, _) in import_module(f"gpu_tools.{family}.gpu.parts").KERNELS.items()}
functions = {"trace_proteins": follow} | kernels
print(*sorted(k for k, one in functions.items() if one.overloads))
print(*sorted(k for k, one in functions.items() if one.stats.cache_misses))
"""
"""Tells which functions a command has used, and which it had to compile."""


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
def warm():
    """Fill the compile cache of the checkout."""
    assert main(["warm-up", "--device", "cpu", "--quiet"]) == 0


@pytest.mark.parametrize("line", BY_HAND)
def test_behind_a_warm_up_nothing_is_compiled(line, warm, inputs):
    device = () if "predict" in line else ("--device", "cpu")
    done = python(inputs, "-c", COUNTING, *line.split(), *device, "--quiet", "--output", "out")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_second_warm_up_has_nothing_to_do(warm, capsys):
    assert Warming("cpu").missing([r for r in TINY_RUNS if r.is_for("cpu")]) == []
    assert main(["warm-up", "--device", "cpu"]) == 0
    assert capsys.readouterr().err == ""


def test_parts_compile_what_the_whole_is_made_of(warm):
    """Other types would be another entry of the cache."""
    from gpu_tools.spliced.cpu import schedule
    from gpu_tools.spliced.cpu.traceback import trace_chain

    by_matrix = "Terms(array(int16, 1d, C), array(int16, 2d, C)"  # other tests may compile that
    for function in (schedule._sweep, trace_chain, schedule._lay_out_strand):
        signatures = [repr(key[0]) for key in function._cache._cache_file._load_index()]
        found = {s for s in signatures if "int16" in s and by_matrix not in s}
        assert len(found) == 1, function


def test_the_part_of_local_alignment_compiles_what_the_search_calls(inputs):
    cache = {"NUMBA_CACHE_DIR": str(inputs / "cache")}
    line = ["local-align", "--query", "query.fa", "--subject", "base.fa", "--k", "3"]
    assert python(inputs, "-m", "gpu_tools.local.parts", "nucleotides", **cache).returncode == 0
    done = python(inputs, "-c", COUNTING, *line, "--device", "cpu", "--output", "out", **cache)
    assert done.returncode == 0
    for name in ("_at_once", "_summary", "find_path", "_insert", "_forget_paths", "_lower"):
        inner = name in ("find_path", "_lower")  # the search contains them, which is one more
        assert done.stderr.count(f"function {name} ") == inner, name


@pytest.mark.parametrize("coding", [False, True])
def test_the_parts_of_site_mode_compile_what_its_sweep_calls(coding, inputs):
    cache = {"NUMBA_CACHE_DIR": str(inputs / "cache")}
    for part in ("follow", "sweep"):
        arguments = f"{part} complete" if coding else part
        assert not python(inputs, "-m", "gpu_tools.sites.cpu.parts", arguments, **cache).returncode
    line = ["spliced-align", "--base", "base.fa", "--targets", "targets.fa", "--device", "cpu"]
    line += ["--site-model", "vertebrate", "--output", "out", *(["--coding"] if coding else [])]
    done = python(inputs, "-c", COUNTING, *line, **cache)
    assert done.returncode == 0
    assert done.stderr.count("function restore ") == 1
    for name in ("follow", "sweep_coding_block" if coding else "sweep_block"):
        assert done.stderr.count(f"function {name} ") == 0, name


def test_commands_can_be_chosen(inputs):
    line, cache = ["-m", "gpu_tools", "warm-up", "max-segments", "--device", "cpu"], inputs / "c"
    done = python(inputs, *line, NUMBA_CACHE_DIR=str(cache))
    runs = [run for run in TINY_RUNS if run.command == "max-segments"]
    assert done.returncode == 0
    assert done.stderr.count("remain") == len(runs) - 1
    assert len(list(cache.rglob("warm-up-*.txt"))) == 1


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


@pytest.mark.parametrize(
    ("command", "compiles_for"), [("spliced-align", "cuda:0"), ("none", "cpu")]
)
def test_a_first_call_on_a_gpu_compiles_for_the_gpu(command, compiles_for, monkeypatch):
    """List mode has parts that only a CPU compiles: they do not make the device a CPU."""
    devices = []

    class Nothing:
        def __init__(self, device):
            self.device = device
            devices.append(device)

        def missing(self, runs):
            return []

    monkeypatch.delenv(IN_RUN)
    monkeypatch.setattr(warming, "Warming", Nothing)
    program = click.Context(cli, info_name="gpu-tools")
    context = click.Context(cli, info_name=command, parent=program)
    with warming.compiling_side_by_side(context, {"device": "cuda:0", "quiet": True}):
        about_to_compile()
    assert devices == [compiles_for]


def test_a_run_that_fails_is_told_and_not_recorded():
    bad = TinyRun("max-segments", "--sequence none.fa --scale gc", frozenset(), ON_BOTH)
    told = []
    (failure,) = Warming("cpu").run([bad], 1, told.append)
    assert "none.fa" in failure
    assert Warming("cpu").missing([bad]) == [bad]
    assert told == []


def test_what_remains_is_told():
    runs = [TinyRun("max-segments", f"--sequence none{k}.fa --scale gc", frozenset(), ON_BOTH)
            for k in range(3)]  # fmt: skip
    told = []
    assert len(Warming("cpu").run(runs, 2, told.append)) == 3
    assert told == [f"compiling, once: {n} of 3 parts remain" for n in (2, 1)]


@pytest.mark.parametrize(
    "run", [r for r in TINY_RUNS if r.module is None], ids=lambda r: r.arguments
)
def test_a_runs_options_choose_its_modes(run, inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    words = [*run.line("cpu")[2:], "--output", "out"]
    command, context = cli, None
    while hasattr(command, "get_command"):
        context = command.make_context("gpu-tools", words, parent=context)
        words = [*context._protected_args, *context.args]
        name, command, words = command.resolve_command(context, words)
    assert modes_of(command.make_context(name, words, parent=context).params) == run.modes - {WIDE}


def test_devices_to_warm():
    assert devices_to_warm("cpu") == ["cpu"]


@pytest.mark.cuda
def test_with_a_gpu_auto_is_both():
    assert devices_to_warm("auto") == ["cpu", "cuda:0"]
    assert devices_to_warm("cuda") == ["cuda:0"]


@pytest.mark.cuda
@pytest.mark.skipif(simulated(), reason="the simulator compiles no kernels")
@pytest.mark.parametrize("modes", ["", "site_model", "site_model coding", "site_model proteins"])
def test_parts_for_gpus_compile_what_a_call_on_a_gpu_uses(modes, inputs):
    """Other types would be compiled again."""
    runs = [r for r in TINY_RUNS if r.command == "spliced-align" and r.modes == {*modes.split()}]
    parts = [r for r in runs if r.module and r.is_for("cuda:0")]
    (run,) = [r for r in runs if not r.module]
    cache = {"NUMBA_CACHE_DIR": str(inputs / "cache")}
    for part in parts:
        assert not python(inputs, *part.line("cuda:0"), **cache).returncode
    line = [*run.line("cuda:0")[2:], "--output", "out"]
    done = python(inputs, "-c", MISSED, parts[0].module.split(".")[1], *line, **cache)
    assert done.returncode == 0, done.stderr
    used, compiled = map(str.split, done.stdout.splitlines())
    assert set(used) == {part.arguments for part in parts} - {"steps"}
    assert compiled == []
