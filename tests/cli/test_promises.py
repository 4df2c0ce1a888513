"""What docs/guide/security.md promises of files, and that each test it names is there."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.cli.main import main
from tests.cli.damage import FILES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guide" / "security.md"
PATHS = ("../outside", "/outside", "a/b", "..", "folder/../../outside", "~", "$HOME", "`id`", ";id")
COMMANDS = (
    "spliced-align --base s.fa --exons e.bed --targets s.fa --all-alignments --alignments a.gff3"
    " --alignments a.bed --alignments a.paf --alignments a.gtf",
    "local-align --query s.fa --subject s.fa --alignments a.paf --dot-plot a.svg",
    "max-segments --sequence s.fa --scale gc --bed a.bed --gff3 a.gff3",
    "match-exact --patterns s.fa --text s.fa --bed a.bed",
    "sequences translate --fasta s.fa",
    "exons convert e.bed --to gff3",
)


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_a_name_is_never_a_path(tmp_path, monkeypatch, command, name):
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "s.fa").write_text(f">{name}\nATGGCCAAATTTGGGCCCTAA\n")
    (folder / "e.bed").write_text(f"{name}\t0\t21\n")
    words = command.split()
    outputs = {word for word in words if word.startswith("a.")} | {"out"}
    device = [] if words[0] in ("sequences", "exons") else ["--device", "cpu"]
    assert main([*words, *device, "--output", "out"]) == 0
    assert {path.name for path in folder.iterdir()} == outputs | {"s.fa", "e.bed"}
    assert list(tmp_path.iterdir()) == [folder]


class Harmful:
    """An object that, read back, runs a command."""

    def __reduce__(self):
        return subprocess.check_call, ([sys.executable, "-c", "open('run', 'w')"],)


@pytest.mark.parametrize("shape", [(1,), (1, 1)])
def test_no_array_is_executed(tmp_path, monkeypatch, capsys, shape):
    monkeypatch.chdir(tmp_path)
    array = np.empty(shape, object)
    array.fill(Harmful())
    np.save("x.npy", array, allow_pickle=True)
    command = ["max-segments", "--values"] if len(shape) == 1 else ["max-submatrix", "--matrix"]
    assert main([*command, "x.npy", "--device", "cpu"]) == 1
    assert "x.npy: not an array of numbers" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_no_module_of_the_folder_is_imported(tmp_path):
    """Python looks for modules where the program lies, not where it is called."""
    for name in ("json.py", "numpy.py", "pysam.py", "sitecustomize.py"):
        (tmp_path / name).write_text("open('run', 'w')\n")
    (tmp_path / "base.fa").write_bytes(FILES["base.fa"])
    program = Path(sys.executable).with_name("gpu-tools")
    if not program.exists():
        pytest.skip("gpu-tools is not installed")
    command = [program, "sequences", "cut", "--fasta", "base.fa", "--output", "out"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert not (tmp_path / "run").exists()


def test_every_promise_names_tests_that_are_there():
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    promises = [row for row in rows if row not in ("| promise | test |", "|---|---|")]
    assert len(promises) == 15
    for row in promises:
        named = re.findall(r"`(tests/[\w/.]+)`", row)
        assert named, row
        assert all((ROOT / name).exists() for name in named), row
