"""Files of splice evidence: each format of introns, scores of sites, and what is refused."""

import gzip

import numpy as np
import pysam
import pytest

from gpu_tools import InputError, Sequence, splice_evidence
from gpu_tools.formats import junctions

LENGTH = 400


def genome(*names: str) -> list[Sequence]:
    """Return records of A with an intron GT..AG at 100-200 and one CT..AC at 220-300."""
    text = ["A"] * LENGTH
    for at, word in ((100, "GT"), (198, "AG"), (220, "CT"), (298, "AC")):
        text[at : at + 2] = word
    return [Sequence.from_text(name, "".join(text)) for name in names or ("chr1",)]


def introns(path, records=None):
    """Return the introns of a file as tuples of record, start, end, strand and count."""
    seen = splice_evidence(records or genome(), [path]).junctions
    return [
        (record, start, end, "-" if reverse else "+", count)
        for record, own in seen.items()
        for start, end, reverse, count in zip(
            *(each.tolist() for each in (own.starts, own.ends, own.reverse, own.counts)),
            strict=True,
        )
    ]


BED12 = "chr1\t90\t310\tx\t7\t+\t90\t310\t0\t3\t10,20,10\t0,110,210\n"
STAR = "chr1\t101\t200\t{}\t1\t0\t5\t2\t30\n"
FEATURES = """##gff-version 3
chr1\tx\tmRNA\t81\t320\t.\t{0}\t.\tID=a
chr1\tx\texon\t81\t100\t.\t{0}\t.\tParent=a,b
chr1\tx\texon\t201\t220\t.\t{0}\t.\tParent=a,b
chr1\tx\texon\t301\t320\t.\t{0}\t.\tParent=b
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("chr1\t100\t200\tx\t12\t-\n", [("chr1", 100, 200, "-", 12)]),
        ("track x\nchr1\t100\t200\n", [("chr1", 100, 200, "+", 1)]),
        ("chr1\t220\t300\tx\t0\t.\n", [("chr1", 220, 300, "-", 1)]),
        ("chr1\t221\t299\tx\t3.0\t.\n", [("chr1", 221, 299, s, 3) for s in "+-"]),
        ("chr1\t100\t200\tx\t2\t+\n" * 2, [("chr1", 100, 200, "+", 4)]),
        (BED12, [("chr1", 100, 200, "+", 7), ("chr1", 220, 300, "+", 7)]),
        (STAR.format(2), [("chr1", 100, 200, "-", 7)]),
        (STAR.format(0), [("chr1", 100, 200, "+", 7)]),
        (FEATURES.format("+"), [("chr1", 100, 200, "+", 1), ("chr1", 220, 300, "+", 1)]),
        ("chr1\th\tintron\t101\t200\t.\t+\t.\tmult=9;src=E\n", [("chr1", 100, 200, "+", 9)]),
        ('chr1\tx\texon\t81\t100\t.\t-\t.\ttranscript_id "t"\n'
         'chr1\tx\texon\t201\t220\t.\t-\t.\ttranscript_id "t"\n', [("chr1", 100, 200, "-", 1)]),
        ("", []),
    ],
)  # fmt: skip
def test_formats_are_told_by_content(text, expected, tmp_path):
    path, packed = tmp_path / "introns", tmp_path / "introns.gz"
    path.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    assert introns(path) == introns(packed) == expected


def reads(path, mode: str) -> None:
    """Write reads with an intron: of known strands by both tags, of none, and one not counted."""
    header = pysam.AlignmentHeader.from_references(["chr1"], [LENGTH])
    reference = path.with_suffix(".fa")
    reference.write_text(f">chr1\n{genome()[0].letters()}\n")
    with pysam.AlignmentFile(
        str(path), mode, header=header, reference_filename=str(reference)
    ) as stream:
        for k, (flag, tags) in enumerate(
            [(0, [("XS", "-")]), (16, [("ts", "+")]), (0, [("ts", "+")]), (0, []), (256, [])]
        ):
            read = pysam.AlignedSegment(header)
            read.query_name, read.flag, read.reference_id = f"r{k}", flag, 0
            read.reference_start, read.cigarstring, read.query_sequence = 90, "5M5D100N4M", "A" * 9
            read.set_tags(tags)
            stream.write(read)
    for file in path.parent.glob("*.fa*"):  # introns need no reference
        file.unlink()


@pytest.mark.parametrize(("suffix", "mode"), [(".bam", "wb"), (".sam", "w"), (".cram", "wc")])
def test_reads_are_counted_by_strand(suffix, mode, tmp_path):
    reads(path := tmp_path / f"reads{suffix}", mode)
    assert introns(path) == [("chr1", 100, 200, "+", 2), ("chr1", 100, 200, "-", 2)]


def test_introns_are_read_without_a_genome(tmp_path):
    """Those of no known strand count for both; counts of several files are added up."""
    path = tmp_path / "x.bed"
    path.write_text("a\t1\t9\t.\t5\t+\na\t1\t9\nb\t2\t9\t.\t1\t-\n")
    assert junctions.read_junctions([path, path]) == {
        "a": {(1, 9, "+"): 12, (1, 9, "-"): 2}, "b": {(2, 9, "-"): 2}
    }  # fmt: skip


def test_evidence_on_a_locus_is_that_of_its_record(tmp_path):
    (record,) = genome()
    path = tmp_path / "x.bed"
    path.write_text("chr1\t100\t200\tx\t5\t+\nchr2\t1\t9\tx\t1\t+\nchr1\t220\t300\tx\t1\t+\n")
    locus = Sequence("chr1:51-250", record.codes[50:250], "record_length=400")
    evidence = splice_evidence([locus], [path])
    assert introns(path, [locus]) == [("chr1", 100, 200, "+", 5)]
    own = evidence.on(locus, "+")
    assert (own.donors.tolist(), own.acceptors.tolist()) == ([50], [150])
    whole = splice_evidence([record], [path], elsewhere={"chr2": 10}).on(record, "-")
    assert len(whole.donors) == 0


def test_scores_are_read_by_strand_and_kind(tmp_path):
    path = tmp_path / "scores.tsv"
    path.write_text("chr1\t100\t+\tD\t9\nchr1\t100\t+\tD\t12\nchr1\t300\t-\tD\t-90\n")
    (record,) = genome()
    evidence = splice_evidence([record], splice_scores=path)
    forward, reverse = (evidence.on(record, strand) for strand in "+-")
    assert forward.donor_scores.at(np.array([99, 100])).tolist() == [-7, 12]
    assert reverse.donor_scores.at(np.array([100, 300])).tolist() == [-14, -7]
    assert forward.acceptor_scores.at(np.array([100])).tolist() == [-7]


def random_score_lines(rng) -> list[str]:
    """Return lines on two contigs, in order; some positions occur twice."""
    lines = []
    for name in ("chr1", "contig_2"):
        for offset in sorted(rng.integers(0, LENGTH + 1, 40).tolist()):
            words = name, offset, rng.choice(["+", "-"]), rng.choice(["D", "A"])
            lines.append("\t".join(map(str, (*words, rng.integers(-140, 140)))))
    return lines


@pytest.mark.parametrize("block", [1, 100, 1 << 22])
@pytest.mark.parametrize("more", ["", "# remark", " \t "])
def test_scores_are_read_alike_by_lines_and_all_at_once(block, more, tmp_path, monkeypatch):
    """Lines that are no data have those around them read one by one."""
    monkeypatch.setattr(junctions, "_BLOCK", block)
    lines, path = random_score_lines(np.random.default_rng(6)), tmp_path / "scores.tsv"
    expected: dict = {}
    for line in lines:
        *key, score = line.split("\t")
        expected[tuple(key)] = max(int(score), expected.get(tuple(key), -999))
    path.write_text("\r\n".join([*lines[:30], *([more] if more else []), *lines[30:]]))
    records = genome("chr1", "contig_2")
    evidence = splice_evidence(records, splice_scores=path)
    found = {
        (name, str(place), strand, kind): score
        for (name, strand, kind), placed in evidence.scores.items()
        for place, score in zip(placed.positions.tolist(), placed.half_bits.tolist(), strict=True)
    }
    assert found == {key: min(max(score, -127), 127) for key, score in expected.items()}
    assert evidence.on(records[0], "-").donor_scores is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr7\t1\t9\n", "line 1: evidence on an unknown sequence 'chr7'"),
        ("chr1\t1\t9\nchr1\t1\t401\n", "line 2: evidence at 401 lies behind the end of chr1; "
         "expected positions up to 400"),
        ("chr1\t9\t9\n", "line 1: start 9 does not lie before end 9"),
        ("chr1\t1\t9\tx\t1\t?\n", "line 1: unknown strand '\\?'; expected \\+, -, \\."),
        ("no table\n", "line 1: no format of introns; expected introns in BED"),
        (STAR.format(3), "line 1: unknown strand '3'; expected 0, 1, 2"),
    ],
)  # fmt: skip
def test_wrong_introns_are_told_with_file_and_line(text, message, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=f"x.txt, {message}"):
        splice_evidence(genome(), [path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr1\t1\t+\tD\n", "4 columns; expected contig, offset, strand, D or A, and score"),
        ("chr1\t1\t.\tD\t1\n", "strand '.' and kind 'D'; expected"),
        ("chr1\t-1\t+\tD\t1\n", "offset -1 lies before the sequence"),
        ("chr1\t1\t+\tD\tx\n", "score 'x' is not an integer"),
        ("chr1\t401\t+\tD\t1\n", "evidence at 401 lies behind the end of chr1"),
    ],
)
def test_wrong_scores_are_told_with_file_and_line(text, message, tmp_path):
    path = tmp_path / "x.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match=f"x.tsv, line 1: {message}"):
        splice_evidence(genome(), splice_scores=path)


def test_a_broken_file_of_reads_is_told(tmp_path):
    (path := tmp_path / "x.bam").write_bytes(b"no BAM")
    with pytest.raises(InputError, match=r"x.bam: cannot be read as alignments \("):
        splice_evidence(genome(), [path])


def test_files_without_evidence_are_warned_of(tmp_path, caplog):
    for name in ("x.bed", "x.tsv"):
        (tmp_path / name).touch()
    (tmp_path / "x.gff3").write_text("##gff-version 3\n")
    seen = [tmp_path / "x.bed", tmp_path / "x.gff3"]
    splice_evidence(genome(), seen, tmp_path / "x.tsv")
    told = [record.getMessage().rpartition("/")[2] for record in caplog.records]
    assert told == ["x.bed holds no intron", "x.gff3 holds no intron", "x.tsv holds no score"]
