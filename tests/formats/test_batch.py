"""Files of a batch: the exons of its bases come back in the coordinates of their records."""

import gzip
import re

import pysam
import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments import write_alignments
from gpu_tools.formats.batch import (
    CaseRow,
    concatenate,
    exons_of_batches,
    merge_bam,
    merge_gff3,
    merge_methods,
    merge_tables,
    read_case_rows,
    select_gff3,
    write_case_rows,
)
from gpu_tools.formats.exons.intervals import write_exons
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence
from tests.formats.common import saved

# a locus named as its record, another one of that record, and a whole record under another name
LOCI = {"chr": Locus("chr", 100, 200), "left": Locus("chr", 50, 150), "all": Locus("r", 0, 80)}
INSIDE = {"chr": [(5, 20)], "left": [(5, 20), (60, 90)], "all": [(0, 80)]}


def write_batch(folder, name, bases):
    rows = [CaseRow(base, target, LOCI[base]) for base in bases for target in ("t", "u")]
    write_case_rows(folder / f"{name}.tsv", rows)
    sets = {b: LOCI[b].exons_under(b, ExonSet.from_intervals(INSIDE[b], "+")) for b in bases}
    write_exons(folder / f"{name}.gff3", sets, "gff3")
    return rows


def test_table_of_cases_comes_back(tmp_path):
    rows = write_batch(tmp_path, "a", ["chr", "left"])
    assert read_case_rows(tmp_path / "a.tsv") == rows


def test_exons_are_in_the_records_coordinates(tmp_path):
    write_batch(tmp_path, "a", ["chr", "left"])
    write_batch(tmp_path, "b", ["all", "left"])
    found = exons_of_batches(
        *([tmp_path / f"{name}.{suffix}" for name in "ab"] for suffix in ("gff3", "tsv"))
    )
    intervals = {
        base: list(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True))
        for base, exons in found.items()
    }
    assert intervals == {"chr": [(105, 120)], "left": [(55, 70), (110, 140)], "all": [(0, 80)]}


def test_base_without_exons_has_an_empty_set(tmp_path):
    write_batch(tmp_path, "a", ["chr"])
    write_batch(tmp_path, "b", ["left"])
    found = exons_of_batches([tmp_path / "a.gff3"], [tmp_path / "b.tsv"])
    assert {base: len(exons) for base, exons in found.items()} == {"left": 0}


TARGETS = {name: Sequence.from_text(name, "ACGTACGT") for name in ("t", "u")}
BASES = {"long": 60, "short": 40}
VERSION = "##gff-version 3\n"


def alignment(base, target, score, start):
    return SplicedAlignment(
        base, target, BASES[base], 8, "+", score, 2, 64,
        ((start, start + 4), (start + 9, start + 13)), 0, 8,
        (("=", 4), ("N", 5), ("=", 4)), (1.5, 2.0),
    )  # fmt: skip


ALIGNMENTS = [
    alignment("long", "t", 5, 3),
    alignment("long", "u", 8, 12),  # shares an exon with the one before
    alignment("short", "t", 7, 2),
    alignment("short", "u", 8, 0),
]


def write_batches(folder, suffix, batches):
    paths = []
    for k, batch in enumerate(batches):
        names = {a.base for a in batch}
        bases = {name: length for name, length in BASES.items() if name in names}
        paths.append(folder / f"{k}of{len(batches)}{suffix}")
        write_alignments(paths[-1], batch, bases, TARGETS)
    return paths


SIZES = [[1, 1, 1, 1], [1, 3], [2, 2], [3, 1], [4]]


def batches_of(sizes):
    rest = list(ALIGNMENTS)
    return [[rest.pop(0) for _ in range(n)] for n in sizes]


@pytest.mark.parametrize("sizes", SIZES)
def test_gff3_is_that_of_one_batch(tmp_path, sizes):
    whole = write_batches(tmp_path, ".gff3", [ALIGNMENTS])[0]
    merge_gff3(write_batches(tmp_path, ".gff3", batches_of(sizes)), tmp_path / "merged.gff3")
    assert (tmp_path / "merged.gff3").read_text() == whole.read_text()


