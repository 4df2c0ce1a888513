"""Names of options: one a thing in help, others understood, inputs also without a name."""

import click
import pytest

import gpu_tools
from gpu_tools.cli.common.grouped import _GROUP_OF, SCORING, GroupedCommand
from gpu_tools.cli.common.options import CDNA, GENOMIC, option
from gpu_tools.cli.main import main
from gpu_tools.model.resources import installed_version
from tests.cli.test_help import COMMANDS

GROUPED = {name: one for name, one in COMMANDS.items() if isinstance(one, GroupedCommand)}


def values_of(name, *words):
    """Return the parameters that a command takes of words."""
    command = COMMANDS[name]
    return command.make_context(name, [*words]).params


def help_of(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("alias", GENOMIC)
@pytest.mark.parametrize(
    ("name", "more", "parameter"),
    [
        ("spliced-align", [], "base"), ("spliced-estimate", [], "base"),
        ("annotate", ["--site-model", "fly"], "genome"), ("exons predict", [], "base"),
        ("exons cut", ["in"], "base"), ("exons convert", ["in", "--to", "bed"], "base"),
        ("exons train", ["--annotation", "x", "--name", "x"], "base"),
        ("sites train", ["--annotation", "x", "--name", "x"], "genome"),
        ("sequences cut", [], "fasta"), ("report", ["in"], "genome"),
    ],
)  # fmt: skip
def test_genomic_sequences_have_the_same_names_everywhere(name, more, parameter, alias):
    assert values_of(name, *more, alias, "a.fa")[parameter] == "a.fa"


@pytest.mark.parametrize("alias", CDNA)
@pytest.mark.parametrize("name", ["spliced-align", "spliced-estimate", "annotate"])
def test_cdnas_have_the_same_names_everywhere(name, alias):
    more = ["--site-model", "fly"] if name == "annotate" else []
    found = values_of(name, "--genome", "a.fa", *more, alias, "b.fa")
    assert found["cdnas" if name == "annotate" else "targets"] in ("b.fa", ("b.fa",))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_names_genomic_sequences_and_cdnas_once(name, capsys):
    text = help_of(name, capsys)
    assert "  --base " not in text
    assert "  --targets " not in text


def test_an_alias_does_not_take_the_name_of_another_option():
    @click.command()
    @option("--cdnas FASTA", "One.", aliases=CDNA, multiple=True)
    @option("--targets FASTA", "Another.")
    def command(cdnas, targets):
        pass

    words = ["--targets", "a", "--cdnas", "b"]
    assert command.make_context("x", words).params == {"targets": "a", "cdnas": ("b",)}


@pytest.mark.parametrize(
    ("name", "words", "found"),
    [
        ("annotate", "g.fa p.fa q.fa", {"genome": "g.fa", "proteins": ("p.fa", "q.fa")}),
        ("annotate", "g.fa --cdnas c.fa", {"genome": "g.fa", "proteins": (), "cdnas": ("c.fa",)}),
        ("annotate", "--proteins p.fa g.fa q.fa", {"genome": "g.fa", "proteins": ("p.fa", "q.fa")}),
        ("spliced-align", "g.fa c.fa", {"base": "g.fa", "targets": "c.fa"}),
        ("spliced-align", "g.fa --proteins p.fa", {"base": "g.fa", "proteins": "p.fa"}),
    ],
)
def test_inputs_need_no_name(name, words, found):
    values = values_of(name, *words.split(), "--site-model", "fly")
    assert {key: values[key] for key in found} == found


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("annotate --site-model fly", "Missing option '--genome'"),
        ("annotate g.fa --site-model fly", "give --proteins or --cdnas"),
        ("annotate --genome g.fa p.fa --site-model fly",
         "'p.fa' is an argument in the place of --genome, which is given too"),
        ("spliced-align g.fa c.fa --base x --site-model fly", "in the place of --genome"),
        ("spliced-align g.fa c.fa d.fa --site-model fly", "unexpected extra argument (d.fa)"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_wrong_usage(words, said, capsys):
    assert main(words.split()) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", GROUPED)
def test_help_in_groups_has_every_option_once(name, capsys):
    text = help_of(name, capsys)
    for param in COMMANDS[name].params:
        assert any(f"  {name}" in text or f", {name}" in text for name in param.opts), param.name
    headings = ["Inputs:", "Search and scoring:", "Splice evidence:", "Scores of proteins:",
                "What is accepted:", "Output:", "Machine:"]  # fmt: skip
    groups = {_GROUP_OF.get(param.name, SCORING) for param in COMMANDS[name].params}
    headings = [heading for heading in headings if heading.removesuffix(":") in groups]
    assert [line for line in text.splitlines() if line in headings] == headings
    assert "--help  " in text.partition("Machine:")[2]


def test_groups_name_parameters_that_exist():
    known = {param.name for command in GROUPED.values() for param in command.params}
    assert set(_GROUP_OF) - known == {"help", "_click_default_help"}


def test_short_names(capsys):
    assert values_of("devices", "--output", "x")["output"] == "x"
    assert values_of("global-align", "--query", "a", "--subject", "b", "-t", "3")["threads"] == 3
    for word in ("-V", "--version"):
        assert main([word]) == 0
        assert installed_version() in capsys.readouterr().out


def test_the_package_has_its_version():
    assert gpu_tools.__version__ == installed_version()
    assert "__version__" in dir(gpu_tools)
