import gzip
import logging
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.exons.intervals import WRITTEN_FORMATS, read_exons, write_exons
from gpu_tools.model.exon_set import ExonSet
from tests.formats.common import error_of, saved
from tests.programs import require

COLUMNS = ("starts", "ends", "reverse", "scores", "types", "probabilities")
REFSEQ = Path("../shared/data/real/augustus_cgp_ENm008/refseq.hg38.gtf")


def rows(exons):
    """(start, end, strand, score, type, probability) of every exon; NaN as None."""
    values = zip(*(getattr(exons, name).tolist() for name in COLUMNS), strict=True)
    return [(*v[:2], "-" if v[2] else "+", *v[3:5], None if np.isnan(v[5]) else v[5])
            for v in values]  # fmt: skip


GFF3 = (
    "##gff-version 3\n# note\n\n"
    "chr%201\tx\tgene\t1\t900\t.\t?\t.\tID=g\n"
    "chr%201\tx\texon\t11\t20\t3.5\t-\t.\tParent=g;exon_type=Init;probability=0.25\n"
    "chr%201\tx\tCDS\t31\t31\t.\t.\t0\texon_type=strange\n"
    "b\tx\tSO:0000147\t1\t2\t-1e3\t+\t.\t.\n"
    "##FASTA\n>b\nACGT\n"
)


def test_gff3(tmp_path):
    sets = read_exons(saved(tmp_path, GFF3, "x"))
    assert list(sets) == ["chr 1", "b"]
    assert rows(sets["chr 1"]) == [(10, 20, "-", 3.5, 1, 0.25), (30, 31, "+", 0.0, 0, None)]
    assert rows(sets["b"]) == [(0, 2, "+", -1000.0, 0, None)]


def test_gtf(tmp_path):
    text = (
        'c%20\tx\texon\t11\t20\t0.5\t-\t.\tgene_id "g"; exon_type "Term"; probability "1";\n'
        'c%20\tx\tstop_codon\t11\t13\t.\t-\t.\tgene_id "g";\n'
        "c%20\tx\tCDS\t14\t20\t.\t-\t0\tg1.t1\n"
    )
    for name in ("x.gtf", "x.GTF", "x.gff"):
        sets = read_exons(saved(tmp_path, text, name))
        assert rows(sets["c%20"]) == [(10, 20, "-", 0.5, 3, 1.0), (13, 20, "-", 0.0, 0, None)]


def test_bed_of_three_six_and_twelve_columns(tmp_path):
    text = (
        "browser position c:1-9\ntrack name=x\n#c\n"
        "c 0 5\n"
        "track1\t5\t9\tSngl\t2.5\t-\n"
        "c\t100\t200\tname\t0\t-\t100\t100\t0\t2\t10,20,\t0,80\n"
    )
    sets = read_exons(saved(tmp_path, text, "x.bed"))
    assert rows(sets["c"]) == [(0, 5, "+", 0.0, 0, None), (100, 110, "-", 0.0, 0, None),
                               (180, 200, "-", 0.0, 0, None)]  # fmt: skip
    assert rows(sets["track1"]) == [(5, 9, "-", 2.5, 4, None)]


def test_tsv(tmp_path):
    text = "# candidates\nend\tstart\tbase\tnote\n10\t1\tc\tx\n"
    assert rows(read_exons(saved(tmp_path, text, "x"))["c"]) == [(0, 10, "+", 0.0, 0, None)]
    text = "base\tstart\tend\tstrand\tscore\nc\t1\t10\t-\t-0.5\nc\t1\t10\t.\t.\n"
    assert rows(read_exons(saved(tmp_path, text, "x"))["c"]) == [
        (0, 10, "-", -0.5, 0, None), (0, 10, "+", 0.0, 0, None),
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["x.bed.gz", "x.BED", "x.bed", "x.gff3.gz", "x.gff3", "x.gff",
                                  "x.gff.gz", "x.gtf.gz", "x.bed.bgz", "x.GTF.GZ"])  # fmt: skip
def test_suffix_before_gz_and_in_capitals(tmp_path, name):
    path = tmp_path / name
    data = b"c\t0\t9\n" if "bed" in name.lower() else feature().encode()
    path.write_bytes(gzip.compress(data) if name.lower().endswith("gz") else data)
    assert read_exons(path)["c"].ends.tolist() == [9]


def test_content_goes_before_suffix(tmp_path):
    assert list(read_exons(saved(tmp_path, GFF3, "x.bed"))) == ["chr 1", "b"]


