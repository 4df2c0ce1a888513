"""An index on disk: it comes back as it was, and what does not fit is refused with a reason."""

import json

import numpy as np
import pytest

from gpu_tools.errors import InputError, OutputError
from gpu_tools.search.api import SearchOptions, build_index, find_windows, load_index
from tests.search.cases import dna, planted, record, target

OPTIONS = SearchOptions(shapes="1011,1101", min_score=60)


def records_of():
    """Return a genome of two records, and a protein that has a gene there."""
    text, residues, _ = planted(1)
    return [record(text), record(dna(np.random.default_rng(2), 300), "small")], target(residues)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Return the folder of an index, its records, and a target."""
    records, protein = records_of()
    folder = tmp_path_factory.mktemp("saved") / "deep" / "index"
    build_index(records, options=OPTIONS).save(folder)
    return folder, records, protein


@pytest.fixture
def copy(saved, tmp_path):
    """Return a folder of its own with the index."""
    for path in saved[0].iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def refused(folder, records, options=OPTIONS) -> str:
    with pytest.raises(InputError) as caught:
        load_index(folder, records, options=options)
    assert caught.value.path.startswith(str(folder))
    assert caught.value.expected
    return str(caught.value)


def test_an_index_comes_back_mapped_and_finds_the_same(saved):
    folder, records, protein = saved
    built, loaded = (
        build_index(records, options=OPTIONS),
        load_index(folder, records, options=OPTIONS),
    )
    assert isinstance(loaded.positions, np.memmap)
    assert loaded.words == built.words
    assert (loaded.positions == built.positions).all()
    assert (loaded.bounds == built.bounds).all()
    windows = [find_windows(index, [protein], OPTIONS) for index in (built, loaded)]
    assert windows[0] == windows[1] != []
    assert {path.name for path in folder.iterdir()} == {"index.json", "bounds.npy", "positions.npy"}


def test_an_index_of_another_genome_is_refused(saved):
    folder, (first, second), _ = saved
    other = first.codes.copy()
    other[1_000] ^= 1
    assert "names of records differ" in refused(folder, [first, record(second.letters(), "x")])
    assert "lengths of records differ" in refused(folder, [record("ACGT"), record("A", "small")])
    assert "nucleotides differ" in refused(folder, [type(first)("chr", other), second])
    assert "names of records differ" in refused(folder, [second, first])


@pytest.mark.parametrize(("options", "what"), [
    ({"shapes": "1011"}, "shapes 1011,1101; expected 1011"), ({}, "shapes"),
    ({"shapes": "1011,1101", "genetic_code": 6}, "genetic_code 1; expected 6"),
    ({"shapes": "1011,1101", "sample": 2}, "sample 1; expected 2"),
])  # fmt: skip
def test_an_index_of_other_options_is_refused(saved, options, what):
    assert what in refused(*saved[:2], SearchOptions(**options))


@pytest.mark.parametrize("name", ["bounds.npy", "positions.npy"])
@pytest.mark.parametrize("share", [0, 0.001, 0.9, 1])
def test_arrays_that_are_cut_short_or_missing_are_refused(saved, copy, name, share):
    content = (copy / name).read_bytes()
    if share:
        (copy / name).write_bytes(content[: int(len(content) * share) - 1])
    else:
        (copy / name).unlink()
    assert str(copy / name) in refused(copy, saved[1])


@pytest.mark.parametrize("name", ["bounds.npy", "positions.npy", "index.json"])
def test_no_changed_byte_is_believed(saved, copy, name):
    """Among them are bytes of numpy's headers, which its parser fails on in many ways."""
    content = (copy / name).read_bytes()
    for place in [*range(0, 130, 7), len(content) // 2, len(content) - 3]:
        changed = content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        (copy / name).write_bytes(changed)
        assert str(copy / name) in refused(copy, saved[1])


@pytest.mark.parametrize(("change", "what"), [
    ({"version": 99}, "version 99"), ({"format": "x"}, "no header"), ({"kind": None}, "damaged"),
    ({"kind": "rna"}, "damaged"), ({"genome": []}, "damaged"), (None, "damaged"),
    ([], "no header"),
])  # fmt: skip
def test_headers_that_are_damaged_are_refused(saved, copy, change, what):
    header = json.loads((copy / "index.json").read_text())
    if isinstance(change, dict):
        header = {key: value for key, value in (header | change).items() if value is not None}
    text = json.dumps(header if isinstance(change, dict) else change)
    (copy / "index.json").write_text(text if change is not None else text[:3] + "{")
    assert what in refused(copy, saved[1])


def test_a_folder_without_a_header_is_no_index(saved, tmp_path):
    assert "index.json: cannot be read" in refused(tmp_path, saved[1])


def test_an_index_replaces_another_one(saved, copy):
    records = [record(dna(np.random.default_rng(3), 500))]
    build_index(records, options=OPTIONS).save(copy)
    assert load_index(copy, records, options=OPTIONS).genome.records[0].name == "chr"
    refused(copy, saved[1])


def test_a_folder_that_cannot_be_made_is_an_error(saved, tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OutputError, match="file/index: cannot be written"):
        load_index(*saved[:2], options=OPTIONS).save(tmp_path / "file" / "index")


def test_a_run_that_is_ended_while_it_saves_leaves_no_index(saved, copy, monkeypatch):
    def save(path, array):
        raise KeyboardInterrupt

    index = load_index(*saved[:2], options=OPTIONS)
    monkeypatch.setattr(np, "save", save)
    with pytest.raises(KeyboardInterrupt):
        index.save(copy)
    assert not (copy / "index.json").exists()
    assert "expected an index" in refused(copy, saved[1])
