"""gpu-tools sequences cut and exons cut: a locus, and the exons of its record moved onto it."""

import pysam
import pytest

from gpu_tools.cli.main import main
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.sequences.fasta import read_fasta

RECORD = "ACGTTGCAAC" * 3  # 30 bases
GFF3 = """##gff-version 3
chr1\t.\texon\t3\t5\t7.5\t+\t.\texon_type=Init
chr1\t.\texon\t11\t14\t.\t-\t.\t.
chr1\t.\texon\t20\t26\t.\t+\t.\t.
chr2\t.\texon\t1\t2\t.\t+\t.\t.
"""


@pytest.fixture
def genome(tmp_path):
    path = tmp_path / "genome.fa"
    path.write_text(f">chr0\nAAAA\n>chr1 a chromosome\n{RECORD}\n")
    return path


def cut(genome, *options, record="chr1", code=0):
    output = genome.parent / "locus.fa.gz"
    arguments = ["sequences", "cut", "--fasta", genome, "--record", record, *options]
    assert main([str(word) for word in (*arguments, "--output", output)]) == code
    return output


@pytest.mark.parametrize(
    ("options", "name", "description", "symbols"),
    [
        ((), "chr1", "a chromosome", RECORD),
        (("--name", "x"), "x", "a chromosome", RECORD),
        (("--name", "x", "--origin"), "x", "locus=chr1:1-30 record_length=30", RECORD),
        (("--origin",), "chr1", "a chromosome", RECORD),
        (("--locus", "1-30"), "chr1:1-30", "record_length=30", RECORD),
        (("--locus", "11-14"), "chr1:11-14", "record_length=30", RECORD[10:14]),
        (("--locus", "1,1-1,4"), "chr1:11-14", "record_length=30", RECORD[10:14]),
        (("--locus", "11-14", "--flank", 3), "chr1:8-17", "record_length=30", RECORD[7:17]),
        (("--locus", "2-3", "--flank", 5), "chr1:1-8", "record_length=30", RECORD[:8]),
        (("--locus", "28-30", "--flank", 5), "chr1:23-30", "record_length=30", RECORD[22:]),
        (("--locus", "11-14", "--flank", 20), "chr1:1-30", "record_length=30", RECORD),
        (
            ("--locus", "11-14", "--name", "x"),
            "x", "locus=chr1:11-14 record_length=30", RECORD[10:14],
        ),
    ],
)  # fmt: skip
def test_cut_keeps_locus_and_flanks_and_says_so(genome, options, name, description, symbols):
    (found,) = read_fasta(cut(genome, *options))
    assert (found.name, found.description, found.letters()) == (name, description, symbols)


def test_cut_is_bgzip_with_an_index_that_samtools_reads(genome):
    with pysam.FastaFile(str(cut(genome, "--locus", "11-14"))) as fasta:
        assert fasta.fetch("chr1:11-14", 1, 3) == RECORD[11:13]


def test_a_part_of_a_locus_is_named_by_its_record(genome, tmp_path):
    output = tmp_path / "part.fa"
    words = ["--fasta", cut(genome, "--locus", "11-20"), "--locus", "3-5", "--output", output]
    assert main(["sequences", "cut", *map(str, words)]) == 0
    assert output.read_text() == f">chr1:13-15\n{RECORD[12:15]}\n"


def cut_exons(genome, *options, record="chr1", coordinates="locus", code=0):
    """Run exons cut on a locus whose header says what it is."""
    given, output = genome.parent / "exons.gff3", genome.parent / "cut.gff3"
    given.write_text(GFF3)
    base = cut(genome, *options, "--name", "locus")
    arguments = ["exons", "cut", given, "--base", base, "--record", record]
    arguments += ["--coordinates", coordinates, "--output", output]
    assert main([str(word) for word in arguments]) == code
    return output


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), [(2, 5), (10, 14), (19, 26)]),
        (("--locus", "11-14"), [(0, 4)]),
        (("--locus", "11-14", "--flank", 8), [(0, 3), (8, 12)]),
        (("--locus", "2-3", "--flank", 5), [(2, 5)]),
    ],
)
def test_exons_cut_moves_what_lies_within(genome, options, expected):
    sets = read_exons(cut_exons(genome, *options))
    assert list(sets) == ["locus"]
    exons = sets["locus"]
    assert list(zip(exons.starts, exons.ends, strict=True)) == expected