def test_format_that_cannot_be_told(tmp_path):
    path = saved(tmp_path, "c\t0\t5\n", "x.txt")
    assert error_of(read_exons, path) == (
        f"{path}: the format cannot be recognised by content or suffix; expected --exons-format "
        "(in exons convert: --from) genscan|gff3|gtf|bed|tsv"
    )
    assert len(read_exons(path, "bed")["c"]) == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", ""),
        ("x.txt", "\n\n"),
        ("x.bed", "# nothing\n"),
        ("x.gff3", "##gff-version 3\n##sequence-region c 1 9\n"),
        ("x.tsv", "base\tstart\tend\tstrand\n"),
    ],
)
def test_no_exon_is_a_warning(tmp_path, caplog, name, text):
    path = saved(tmp_path, text, name)
    with caplog.at_level(logging.WARNING, logger="gpu_tools"):
        assert read_exons(path) == {}
    assert caplog.messages == [f"{path} holds no exon"]


def feature(start="1", end="9", score=".", strand="+", attributes="."):
    return f"c\tx\texon\t{start}\t{end}\t{score}\t{strand}\t.\t{attributes}\n"


TSV = "base\tstart\tend\tstrand\tscore\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.gff3", "#\n" + feature("0"), "2: start 0 lies before the sequence; expected positions "
                                         "from 1"),
        ("x.gff3", feature("10"), "1: start 10 lies after end 9"),
        ("x.gff3", feature("1.5"), "1: start '1.5' is not an integer"),
        ("x.gff3", feature(end="9" * 19), f"1: end '{'9' * 19}' is not an integer"),
        ("x.gff3", feature(end="1_0"), "1: end '1_0' is not an integer"),
        ("x.gff3", feature(score="nan"), "1: score 'nan' is not a number"),
        ("x.gff3", feature(score="1e999"), "1: score '1e999' is not a number"),
        ("x.gff3", feature(strand="x"), "1: unknown strand 'x'; expected +, - or ."),
        ("x.gff3", feature(attributes="a=b;probability=2"), "1: probability 2 is out of range; "
                                                            "expected 0 to 1"),
        ("x.gff3", "c x exon\n", "1: 1 column; expected 9 tab-separated columns"),
        ("x.gff3", feature().replace("c", "", 1), "1: the sequence's name is empty"),
        ("x.gtf", feature() + feature().strip() + "\tx\n", "2: 10 columns; expected 9 "
                                                         "tab-separated columns"),
        ("x.bed", "c\t1\n", "1: 2 columns; expected 3 to 12 columns"),
        ("x.bed", "c\t1\t2" + "\t0" * 10 + "\n", "1: 13 columns; expected 3 to 12 columns"),
        ("x.bed", "c\t-1\t2\n", "1: start -1 lies before the sequence; expected positions from 0"),
        ("x.bed", "c\t0\t5\nc\t2\t2\n", "2: start 2 does not lie before end 2"),
        ("x.bed", "c\t0\t5\ta\t0\t?\n", "1: unknown strand '?'; expected +, - or ."),
        ("x.bed", "c\t0\t5\ta\thigh\n", "1: score 'high' is not a number"),
        ("x.bed", "c\t0\t9\ta\t0\t+\t0\t0\t0\t2\t1,2\t0\n", "1: 2 block sizes and 1 block starts; "
                                                          "expected 2 of each"),
        ("x.bed", "c\t0\t9\ta\t0\t+\t0\t0\t0\t2\t1,2\t0,6\n",
         "1: the blocks do not span the interval; expected blocks from 0 to 9"),
        ("x.bed", "c\t0\t9\ta\t0\t+\t0\t0\t0\t1\t,\t0\n", "1: block value '' is not an integer"),
        ("x.tsv", TSV + "c\t9\t1\t+\t.\n", "2: start 9 lies after end 1"),
        ("x.tsv", TSV + "c\t1\t9\tplus\t.\n", "2: unknown strand 'plus'; expected +, - or ."),
        ("x.tsv", TSV.replace("score", "exon_type") + "c\t1\t9\t+\tinitial\n",
         "2: unknown exon type 'initial'; expected Init, Intr, Term, Sngl or ."),
        ("x.tsv", TSV + "c\t1\t9\t+\n", "2: 4 fields; expected 5 tab-separated fields as in the "
                                        "header"),
        ("x.tsv", TSV + "\t1\t9\t+\t0\n", "2: column 'base' is empty"),
    ],
)  # fmt: skip
def test_errors_name_the_line(tmp_path, name, text, message):
    path = saved(tmp_path, text, name)
    assert error_of(read_exons, path) == f"{path}, line {message}"


def test_truncated_and_binary_files(tmp_path):
    path = tmp_path / "x.gff3.gz"
    path.write_bytes(gzip.compress(GFF3.encode())[:-9])
    with pytest.raises(InputError, match=r"x\.gff3\.gz: broken compression"):
        read_exons(path)
    path.write_bytes(b"\n\xff\xfe\x00")
    with pytest.raises(InputError, match=r"x\.gff3\.gz, line 2: not UTF-8 text"):
        read_exons(path)


