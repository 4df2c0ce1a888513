import logging
import re
import subprocess
from dataclasses import replace
from itertools import pairwise

import pysam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments import SUFFIXES, write_alignments
from gpu_tools.formats.files import suffix_of
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence, decode, reverse_complement
from tests.formats.alignments.cases import (
    BASE_LENGTH,
    HAND_MADE,
    NO_CHAIN,
    NO_PAIR,
    alignment,
    columns,
    parsed,
    sequences,
    write_one,
)
from tests.formats.common import error_of
from tests.programs import require


def pairs(a):
    return sorted((t, p) for op, t, p in columns(a) if op in "=X")


def check_runs(runs):
    """The rules for a CIGAR: no empty run, neighbours differ, no D or N outermost."""
    assert all(n > 0 for _, n in runs)
    assert all(x[0] != y[0] for x, y in pairwise(runs))
    inner = [op for op, _ in runs if op not in "SI"]
    assert inner[0] in "=X"
    assert inner[-1] in "=X"


def check_sam(path, a):
    base, target = sequences(a)
    write_one(path, a, target)
    with pysam.AlignmentFile(str(path)) as stream:
        (record,) = list(stream)
    check_runs([("MIDNSHP=X"[op], n) for op, n in record.cigartuples])
    length = a.target_length
    assert record.is_reverse == (a.strand == "-")
    found = record.get_aligned_pairs(matches_only=True)
    if record.is_reverse:
        found = [(length - 1 - q, p) for q, p in found]
    assert sorted(found) == pairs(a)
    codes = reverse_complement(target.codes) if record.is_reverse else target.codes
    assert record.query_sequence == decode(codes)
    check_letters(record, decode(base))
    clips = [n if op == 4 else 0 for op, n in (record.cigartuples[0], record.cigartuples[-1])]
    free = [a.target_start, length - a.target_end]
    assert clips == (free[::-1] if record.is_reverse else free)
    assert record.get_tag("AS") == a.score
    assert record.get_tag("ts") == "+"
    assert record.mapping_quality == 255


def check_letters(record, base):
    operation = {}
    q = 0
    for op, n in record.cigartuples:
        if op in (1, 4, 7, 8):
            operation |= dict.fromkeys(range(q, q + n), op)
            q += n
    for q, p in record.get_aligned_pairs(matches_only=True):
        assert (record.query_sequence[q] == base[p]) == (operation[q] == pysam.CEQUAL)
    gaps = sum(n for op, n in record.cigartuples if op in (1, 2))
    unequal = sum(n for op, n in record.cigartuples if op == 8)
    assert record.get_tag("NM") == gaps + unequal


def check_paf(path, a):
    base, target = sequences(a)
    write_one(path, a, target)
    fields = path.read_text().rstrip("\n").split("\t")
    numbers = [int(fields[k]) for k in (1, 2, 3, 6, 7, 8, 9, 10, 11)]
    length, q_start, q_end, base_length, start, end, matches, block, quality = numbers
    assert (fields[0], fields[4], fields[5]) == ("t", a.strand, "b")
    assert (length, base_length, quality) == (a.target_length, BASE_LENGTH, 255)
    runs = parsed(next(f[5:] for f in fields[12:] if f.startswith("cg:Z:")))
    check_runs(runs)
    assert matches == a.matches
    assert block == sum(n for op, n in runs if op != "N")
    assert f"AS:i:{a.score}" in fields[12:]
    found, symbols = [], decode(base)
    codes = target.codes[q_start:q_end]
    query = decode(reverse_complement(codes) if a.strand == "-" else codes)
    q, p = 0, start
    for op, n in runs:
        for k in range(n):
            if op in "=X":
                assert (query[q + k] == symbols[p + k]) == (op == "=")
                found.append((q_end - 1 - q - k if a.strand == "-" else q_start + q + k, p + k))
        q += n * (op in "=XI")
        p += n * (op in "=XDN")
    assert (q, p) == (q_end - q_start, end)
    assert sorted(found) == pairs(a)