def test_exons_cut_gives_the_records_coordinates(genome, capsys):
    output = cut_exons(genome, "--locus", "11-14", "--flank", 8, coordinates="record")
    assert output.read_text().splitlines()[1:] == [
        "##sequence-region chr1 1 30",
        "chr1\tgpu-tools\texon\t3\t5\t7.5\t+\t.\texon_type=Init",
        "chr1\tgpu-tools\texon\t11\t14\t0\t-\t.\t.",
    ]
    assert "1 exons outside locus left out" in capsys.readouterr().err


def bare_locus(genome):
    """Return a locus whose header says nothing, and exons of its record."""
    base, given = genome.parent / "bare.fa", genome.parent / "exons.gff3"
    base.write_text(f">bare\n{RECORD[2:22]}\n")
    given.write_text(GFF3)
    return ["exons", "cut", given, "--base", base, "--record", "chr1"]


@pytest.mark.parametrize(
    ("coordinates", "expected"),
    [("record", ("chr1", [(2, 5), (10, 14)])), ("locus", ("bare", [(0, 3), (8, 12)]))],
)
def test_exons_cut_goes_by_the_options_where_the_header_is_silent(genome, coordinates, expected):
    options = ["--locus", "11-14", "--flank", 8, "--coordinates", coordinates]
    output = genome.parent / "cut.gff3"
    assert main([str(w) for w in (*bare_locus(genome), *options, "--output", output)]) == 0
    ((name, exons),) = read_exons(output).items()
    assert (name, list(zip(exons.starts, exons.ends, strict=True))) == expected


def test_options_that_contradict_the_header_are_an_error(genome, capsys):
    given = genome.parent / "exons.gff3"
    given.write_text(GFF3)
    base = cut(genome, "--locus", "11-14", "--flank", 8)
    words = ["exons", "cut", given, "--base", base, "--locus", "11-14", "--flank", 7]
    assert main([str(word) for word in words]) == 1
    error = capsys.readouterr().err
    assert "record chr1:3-22: position 1 is 3 of chr1; expected 4, as --locus" in error


GTF = """\
chr1\tx\texon\t1\t30\t.\t+\t.\tgene_id "g"; transcript_id "t";
chr1\tx\tCDS\t11\t14\t.\t+\t0\tgene_id "g"; transcript_id "t";
chr1\tx\tstop_codon\t15\t17\t.\t+\t0\tgene_id "g"; transcript_id "t";
"""
GENSCAN = """\
GENSCAN 1.0\tDate run: 21-Nov-126\tTime: 09:00:00

Sequence its_own_name : 30 bp : 50.00% C+G : Isochore 2 (43 - 51 C+G%)

Parameter matrix: HumanIso.smat

Predicted genes/exons:

Gn.Ex Type S .Begin ...End .Len Fr Ph I/Ac Do/T CodRg P.... Tscr..
----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------

 1.01 Sngl +     11     19    9  1  0   50   60   100 0.900   5.50

Predicted peptide sequence(s):

>its_own_name|GENSCAN_predicted_peptide_1|2_aa
MK
"""


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (GTF, ["--kind", "annotation"], (10, 17)),
        (GTF, [], (0, 30)),
        (GENSCAN, [], (10, 19)),
        (GENSCAN, ["--kind", "report"], (10, 19)),
    ],
)
def test_exons_cut_of_annotations_and_reports(genome, text, options, expected):
    given, output = genome.parent / "given.gtf", genome.parent / "cut.gff3"
    given.write_text(text)
    words = ["exons", "cut", given, "--base", cut(genome), "--record", "chr1", "--output", output]
    assert main([*map(str, words), *options]) == 0
    exons = read_exons(output)["chr1"]
    assert (exons.starts[0], exons.ends[0]) == expected
