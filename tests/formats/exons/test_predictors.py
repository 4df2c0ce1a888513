import logging
import re
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.intervals import read_exons, write_exons
from gpu_tools.formats.exons.predictors import parse_genscan
from gpu_tools.model.exon_set import ExonSet
from tests.formats.common import error_of, saved

REAL = Path("../shared/data/genscan")
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the real reports are not here")

# written by hand in the format's layout
HEAD = """GENSCAN 1.0\tDate run:  1-Jan-126\tTime: 10:00:00

Sequence locus1 : 5000 bp : 45.00% C+G : Isochore 2 (43 - 51 C+G%)

Parameter matrix: HumanIso.smat

Predicted genes/exons:

Gn.Ex Type S .Begin ...End .Len Fr Ph I/Ac Do/T CodRg P.... Tscr..
----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------

"""
PREDICTED = """ 1.00 Prom +    101    140   40                              -5.06
 1.01 Init +    201    260   60  1  0   84  105    30 0.585   4.46
 1.02 Term +    301    351   51  0  0  108   43    36 0.267  -1.43
 1.03 PlyA +    400    405    6                               1.05

 2.01 Sngl -   1300   1001  300  1  0   84  105    30 0.999  40.06

"""
SUBOPTIMAL = """Suboptimal exons with probability > 0.100

Exnum Type S .Begin ...End .Len Fr Ph B/Ac Do/T CodRg P.... Tscr..
----- ---- - ------ ------ ---- -- -- ---- ---- ----- ----- ------

S.001 Intr +    501    560   60  1  0   84  105    30 0.111   4.40
S.002 Term -   2000   1951   50  1  2   84  105    30 0.222  -4.40

"""
PEPTIDES = """Predicted peptide sequence(s):

Predicted coding sequence(s):


>locus1|GENSCAN_predicted_peptide_1|2_aa
MX

"""
REPORT = HEAD + PREDICTED + SUBOPTIMAL + PEPTIDES
EXONS = [
    (200, 260, False, 4.46, 1, 0.585),
    (300, 351, False, -1.43, 3, 0.267),
    (1000, 1300, True, 40.06, 4, 0.999),
    (500, 560, False, 4.4, 2, 0.111),
    (1950, 2000, True, -4.4, 3, 0.222),
]


def written(tmp_path, text):
    return saved(tmp_path, text, "report")


def rows(e):
    columns = (e.starts, e.ends, e.reverse, e.scores, e.types, e.probabilities)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def test_predicted_and_suboptimal_exons_without_signals(tmp_path):
    sets = read_exons(written(tmp_path, REPORT))
    assert list(sets) == ["locus1"]
    assert rows(sets["locus1"]) == EXONS


def test_web_form_with_blank_lines_between_and_before(tmp_path):
    text = "\n\n" + REPORT.replace("\n", "\r\n\r\n")
    assert rows(read_exons(written(tmp_path, text))["locus1"]) == EXONS


def test_many_reports_and_one_that_predicts_nothing(tmp_path):
    nothing = HEAD.replace("locus1", "locus2") + "NO EXONS/GENES PREDICTED IN SEQUENCE\n\n\n"
    nothing += PEPTIDES[:31] + "\n\nNO PEPTIDES PREDICTED\n"
    other = REPORT.replace("locus1", "locus3")
    sets = read_exons(written(tmp_path, nothing + REPORT + other))
    assert [(name, len(exons)) for name, exons in sets.items()] == [
        ("locus2", 0), ("locus1", 5), ("locus3", 5),
    ]  # fmt: skip


def test_nothing_predicted_is_a_warning(tmp_path, caplog):
    text = HEAD + "NO EXONS/GENES PREDICTED IN SEQUENCE\n"
    text += (
        SUBOPTIMAL[: SUBOPTIMAL.index("S.001")]
        + "NO EXONS FOUND AT GIVEN PROBABILITY CUTOFF\n"
        + PEPTIDES
    )
    path = written(tmp_path, text)
    with caplog.at_level(logging.WARNING, logger="gpu_tools"):
        assert read_exons(path) == {}
    assert caplog.messages == [f"{path} holds no exon"]