def check_gene_model(path, a):
    write_one(path, a, sequences(a)[1])
    lines = [line.split("\t") for line in path.read_text().splitlines() if line[0] != "#"]
    gene, mrna, *exons = lines
    assert [line[2] for line in lines] == ["gene", "mRNA"] + ["exon"] * len(a.chain)
    assert [(int(f[3]) - 1, int(f[4])) for f in exons] == sorted(a.chain)
    assert {line[6] for line in lines} == {a.strand}
    assert (gene[5], mrna[5]) == (".", str(a.score))
    assert gene[8] == "ID=gene:t.1;Name=t"
    assert mrna[8].startswith("ID=mRNA:t.1;Name=t;")
    assert mrna[8].endswith(";Parent=gene:t.1")
    whole = f";Target=t {a.target_start + 1} {a.target_end};"
    assert (whole in mrna[8]) == (a.target_start < a.target_end)
    parts = exons[::-1] if a.strand == "-" else exons
    following = a.target_start
    for k, (fields, (start, end)) in enumerate(zip(parts, a.chain, strict=True), start=1):
        assert fields[8].startswith(f"ID=exon:t.1:{k};Parent=mRNA:t.1")
        inside = [t for op, t, p in columns(a) if op in "=X" and start <= p < end]
        target = re.search(r"Target=t (\d+) (\d+)$", fields[8])
        if not target:
            assert not inside
            continue
        assert int(target[1]) - 1 == following
        following = int(target[2])
        assert all(int(target[1]) <= t + 1 <= following for t in inside)
    assert following == a.target_end


def check_transcript(path, a):
    write_one(path, a, sequences(a)[1])
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [line[2] for line in lines] == ["transcript"] + ["exon"] * len(a.chain)
    assert [(int(f[3]) - 1, int(f[4])) for f in lines[1:]] == list(a.chain)
    assert {line[6] for line in lines} == {a.strand}
    assert (lines[0][5], lines[0][7]) == (str(a.score), ".")
    ids = 'gene_id "gene:t.1"; transcript_id "mRNA:t.1"; '
    assert all(line[8].startswith(ids) for line in lines)


def check_bed(path, a):
    write_one(path, a, sequences(a)[1])
    fields = path.read_text().rstrip("\n").split("\t")
    start, end, count = int(fields[1]), int(fields[2]), int(fields[9])
    sizes, offsets = ([int(x) for x in text.split(",")] for text in fields[10:])
    blocks = [(start + o, start + o + n) for o, n in zip(offsets, sizes, strict=True)]
    assert blocks == sorted(a.chain)
    assert (count, blocks[0][0], blocks[-1][1]) == (len(a.chain), start, end)
    assert (fields[0], fields[3], fields[5]) == ("b", "t", a.strand)


CHECKS = {
    ".sam": check_sam, ".bam": check_sam, ".paf": check_paf, ".gff3": check_gene_model,
    ".gtf": check_transcript, ".bed": check_bed,
}  # fmt: skip
every_format = pytest.mark.parametrize("suffix", SUFFIXES)


@every_format
@pytest.mark.parametrize("name", HAND_MADE)
def test_hand_made(tmp_path, suffix, name):
    CHECKS[suffix](tmp_path / f"x{suffix}", HAND_MADE[name])


@st.composite
def random_alignments(draw):
    n_exons = draw(st.integers(1, 4))
    chain, parts, position = [], [], 0
    for k in range(n_exons):
        gap = draw(st.integers(0, 3))
        start, cigar = position + gap, draw(exon_cigars)
        position = start + sum(n for op, n in cigar if op != "I")
        parts += [("N", gap)] * (k > 0 and (gap > 0 or draw(st.booleans()))) + cigar
        chain.append((start, position))
    strand = draw(st.sampled_from("+-"))
    if strand == "-":
        chain = [(BASE_LENGTH - end, BASE_LENGTH - start) for start, end in chain]
    return alignment(strand, chain, "".join(f"{n}{op}" for op, n in parts),
                     draw(st.tuples(st.integers(0, 3), st.integers(0, 3))))  # fmt: skip


exon_cigars = st.lists(
    st.tuples(st.sampled_from("=XID"), st.integers(1, 4)), min_size=1, max_size=5
).filter(lambda cigar: any(op != "I" for op, _ in cigar))


@pytest.mark.parametrize("suffix", [".sam", ".paf", ".bed"])
@given(a=random_alignments())
@settings(max_examples=150, deadline=None)
def test_random(tmp_path_factory, suffix, a):
    if pairs(a):
        CHECKS[suffix](tmp_path_factory.getbasetemp() / f"random{suffix}", a)


# CRC-32 of what the alignment is, and of its gene's mRNAs
MRNA = GENE = "t.1"