@st.composite
def exon_sets(draw):
    n = draw(st.integers(1, 6))
    numbers = st.integers(0, 10**7)
    starts = np.array(draw(st.lists(numbers, min_size=n, max_size=n)), dtype=np.int64)
    lengths = draw(st.lists(st.integers(1, 5000), min_size=n, max_size=n))
    reverse = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    scores = draw(st.lists(st.floats(-1e6, 1e6), min_size=n, max_size=n))
    types = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    chances = draw(st.lists(st.sampled_from([np.nan, 0.0, 0.123, 1 / 3]), min_size=n, max_size=n))
    return ExonSet(starts, starts + lengths, np.array(reverse), np.array(scores),
                   np.array(types, dtype=np.uint8), np.array(chances))  # fmt: skip


@given(first=exon_sets(), second=exon_sets())
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("form", ["gff3", "tsv", "bed"])
def test_what_is_written_is_read(tmp_path_factory, form, first, second):
    path = tmp_path_factory.mktemp("exons") / f"x.{form}"
    # BED has no place for blanks in names; none of its columns is a probability
    sets = {"a;b,c=%26|" if form == "bed" else "a;b c=%26|": first, "chr2": second}
    write_exons(path, sets, form)
    again = read_exons(path)
    assert list(again) == list(sets)
    for name in sets:
        for column in COLUMNS[: 5 if form == "bed" else 6]:
            np.testing.assert_array_equal(getattr(again[name], column), getattr(sets[name], column))


@pytest.mark.parametrize("form", WRITTEN_FORMATS)
def test_no_exon_is_written_and_read(tmp_path, form):
    path = tmp_path / f"x.{form}"
    write_exons(path, {}, form)
    assert read_exons(path) == {}
    write_exons(path, {"a": ExonSet.empty()}, form)
    assert read_exons(path) == {}


@pytest.mark.parametrize(
    ("form", "name"),
    [("bed", "a b"), ("bed", "#a"), ("bed", "track"), ("tsv", "a\tb"), ("tsv", "#a"),
     ("tsv", "a\nb"), ("genscan", "a : 5 bp"), ("gff3", "")],
)  # fmt: skip
def test_names_that_would_not_read_back_are_refused(tmp_path, form, name):
    path = tmp_path / f"x.{form}"
    assert (
        error_of(
            write_exons, path, {name: ExonSet.from_intervals([(0, 5)])}, form, kind=OutputError
        )
        == f"{path}: the name {name!r} cannot stand in {form}"
    )
    assert not path.exists()


@pytest.mark.parametrize("name", ["#a", "track", "a\tb\nc", ">x", "ü;="])
def test_gff3_holds_every_name(tmp_path, name):
    write_exons(tmp_path / "x.gff3", {name: ExonSet.from_intervals([(0, 5)])}, "gff3")
    assert list(read_exons(tmp_path / "x.gff3")) == [name]


def test_gff3_is_valid(tmp_path):
    require("gt")
    path = tmp_path / "x.gff3"
    sets = {"a;b c": ExonSet.from_intervals([(0, 5), (7, 10)], "-", [1.5, -2]),
            ">b": ExonSet.from_intervals([(2, 3)])}  # fmt: skip
    write_exons(path, sets, "gff3", {"a;b c": 10, ">b": 3})
    run = subprocess.run(["gt", "gff3validator", str(path)], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "input is valid GFF3\n"), run.stderr
    assert "warning" not in run.stderr
    assert path.read_text().splitlines()[:3] == [
        "##gff-version 3", "##sequence-region a%3Bb%20c 1 10", "##sequence-region %3Eb 1 3",
    ]  # fmt: skip


@pytest.mark.skipif(not REFSEQ.exists(), reason="the annotation is not here")
def test_real_gtf():
    exons = read_exons(REFSEQ)["chr16"]
    lines = [line.split("\t") for line in REFSEQ.read_text().splitlines()]
    expected = [(int(f[3]) - 1, int(f[4])) for f in lines if f[2] in ("exon", "CDS")]
    assert list(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True)) == expected
    assert len(expected) > 300


@pytest.mark.parametrize(("type", "phase"), [("cds", 1), ("EXON", -1), ("coding_exon", 1)])
@pytest.mark.parametrize("name", ["x.gff3", "x.gtf", "x.gff"])
def test_types_of_features_have_any_case(tmp_path, type, phase, name):
    path = tmp_path / name
    path.write_text(f"chr1\tx\tgene\t1\t9\t.\t+\t.\tID=g\nchr1\tx\t{type}\t1\t9\t.\t+\t1\tID=c\n")
    exons = read_exons(path)["chr1"]
    assert (exons.starts.tolist(), exons.ends.tolist(), exons.phases.tolist()) == (
        [0],
        [9],
        [phase],
    )


def test_features_of_which_none_is_an_exon_are_an_error_that_names_them(tmp_path):
    path = tmp_path / "x.gff3"
    types = [f"kind{k}" for k in range(10)]
    path.write_text("".join(f"chr1\tx\t{type}\t1\t9\t.\t+\t.\tID=g\n" for type in types))
    with pytest.raises(InputError, match="no exon among the features kind0, .*, kind7, ...; exp"):
        read_exons(path)
