import gzip

import pytest

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.tables import read_table, write_table


def written(tmp_path, text):
    path = tmp_path / "t.tsv"
    path.write_text(text)
    return path


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
    path = written(tmp_path, "\ufeff# note\n\nz\ttarget\tbase\r\n\n#x\n0\tT\tB\r\n")
    assert list(read_table(path, ("base", "target"))) == [(6, {"base": "B", "target": "T"})]


def test_compressed(tmp_path):
    path = tmp_path / "t.tsv.gz"
    path.write_bytes(gzip.compress(b"a\n1\n"))
    assert list(read_table(path, ("a",))) == [(2, {"a": "1"})]


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
    with pytest.raises(InputError) as caught:
        list(read_table(written(tmp_path, text), ("base", "target")))
    assert str(caught.value) == f"{tmp_path}/{message}"


def test_a_name_that_begins_as_a_comment_is_kept_where_there_are_none(tmp_path):
    write_table(tmp_path / "x", ("base", "target"), [("#x", "t"), ("b", "t")])
    rows = [row["base"] for _, row in read_table(tmp_path / "x", ("base",), comments=False)]
    assert rows == ["#x", "b"]
    assert [row["base"] for _, row in read_table(tmp_path / "x", ("base",))] == ["b"]
