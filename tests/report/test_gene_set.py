"""The page of a gene set: its figures agree with the files, and what is wrong is said."""

import json
import os
import re
import shutil

import pytest
import vl_convert

from gpu_tools.cli.main import main
from gpu_tools.report.gene_charts import charts_of
from gpu_tools.report.gene_page import gene_cards, genes_table, targets_table
from gpu_tools.report.gene_set import completeness, read_gene_set
from tests.programs import require
from tests.report.browser import browser

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
            lines.append(
                f"chr%7C1\tx\tmRNA\t{exons[0][0] + 1}\t{exons[-1][1]}\t50\t{strand}\t.\t"
                f"ID=mRNA:{name}.{number};Parent=gene:{name};Name={target};identity={identity};"
                "coverage=1.0000;evalue=1e-9"
            )
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
    assert found.structures.record_lengths == {"chr|1": 5000}
    assert sorted(found.exon_lengths) == [100, 100, 150]
    assert found.intron_lengths == [100]
    assert list(found.conserved.values()) == [1, 0, 2, 1]
    numbers = [(card.number, card.meaning) for card in gene_cards(found)]
    assert ("2 of 4", "targets have a gene") in numbers
    assert ("3", "mRNAs with frameshifts or stop codons inside") in numbers
    notes = [card.note for card in gene_cards(found)]
    assert {"and 1 a part of one", "1 pseudogene"} <= {*notes}
    assert ("100.0 %", "GT-AG introns") in numbers
    assert ("1 of 4", "conserved families are complete") in numbers


def test_the_table_of_genes_has_the_columns_that_are_known(folder, tmp_path):
    titles = [column.title for column in genes_table(read_gene_set(folder), ()).columns]
    assert {"coverage", "best target", "identity of amino acids"} <= {*titles}
    assert "least confidence of an intron" not in titles
    shutil.copytree(folder, tmp_path / "own")
    lines = (folder / "genes.tsv").read_text().splitlines()
    points = ("min_confidence", 17, ".")
    (tmp_path / "own" / "genes.tsv").write_text(
        "".join(f"{line}\t{n}\n" for line, n in zip(lines, points, strict=True))
    )
    known = genes_table(read_gene_set(tmp_path / "own"), ())
    assert known.columns[-1].title == "least confidence of an intron"
    assert [row[-1] for row in known.rows] == [17.0, None]


def test_each_chart_has_its_numbers(folder):
    charts = charts_of(read_gene_set(folder, folder / "conserved.txt"))
    assert [*charts] == ["genes", "targets_by_identity", "intron_sites", "lengths", "conserved"]
    assert [row["at"] for row in charts["genes"]["layer"][1]["data"]["values"]] == [
        0.275,
        2.05,
    ]
    bars = charts["targets_by_identity"]["data"]["values"]
    assert [(row["kind"], row["from"], row["number"]) for row in bars] == [
        ("amino acids", 60, 1), ("amino acids", 90, 1)
    ]  # fmt: skip
    corners = [row for row in charts["lengths"]["data"]["values"] if row["kind"] == "exons"]
    assert sum(row["number"] for row in corners) == 2 * 3  # either corner of each bar
    assert (corners[0]["number"], corners[-1]["number"]) == (0, 0)  # the outline is closed


def test_targets_by_identity_are_bars_from_zero(folder):
    drawn = vl_convert.vegalite_to_svg(charts_of(read_gene_set(folder))["targets_by_identity"])
    bars = re.findall(r'aria-roledescription="bar" d="M[^h]*h([-0-9.]+)v([-0-9.]+)', drawn)
    assert [(round(float(width)), float(height)) for width, height in bars] == [(34, 120)] * 2


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


def test_genes_lie_on_the_part_that_was_searched(folder):
    findings = read_gene_set(folder)
    part = findings._replace(summary=findings.summary | {"parts": ["chr|1:2001-3000"]})
    lines, ticks = (layer["data"]["values"] for layer in charts_of(part)["genes"]["layer"])
    assert lines == [{"part": "chr|1:2,001-3,000", "from": 0, "to": 1.0}]
    assert [(tick["gene"], tick["at"]) for tick in ticks] == [("chr|1:2", 0.05)]
    assert gene_cards(part)[0].note == "in 1 kb searched, 1 part of records"
    assert gene_cards(findings)[0].note == "in 5 kb searched, 1 record"