def test_isoforms_of_several_files_get_one_gene(tmp_path):
    """The third alignment makes isoforms of the first two; each stands once, with its ID."""
    found = [alignment("long", "t", 5, 3), alignment("long", "t", 8, 25),
             alignment("long", "u", 7, 15), alignment("long", "t", 5, 3)]  # fmt: skip
    paths = write_batches(tmp_path, ".gff3", [[one] for one in found])
    merge_gff3(paths, tmp_path / "all.gff3")
    lines = (tmp_path / "all.gff3").read_text().splitlines()
    (gene,) = (line for line in lines if "\tgene\t" in line)
    assert gene.split("\t")[3:5] == ["4", "38"]
    assert "ID=gene:t.1;" in gene
    alone = [line for path in paths[:3] for line in path.read_text().splitlines()]
    for feature in ("mRNA", "exon"):
        of_feature = [line for line in lines if f"\t{feature}\t" in line]
        found = [re.sub(r"(ID=\w+|Parent=mRNA|Parent=gene):\w\.\d", r"\1", x) for x in of_feature]
        known = [line for line in alone if f"\t{feature}\t" in line]
        known = [re.sub(r"(ID=\w+|Parent=mRNA|Parent=gene):\w\.\d", r"\1", x) for x in known]
        assert found == known
    ids = [re.search(r"ID=mRNA:([^;]*)", line)[1] for line in lines if "\tmRNA\t" in line]
    assert ids == ["t.1", "t.2", "u.1"]  # each file began with 1
    assert all(line.endswith(";Parent=gene:t.1") for line in lines if "\tmRNA\t" in line)


def test_models_are_chosen_by_their_place(tmp_path):
    """One of two models of a target on one record, alone in its gene; and one of another record."""
    found = [*ALIGNMENTS, alignment("long", "t", 6, 40)]
    chosen = [ALIGNMENTS[0], ALIGNMENTS[3]]
    (path,) = write_batches(tmp_path, ".gff3", [found])
    places = {(a.base, a.target, (a.chain[0][0], a.chain[-1][1])) for a in chosen}
    select_gff3(path, tmp_path / "chosen.gff3", places)
    write_alignments(tmp_path / "alone.gff3", chosen, BASES, TARGETS)
    assert (tmp_path / "chosen.gff3").read_text() == (tmp_path / "alone.gff3").read_text()


