"""Genes and names of gene models: isoforms, and IDs that stay apart when files are joined."""

import re
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments import write_alignments
from gpu_tools.formats.alignments.gene_model import (
    Transcript,
    gene_lines,
    genes_of,
    read_models,
)
from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.files import read_lines
from tests.formats.alignments.cases import BASE_LENGTH, HAND_MADE, alignment, sequences, write_one
from tests.programs import require

CODING = {
    "+": alignment(
        "+", [(10, 18), (40, 45), (50, 58)], "8=22N5=5N8=", phases=(0, 1, 2), start_codon=True,
        stop_codon=True,
    ),
    "-": alignment(
        "-", [(50, 58), (40, 45), (10, 18)], "8=5N5=22N8=", phases=(0, 1, 2), start_codon=True,
        stop_codon=True,
    ),
    "incomplete": alignment("+", [(10, 18), (40, 44)], "8=22N4=", phases=(0, 1)),
    "stop codon alone": alignment(
        "-", [(50, 59), (10, 13)], "9=37N3=", phases=(0, 0), stop_codon=True
    ),
}  # fmt: skip
GTF_PARTS = {
    "+": [
        ("start_codon", 11, 13, 0), ("CDS", 11, 18, 0), ("CDS", 41, 45, 1), ("CDS", 51, 55, 2),
        ("stop_codon", 56, 58, 0),
    ],
    "-": [
        ("start_codon", 56, 58, 0), ("CDS", 51, 58, 0), ("CDS", 41, 45, 1), ("CDS", 14, 18, 2),
        ("stop_codon", 11, 13, 0),
    ],
    "incomplete": [("CDS", 11, 18, 0), ("CDS", 41, 44, 1)],
    "stop codon alone": [("CDS", 51, 59, 0), ("stop_codon", 11, 13, 0)],
}  # fmt: skip


def read_features(path):
    return gff.features(path, read_lines(path))


def naive_genes(transcripts):
    """Sets of numbers of transcripts that shared nucleotides connect, by repeated joining."""
    genes = []
    for number, t in enumerate(transcripts):
        own = {(t.base, t.strand, p) for start, end in t.exons for p in range(start, end)}
        members = {number}
        for other in [gene for gene in genes if gene[1] & own]:
            genes.remove(other)
            members, own = members | other[0], own | other[1]
        genes.append((members, own))
    return sorted(sorted(members) for members, _ in genes)


def random_transcript(rng, number):
    bounds = np.sort(rng.choice(120, 2 * int(rng.integers(1, 4)), replace=False)).tolist()
    exons = tuple(zip(bounds[::2], bounds[1::2], strict=True))
    base, strand = str(rng.choice(["a", "b"])), str(rng.choice(["+", "-"]))
    exons = exons if rng.random() < 0.5 else exons[::-1]
    return Transcript(f"n{number}", base, strand, f"t{number}", int(rng.integers(0, 3)), exons)


@pytest.mark.parametrize("seed", range(20))
def test_genes_are_what_shared_nucleotides_connect(seed):
    print("seed", seed)
    rng = np.random.default_rng(seed)
    transcripts = [random_transcript(rng, k) for k in range(int(rng.integers(1, 25)))]
    genes = genes_of(transcripts)
    numbers = [[transcripts.index(t) for t in gene.isoforms] for gene in genes]
    assert numbers == naive_genes(transcripts)
    for gene in genes:
        edges = [p for t in gene.isoforms for exon in t.exons for p in exon]
        assert gene.interval == (min(edges), max(edges))
        assert gene.best.score == max(t.score for t in gene.isoforms)
    # the order does not matter for what is one gene, and for its best transcript
    shuffled = [transcripts[k] for k in rng.permutation(len(transcripts))]
    assert {gene.best for gene in genes_of(shuffled)} == {gene.best for gene in genes}


