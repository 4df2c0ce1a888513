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
