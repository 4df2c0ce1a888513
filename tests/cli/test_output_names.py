"""Names of outputs choose the format and the compression; standard output has its own option."""

import gzip
import re
import subprocess
import sys

import pysam
import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.formats.files import compression_of, open_output
from gpu_tools.model.resources import resource_path
from gpu_tools.sites.model import load_sites
from tests.cli.test_promises import COMMANDS

TEXT = "ATGGCCAAATTTGGGCCCTAACGTACGATCGATTTACGGC"
SPLICED = "spliced-align --base s.fa --exons e.bed --targets s.fa --all-alignments"
PAIRS = "global-align --query s.fa --subject s.fa"
NAMES = ("a.gff3", "a.gff", "a.gtf", "a.bed", "a.paf", "a.sam")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.fa").write_text(f">chr1\n{TEXT}\n")
    (tmp_path / "e.bed").write_text("chr1\t0\t40\n")
    return tmp_path


def run(command, *more):
    words = command.split()
    device = [] if words[0] in ("sequences", "exons") else ["--device", "cpu", "--quiet"]
    return main([*words, *device, *more])


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.split()[0])
def test_every_output_is_bgzipped_by_its_name(folder, command):
    named = command.replace(" --dot-plot a.svg", "").replace("a.gff3", "b.gff3")
    outputs = [word for word in named.split() if word.startswith(("a.", "b."))]
    assert run(named, "--output", "out") == 0
    packed = " ".join(f"{word}.gz" if word in outputs else word for word in named.split())
    assert run(packed, "--output", "out.gz") == 0
    for name in (*outputs, "out"):
        with (folder / f"{name}.gz").open("rb") as stream:
            assert compression_of(stream) == "bgzip"
            assert gzip.decompress(stream.read()) == (folder / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_alignments_to_standard_output(folder, capsys, name):
    format = name[2:].replace("gff", "gff3").replace("33", "3")
    assert run(SPLICED, "--output", "out", "--alignments", name) == 0
    for stream in ("-", "/dev/stdout"):
        more = ("--alignments", stream, "--alignments-format", format)
        assert run(SPLICED, "--output", "out", *more) == 0
        shown = capsys.readouterr().out
        assert without_command(shown) == without_command((folder / name).read_text())


def without_command(text):
    """Return SAM without its command line."""
    return re.sub(r"\tCL:.*", "", text)


def test_sam_and_bam_tell_the_command_line(folder):
    more = ("--alignments", "a.sam", "--alignments", "a.bam", "--output", "out")
    assert run(SPLICED, *more) == 0
    command = f"gpu-tools {SPLICED} --device cpu --quiet {' '.join(more)}"
    for name in ("a.sam", "a.bam"):
        with pysam.AlignmentFile(folder / name) as source:
            (program,) = source.header.to_dict()["PG"]
        assert program["CL"] == command
        assert program["PN"] == "gpu-tools"


def test_a_command_line_of_any_characters_stands_in_sam(folder):
    (folder / "s.fa").rename(folder / "ä\tb.fa")
    words = SPLICED.replace("s.fa", "SEQUENCES").split()
    words = ["ä\tb.fa" if word == "SEQUENCES" else word for word in words]
    more = ("--device", "cpu", "--quiet", "--alignments", "a.sam", "--output", "out")
    assert main([*words, *more]) == 0
    with pysam.AlignmentFile(folder / "a.sam") as source:
        (program,) = source.header.to_dict()["PG"]
    assert "'\\xe4 b.fa'" in program["CL"]


@pytest.mark.parametrize("name", ["a.paf", "a.sam", "a.txt"])
def test_pairwise_alignments_to_standard_output(folder, capsys, name):
    more = ("--alignments", name, "--alignments", "-", "--alignments-format", name[2:])
    assert run(PAIRS, "--output", "out", *more) == 0
    assert capsys.readouterr().out == (folder / name).read_text()


def test_bam_to_standard_output(folder):
    command = f"{SPLICED} --device cpu --output out --alignments - --alignments-format bam"
    done = subprocess.run([sys.executable, "-m", "gpu_tools", *command.split()],
                          capture_output=True, check=True)  # fmt: skip
    (folder / "x.bam").write_bytes(done.stdout)
    with pysam.AlignmentFile("x.bam") as source:
        assert [record.query_name for record in source] == ["chr1"]
    assert {path.name for path in folder.iterdir()} == {"s.fa", "e.bed", "out", "x.bam"}


def test_a_model_that_was_written_compressed_is_read(folder):
    text = resource_path("models", "sites", "fly.json").read_text()
    with open_output(folder / "fly.json.gz") as stream:
        stream.write(text)
    assert load_sites(folder / "fly.json.gz").fingerprint == load_sites("fly").fingerprint
    content = (folder / "fly.json.gz").read_bytes()
    for damaged in (content[:-40], content[:30], content[:200] + b"x" * 200):
        (folder / "fly.json.gz").write_bytes(damaged)
        with pytest.raises(InputError, match="broken compression"):
            load_sites(folder / "fly.json.gz")