def test_introns_and_exons_that_touch_do_not_make_a_gene():
    def genes(*exons):
        named = (Transcript(str(k), "b", "+", "t", 1, e) for k, e in enumerate(exons))
        return [[int(t.content) for t in gene.isoforms] for gene in genes_of(list(named))]

    assert genes([(0, 5), (20, 25)], [(5, 9)], [(10, 20)]) == [[0], [1], [2]]
    assert genes([(0, 5), (20, 25)], [(5, 21)], [(8, 9)]) == [[0, 1, 2]]
    assert genes([(0, 50)], [(60, 70)], [(3, 4)], [(49, 61)]) == [[0, 1, 2, 3]]


def attributes(path, key, feature=""):
    pattern = rf'\t{feature}[^\n]*?[\t; ]{key}(?:=|\s")([^;"\n]+)'
    return re.findall(pattern, path.read_text())


def written(path, alignments):
    write_alignments(path, alignments, {"b": BASE_LENGTH, "b@c": BASE_LENGTH}, {})
    return path


ISOFORMS = [
    alignment("+", [(10, 20), (40, 45)], "10=20N5=", target="one", score=9),
    alignment("-", [(12, 22)], "10=", target="other strand", score=9),
    alignment("+", [(44, 54)], "10=", target="two", score=12),
    alignment("+", [(60, 70)], "10=", target="alone", score=20),
]


def test_isoforms_share_a_gene_in_both_formats(tmp_path):
    gff3, gtf = (written(tmp_path / f"x{suffix}", ISOFORMS) for suffix in (".gff3", ".gtf"))
    parents = attributes(gff3, "Parent", "mRNA")
    assert parents[0] == parents[1] == attributes(gff3, "ID", "gene")[0]
    assert len(set(parents)) == 3
    assert attributes(gtf, "gene_id", "transcript") == parents
    assert attributes(gtf, "transcript_id", "transcript") == attributes(gff3, "ID", "mRNA")
    assert parents == ["gene:two.1", "gene:two.1", "gene:other%20strand.1", "gene:alone.1"]
    assert attributes(gff3, "Name", "gene") == ["two", "other%20strand", "alone"]


ONE = CODING["+"]
CHANGES = {
    "score": {"score": 8},
    "strand": {"strand": "-", "chain": ONE.chain[::-1], "cigar": CODING["-"].cigar},
    "inner exon": {"chain": ((10, 18), (41, 45), (50, 58)), "target_end": 20,
                   "cigar": (("=", 8), ("N", 23), ("=", 4), ("N", 5), ("=", 8))},
    "columns": {"cigar": (("=", 8), ("N", 22), ("=", 4), ("X", 1), ("N", 5), ("=", 8))},
    "target": {"target": "t@b"},
    "base": {"base": "b@c"},
    "part of the target": {"target_start": 1, "target_end": ONE.target_end + 1},
    "exon scores": {"exon_scores": (1.0, 2.0, 3.0)},
    "no reading": {"phases": (), "start_codon": False, "stop_codon": False},
}  # fmt: skip


@pytest.mark.parametrize(
    ("suffix", "key", "feature"),
    [
        (".gff3", "ID", "gene"), (".gff3", "ID", "mRNA"), (".gff3", "ID", "exon"),
        (".gtf", "gene_id", "transcript"), (".gtf", "transcript_id", "transcript"),
    ],
)  # fmt: skip
def test_ids_differ_within_a_file(tmp_path, suffix, key, feature):
    """Alignments that differ in one thing, and targets whose names end in a number as IDs do."""
    names = ("t.1", "t.2", "t.1.1")
    alignments = [ONE, *(replace(ONE, **change) for change in CHANGES.values())]
    alignments += [replace(ONE, target=name, base="b@c") for name in names]
    found = attributes(written(tmp_path / f"x{suffix}", alignments), key, feature)
    if "gene" in key + feature and key != "transcript_id":
        assert len(set(found)) == 3  # two strands of a base, and another base
        return
    n_each = len(ONE.chain) if feature == "exon" else 1
    assert len(found) == len(set(found)) == n_each * len(alignments)


