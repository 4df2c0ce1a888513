"""The page of a gene set: its figures agree with the files, and what is wrong is said."""

import json
import re
import shutil

import pytest
import vl_convert

from gpu_tools.cli.main import main
from gpu_tools.report.gene_set import _table, charts_of, completeness, gene_cards, read_gene_set

GENES = [
    ("chr|1:1", "+", [(100, 200), (300, 450)], "t<1>", "0.91"),
    ("chr|1:2", "-", [(2000, 2100)], "t2", "0.62"),
]
HEAD = [
    "gene", "record", "strand", "start", "end", "mrnas", "exons", "best_target", "score", "evalue",
    "identity", "coverage",
]  # fmt: skip
OF_TARGETS = ["target", "kind", "length", "found", "loci", "gene", "identity", "coverage",
              "accepted"]  # fmt: skip
TARGETS = [
    ("t<1>", "protein", "80", "yes", "1", "chr|1:1", "0.91", "1.0000", "yes"),
    ("t2", "protein", "90", "yes", "2", "chr|1:2", "0.62", "0.5000", "yes"),
    ("t3", "cDNA", "90", "no", "0", ".", ".", ".", "no"),
    ("t4", "cDNA", "90", "no", "0", ".", "0.80", "0.2000", "part"),
]
SUMMARY = {
    "introns": {"GT-AG": 1}, "complete": 2, "broken_mrnas": 3, "pseudogenes": 1, "dropped_hits": 0,
}  # fmt: skip


