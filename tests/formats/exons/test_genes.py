"""Genes of annotations as every common source writes them, odd ones, and malformed lines."""

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.genes import read_genes
from tests.formats.exons.gene_forms import CODING, EXONS, FORMS, NONCODING


def read(tmp_path, text, name="a.gff3", lengths=None):
    path = tmp_path / name
    path.write_text(text)
    return read_genes(path, lengths)


def gff3(*rows):
    """Return GFF3 of rows of type, start, end, strand, phase and attributes."""
    lines = [f"1\t.\t{t}\t{a}\t{b}\t.\t{s}\t{p}\t{more}\n" for t, a, b, s, p, more in rows]
    return "##gff-version 3\n" + "".join(lines)


@pytest.mark.parametrize("name", FORMS)
def test_every_source_gives_the_same_genes(tmp_path, name):
    found = read(tmp_path, FORMS[name], name, {"1": 1500})
    assert not found.odd
    assert found.is_gtf == name.endswith("gtf")
    coding, noncoding = found.genes
    assert (coding.record, coding.strand, coding.interval) == ("1", "+", (100, 600))
    assert coding.transcripts[0].exons == EXONS
    assert all(
        tuple((s.start, s.end, s.phase) for s in one.coding) == CODING for one in coding.transcripts
    )
    assert (noncoding.strand, noncoding.interval) == ("-", (800, 1000))
    assert [(one.exons, one.coding) for one in noncoding.transcripts] == [(NONCODING, ())]


def test_attributes_keep_their_order(tmp_path):
    gene = read(tmp_path, FORMS["ensembl.gff3"]).genes[0]
    keys = [key for key, _ in gene.feature.attributes]
    assert keys == ["ID", "Name", "biotype", "description", "gene_id", "version"]
    assert gene.feature.attribute("description") == "made up%2C of no use [Source:none]"
    assert (gene.id, gene.transcripts[0].id) == ("gene:ENSX1", "transcript:ENSXT1")


def test_an_exon_of_several_parents_is_in_each(tmp_path):
    gene = read(tmp_path, FORMS["flybase.gff"]).genes[0]
    assert [one.id for one in gene.transcripts] == ["FBtr1", "FBtr2"]
    assert gene.transcripts[0].exons == gene.transcripts[1].exons == EXONS


def test_genes_without_transcripts(tmp_path):
    """CDS or exons directly below a gene, CDS alone, a gene alone, a transcript alone."""
    text = gff3(
        ("gene", 1, 30, "+", ".", "ID=a"), ("CDS", 1, 30, "+", "0", "ID=c;Parent=a"),
        ("pseudogene", 41, 60, "-", ".", "ID=b"), ("exon", 41, 60, "-", ".", "Parent=b"),
        ("CDS", 71, 100, "+", "0", "ID=d"), ("gene", 111, 130, "+", ".", "ID=e"),
        ("tRNA", 141, 160, "-", ".", "ID=f"), ("exon", 141, 160, "-", ".", "Parent=f"),
        ("mRNA", 171, 180, "-", ".", "ID=g;Parent=gone"), ("exon", 171, 180, "-", ".", "Parent=g"),
    )  # fmt: skip
    found = read(tmp_path, text)
    assert not found.odd
    shown = [(g.id, g.feature is None, t.feature is None, t.exons) for g in found.genes
             for t in g.transcripts]  # fmt: skip
    assert shown == [
        ("a", False, True, ((0, 30),)), ("b", False, True, ((40, 60),)),
        ("d", True, True, ((70, 100),)), ("e", False, True, ((110, 130),)),
        ("f", True, False, ((140, 160),)), ("gone", True, False, ((170, 180),)),
    ]  # fmt: skip


def test_a_mature_rna_below_a_transcript_is_a_transcript(tmp_path):
    text = gff3(
        ("gene", 1, 90, "+", ".", "ID=a"), ("primary_transcript", 1, 90, "+", ".", "ID=b;Parent=a"),
        ("exon", 1, 90, "+", ".", "Parent=b"), ("miRNA", 11, 30, "+", ".", "ID=c;Parent=b"),
        ("exon", 11, 30, "+", ".", "Parent=c"),
    )  # fmt: skip
    gene = read(tmp_path, text).genes[0]
    assert [(t.id, t.exons) for t in gene.transcripts] == [("b", ((0, 90),)), ("c", ((10, 30),))]


def test_a_stop_codon_that_an_intron_parts(tmp_path):
    rows = 'gene_id "g"; transcript_id "t";'
    text = "".join(
        f"1\t.\t{type}\t{a}\t{b}\t.\t+\t{phase}\t{rows}\n"
        for type, a, b, phase in [("exon", 1, 32, "."), ("exon", 51, 60, "."), ("CDS", 1, 30, "0"),
                                  ("stop_codon", 31, 32, "0"), ("stop_codon", 51, 51, "1")]
    )  # fmt: skip
    [gene] = read(tmp_path, text, "a.gtf").genes
    segments = [(s.start, s.end, s.phase) for s in gene.transcripts[0].coding]
    assert segments == [(0, 32, 0), (50, 51, 1)]