@pytest.mark.parametrize("suffix", [".gff3", ".gtf"])
def test_equal_alignments_are_written_once_and_have_one_id(tmp_path, suffix):
    """So are those that two loci of a record find; what was searched does not matter."""
    again = replace(ONE, n_exons=77, cells=5, base_length=BASE_LENGTH - 1)
    once, twice = written(tmp_path / f"x{suffix}", [ONE]), tmp_path / f"y{suffix}"
    assert written(twice, [ONE, again]).read_text() == once.read_text()
    assert written(twice, [again]).read_text() == once.read_text()


def test_a_chain_that_translates_has_its_codons_and_one_cds(tmp_path):
    for name, strand in (("+", "+"), ("-", "-"), ("incomplete", "+"), ("stop codon alone", "-")):
        a = CODING[name]
        path = written(tmp_path / "x.gff3", [a])
        ends = {"start_codon": a.start_codon, "stop_codon": a.stop_codon}
        assert {codon: len(attributes(path, "ID", codon)) for codon in ends} == ends
        cds = attributes(path, "ID", "CDS")
        assert (len(cds), len(set(cds))) == (len(a.chain), 1)
        assert set(attributes(path, "Parent", "CDS")) == set(attributes(path, "ID", "mRNA"))
        for line in path.read_text().splitlines():
            fields = line.split("\t")
            if "_codon" in line:
                interval = int(fields[3]) - 1, int(fields[4])
                first = (strand == "+") == (fields[2] == "start_codon")
                exon = min(a.chain) if first else max(a.chain)
                start = exon[0] if first else exon[1] - 3
                assert (interval, fields[6], fields[7]) == ((start, start + 3), strand, "0")


def test_joined_files_are_valid(tmp_path):
    require("gt")
    files = [written(tmp_path / "a.gff3", ISOFORMS), written(tmp_path / "b.gff3", [
        *CODING.values(), *(replace(a, score=a.score + 1) for a in ISOFORMS),
    ])]  # fmt: skip
    first, second = (file.read_text() for file in files)
    joined = tmp_path / "joined.gff3"
    joined.write_text(first + "".join(x for x in second.splitlines(True) if x[0] != "#"))
    for check in ([], ["-typecheck", "so"]):
        run = subprocess.run(
            ["gt", "gff3validator", *check, joined], capture_output=True, text=True
        )
        assert (run.returncode, run.stdout) == (0, "input is valid GFF3\n"), run.stderr
        assert "warning" not in run.stderr


def features(path, kept):
    lines = [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]
    return [(f[2], int(f[3]), int(f[4]), int(f[7])) for f in lines if f[2] in kept]


@pytest.mark.parametrize("name", CODING)
def test_coding_parts_in_gtf(tmp_path, name):
    a = CODING[name]
    write_one(tmp_path / "x.gtf", a, sequences(a)[1])
    assert features(tmp_path / "x.gtf", ("CDS", "start_codon", "stop_codon")) == GTF_PARTS[name]


@pytest.mark.parametrize("name", CODING)
def test_phases_of_gtf_are_those_of_gff3_and_both_read_back_the_same(tmp_path, name):
    """GTF's CDS leaves out the stop codon, GFF3's does not; a reader joins it again."""
    a = CODING[name]
    for suffix in (".gtf", ".gff3"):
        write_one(tmp_path / f"x{suffix}", a, sequences(a)[1])
    phases = [
        sorted(phase for *_, phase in features(tmp_path / f"x{suffix}", ("CDS",)))
        for suffix in (".gtf", ".gff3")
    ]
    if name != "stop codon alone":
        assert phases[0] == phases[1] == sorted(a.phases)
    read = [read_annotated_exons(tmp_path / f"x{suffix}")["b"] for suffix in (".gtf", ".gff3")]
    for exons in read:
        found = sorted(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True))
        assert found == sorted(a.chain)