OTHER = "line 3: a feature .*; expected a file that spliced"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t.\texon\t1\t2\t.\t+\t.\t.\n", "line 1: no GFF3; expected '##gff-version 3'"),
        (
            f"{VERSION}##sequence-region chr1 1 -\n",
            "line 2: a broken line; expected ##seq",
        ),
        (f"{VERSION}#\nc\t.\texon\t1\t2\t3\t+\t.\tParent=m\n", OTHER),
        (f"{VERSION}#\nc\t.\tmRNA\t1\t2\t3\t+\t.\tName=t\n", OTHER),
        (f"{VERSION}#\nc\t.\tmRNA\t1\t2\t3\t+\t.\tID=mRNA:x\n", OTHER),
        (f"{VERSION}#\nc\t.\tmRNA\t1\t2\t3\t+\t.\tID=m;Name=t\n", OTHER),
    ],
)
def test_gff3_of_other_programs_is_an_error(tmp_path, text, message):
    (tmp_path / "a").write_text(text)
    with pytest.raises(InputError, match=f"a, {message}"):
        merge_gff3([tmp_path / "a"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("sizes", SIZES)
def test_bam_is_that_of_one_batch(tmp_path, sizes):
    whole = write_batches(tmp_path, ".bam", [ALIGNMENTS])[0]
    merge_bam(write_batches(tmp_path, ".bam", batches_of(sizes)), tmp_path / "merged.bam")
    assert records(tmp_path / "merged.bam") == records(whole)
    with pysam.AlignmentFile(tmp_path / "merged.bam") as bam:
        assert bam.check_index()
        assert [r.query_name for r in bam.fetch("short", 0, 2)] == ["u"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith((".", "tmp"))] == []


def records(path):
    with pysam.AlignmentFile(path) as bam:
        return str(bam.header), [record.to_string() for record in bam]


def test_one_primary_line_a_query(tmp_path):
    merge_bam(write_batches(tmp_path, ".bam", batches_of([1, 1, 1, 1])), tmp_path / "merged.bam")
    with pysam.AlignmentFile(tmp_path / "merged.bam") as bam:
        primary = {(r.query_name, r.reference_name) for r in bam if not r.is_secondary}
    assert primary == {("t", "short"), ("u", "long")}


@pytest.mark.parametrize("content", [b"no BAM", gzip.compress(b"BAM\1" * 100, mtime=0)])
def test_broken_bam_is_an_error_and_leaves_nothing(tmp_path, content):
    (tmp_path / "x.bam").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.bam: cannot be read as BAM"):
        merge_bam([tmp_path / "x.bam"], tmp_path / "merged.bam")
    assert [p.name for p in tmp_path.iterdir()] == ["x.bam"]


def test_tables_keep_one_header_and_the_order(tmp_path):
    for name, text in (("a", "x\ty\n1\t2\n"), ("b", "x\ty\n"), ("c", "x\ty\n0\t.\n")):
        (tmp_path / name).write_text(text)
    merge_tables([tmp_path / "a", tmp_path / "b", tmp_path / "c"], tmp_path / "all")
    assert (tmp_path / "all").read_text() == "x\ty\n1\t2\n0\t.\n"


@pytest.mark.parametrize("second", ["", "x\tz\n"])
def test_tables_of_other_columns_are_an_error(tmp_path, second):
    (tmp_path / "a").write_text("x\ty\n1\t2\n")
    (tmp_path / "b").write_text(second)
    with pytest.raises(InputError, match="b, line 1: wrong header; expected x\ty"):
        merge_tables([tmp_path / "a", tmp_path / "b"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_concatenated_fasta_reads_as_all_records(tmp_path):
    paths = [tmp_path / f"{name}.fa.gz" for name in TARGETS]
    for path, target in zip(paths, TARGETS.values(), strict=True):
        write_fasta(path, [target])
    concatenate(paths, tmp_path / "all.fa")
    concatenate([tmp_path / "all.fa"], tmp_path / "all.fa.gz")
    assert [s.name for s in read_fasta(tmp_path / "all.fa.gz")] == list(TARGETS)
    assert gzip.decompress((tmp_path / "all.fa.gz").read_bytes()).count(b">") == 2


def scores_table(path, *rows, columns=("base", "target", "score")):
    path.write_text("".join("\t".join(row) + "\n" for row in (columns, *rows)))
    return path


def cases_table(path, *rows):
    return scores_table(path, *rows, columns=("base", "target", "locus"))


def test_methods_stand_side_by_side(tmp_path):
    cases = [("b", "t"), ("b", "u"), ("c", "t")]
    first = {
        name: scores_table(
            tmp_path / f"1{name}", *((*case, f"{name}{case[1]}") for case in cases[:2])
        )
        for name in ("x", "y")
    }
    second = {
        name: scores_table(tmp_path / f"2{name}", (*cases[2], f"{name}c")) for name in ("x", "y")
    }
    known = [
        cases_table(tmp_path / "k1", ("one", "t", "b:5-9"), ("one", "u", "b:5-9")),
        cases_table(tmp_path / "k2", ("two", "t", "c:1-9")),
    ]
    merge_methods([first, second], known, tmp_path / "all")
    assert (tmp_path / "all").read_text().splitlines() == [
        "base\ttarget\tmethod\tlocus\tscore",
        "one\tt\tx\tb:5-9\txt", "one\tt\ty\tb:5-9\tyt",
        "one\tu\tx\tb:5-9\txu", "one\tu\ty\tb:5-9\tyu",
        "two\tt\tx\tc:1-9\txc", "two\tt\ty\tc:1-9\tyc",
    ]  # fmt: skip


def test_tables_may_lack_the_last_columns_of_others(tmp_path):
    """Candidates have no confidence; a batch of targets without descriptions lacks the column."""
    known = cases_table(tmp_path / "k", ("one", "t", "b:5-9"))
    text = "base\ttarget\tscore{}\nb\tt\t{}\n"
    x = saved(tmp_path, text.format("", "1"), "x")
    y = saved(tmp_path, text.format("\tconfidence", "2\t3"), "y")
    v = saved(tmp_path, text.format("\tdescription", "4\ta (A)"), "v")
    w = saved(tmp_path, text.format("\tconfidence\tdescription", "5\t6\tb"), "w")
    merge_methods([{"x": x, "y": y}, {"x": v, "y": w}], [known, known], tmp_path / "all")
    assert (tmp_path / "all").read_text().splitlines() == [
        "base\ttarget\tmethod\tlocus\tscore\tconfidence\tdescription",
        "one\tt\tx\tb:5-9\t1\t.\t.", "one\tt\ty\tb:5-9\t2\t3\t.",
        "one\tt\tx\tb:5-9\t4\t.\ta (A)", "one\tt\ty\tb:5-9\t5\t6\tb",
    ]  # fmt: skip


X, KNOWN = "base\ttarget\tscore\nb\tt\t1\n", "base\ttarget\tlocus\none\tt\tb:1-9\n"


@pytest.mark.parametrize(
    ("y", "known", "message"),
    [
        (X.replace("t\t1", "u\t2"), KNOWN, "y, line 2: another case; expected b and t"),
        (X.replace("\t1", ""), KNOWN, "y, line 2: too few or too many columns; expected base\tt"),
        (X + "b\tu\t2\n", KNOWN, "y: 2 rows; expected 1"),
        (X.replace("score", "points"), KNOWN, "y, line 1: wrong header"),
        (X, KNOWN.replace(":1-9", ""), "k, line 2: no locus 'b'; expected NAME:START-END"),
        (X, "base\n", "k, line 1: column 'target' is missing; expected a tab-separated header"),
    ],
)
def test_methods_of_other_cases_are_refused(tmp_path, y, known, message):
    paths = [saved(tmp_path, text, name) for name, text in (("x", X), ("y", y), ("k", known))]
    with pytest.raises(InputError, match=message):
        merge_methods([dict(zip("xy", paths[:2], strict=True))], paths[2:], tmp_path / "all")
    assert not (tmp_path / "all").exists()


@pytest.mark.parametrize("order", [1, -1])
def test_the_greatest_length_of_a_reference_counts(tmp_path, order):
    known, unknown = alignment("long", "t", 5, 3), alignment("long", "u", 8, 20)
    for suffix, merge in ((".gff3", merge_gff3), (".bam", merge_bam)):
        paths = []
        for k, (found, length) in enumerate([(known, 60), (unknown, 33)][::order]):
            paths.append(tmp_path / f"{k}{suffix}")
            write_alignments(paths[-1], [found], {"long": length}, TARGETS)
        merge(paths, tmp_path / f"all{suffix}")
    with pysam.AlignmentFile(tmp_path / "all.bam") as bam:
        assert dict(zip(bam.references, bam.lengths, strict=True)) == {"long": 60}
    regions = [x for x in (tmp_path / "all.gff3").read_text().splitlines() if "region" in x]
    assert regions == ["##sequence-region long 1 60"]


def test_a_broken_record_of_bam_is_an_error(tmp_path):
    path, out = tmp_path / "x.bam", tmp_path / "out.bam"
    with pysam.AlignmentFile(path, "wb", reference_names=["a"], reference_lengths=[9]) as stream:
        record = pysam.AlignedSegment(stream.header)
        record.query_name = "a\tb"
        stream.write(record)
    with pytest.raises(InputError, match=r"x.bam: a broken record of BAM"):
        merge_bam([path], out)
    assert not out.exists()


def test_a_record_of_bam_without_score_is_an_error(tmp_path):
    path, out = write_batches(tmp_path, ".bam", [ALIGNMENTS])[0], tmp_path / "out.bam"
    with pysam.AlignmentFile(path) as bam:
        head, (record, *_) = bam.header, bam
    record.set_tag("AS", "x")
    with pysam.AlignmentFile(tmp_path / "x.bam", "wb", header=head) as stream:
        stream.write(record)
    with pytest.raises(InputError, match=r"x.bam: a broken record of BAM \(no score"):
        merge_bam([tmp_path / "x.bam"], out)
    assert not out.exists()