def test_a_missing_phase_follows(tmp_path):
    text = gff3(
        ("gene", 1, 90, "-", ".", "ID=a"), ("CDS", 1, 20, "-", ".", "ID=c;Parent=a"),
        ("CDS", 51, 90, "-", ".", "ID=c;Parent=a"),
    )  # fmt: skip
    segments = read(tmp_path, text).genes[0].transcripts[0].coding
    assert [(s.start, s.end, s.phase) for s in segments] == [(50, 90, 0), (0, 20, 2)]


GENE = "gene", 1, 90, "+", ".", "ID=a"
RNA = "mRNA", 1, 90, "+", ".", "ID=b;Parent=a"


def below(type, start, end, strand="+", phase=".", more=""):
    return type, start, end, strand, phase, f"Parent=b{more}"


@pytest.mark.parametrize(
    ("rows", "line", "reason"),
    [
        ((GENE, GENE), 3, "a gene in several parts"),
        ((("gene", 1, 90, "+", ".", "ID=a;exception=trans-splicing"),), 2, "trans-spliced"),
        ((("gene", 1, 90, "?", ".", "ID=a"),), 2, "strand '?'"),
        ((GENE, RNA, below("exon", 1, 30), below("exon", 41, 50, "-")), 5, "on both strands"),
        ((GENE, ("mRNA", 1, 90, "-", ".", "ID=b;Parent=a")), 2, "transcripts on both strands"),
        ((GENE, RNA, below("exon", 1, 30), below("exon", 21, 50)), 5, "exons that overlap"),
        ((GENE, RNA, below("exon", 1, 30), below("CDS", 1, 33)), 5, "outside of its exons"),
        ((GENE, RNA, below("CDS", 1, 31, phase=0), below("CDS", 41, 60, phase=0)), 5, "phase 0"),
        ((GENE, RNA, below("CDS", 1, 31, phase=0), below("CDS", 31, 60, phase=2)), 5, "slippage"),
        ((("gene", 1, 99, "+", ".", "ID=a"),), 2, "after the record's end, 95"),
        ((("exon", 1, 30, "+", ".", "Parent=gone"),), 2, "no line has the ID 'gone'"),
        ((("exon", 1, 30, "+", ".", "ID=x"),), 2, "of no transcript"),
    ],
)  # fmt: skip
def test_odd_genes_are_listed(tmp_path, rows, line, reason):
    found = read(tmp_path, gff3(*rows), lengths={"1": 95})
    assert not found.genes
    [odd] = found.odd
    assert odd.line == line
    assert reason in odd.reason


def test_an_unknown_record_makes_an_odd_gene(tmp_path):
    found = read(tmp_path, gff3(GENE), lengths={"2": 95})
    assert found.odd[0].reason == "the genome has no record '1'"


def test_an_odd_transcript_leaves_the_others(tmp_path):
    text = gff3(
        GENE, RNA, below("exon", 1, 30), ("mRNA", 1, 90, "+", ".", "ID=c;Parent=a"),
        ("exon", 1, 30, "+", ".", "Parent=c"), ("exon", 11, 50, "+", ".", "Parent=c"),
    )  # fmt: skip
    found = read(tmp_path, text)
    assert [one.id for one in found.genes[0].transcripts] == ["b"]
    assert found.odd[0][:3] == ("a", "c", 7)


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        ("a.gff3", "1\t.\tgene\t1\t9\t.\t+\t.\tID=a;odd", "attribute 'odd'; expected key=value"),
        ("a.gff3", "1\t.\tgene\t9\t1\t.\t+\t.\tID=a", "start 9 lies after end 1"),
        ("a.gff3", "1\t.\tgene\t1\t9\t.\tx\t.\tID=a", "unknown strand 'x'; expected +, -, . or ?"),
        ("a.gff3", "1\t.\tCDS\t1\t9\t.\t+\t3\tID=a", "phase '3'; expected 0, 1, 2 or ."),
        ("a.gff3", "1\t.\tgene\t1\t9\t.\t+\t.", "8 columns; expected 9 tab-separated columns"),
        ("a.gtf", '1\t.\texon\t1\t9\t.\t+\t.\tgene_id "a', "attribute 'gene_id \"a'; expected key"),
        ("a.gtf", '1\t.\texon\t1\t9\t.\t+\t.\tx "a";', "a exon without gene_id and transcript_id"),
        ("a.gff3", "1\t.\tregion\t1\t9\t.\t+\t.\tID=a", "no gene among the features region"),
    ],
)
def test_malformed_files_are_errors(tmp_path, name, line, problem):
    with pytest.raises(InputError) as caught:
        read(tmp_path, line + "\n", name)
    assert problem in str(caught.value)


def test_a_feature_is_not_its_own_parent(tmp_path):
    rows = ("mRNA", 1, 9, "+", ".", "ID=a;Parent=b"), ("mRNA", 1, 9, "+", ".", "ID=b;Parent=a")
    text = gff3(GENE[:5] + ("ID=g",), ("mRNA", 1, 9, "+", ".", "ID=a;Parent=g,a"), *rows[1:])
    with pytest.raises(InputError, match="its own parent"):
        read(tmp_path, text)