def table(head, rows):
    return "".join("\t".join(map(str, row)) + "\n" for row in (head, *rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files of a gene set of two genes."""
    path = tmp_path_factory.mktemp("genes")
    lines, rows = ["##gff-version 3", "##sequence-region chr%7C1 1 5000"], []
    for name, strand, exons, target, identity in GENES:
        for number in (1, 2):  # a second structure does not count
            lines += [
                f"chr%7C1\tx\texon\t{start + 1}\t{end}\t.\t{strand}\t.\tParent=mRNA:{name}.{number}"
                for start, end in exons
            ]
        rows.append((name, "chr|1", strand, exons[0][0] + 1, exons[-1][1], 2, len(exons), target,
                     50, "1e-9", identity, "1.0000"))  # fmt: skip
    (path / "genes.gff3").write_text("\n".join(lines) + "\n")
    (path / "genes.tsv").write_text(table(HEAD, rows))
    (path / "targets.tsv").write_text(table(OF_TARGETS, TARGETS))
    (path / "summary.json").write_text(json.dumps(SUMMARY))
    (path / "conserved.txt").write_text("one\tt<1>\none\tt3\nt2\nmine\tt3\nt4\n")
    return path


def test_figures_are_those_of_the_files(folder):
    found = read_gene_set(folder, folder / "conserved.txt")
    assert found.record_lengths == {"chr|1": 5000}
    assert sorted(found.exon_lengths) == [100, 100, 150]
    assert found.intron_lengths == [100]
    assert list(found.conserved.values()) == [1, 0, 2, 1]
    numbers = [(card.number, card.meaning) for card in gene_cards(found)]
    assert ("2 of 4", "targets have a gene") in numbers
    assert ("3", "mRNAs with frameshifts or stop codons inside") in numbers
    notes = [card.note for card in gene_cards(found)]
    assert {"and 1 a part of one", "1 pseudogene"} <= {*notes}
    assert ("100.0 %", "of introns are GT-AG") in numbers
    assert ("1 of 4", "conserved families are complete") in numbers


def test_the_table_of_genes_has_the_columns_that_are_known(folder, tmp_path):
    titles = [column.title for column in _table(read_gene_set(folder).genes).columns]
    assert "coverage" in titles
    assert "min_confidence" not in titles
    shutil.copytree(folder, tmp_path / "own")
    lines = (folder / "genes.tsv").read_text().splitlines()
    points = ("min_confidence", 17, ".")
    (tmp_path / "own" / "genes.tsv").write_text(
        "".join(f"{line}\t{n}\n" for line, n in zip(lines, points, strict=True))
    )
    known = _table(read_gene_set(tmp_path / "own").genes)
    assert known.columns[-1].title == "min_confidence"
    assert [row[-1] for row in known.rows] == [17.0, None]


def test_each_chart_has_its_numbers(folder):
    charts = charts_of(read_gene_set(folder, folder / "conserved.txt"))
    assert [*charts] == ["genes", "targets_by_identity", "intron_sites", "lengths", "conserved"]
    assert [row["at"] for row in charts["genes"]["layer"][1]["data"]["values"]] == [
        275.5e-6,
        2.0505e-3,
    ]
    bars = charts["targets_by_identity"]["data"]["values"]
    assert [(row["from"], row["targets"]) for row in bars] == [(60, 1), (90, 1)]
    corners = [row for row in charts["lengths"]["data"]["values"] if row["kind"] == "exons"]
    assert sum(row["number"] for row in corners) == 2 * 3  # either corner of each bar
    assert (corners[0]["number"], corners[-1]["number"]) == (0, 0)  # the outline is closed


def test_targets_by_identity_are_bars_from_zero(folder):
    drawn = vl_convert.vegalite_to_svg(charts_of(read_gene_set(folder))["targets_by_identity"])
    bars = re.findall(r'aria-roledescription="bar" d="M[^h]*h([-0-9.]+)v([-0-9.]+)', drawn)
    assert [(round(float(width)), float(height)) for width, height in bars] == [(34, 180)] * 2


def test_counts_have_whole_ticks_and_rare_introns_are_drawn_as_one(folder):
    findings = read_gene_set(folder)._replace(
        summary={"introns": {"GT-AG": 90} | {f"N{k}": 1 for k in range(20)}}
    )
    charts = charts_of(findings)
    bars = charts["intron_sites"]["layer"][0]
    assert "scale" not in bars["encoding"]["x"]  # linear
    values = bars["data"]["values"]
    assert values[-1] == {"sites": "9 others", "introns": 9, "text": "9 (8.18 %)"}
    for name in ("targets_by_identity", "lengths"):
        assert charts[name]["encoding"]["y"]["axis"]["tickMinStep"] == 1


def test_a_family_is_as_good_as_its_best_target():
    rows = [dict(zip(OF_TARGETS, row, strict=True)) for row in TARGETS]
    rows[1] |= {"coverage": "0.95"}
    found = completeness({"a": ["t3", "t2"], "b": ["t2", "t<1>"], "c": ["t3"]}, rows)
    assert list(found.values()) == [1, 1, 0, 1]


def test_the_command_writes_page_and_figures(folder, tmp_path):
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    words = ["--output", page, "--conserved", folder / "conserved.txt", "--figures", figures]
    assert main(["report", str(folder), *map(str, words)]) == 0
    text = page.read_text()
    assert "2 of 4</b><span>targets have a gene" in text
    assert 'data-chart="conserved"' in text
    assert "http://" not in text.split('<script type="text/plain"')[0]
    assert (figures / "genes.svg").read_text().startswith("<svg")


def test_a_gene_set_without_a_gene(tmp_path):
    (tmp_path / "genes.gff3").write_text("##gff-version 3\n##sequence-region a 1 50\n")
    (tmp_path / "targets.tsv").write_text(table(OF_TARGETS, TARGETS[2:]))
    found = read_gene_set(tmp_path)
    assert charts_of(found) == {}
    assert gene_cards(found)[0].number == "0"


def test_what_is_wrong_is_said(folder, tmp_path, capsys):
    (tmp_path / "names").write_text("t9\n")
    output = ["--output", str(tmp_path / "page.html")]
    assert main(["report", str(folder), "--conserved", str(tmp_path / "names"), *output]) == 1
    assert (
        "names, line 1: t9 is no target; expected names in targets.tsv" in capsys.readouterr().err
    )
    (tmp_path / "scores.tsv").write_text("")
    words = [str(tmp_path), "--conserved", str(tmp_path / "names"), *output]
    assert main(["report", *words]) == 2
    assert "--conserved needs the folder of a gene set" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
