"""Genes on another genome: the reference's lines with new places, in both formats."""

import subprocess
from dataclasses import replace

import pytest

from gpu_tools.formats.exons.genes import read_genes
from gpu_tools.formats.exons.lifted import write_lifted
from gpu_tools.model.annotation import CodingSegment
from gpu_tools.model.genes import LiftedGene, LiftedTranscript, with_phases
from tests.formats.exons.gene_forms import CODING, EXONS, FORMS
from tests.programs import require

LENGTHS = {"2": 2000, "1": 1500}


def genes_of(tmp_path, name):
    path = tmp_path / name
    path.write_text(FORMS[name])
    return read_genes(path).genes


def same(gene, **changed):
    """Return a gene at its own place."""
    found = tuple(LiftedTranscript(t, t.exons, t.coding) for t in gene.transcripts)
    return LiftedGene(gene, gene.record, gene.strand, found, **changed)


def turned(gene, record="2", length=2000):
    """Return a gene on the other strand of another record."""

    def place(interval):
        return length - interval[1], length - interval[0]

    strand = "-" if gene.strand == "+" else "+"
    found = []
    for one in gene.transcripts:
        coding = with_phases([place((s.start, s.end)) for s in one.coding], strand)
        found.append(LiftedTranscript(one, tuple(sorted(map(place, one.exons))), coding))
    return LiftedGene(gene, record, strand, tuple(found))


def written(tmp_path, genes, name="out.gff3"):
    path = tmp_path / name
    write_lifted(path, genes, LENGTHS)
    return path


def rows(text):
    """Return the lines of genes, attributes behind the first eight columns as a list."""
    found = [line.split("\t") for line in text.splitlines() if line and line[0] != "#"]
    others = "region", "chromosome", "transposable_element_insertion_site"
    return sorted([*row[:8], row[8].rstrip(";").lower()] for row in found if row[2] not in others)


@pytest.mark.parametrize("name", [name for name in FORMS if "gff" in name])
def test_lines_stay_as_they_are(tmp_path, name):
    path = written(tmp_path, map(same, genes_of(tmp_path, name)))
    assert rows(path.read_text()) == rows(FORMS[name])


def test_lines_of_gtf_stay_as_they_are(tmp_path):
    path = written(tmp_path, map(same, genes_of(tmp_path, "ensembl.gtf")), "out.gtf")
    assert rows(path.read_text()) == rows(FORMS["ensembl.gtf"])


@pytest.mark.parametrize("suffix", ["gff3", "gtf"])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("move", [same, turned])
def test_both_formats_are_read_as_the_same_genes(tmp_path, name, suffix, move):
    genes = [move(gene) for gene in genes_of(tmp_path, name)]
    found = read_genes(written(tmp_path, genes, f"out.{suffix}"), LENGTHS)
    assert not found.odd
    wanted = [
        (g.record, g.strand, [(t.transcript.id, t.exons, t.coding) for t in g.transcripts])
        for g in sorted(genes, key=lambda g: g.interval)
    ]  # fmt: skip
    assert wanted == [
        (g.record, g.strand, [(t.id, t.exons, t.coding) for t in g.transcripts])
        for g in found.genes
    ]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("move", [same, turned])
def test_other_programs_accept_the_output(tmp_path, name, move):
    require("gt", "gffread")
    genes = [move(gene) for gene in genes_of(tmp_path, name)]
    genes.append(replace(same(genes[0].gene), copy=1))
    path = written(tmp_path, genes)
    run = subprocess.run(["gt", "gff3validator", path], capture_output=True, text=True)
    assert run.stdout == "input is valid GFF3\n", run.stderr
    for one in (path, written(tmp_path, genes, "out.gtf")):
        table = ["gffread", "-E", one, "--table", "@id,@chr,@strand,@exons,@cds"]
        run = subprocess.run(table, capture_output=True, text=True, check=True)
        assert "Warning" not in run.stderr
        assert len(run.stdout.splitlines()) == sum(len(g.transcripts) for g in genes)