@pytest.mark.parametrize(
    "line",
    [
        "S.001 Intr +    501    560   60  1  0   84  105    30 0.111   4.40",
        "S. 1  Intr +    501    560   60  1  0   84  105    30 0.111   4.40",
        "    1 Intr +    501    560   60  1  0   84  0.111   4.40",
        "Intr + 501 560 0.111 4.40",
    ],
)
def test_suboptimal_lines_may_vary(tmp_path, line):
    text = HEAD + SUBOPTIMAL.splitlines()[0] + f"\n{line}\n" + PEPTIDES
    assert rows(read_exons(written(tmp_path, text))["locus1"]) == [EXONS[3]]


def changed(old, new):
    assert REPORT.count(old) == 1
    return REPORT.replace(old, new)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "10: the report is cut short; expected a section 'Predicted peptide sequence(s)' "
               "at its end"),
        (HEAD + PREDICTED[:-1], "17: the report is cut short; expected a section 'Predicted "
                                "peptide sequence(s)' at its end"),
        (HEAD + PREDICTED + REPORT, "19: the report is cut short; expected a section 'Predicted "
                                    "peptide sequence(s)' at its end"),
        (REPORT[:60], "3: the report is cut short; expected a section 'Predicted peptide "
                      "sequence(s)' at its end"),
        (HEAD + PREDICTED[:110], "13: not a GENSCAN feature line; expected 13 columns for an exon, "
                                 "7 for a promoter or poly-A signal"),
        (changed("S.002 Term -   2000   1951   50  1  2   84  105    30 0.222  -4.40", "S.002 T"),
         "25: not a suboptimal GENSCAN exon; expected number, type, strand, begin, end, ..., "
         "probability, score"),
        (changed(" 1.01 Init +", " 1.01 Init *"), "13: unknown strand '*'; expected + or -"),
        (changed("2.01 Sngl - ", "2.01 Sngl + "), "17: positions 1300 to 1001 do not fit strand +; "
         "expected begin <= end on +, begin >= end on -"),
        (changed("260   60", "260   61"), "13: length 61 is not that of 201 to 260"),
        (changed("260   60", "2x0   60"), "13: position '2x0' is not an integer"),
        (changed("0.585", "1.585"), "13: probability 1.585 is out of range; expected 0 to 1"),
        (REPORT.replace("5000 bp", "1299 bp"), "17: position 1300 lies after the sequence; "
                                               "expected positions 1 to 1299"),
        (REPORT.replace("Sequence locus1", "Sekvenz"), "7: 'Predicted genes/exons' without a "
         "sequence; expected 'Sequence NAME : N bp' first"),
    ],
)  # fmt: skip
def test_errors_name_the_line(tmp_path, text, message):
    path = written(tmp_path, text)
    assert error_of(read_exons, path) == f"{path}, line {message}"


def test_a_report_that_is_cut_anywhere_is_an_error():
    """Two reports: a file that ends too early is refused, or has lost nothing but peptides."""
    text, heading = REPORT + REPORT.replace("locus1", "locus2"), "Predicted peptide sequence(s)"
    complete = text.rindex(heading) + len(heading)
    # between the first report's heading and the second one's title nothing is missing, as far as
    # anybody can tell
    one = range(text.index(heading) + len(heading), len(REPORT) + len("GENSCAN 1"))
    for end in range(2, len(text)):
        lines = enumerate(text[:end].splitlines(), 1)
        if end >= complete:
            assert [rows(exons) for exons in parse_genscan("x", lines).values()] == [EXONS, EXONS]
        elif end not in one:
            with pytest.raises(InputError):
                parse_genscan("x", lines)


LONG = """ 9.01 Init + 248000001 248012000 12000  1  0   84  105    30 0.585   4.46
123.12 Term - 248900400 248900301  100  1  1   84  105    30 0.111 -14.46
"""


def test_positions_of_a_whole_chromosome(tmp_path):
    """Numbers wider than their columns push the others on; genes past the 99th, too."""
    text = REPORT.replace("5000 bp", "248956422 bp").replace(PREDICTED, LONG + "\n")
    found = rows(read_exons(written(tmp_path, text))["locus1"])
    assert found[:2] == [
        (248000000, 248012000, False, 4.46, 1, 0.585),
        (248900300, 248900400, True, -14.46, 3, 0.111),
    ]


def test_a_gene_without_its_first_and_last_exon(tmp_path):
    line = " 4.07 Intr -    300    201  100  0  1   84  105    30 0.585   4.46\n"
    text = REPORT.replace(PREDICTED, line)
    assert rows(read_exons(written(tmp_path, text))["locus1"])[0] == (
        200, 300, True, 4.46, 2, 0.585
    )  # fmt: skip


