"""The command ``lift``: its files on a copy of a genome whose genes are known."""

import json

import pytest

from gpu_tools.cli.main import main
from gpu_tools.formats.exons.genes import read_genes
from tests.lift import genomes

RECORD, GENES = genomes.reference()
OUTPUTS = {
    "--output": "new.gff3", "--table": "t.tsv", "--unmapped": "u.tsv", "--summary": "s.json",
    "--protein-sequences": "p.fa", "--gene-table": "g.tsv",
}  # fmt: skip


def lines_of(gene):
    """Return the GFF3 lines of a gene of one transcript."""
    (one,) = gene.transcripts
    rows = [("gene", *gene.interval, ".", f"ID={gene.id};Note=kept"),
            ("mRNA", *one.interval, ".", f"ID={one.id};Parent={gene.id}")]  # fmt: skip
    rows += [("exon", *exon, ".", f"Parent={one.id}") for exon in one.exons]
    rows += [("CDS", s.start, s.end, s.phase, f"Parent={one.id}") for s in one.coding]
    return "".join(
        f"r\tx\t{kind}\t{start + 1}\t{end}\t.\t+\t{phase}\t{about}\n"
        for kind, start, end, phase, about in rows
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a genome, its genes and an odd one, and a copy without the last gene."""
    monkeypatch.chdir(tmp_path)
    odd = "r\tx\tgene\t9\t20\t.\t+\t.\tID=odd\nr\tx\texon\t9\t90000\t.\t+\t.\tParent=odd\n"
    (tmp_path / "old.gff3").write_text("".join(map(lines_of, GENES)) + odd)
    (tmp_path / "old.fa").write_text(f">r\n{RECORD}\n")
    new = genomes.turned("ACGTTGCA" + RECORD[: GENES[-1].interval[0] - 50])
    (tmp_path / "new.fa").write_text(f">n\n{new}\n")
    return tmp_path


def lift(*more):
    words = ["--reference", "old.fa", "--annotation", "old.gff3", "--genome", "new.fa",
             "--site-model", "vertebrate"]  # fmt: skip
    return main(["lift", *words, *more])


def test_files_of_a_lift(folder, capsys):
    options = [word for pair in OUTPUTS.items() for word in pair]
    try:
        assert lift(*options, "--log-level", "info") == 0
        said = capsys.readouterr().err
    finally:
        lift("--quiet", "--output", "other.gff3")  # sets the level back
    assert "info: device cpu: genes that are lifted always run there" in said
    length = len((folder / "new.fa").read_text().split()[1])
    there = read_genes("new.gff3", {"n": length}).genes
    assert [gene.id for gene in there] == [gene.id for gene in reversed(GENES[:-1])]
    for gene in there:
        known = next(one for one in GENES if one.id == gene.id)
        exons = [(length - b - 8, length - a - 8) for a, b in known.transcripts[0].exons]
        assert (gene.record, gene.strand) == ("n", "-")
        assert list(gene.transcripts[0].exons) == exons[::-1]
    assert (folder / "new.gff3").read_text().count("Note=kept") == len(there)
    table = [line.split("\t") for line in (folder / "t.tsv").read_text().splitlines()]
    assert [row[table[0].index("status")] for row in table[1:]] == ["intact"] * len(there)
    assert (folder / "p.fa").read_text().count(">") == len(there)
    unmapped = (folder / "u.tsv").read_text().splitlines()[1:]
    assert [line.split("\t")[0] for line in unmapped] == [GENES[-1].id, "odd"]
    head, *rows = [line.split("\t") for line in (folder / "g.tsv").read_text().splitlines()]
    rows = [dict(zip(head, row, strict=True)) for row in rows]
    assert [row["gene"] for row in rows] == [*(gene.id for gene in GENES), "odd"]
    assert [row["status"] for row in rows] == ["intact"] * len(there) + [".", "."]
    assert [row["transcripts"] for row in rows] == ["1"] * len(there) + ["0", "0"]
    assert rows[-2]["reason"] == unmapped[0].split("\t")[-1]
    assert rows[-1]["reason"] == unmapped[1].split("\t")[-1]
    assert all(row["reason"] == "." for row in rows[:-2])
    first = GENES[0].interval
    assert (rows[0]["reference_start"], rows[0]["reference_end"]) == (
        str(first[0] + 1),
        str(first[1]),
    )
    assert rows[0]["end"] == str(length - first[0] - 8)
    figures = json.loads((folder / "s.json").read_text())
    assert (figures["genes"], figures["lifted"]) == (len(GENES), len(there))


def test_gtf_is_written_by_its_name(folder):
    assert lift("--output", "new.gtf", "--quiet") == 0
    assert 'gene_id "g0"' in (folder / "new.gtf").read_text()
