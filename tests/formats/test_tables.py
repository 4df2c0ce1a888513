import bz2
import gzip
import lzma

import pytest

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.matches import (
    Annotation,
    MatchRow,
    SegmentRow,
    write_matches,
    write_segments,
)
from gpu_tools.formats.tables import bed_line, read_table, write_table
from tests.formats.common import error_of, saved


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "t.tsv"
    write_table(path, ("base", "n", "x"), [("a", 1, None), ('b"c', -2, "0.5000")])
    assert path.read_text() == 'base\tn\tx\na\t1\t.\nb"c\t-2\t0.5000\n'
    assert list(read_table(path, ("base", "n"), ("x", "y"))) == [
        (2, {"base": "a", "n": "1", "x": None, "y": None}),
        (3, {"base": 'b"c', "n": "-2", "x": "0.5000", "y": None}),
    ]


def test_standard_output(capsys):
    write_table("-", ("a",), [(1,)])
    assert capsys.readouterr().out == "a\n1\n"


def test_a_tab_in_a_value_is_refused_and_nothing_written(tmp_path):
    path = tmp_path / "t.tsv"
    with pytest.raises(OutputError, match="holds a tab or a line end"):
        write_table(path, ("a",), [("x\ty",)])
    assert not list(tmp_path.iterdir())


def test_a_row_of_wrong_length_is_a_programming_error(tmp_path):
    with pytest.raises(ValueError, match="1 values in a row of 2 columns"):
        write_table(tmp_path / "t.tsv", ("a", "b"), [(1,)])


def test_blank_lines_comments_order_other_columns_and_line_ends(tmp_path):
    path = saved(tmp_path, "\ufeff# note\n\nz\ttarget\tbase\r\n\n#x\n0\tT\tB\r\n", "t.tsv")
    assert list(read_table(path, ("base", "target"))) == [(6, {"base": "B", "target": "T"})]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.tsv: no header line; expected columns base, target"),
        ("\n# base\ttarget\n", "t.tsv: no header line; expected columns base, target"),
        ("base\tx\n", "t.tsv, line 1: column 'target' is missing; expected a tab-separated "
                      "header with base, target"),
        ("base\ttarget\tx\tx\n", "t.tsv, line 1: column 'x' occurs twice"),
        ("base\ttarget\n\na\tb\tc\n", "t.tsv, line 3: 3 fields; expected 2 tab-separated fields "
                                      "as in the header"),
        ("base\ttarget\na\t \n", "t.tsv, line 2: column 'target' is empty"),
    ],
)  # fmt: skip
def test_errors_name_the_line(tmp_path, text, message):
    rows = read_table(saved(tmp_path, text, "t.tsv"), ("base", "target"))
    assert error_of(list, rows) == f"{tmp_path}/{message}"


def test_a_name_that_begins_as_a_comment_is_kept_where_there_are_none(tmp_path):
    write_table(tmp_path / "x", ("base", "target"), [("#x", "t"), ("b", "t")])
    rows = [row["base"] for _, row in read_table(tmp_path / "x", ("base",), comments=False)]
    assert rows == ["#x", "b"]
    assert [row["base"] for _, row in read_table(tmp_path / "x", ("base",))] == ["b"]


SHEETS = {
    "quotes": '"base"\t"target"\n"chr1"\t"a ""b"""\n',
    "trailing tabs": 'base\ttarget\t\t\nchr1\ta "b"\t\t\n',
    "tabs behind rows": 'base\ttarget\nchr1\ta "b"\t\t\t\n',
    "blanks": ' base \ttarget  \nchr1 \t a "b" \n',
    "mark": '\ufeffbase\ttarget\nchr1\ta "b"\n',
    "CR LF": 'base\ttarget\r\nchr1\ta "b"\r\n',
    "CR": 'base\ttarget\rchr1\ta "b"\r',
}


@pytest.mark.parametrize("sheet", SHEETS)
def test_what_spreadsheets_put_around_fields(tmp_path, sheet):
    path = saved(tmp_path, SHEETS[sheet])
    assert list(read_table(path, ("base", "target"))) == [(2, {"base": "chr1", "target": 'a "b"'})]


def test_tables_of_this_package_are_taken_literally(tmp_path):
    write_table(tmp_path / "x.tsv", ("base",), [['"a"'], ["b "]])
    rows = read_table(tmp_path / "x.tsv", ("base",), comments=False)
    assert [row["base"] for _, row in rows] == ['"a"', "b "]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.gff3", '"chr1"\t"x"\t"CDS"\t"1"\t"9"\t"."\t"+"\t"0"\t"ID=""c"""\t\t\r\n'),
        ("x.gff3", "chr1\tx\tcds \t1 \t9\t.\t+\t0\tID=c\t\r"),
        ("x.bed", 'chr1\t0\t9\t"a"\t\t\t\r\n'),
        ("x.tsv", '\ufeff"base"\t"start"\t"end"\r"chr1"\t1\t"9"\r'),
    ],
)
def test_exons_as_spreadsheets_write_them(tmp_path, name, text):
    exons = read_exons(saved(tmp_path, text, name))
    assert [(k, list(e.starts), list(e.ends)) for k, e in exons.items()] == [("chr1", [0], [9])]


@pytest.mark.parametrize("pack", [bz2.compress, gzip.compress, lzma.compress])
def test_tables_may_be_compressed(tmp_path, pack):
    assert list(read_exons(saved(tmp_path, pack(b"chr1\t0\t9\n"), "x.bed.xz"))) == ["chr1"]


def test_latin_1_in_a_remark_is_read_with_a_warning(tmp_path, caplog):
    path = tmp_path / "x.gff3"
    head, line = b"# M\xfcller\n", b"c\tx\tCDS\t1\t9\t.\t+\t0\tID=c;Note=M\xfcller\n"
    path.write_bytes(head + line)
    assert list(read_exons(path)) == ["c"]
    assert [record.message for record in caplog.records] == [
        f"lines that are not UTF-8, read as Latin-1: 2; the first: {path}, line 1: not UTF-8 text"
    ]
    for wrong in (line.replace(b"c\tx", b"\xfc\tx"), line.replace(b"M", b"\0"), b"\xff\xfe\n"):
        path.write_bytes(head + wrong)
        with pytest.raises(InputError, match="line 2: not UTF-8 text"):
            read_exons(path)


@pytest.mark.parametrize("name", ["#x", "track", "browser", "track x", "a\tb", "a\nb", ""])
def test_names_that_bed_cannot_hold(name):
    with pytest.raises(OutputError, match="cannot stand in BED"):
        bed_line(name, 0, 1)


@pytest.mark.parametrize("name", ["x#", "tracks", "trackx", "browser1", "a b", "chr1"])
def test_names_that_bed_can_hold(name):
    assert bed_line(name, 0, 1) == f"{name}\t0\t1\n"


@pytest.mark.parametrize("name", ["#x", "track"])
def test_a_bed_file_that_would_lose_lines_is_not_written(tmp_path, name):
    row = SegmentRow(name, 1, 0, 4, "1")
    with pytest.raises(OutputError, match=f"the name {name!r} cannot stand in BED"):
        write_segments(tmp_path / "o", [row], Annotation(tmp_path / "b"))
    match = MatchRow("p", name, 0, 4, "+")
    with pytest.raises(OutputError, match=f"the name {name!r} cannot stand in BED"):
        write_matches(tmp_path / "o", tuple("abcde"), [match], tmp_path / "b")
    assert list(tmp_path.iterdir()) == []