def test_something_else_called_a_report(tmp_path):
    path = written(tmp_path, "c\t1\t5\n")
    assert error_of(read_exons, path, "genscan") == (
        f"{path}, line 1: no GENSCAN report; expected a line 'Sequence NAME : N bp'"
    )


def test_written_reports_are_read(tmp_path):
    path = tmp_path / "x.genscan"
    exons = ExonSet(
        starts=np.array([200, 300, 1000, 1950, 0]), ends=np.array([260, 351, 1300, 2000, 7]),
        reverse=np.array([False, False, True, True, True]),
        scores=np.array([4.46, -1.43, 40.06, -4.4, 0.0]), types=np.array([1, 3, 4, 2, 0]),
        probabilities=np.array([0.585, 0.267, 0.999, 1.0, np.nan]),
    )  # fmt: skip
    write_exons(path, {"a": exons, "none": ExonSet.empty(), "b": exons}, "genscan", {"b": 5000})
    sets = read_exons(path)
    assert list(sets) == ["a", "none", "b"]
    assert len(sets["none"]) == 0
    # a report has no place for an unknown type or probability
    known = rows(exons)[:4]
    assert rows(sets["a"]) == rows(sets["b"]) == [*known, (0, 7, True, 0.0, 2, 0.0)]
    lines = path.read_text().splitlines()
    assert "Sequence a : 2000 bp : 0.00% C+G : Isochore 0 (0 - 100 C+G%)" in lines
    assert "Sequence b : 5000 bp : 0.00% C+G : Isochore 0 (0 - 100 C+G%)" in lines
    assert "S.001 Init +    201    260   60  2  0    0    0     0 0.585   4.46" in lines
    assert "S.004 Intr -   2000   1951   50  0  2    0    0     0 1.000  -4.40" in lines


@pytest.mark.parametrize(
    ("exon_type", "reverse", "low", "high", "begin_to_phase"),
    [
        # a codon's highest position: 203, 352, 1300 and 1954
        (1, False, 201, 260, "   201    260   60  2  0"),
        (3, False, 301, 352, "   301    352   52  1  1"),
        (4, True, 1001, 1300, "  1300   1001  300  1  0"),
        (3, True, 1952, 2000, "  2000   1952   49  1  1"),
    ],
)
def test_frames_follow_from_the_type(tmp_path, exon_type, reverse, low, high, begin_to_phase):
    exons = ExonSet(*(np.array([x]) for x in (low - 1, high, reverse, 0.0, exon_type)))
    write_exons(tmp_path / "x", {"a": exons}, "genscan")
    assert f"{begin_to_phase}    0    0     0 0.000   0.00\n" in (tmp_path / "x").read_text()


@needs_real
def test_real_frames_are_written(tmp_path):
    path = tmp_path / "x.genscan"
    report = REAL / "bioperl/genomic-seq.genscan"
    write_exons(path, read_exons(report), "genscan")
    for line in report.read_text().splitlines():
        if re.match(r" \d\.\d\d (Init|Term|Sngl) ", line):
            begin_to_phase = line[6:37]
            assert begin_to_phase in path.read_text()


@needs_real
@pytest.mark.parametrize(
    ("report", "name", "count"),
    [
        ("bioperl/genomic-seq.genscan", "HSBA536C5", 37),
        ("bioruby/sample.report", "HUMRASH", 8),
        ("agat/test.genscan", "/tmp/03_07_20-14:46:49.fasta", 9),
        ("kalicout/GENESCAN.txt", "/tmp/02_18_21-06:34:45.fasta", 2),
    ],
)
def test_real_reports(report, name, count):
    assert [(k, len(v)) for k, v in read_exons(REAL / report).items()] == [(name, count)]


@needs_real
def test_real_report_without_genes():
    assert read_exons(REAL / "bioperl/no-genes.genscan") == {}


def test_reports_whose_lines_are_long():
    """A pattern that tries each blank together with each other takes minutes here."""
    lines = REPORT.splitlines()
    blanks = " " * 200_000
    lines.insert(2, f"Sequence{blanks}locus1{blanks}x")
    lines[3] = lines[3].replace("locus1 :", f"locus1{blanks}:{blanks}")
    assert rows(parse_genscan("report.txt", enumerate(lines, 1))["locus1"]) == EXONS