def test_genes_are_ordered_by_record_and_position(tmp_path):
    one, other = genes_of(tmp_path, "ensembl.gff3")
    path = written(tmp_path, [same(other), same(one), turned(one)])
    text = path.read_text()
    assert text.startswith(
        "##gff-version 3\n##sequence-region 2 1 2000\n##sequence-region 1 1 1500"
    )
    starts = [line.split("\t")[0:4:3] for line in text.splitlines() if "\tgene\t" in line]
    assert starts == [["2", "1401"], ["1", "101"]]


def test_further_attributes_stand_behind(tmp_path):
    gene = same(genes_of(tmp_path, "ncbi.gff")[0], attributes=(("coverage", "0.9"),), copy=2)
    transcript = replace(gene.transcripts[0], attributes=(("status", "frameshift"),))
    text = written(tmp_path, [replace(gene, transcripts=(transcript,))]).read_text()
    lines = text.splitlines()[2:]
    assert lines[0].endswith("gene_biotype=protein_coding;coverage=0.9;copy=2")
    assert lines[1].endswith("product=made-up protein;status=frameshift;copy=2")
    assert "ID=rna-XM_1.1_copy2;Parent=gene-ABC1_copy2;" in lines[1]
    assert "ID=cds-XP_1.1_copy2;Parent=rna-XM_1.1_copy2;" in lines[-1]


@pytest.mark.parametrize("suffix", ["gff3", "gtf"])
def test_further_attributes_replace_namesakes_of_the_reference(tmp_path, suffix):
    """A gene set that is carried over again has one coverage, the new one."""
    gene = same(genes_of(tmp_path, "ncbi.gff")[0], attributes=(("coverage", "0.9"),))
    own = tuple(replace(one, attributes=(("coverage", "0.8"),)) for one in gene.transcripts)
    once = written(tmp_path, [replace(gene, transcripts=own)], f"once.{suffix}")
    again = [same(one, attributes=(("coverage", "0.7"),)) for one in read_genes(once).genes]
    lines = written(tmp_path, again, f"again.{suffix}").read_text().splitlines()
    (line,) = [line for line in lines if "\tgene\t" in line]
    assert line.count("coverage") == 1
    assert "0.7" in line.partition("coverage")[2]


def test_isoforms_that_differ_no_longer_share_lines(tmp_path):
    gene = same(genes_of(tmp_path, "wormbase.gff3")[0])
    first, second = gene.transcripts
    shorter = (*first.coding[:2], CodingSegment(500, 530, 0))
    gene = replace(gene, transcripts=(first, replace(second, coding=shorter)))
    path = written(tmp_path, [gene])
    coding = [line for line in path.read_text().splitlines() if "\tCDS\t" in line]
    assert len(coding) == 6
    assert sum("ID=CDS:A1.1a;Parent=Transcript:A1.1a.1;" in line for line in coding) == 3
    assert sum("ID=CDS:A1.1a-2;Parent=Transcript:A1.1a.2;" in line for line in coding) == 3
    found = read_genes(path).genes[0]
    assert [one.coding for one in found.transcripts] == [first.coding, shorter]


def test_a_frameshift_parts_a_coding_line_and_an_exon_is_lost(tmp_path):
    gene = same(genes_of(tmp_path, "ensembl.gff3")[0])
    coding = CodingSegment(300, 350, 1), CodingSegment(351, 400, 2)
    one = replace(gene.transcripts[0], exons=((300, 400), (500, 560)), exon_origins=(1, 2),
                  coding=(*coding, CodingSegment(500, 560, 0)), has_start=False)  # fmt: skip
    text = written(tmp_path, [replace(gene, transcripts=(one,))]).read_text()
    shown = [line.split("\t") for line in text.splitlines()[2:]]
    assert [(row[2], row[3], row[7]) for row in shown] == [
        ("gene", "301", "."), ("mRNA", "301", "."), ("exon", "301", "."), ("exon", "501", "."),
        ("CDS", "301", "1"), ("CDS", "352", "2"), ("CDS", "501", "0"),
    ]  # fmt: skip
    assert "exon_id=ENSXE2;rank=2" in shown[2][8]
    assert "exon_id=ENSXE3;rank=3" in shown[3][8]


