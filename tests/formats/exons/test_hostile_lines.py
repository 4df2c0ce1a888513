"""Lines made to take long, attributes of every spelling, and names that BED cannot hold."""

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import OutputError
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.exons.predictors import parse_genscan
from gpu_tools.formats.tables import bed_line
from tests.cli.damage import FILES

LONG = 200_000


def attribute(text, key="ID"):
    line = "\t".join(["c", "x", "exon", "1", "2", ".", "+", ".", text])
    (feature,) = features("x.gff3", [(1, line)])
    return feature.attribute(key)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ID=a", "a"), ("x=1;ID=a;ID=b", "a"), (" ID=a b ; x", "a b"), ("ID=", ""), ("ID", None),
        ('ID "a"; x "b";', "a"), ('x "b";  ID  "a b"', "a b"), ("ID a", "a"), ("xID=a", None),
        ("IDx=a", None), ('ID="a"', "a"), ('ID="a', '"a'), ("", None), (".", None),
        (";;ID=a;", "a"), ('ID ""', ""),
    ],
)  # fmt: skip
def test_attributes(text, value):
    assert attribute(text) == value


@pytest.mark.parametrize("text", ["ID" + " " * LONG + "\x00;", ";" * LONG, '"' * LONG, " " * LONG])
def test_attributes_that_are_long(text):
    """A pattern that tries each blank together with each other takes minutes here."""
    assert attribute(text, "exon_type") is None


def test_reports_whose_lines_are_long():
    lines = FILES["report.txt"].decode().splitlines()
    blanks = " " * LONG
    lines.insert(2, f"Sequence{blanks}chr1{blanks}x")
    lines[3] = lines[3].replace("chr1 :", f"chr1{blanks}:{blanks}")
    (exons,) = parse_genscan("report.txt", enumerate(lines, 1)).values()
    assert np.array_equal(exons.starts, [200, 500])


@pytest.mark.parametrize("name", ["#x", "track", "browser", "track x", "a\tb", "a\nb", ""])
def test_names_that_bed_cannot_hold(name):
    with pytest.raises(OutputError, match="cannot stand in BED"):
        bed_line(name, 0, 1)


@pytest.mark.parametrize("name", ["x#", "tracks", "trackx", "browser1", "a b", "chr1"])
def test_names_that_bed_can_hold(name):
    assert bed_line(name, 0, 1) == f"{name}\t0\t1\n"


@pytest.mark.parametrize("name", ["#x", "track"])
def test_a_bed_file_that_would_lose_lines_is_not_written(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.fa").write_text(f">{name}\nGGGACGT\n")
    (tmp_path / "p.fa").write_text(">p\nACGT\n")
    for command in (
        "max-segments --sequence s.fa --scale gc", "match-exact --patterns p.fa --text s.fa",
    ):  # fmt: skip
        assert main([*command.split(), "--device", "cpu", "--output", "o", "--bed", "b"]) == 1
        assert f"the name {name!r} cannot stand in BED" in capsys.readouterr().err
        assert not (tmp_path / "o").exists()
        assert not (tmp_path / "b").exists()
