"""What the tab key completes."""

import pytest
from click.shell_completion import ShellComplete

from gpu_tools.cli.main import cli


def completions(*words):
    """Return the values and types that the last word may become."""
    complete = ShellComplete(cli, {}, "gpu-tools", "_GPU_TOOLS_COMPLETE")
    found = complete.get_completions(list(words[:-1]), words[-1])
    return [(item.value, item.type) for item in found]


FILES = {
    "an input": ("annotate", "--genome", "gen"),
    "an input without a name": ("annotate", "gen"),
    "the second one": ("spliced-align", "locus.fa", "gen"),
    "an argument": ("exons", "convert", "gen"),
    "results": ("report", "gen"),
    "a file instead of a name": ("annotate", "--site-model", "gen.json"),
    "an output": ("annotate", "-o", "gen"),
}


@pytest.mark.parametrize("name", FILES)
def test_names_of_files_are_completed(name):
    words = FILES[name]
    assert completions(*words) == [(words[-1], "file")]


def test_folders_are_completed():
    assert completions("annotate", "--work", "kept") == [("kept", "dir")]


def test_shipped_names_are_completed():
    assert completions("annotate", "--site-model", "ver") == [("vertebrate", "plain")]
    assert ("auto", "plain") in completions("spliced-align", "--site-model", "a")
    assert ("BLOSUM62", "plain") in completions("local-align", "--matrix", "blo")
    assert completions("max-segments", "--scale", "c") == [("cpg", "plain")]


def test_commands_and_options_are_completed():
    assert ("annotate", "plain") in completions("ann")
    assert ("--genome", "plain") in completions("annotate", "--gen")
