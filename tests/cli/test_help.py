"""Help and errors of usage."""

import shlex
import subprocess
import sys

import click
import pytest

from gpu_tools.cli.common.grouped import _GROUPS as GROUPS
from gpu_tools.cli.common.grouped import GroupedCommand
from gpu_tools.cli.common.options import _OUTPUTS as OUTPUTS
from gpu_tools.cli.main import EXAMPLES, SUMMARIES, cli, main


def leaves(group, words=()):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        else:
            yield " ".join((*words, name)), command


COMMANDS = dict(leaves(cli))


def test_what_is_also_written_is_checked_as_an_output_and_has_its_group():
    written = {
        (option.name, isinstance(command, GroupedCommand))
        for command in COMMANDS.values() for option in command.params
        if (getattr(option, "help", None) or "").startswith("Also write")
    }  # fmt: skip
    assert {name for name, _ in written} - {"figures"} <= {*OUTPUTS}  # which are a folder
    assert {name for name, grouped in written if grouped} <= {*GROUPS["Output"]}


def test_every_command_has_an_example():
    assert EXAMPLES.keys() == COMMANDS.keys()


@pytest.mark.parametrize("group", [(), ("exons",), ("sequences",), ("sites",)], ids=" ".join)
def test_a_group_lists_each_command_in_one_whole_line(group, capsys):
    assert main([*group, "--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands:\n")[2].splitlines()
    for line in listed:
        name, summary = line.split(maxsplit=1)
        assert summary == SUMMARIES[" ".join((*group, name))]


def test_help_names_no_limit_that_nobody_reaches(capsys):
    assert main(["spliced-align", "--help"]) == 0
    assert "2147483647" not in capsys.readouterr().out
    assert main(["sequences", "cut", "--fasta", "a.fa", "--flank", str(2**31)]) == 2
    assert "is not in the range 0<=x<=2147483647" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_ends_with_an_example_that_fits_the_command(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    example = capsys.readouterr().out.partition("Example:\n")[2]
    words = shlex.split(example.replace("\\\n", " "))
    assert words == shlex.split(EXAMPLES[name])
    assert words[: 1 + len(name.split())] == ["gpu-tools", *name.split()]
    command = COMMANDS[name]
    context = click.Context(command)
    command.parse_args(context, words[1 + len(name.split()) :])  # raises where it does not fit


@pytest.mark.parametrize(
    ("words", "suggested"),
    [(["spliced-aling"], "spliced-align"), (["sequences", "cot"], "cut"),
     (["devices", "--ouput", "x"], "--output")],
)  # fmt: skip
def test_what_is_mistyped_is_suggested(words, suggested, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert "Did you mean" in error
    assert suggested in error


def test_what_is_like_nothing_has_no_suggestion(capsys):
    assert main(["xyzzy"]) == 2
    assert "Did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("gpu-tools spl", "plain,spliced-align\nplain,spliced-estimate\n"),
        ("gpu-tools devices --ou", "plain,--output\n"),
    ],
)
def test_the_shell_completes_commands_and_options(typed, completed, monkeypatch, capsys):
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    monkeypatch.setenv("_GPU_TOOLS_COMPLETE", "bash_complete")
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out == completed


def test_help_and_plain_commands_do_not_wait_for_the_compiler():
    plain = (
        "annotate", "devices", "exons.convert", "global_align", "lift", "local_align",
        "match_approximate", "match_exact", "max_segments", "report", "sequences.cut",
        "sequences.fetch", "sequences.translate", "spliced_align", "spliced_estimate", "warm_up",
    )  # fmt: skip
    code = "import sys\nfrom gpu_tools.cli.main import main\nmain(['--help'])\n"
    code += "assert 'numpy' not in sys.modules\n"
    code += "".join(f"import gpu_tools.cli.{name}\n" for name in plain)
    code += "assert not {'numba', 'llvmlite'} & set(sys.modules)\n"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