def test_quotation_marks_cannot_stand_in_gtf(tmp_path):
    a = alignment("+", [(10, 20)], "10=", target='t"x')
    with pytest.raises(InputError, match="cannot stand in GTF; expected a name without a quot"):
        write_alignments(tmp_path / "x.gtf", [a], {"b": BASE_LENGTH}, {})
    assert not (tmp_path / "x.gtf").exists()


def test_bed_is_thick_where_a_chain_translates(tmp_path):
    for a, thick in ((CODING["+"], ("10", "58")), (HAND_MADE["two exons"], ("10", "10"))):
        write_one(tmp_path / "x.bed", a, sequences(a)[1])
        assert tuple((tmp_path / "x.bed").read_text().split("\t")[6:8]) == thick


@pytest.mark.parametrize(
    ("beyond", "partial"),
    [
        ((0, 0), {}),
        ((3, 0), {"start_range": ".,11", "partial": "true"}),
        ((0, 1), {"end_range": "58,.", "partial": "true"}),
        ((2, 2), {"start_range": ".,11", "end_range": "58,.", "partial": "true"}),
    ],
)
def test_what_is_cut_off_is_told_as_in_ncbi_s_files(tmp_path, beyond, partial):
    """On the gene, the mRNA, and the outer exon and CDS."""
    for strand in "+-":
        own = replace(CODING[strand], beyond=beyond if strand == "+" else beyond[::-1])
        write_alignments(tmp_path / "x.gff3", [own], {"b": BASE_LENGTH}, {})
        lines = list(read_features(tmp_path / "x.gff3"))
        for line in lines:
            told = {key: line.attribute(key) for key in ("partial", "start_range", "end_range")}
            told = {key: value for key, value in told.items() if value}
            whole = line.type in ("gene", "mRNA")
            sides = {"start_range": whole or line.interval[0] == 10,
                     "end_range": whole or line.interval[1] == 58}  # fmt: skip
            expected = {key: partial[key] for key in partial if sides.get(key)}
            if "codon" in line.type or not expected:
                assert not told
            else:
                assert told == expected | {"partial": "true"}
        again = "".join(gene_lines(read_models(read_features(tmp_path / "x.gff3"))))
        text = (tmp_path / "x.gff3").read_text()
        assert again == "".join(line + "\n" for line in text.splitlines() if line[0] != "#")


def test_a_gene_is_cut_off_where_its_outer_isoform_is(tmp_path):
    inner, outer = (
        alignment("+", [chain], f"{chain[1] - chain[0]}=", target=name)
        for name, chain in (("inner", (20, 50)), ("outer", (10, 50)))
    )
    write_alignments(
        tmp_path / "x.gff3", [replace(inner, beyond=(5, 5)), outer], {"b": BASE_LENGTH}, {}
    )
    gene, *_ = read_features(tmp_path / "x.gff3")
    assert (gene.attribute("start_range"), gene.attribute("end_range")) == (None, "50,.")


@pytest.mark.parametrize("name", ["+", "-"])
def test_confidence_is_told_of_introns_exons_and_cds(tmp_path, name):
    a = CODING[name]
    worth = range(7, 7 + a.n_chain)
    between = tuple(range(30, 29 + a.n_chain))
    told = replace(a, intron_confidences=between, exon_confidences=tuple(worth))
    for suffix, transcript in ((".gff3", "mRNA"), (".gtf", "transcript")):
        path = written(tmp_path / f"x{suffix}", [told])
        turn = -1 if suffix == ".gff3" and name == "-" else 1
        wanted = [str(points) for points in worth][::turn]
        assert attributes(path, "confidence", "exon") == wanted
        assert attributes(path, "confidence", "CDS") == wanted
        assert attributes(path, "intron_confidence", transcript) == [",".join(map(str, between))]
        plain = written(tmp_path / f"plain{suffix}", [a])
        without = re.sub(r"[; ]*(intron_)?confidence[= ][^;\n]*", "", path.read_text())
        assert without == plain.read_text()
