"""Suggestions for mistyped names."""

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import did_you_mean


@pytest.mark.parametrize(
    ("name", "known", "suggested"),
    [
        ("1", ["chr2", "chr1"], "'chr1'"),
        ("NM_1", ["NM_12.1", "NM_1.4"], "'NM_1.4'"),
        ("nm_1.2", ["NM_1.4", "x"], "'NM_1.4'"),
        ("kyte", ["gc", "kyte-doolittle"], "'kyte-doolittle'"),
        ("verterbate", ["fly", "vertebrate"], "'vertebrate'"),
        ("zebra", ["fly", "worm"], ""),
        ("", ["fly"], ""),
    ],
)
def test_names_that_are_alike(name, known, suggested):
    assert did_you_mean(name, known) == (suggested and f" (did you mean {suggested}?)")


COMMANDS = {
    "spliced-align --base a.fa --targets a.fa --site-model vertebate": "'vertebrate'",
    "spliced-align --base a.fa --targets a.fa --site-model fly --region CHR1:1-4": "'chr1.2'",
    "sequences cut --fasta a.fa --record chr1": "'chr1.2'",
    "exons predict --base a.fa --model vertebrates": "'vertebrate'",
    "exons convert e.bed --base a.fa --to gff3": "'chr1.2'",
    "max-segments --sequence a.fa --scale kyte": "'kyte-doolittle'",
    "local-align --query a.fa --subject a.fa --matrix blosun62": "'BLOSUM62'",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_suggest_names(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.fa").write_text(">chr1.2\nACGTACGTTT\n>b\nACGT\n")
    (tmp_path / "e.bed").write_text("chr1\t1\t3\n")
    assert main(command.split()) == 1
    assert f"(did you mean {COMMANDS[command]}" in capsys.readouterr().err
