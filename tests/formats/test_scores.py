"""The table of scores as alignments."""

import pytest

from gpu_tools.formats.matches import read_scores
from gpu_tools.model.results import SplicedAlignment
from tests.formats.common import error_of, saved

HEADER = (
    "base\ttarget\tmethod\tstrand\tscore\tbase_length\ttarget_length\tn_exons\tn_chain\tchain\t"
    "identity\tcells\tcoverage\tevalue\taccepted\n"
)
ROW = "b\tt\tsites\t-\t12\t90\t20\t.\t2\t31-40,5-9\t0.9\t8\t0.7000\t1.5e-07\tyes\n"
EMPTY = "b\tu\tsites\t.\t.\t90\t7\t.\t0\t.\t.\t8\t.\t.\tno\n"


def test_rows_are_alignments(tmp_path):
    columns, rows = read_scores(saved(tmp_path, HEADER + ROW + EMPTY, "s.tsv"))
    assert columns == HEADER.split()
    assert [list(row.fields.values()) for row in rows] == [ROW.split(), EMPTY.split()]
    assert [row.alignment for row in rows] == [
        SplicedAlignment("b", "t", 90, 20, "-", 12, chain=((30, 40), (4, 9)), evalue=1.5e-7),
        SplicedAlignment("b", "u", 90, 7),
    ]


def test_a_locus_names_the_record_that_positions_are_of(tmp_path):
    text = HEADER.replace("method", "method\tlocus") + ROW.replace("sites", "sites\tchr1:1-90")
    (row,) = read_scores(saved(tmp_path, text, "s.tsv"))[1]
    assert (row.alignment.base, row.fields["base"]) == ("chr1", "b")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: no table of scores; expected columns accepted, base"),
        ("base\ttarget\n", "line 1: no table of scores"),
        (HEADER + ROW + ROW[:-5] + "\n", "line 3: a broken row"),
        (HEADER + ROW.replace("31-40", "31"), "line 2: a broken row"),
        (HEADER.replace("cells", "locus") + ROW, "line 2: a broken row"),
        (HEADER + ROW.replace("\t12\t", "\tx\t"), "line 2: a broken row"),
        (HEADER + ROW.replace("\t-\t", "\tnan\t"), "line 2: a broken row"),
        (HEADER + ROW.replace("31-40", "31-91"), "line 2: a broken row"),
        (HEADER + ROW.replace("5-9", "0-9"), "line 2: a broken row"),
        (HEADER + ROW.replace("5-9", "9-5"), "line 2: a broken row"),
        (HEADER + ROW.replace("1.5e-07", "nan"), "line 2: a broken row"),
    ],
)
def test_broken_tables(tmp_path, text, says):
    path = saved(tmp_path, text, "s.tsv")
    assert error_of(read_scores, path).startswith(f"{path}, {says}")