def test_exact_lines(tmp_path):
    a = alignment("-", [(40, 45), (10, 20)], "2D3=20N1I7=1X2D", (1, 2), exon_scores=(1.5, -2.25))
    target = Sequence.from_text("t", "AACGTACGTACGTAC")
    write_one(tmp_path / "x.paf", a, target)
    assert (tmp_path / "x.paf").read_text() == (
        "t\t15\t1\t13\t-\tb\t120\t12\t43\t10\t12\t255\tNM:i:2\tAS:i:7\tts:A:+\tcg:Z:1X7=1I20N3=\n"
    )
    write_one(tmp_path / "x.sam", a, target)
    assert (tmp_path / "x.sam").read_text().splitlines()[-1] == (
        "t\t16\tb\t13\t255\t2S1X7=1I20N3=1S\t*\t0\t0\tGTACGTACGTACGTT\t*\tAS:i:7\tNM:i:2\tts:A:+"
    )
    write_one(tmp_path / "x.bed", a, target)
    assert (tmp_path / "x.bed").read_text() == ("b\t10\t45\tt\t7\t-\t10\t10\t0\t2\t10,5\t0,30\n")
    write_one(tmp_path / "x.gff3", a, target)
    assert (tmp_path / "x.gff3").read_text() == (
        "##gff-version 3\n##sequence-region b 1 120\n"
        f"b\tgpu-tools\tgene\t11\t45\t.\t-\t.\tID=gene:{GENE};Name=t\n"
        f"b\tgpu-tools\tmRNA\t11\t45\t7\t-\t.\tID=mRNA:{MRNA};Name=t;Target=t 2 13;identity=0.6250;"
        "coverage=0.7333;"
        f"Parent=gene:{GENE}\n"
        f"b\tgpu-tools\texon\t11\t20\t-2.25\t-\t.\tID=exon:{MRNA}:2;Parent=mRNA:{MRNA};"
        "Target=t 5 13\n"
        f"b\tgpu-tools\texon\t41\t45\t1.5\t-\t.\tID=exon:{MRNA}:1;Parent=mRNA:{MRNA};"
        "Target=t 2 4\n"
    )


def several():
    """Three targets on two bases, out of order, one target on both."""
    one = alignment("+", [(50, 60), (80, 90)], "10=20N10=", target="t;1,=&", score=2000)
    two = alignment("-", [(40, 45), (10, 20)], "5=20N10=", target="t2", score=-3)
    again = replace(one, base="a|2", score=5000)
    targets = {name: Sequence.from_text(name, "A" * n) for name, n in (("t;1,=&", 20), ("t2", 15))}
    return [one, NO_CHAIN, two, again], {"b": BASE_LENGTH, "a|2": BASE_LENGTH}, targets


