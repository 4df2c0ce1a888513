"""Records of benchmarks."""

import json

import pytest

from benchmarks import record


def test_a_run_cut_short_leaves_what_it_has_measured(tmp_path, capsys):
    def measured():
        yield "first", {"seconds": 1.5}
        raise TimeoutError

    path = tmp_path / "record.json"
    with pytest.raises(TimeoutError):
        record.write_each(measured(), path)
    assert json.loads(path.read_text())["figures"] == {"first": {"seconds": 1.5}}
    assert capsys.readouterr().out == "first: {'seconds': 1.5}\n"


def test_a_record_has_a_line_for_each_field_figure_and_row():
    rows = [{"name": "a", "parts": [1, 2]}, {"name": "b", "parts": []}]
    figures = {"whole": {"seconds": 1.5, "each": [1, 2]}, "table": {"rows": rows}}
    text = record.text_of({"date": "today", "packages": {"numpy": "2"}, "figures": figures})
    assert json.loads(text)["figures"] == figures
    assert text.splitlines() == [
        "{", '  "date": "today",', '  "packages": {"numpy": "2"},', '  "figures": {',
        '    "whole": {"seconds": 1.5, "each": [1, 2]},', '    "table": {', '      "rows": [',
        '        {"name": "a", "parts": [1, 2]},', '        {"name": "b", "parts": []}',
        "      ]", "    }", "  }", "}",
    ]  # fmt: skip
