"""A job of Snakemake's as the command line of a gpu-tools command."""

from types import SimpleNamespace

import click
import pytest
from snakemake.iocontainers import InputFiles, OutputFiles, Params, ResourceList

from gpu_tools.cli.common.rule import job_arguments, run_rule


def job(inputs=(), outputs=(), params=(), log=(), threads=4, gpu=1):
    return SimpleNamespace(
        input=InputFiles(fromdict=dict(inputs)),
        output=OutputFiles(fromdict=dict(outputs)),
        params=Params(fromdict=dict(params)),
        log=list(log),
        threads=threads,
        resources=ResourceList(fromdict={"gpu": gpu}),
    )


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"match": 1, "exon_weight": 0.5}, ["--match", "1", "--exon-weight", "0.5"]),
        ({"model": None, "coding": False, "best": True}, ["--best"]),
        ({"base": ["a", "b"]}, ["--base", "a", "--base", "b"]),
        ({"pair": [("a", "x"), ("a", "y")]}, ["--pair", "a", "x", "--pair", "a", "y"]),
        ({"version": "0.1.0"}, []),
        ({"device": "cpu"}, ["--threads", "4", "--device", "cpu"]),
        ({"provider": "genscan"}, ["--threads", "4", "--provider", "genscan"]),
        ({"gap": 0}, ["--gap", "0"]),
    ],
)
def test_params_are_options(params, expected):
    assert job_arguments(job(params=params)) == expected


def test_named_files_are_options_and_unnamed_inputs_arguments():
    """An unnamed one that begins with - is no option."""
    made = job()
    made.input = InputFiles(["-given.gff3", "-locus.fa"])
    made.input._set_name("base", 1)
    made.output = OutputFiles(["beside.fai", "cut.gff3"])
    made.output._set_name("output", 1)
    words = ["--base", "-locus.fa", "--output", "cut.gff3", "--", "-given.gff3"]
    assert job_arguments(made) == words
    taken = {}

    @click.command()
    @click.argument("exons")
    @click.option("--base")
    @click.option("--output")
    def command(**options):
        taken.update(options)

    command.main(words, standalone_mode=False)
    assert taken == {"exons": "-given.gff3", "base": "-locus.fa", "output": "cut.gff3"}


@pytest.mark.parametrize(
    ("device", "gpu", "last"), [("auto", 0, "cpu"), ("auto", 1, "auto"), ("cuda:0", 0, "cuda:0")]
)
def test_auto_without_a_gpu_for_the_job_is_the_cpu(device, gpu, last):
    assert job_arguments(job(params={"device": device}, gpu=gpu))[-2:] == ["--device", last]


def test_indexes_are_written_beside_what_they_index():
    made = job(outputs={"output": "x.fa.gz", "fai": "x.fa.gz.fai", "gzi": "x.fa.gz.gzi"})
    assert job_arguments(made) == ["--output", "x.fa.gz"]


def test_standard_error_and_exit_code_are_the_jobs(tmp_path, capsys):
    log = tmp_path / "job.log"
    made = job(inputs={"fasta": str(tmp_path / "none.fa")}, params={"record": "x"}, log=[log])
    with pytest.raises(SystemExit) as stopped:
        run_rule("sequences cut", made)
    assert stopped.value.code == 1
    assert log.read_text().startswith(f"gpu-tools: error: {tmp_path / 'none.fa'}: cannot be read")
    assert capsys.readouterr().err == ""


def test_a_script_may_bring_its_own_command():
    seen = []

    @click.command("mine")
    @click.option("--name")
    def command(name):
        seen.append(name)

    run_rule(command, job(params={"name": "n"}))
    assert seen == ["n"]