def test_a_new_intron_makes_two_exons_with_their_own_ids(tmp_path):
    gene = same(genes_of(tmp_path, "ncbi.gff")[1])
    one = replace(gene.transcripts[0], exons=((800, 820), (830, 850), (900, 1000)),
                  exon_origins=(0, 0, 1))  # fmt: skip
    text = written(tmp_path, [replace(gene, transcripts=(one,))]).read_text()
    names = [line.split("ID=")[1].split(";")[0] for line in text.splitlines() if "\texon\t" in line]
    assert names == ["exon-XR_2.1-2", "exon-XR_2.1-2-2", "exon-XR_2.1-1"]


@pytest.mark.parametrize("strand", ["+", "-"])
def test_codons_that_an_intron_parts(tmp_path, strand):
    gene = same(genes_of(tmp_path, "ensembl.gtf")[0])
    coding = with_phases([(198, 200), (300, 400), (500, 501)], strand)
    one = replace(gene.transcripts[0], coding=coding)
    gene = replace(gene, strand=strand, transcripts=(one,))
    text = written(tmp_path, [gene], "out.gtf").read_text()
    wanted = "start_codon", "stop_codon", "CDS"
    lines = [line.split() for line in text.splitlines()]
    shown = [(row[2], int(row[3]), int(row[4]), row[7]) for row in lines if row[2] in wanted]
    codons = {
        "+": [("start_codon", 199, 200, "0"), ("start_codon", 301, 301, "1"),
              ("stop_codon", 399, 400, "0"), ("stop_codon", 501, 501, "1"),
              ("CDS", 199, 200, "0"), ("CDS", 301, 398, "1")],
        "-": [("start_codon", 501, 501, "0"), ("start_codon", 399, 400, "2"),
              ("stop_codon", 301, 301, "0"), ("stop_codon", 199, 200, "2"),
              ("CDS", 501, 501, "0"), ("CDS", 302, 400, "2")],
    }[strand]  # fmt: skip
    assert sorted(shown) == sorted(codons)


def test_coding_lines_of_no_gene_and_genes_without_transcripts(tmp_path):
    path = tmp_path / "bacteria.gff3"
    path.write_text(
        "##gff-version 3\n"
        "1\t.\tgene\t1\t30\t.\t+\t.\tID=a\n1\t.\tCDS\t1\t30\t.\t+\t0\tID=c;Parent=a\n"
        "1\t.\tCDS\t71\t100\t.\t+\t0\tID=d\n1\t.\tgene\t111\t130\t.\t+\t.\tID=e\n"
        "1\t.\ttRNA\t141\t160\t.\t-\t.\tID=f\n1\t.\texon\t141\t160\t.\t-\t.\tParent=f\n"
    )
    genes = [same(gene, attributes=(("coverage", "1"),)) for gene in read_genes(path).genes]
    text = written(tmp_path, genes).read_text()
    assert [line.split("\t")[8] for line in text.splitlines() if line[0] != "#"] == [
        "ID=a;coverage=1", "ID=c;Parent=a", "ID=d;coverage=1", "ID=e;coverage=1",
        "ID=f;coverage=1", "Parent=f",
    ]  # fmt: skip
    again = read_genes(written(tmp_path, genes, "out.gtf")).genes
    assert [g.transcripts[0].exons for g in again] == [g.transcripts[0].exons for g in
                                                       read_genes(path).genes]  # fmt: skip


def test_forms_have_the_genes_they_say():
    assert sum(b - a for a, b, _ in CODING) % 3 == 0
    assert all(any(a <= c and d <= b for a, b in EXONS) for c, d, _ in CODING)
