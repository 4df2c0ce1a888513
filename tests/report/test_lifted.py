"""The page of a lift: a row a gene, what happened, and what was lost, as the files say."""

import json

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.lift.tables import COLUMNS, UNMAPPED_COLUMNS
from gpu_tools.report.lifted import (
    charts_of_lift,
    gene_table,
    lift_cards,
    read_lift,
    unmapped_table,
)

PLACE = ("chr1", 101, 600, "+", "one", 51, 550, "+", 3, 3)
ROWS = [
    ("a", "a.1", 0, *PLACE, "1.0000", "0.9900", "0.9800", "intact"),
    ("a", "a.2", 0, *PLACE[:2], 700, *PLACE[3:], "0.9000", "0.9500", "0.5000",
     "frameshift, stop inside"),
    ("a", "a.1", 1, *PLACE, "1.0000", "0.9900", "0.9800", "intact"),
    ("b", "b", 0, "chr2", 1, 90, "-", "one", 801, 890, "+", 1, 1, "1.0000", "1.0000", ".",
     "intact"),
]  # fmt: skip
UNMAPPED = [
    ("c", ".", "one", 901, 990, "+", "no place of enough similarity"),
    ("a", "a.3", "one", 51, 550, "+", "none of its exons is left"),
    ("d", ".", ".", ".", ".", ".", "line 7 of the annotation: strand '?'"),
]


def table(head, rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in (head, *rows))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lifted.tsv").write_text(table(COLUMNS, ROWS))
    (tmp_path / "unmapped.tsv").write_text(table(UNMAPPED_COLUMNS, UNMAPPED))
    (tmp_path / "summary.json").write_text(json.dumps({"site_model": "worm"}))
    return tmp_path


def test_a_row_a_gene(folder):
    found = read_lift(folder)
    rows = gene_table(found).rows
    assert [row[:6] for row in rows] == [
        ["a", None, "chr1", 101, 700, "+"], ["a", 1, "chr1", 101, 600, "+"],
        ["b", None, "chr2", 1, 90, "-"],
    ]  # fmt: skip
    assert rows[0][6:11] == [2, 0.95, 0.97, 0.5, "frameshift, stop inside"]
    assert rows[2][9:11] == [None, "intact"]
    assert rows[0][11] == "one"
    assert found.lost == {"c", "d"}
    assert unmapped_table(found).rows[2][:6] == ["d", None, None, None, None, None]


def test_numbers_and_charts(folder):
    found = read_lift(folder)
    cards = {card.meaning: card for card in lift_cards(found)}
    assert cards["genes carried over"].number == "2 of 4"
    assert cards["genes carried over"].note == "and 1 further copy"
    assert cards["transcripts are intact"].number == "2 of 3"
    assert cards["genes lie on the other strand"].number == "1"
    charts = charts_of_lift(found)
    assert set(charts) == {"synteny", "identities", "statuses", "lost"}
    kinds = [point["kind"] for point in charts["synteny"]["data"]["values"]]
    assert kinds == ["same strand", "copy", "other strand"]
    lost = {bar["word"]: bar["number"] for bar in charts["lost"]["layer"][0]["data"]["values"]}
    assert lost == {"no place of enough similarity": 1, "odd in the annotation": 1}


def test_the_command_writes_page_and_figures(folder):
    output, figures = folder / "page.html", folder / "figures"
    words = [folder, "--output", output, "--figures", figures, "--title", "Genes & more"]
    assert main(["report", *map(str, words), "--quiet"]) == 0
    text = output.read_text()
    assert "<h1>Genes &amp; more</h1>" in text
    assert "2 of 4</b><span>genes carried over" in text
    assert "site model" in text
    assert (figures / "synteny.svg").stat().st_size


@pytest.mark.parametrize(
    ("row", "column", "text", "problem"),
    [(1, "identity", "1.2", "identity 1.2 is out of range"), (2, "start", "x", "'x' is not an")],
)
def test_damaged_tables_are_errors(folder, row, column, text, problem):
    lines = (folder / "lifted.tsv").read_text().splitlines()
    fields = lines[row].split("\t")
    fields[COLUMNS.index(column)] = text
    lines[row] = "\t".join(fields)
    (folder / "lifted.tsv").write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError) as caught:
        read_lift(folder)
    assert problem in str(caught.value)
    assert caught.value.line == row + 1


def test_a_damaged_summary_is_an_error(folder):
    (folder / "summary.json").write_text("{")
    with pytest.raises(InputError, match="no summary of a lift"):
        read_lift(folder)


def test_a_lift_without_any_gene(folder):
    (folder / "lifted.tsv").write_text(table(COLUMNS, []))
    found = read_lift(folder)
    assert lift_cards(found)[0].number == "0 of 3"
    assert set(charts_of_lift(found)) == {"lost"}
    assert main(["report", str(folder), "--output", str(folder / "x.html"), "--quiet"]) == 0