def test_sam_is_sorted_and_has_one_primary_line_a_query(tmp_path):
    path = tmp_path / "x.bam"
    write_alignments(path, *several())
    with pysam.AlignmentFile(str(path)) as stream:
        assert stream.header.to_dict()["HD"]["SO"] == "coordinate"
        assert list(zip(stream.references, stream.lengths, strict=True)) == [
            ("b", BASE_LENGTH), ("a|2", BASE_LENGTH),
        ]  # fmt: skip
        assert stream.header.to_dict()["PG"][0]["ID"] == "gpu-tools"
        found = [(r.query_name, r.reference_name, r.reference_start, r.flag) for r in stream]
        assert found == [("t2", "b", 10, 16), ("t;1,=&", "b", 50, 256), ("t;1,=&", "a|2", 50, 0)]
        assert [r.query_name for r in stream.fetch("b", 55, 56)] == ["t;1,=&"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.bam", "x.bam.bai"]
    assert (tmp_path / "x.bam.bai").stat().st_mtime_ns >= path.stat().st_mtime_ns


def test_bed_scores_are_clipped(tmp_path):
    write_alignments(tmp_path / "x.bed", *several())
    lines = [line.split("\t") for line in (tmp_path / "x.bed").read_text().splitlines()]
    assert [(f[0], f[3], f[4]) for f in lines] == [
        ("b", "t;1,=&", "1000"), ("b", "t2", "0"), ("a|2", "t;1,=&", "1000"),
    ]  # fmt: skip


def test_gff3_escapes_names(tmp_path):
    write_alignments(tmp_path / "x.gff3", *several())
    text = (tmp_path / "x.gff3").read_text()
    assert "Target=t%3B1%2C%3D%26 1 10\n" in text
    assert len(set(re.findall(r"ID=([^;]+)", text))) == 12


def test_gff3_is_valid(tmp_path):
    require("gt")
    path = tmp_path / "x.gff3"
    alignments, bases, targets = several()
    write_alignments(path, [*alignments, *HAND_MADE.values(), NO_PAIR], bases, targets)
    run = subprocess.run(["gt", "gff3validator", str(path)], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "input is valid GFF3\n"), run.stderr
    assert "warning" not in run.stderr


@pytest.mark.parametrize("alignments", [[], list(HAND_MADE.values())])
def test_samtools_accepts(tmp_path, alignments):
    require("samtools")
    longest = max((a.target_length for a in alignments), default=0)
    targets = {"t": Sequence.from_text("t", "A" * longest)}
    same_length = [a for a in alignments if a.target_length == longest]
    for name in ("x.bam", "x.sam"):
        write_alignments(tmp_path / name, same_length, {"b": BASE_LENGTH}, targets)
        subprocess.run(["samtools", "quickcheck", "-v", str(tmp_path / name)], check=True)
        count = ["samtools", "view", "-c", str(tmp_path / name)]
        assert int(subprocess.check_output(count)) == len(same_length)
    subprocess.run(["samtools", "idxstats", str(tmp_path / "x.bam")], check=True)


@every_format
def test_without_chain_nothing_is_written(tmp_path, suffix):
    path = tmp_path / f"x{suffix}"
    write_alignments(path, [NO_CHAIN], {"b": BASE_LENGTH}, {})
    lines = pysam.view(str(path)) if suffix in (".sam", ".bam") else path.read_text()
    assert [line for line in lines.splitlines() if line[0] not in "#@"] == []


@pytest.mark.parametrize("suffix", [".paf", ".sam", ".bam"])
def test_without_aligned_pair_nothing_is_written_with_a_warning(tmp_path, caplog, suffix):
    path = tmp_path / f"x{suffix}"
    with caplog.at_level(logging.WARNING, logger="gpu_tools"):
        write_one(path, NO_PAIR, Sequence.from_text("t", "ACG"))
    assert caplog.messages == ["t on b has no aligned pair"]
    lines = pysam.view(str(path)) if suffix in (".sam", ".bam") else path.read_text()
    assert lines == ""


@pytest.mark.parametrize("name", ["x.txt", "x", "x.bam.gz"])
def test_unknown_suffix(tmp_path, name):
    assert error_of(write_alignments, tmp_path / name, [], {}, {}) == (
        f"{tmp_path / name}: the suffix is that of no alignment format; expected a name that "
        "ends in one of .gff3, .gtf, .bed, .paf, .sam, .bam"
    )
    assert suffix_of("x.BAM", SUFFIXES, "alignment") == ".bam"


@pytest.mark.parametrize("suffix", [".sam", ".bam"])
@pytest.mark.parametrize(("base", "target"), [("b(1)", "t"), ("b", "t@1"), ("b", "t" * 255)])
def test_names_that_sam_cannot_hold(tmp_path, suffix, base, target):
    a = replace(HAND_MADE["two exons"], base=base, target=target)
    with pytest.raises(InputError, match=r"^record .*: the name cannot stand in SAM; expected"):
        write_alignments(tmp_path / f"x{suffix}", [a], {base: BASE_LENGTH},
                         {target: Sequence.from_text(target, "A" * 15)})  # fmt: skip
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("cigar", "message"),
    [
        ("10=20N4=", "different lengths"),
        ("9=20N5=", "different lengths"),
        ("10=20N5=1D", "goes on after the chain's last exon"),
        ("10=20N5=0N", "goes on after the chain's last exon"),
        ("10=20N5=3N", r"introns \[20, 3\] in the CIGAR, \[20\] between"),
        ("10=19N5=", r"introns \[19\] in the CIGAR, \[20\] between"),
        ("15=", r"introns \[\] in the CIGAR, \[20\] between"),
    ],
)
def test_chain_and_cigar_that_contradict_each_other(tmp_path, cigar, message):
    a = alignment("+", [(10, 20), (40, 45)], cigar)
    with pytest.raises(ValueError, match=message):
        write_one(tmp_path / "x.paf", a, Sequence.from_text("t", "A"))
    assert not list(tmp_path.iterdir())


def test_long_bases_get_the_index_that_can_hold_them(tmp_path):
    path = tmp_path / "x.bam"
    length = 2**29 + 1000
    a = SplicedAlignment("b", "t", length, 10, "+", 7, chain=((length - 10, length),),
                         target_end=10, cigar=(("=", 10),))  # fmt: skip
    write_alignments(path, [a], {"b": length}, {"t": Sequence.from_text("t", "A" * 10)})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x.bam", "x.bam.csi"]
    with pysam.AlignmentFile(str(path)) as stream:
        assert [r.query_name for r in stream.fetch("b", length - 1, length)] == ["t"]