def test_identities_of_amino_acids_and_of_nucleotides_are_two_columns(folder):
    table = targets_table(read_gene_set(folder), ())
    titles = [column.title for column in table.columns]
    residues = titles.index("identity of amino acids")
    nucleotides = titles.index("identity of nucleotides")
    found = [(row[residues], row[nucleotides]) for row in table.rows]
    assert found == [(0.91, None), (0.62, None), (None, None), (None, 0.8)]


def test_faults_of_genes_are_columns(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "own")
    lines = (folder / "genes.tsv").read_text().splitlines()
    more = (("frameshifts", "inner_stops"), (0, 0), (1, 2))
    text = "".join(f"{line}\t{a}\t{b}\n" for line, (a, b) in zip(lines, more, strict=True))
    (tmp_path / "own" / "genes.tsv").write_text(text)
    table = genes_table(read_gene_set(tmp_path / "own"), ())
    assert [column.title for column in table.columns[-2:]] == ["frameshifts", "stop codons inside"]
    assert [row[-2:] for row in table.rows] == [[0.0, 0.0], [1.0, 2.0]]


def test_the_first_screen_tells_of_the_run(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "own")
    run = {
        "version": "9.9", "command": "gpu-tools annotate 'a b.fa'", "max_evalue": 1e-3,
        "min_identity": 0, "min_coverage": 0.5,
        "inputs": [{"file": "a b.fa", "bytes": 5000, "sha256": "0abc"}],
    }  # fmt: skip
    summary = SUMMARY | {"site_model": "worm", "run": run}
    (tmp_path / "own" / "summary.json").write_text(json.dumps(summary))
    os.utime(tmp_path / "own" / "genes.gff3", (86400, 86400))
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "own"), "--output", str(page)]) == 0
    text = page.read_text()
    for told in (
        "<td>1970-01-02 00:00 UTC</td>", "<td>gpu-tools 9.9</td>", "<td>worm</td>",
        "<code>gpu-tools annotate &#39;a b.fa&#39;</code>",
        "<td>E-value at most 0.001, coverage at least 0.5</td>",
        "<td>a b.fa (5,000 bytes, SHA-256 0abc)</td>",
    ):  # fmt: skip
        assert told in text


def test_genes_of_the_lowest_e_values_have_figures(folder, tmp_path):
    figures = tmp_path / "figures"
    words = ["report", str(folder), "--output", str(tmp_path / "a.html"), "--loci", "1"]
    assert main([*words, "--figures", str(figures)]) == 0
    assert [path.name for path in figures.glob("gene_*.svg")] == ["gene_chr_1_1.svg"]


def test_a_row_of_a_gene_opens_its_structures(folder, tmp_path):
    require("chromium")
    (tmp_path / "genome.fa").write_text(f">chr|1\n{'ACGT' * 1250}\n")
    page = tmp_path / "page.html"
    words = ["report", str(folder), "--genome", str(tmp_path / "genome.fa")]
    assert main([*words, "--output", str(page)]) == 0
    with browser(tmp_path / "profile") as chromium:
        chromium.open(page, "#genes")
        chromium.wait("document.documentElement.dataset.ready === 'yes'")
        chromium.run("document.querySelector('#genes tbody a').click()")
        chromium.wait("document.getElementById('locus-chart').dataset.drawn === 'yes'")
        assert chromium.run("document.querySelector('nav a.here').textContent") == "Genes"
        assert chromium.run("document.getElementById('locus-name').textContent") == "chr|1:1"
        drawn = chromium.run("document.querySelector('#locus-chart svg').textContent")
        assert "chains of proteins" in drawn
        # two structures of two exons each, the first numbered 1 and 2
        assert chromium.run("document.querySelectorAll('#locus-table tbody tr').length") == 2
        assert chromium.errors == []


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
