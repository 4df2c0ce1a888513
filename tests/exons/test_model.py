"""Loading of exon models, and their errors."""

import copy
import json

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.exons import load_model
from gpu_tools.exons.model import GC_CLASSES, model_from_dict, shifted
from gpu_tools.model.json_model import FORBIDDEN, ModelReader, model_to_json
from gpu_tools.model.resources import resource_path
from gpu_tools.splicing.site_matrix import read_site

SHIPPED = json.loads(resource_path("models", "vertebrate.json").read_text("utf-8"))


def changed(*keys, value):
    """Return the shipped model with one value replaced."""
    content = copy.deepcopy(SHIPPED)
    (content if len(keys) == 1 else content[keys[0]])[keys[-1]] = value
    return content


def test_shipped_model_by_name_and_by_path(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(model_to_json(SHIPPED))
    by_name, by_path = load_model("vertebrate"), load_model(path)
    assert by_name.name == by_path.name == "vertebrate"
    assert (by_name.coding.scores == by_path.coding.scores).all()
    assert by_name.min_probability == by_path.min_probability == SHIPPED["min_probability"]


def test_numbers_become_hundredths_and_null_forbids():
    start = model_from_dict(SHIPPED).start
    assert start.scores[start.before, :4].tolist() == [0, FORBIDDEN, FORBIDDEN, FORBIDDEN]
    assert start.scores[start.before, 4] == FORBIDDEN
    assert start.scores[0, 4] == 0
    assert start.scores[0, 0] == round(100 * SHIPPED["start"]["scores"][0][0])


def test_dependent_columns_know_the_base_before():
    donor, given = load_model("vertebrate").donor, SHIPPED["donor"]["scores"]
    assert donor.scores.shape == (len(given), 5, 5)
    assert donor.scores[1, 2, 0] == round(100 * given[1][2][0])
    assert donor.scores[1, 4, 0] == round(np.mean([round(100 * row[0]) for row in given[1]]))
    edge = donor.before
    assert donor.scores[edge, :, [0, 1, 3, 4]].max() == FORBIDDEN
    assert donor.scores[edge, :, 2].min() > FORBIDDEN


def test_lengths_are_probabilities():
    model = load_model("vertebrate")
    assert np.exp2(model.lengths[1:]).sum(axis=1) == pytest.approx(1)
    assert np.isneginf(model.lengths[:, : model.min_length]).all()
    length = SHIPPED["length"] | {"at": [1, 10, 100], "Init": [0, 0, 0]}
    length |= {name: [0, -1, -3] for name in ("Intr", "Term", "Sngl")}
    model = model_from_dict(SHIPPED | {"length": length, "max_length": 1000})
    assert np.ptp(model.lengths[1, 3:]) == pytest.approx(0, abs=1e-12)
    row = model.lengths[2]
    assert row[100] - row[10] == pytest.approx(-2)
    assert row[20] - row[10] == pytest.approx(-2 * np.log10(2))
    assert row[900] == row[100]


def test_scores_follow_the_share_of_g_and_c():
    words = np.log2([[0.4, 0.1, 0.2, 0.3]])
    there = shifted(words, np.array([1.0]), 0.5, 0.6)
    assert np.exp2(there).sum() == pytest.approx(1)
    # a shift of 1 multiplies the odds of C and of G by those of the shares
    assert there[0, 1] - there[0, 0] == pytest.approx(np.log2(0.25 * 0.6 / 0.4))
    assert shifted(words, np.array([1.0]), 0.5, 0.5) == pytest.approx(words)
    scores = load_model("vertebrate").coding.scores
    assert len(scores) == len(GC_CLASSES)
    third, word = 2, int("".join("1" for _ in range(5)), 4)  # CCCCC, third position
    assert (np.diff(scores[:, third, word]) >= 0).all()
    assert scores[-1, third, word] > scores[0, third, word] + 50


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("format",), "other", 'wrong value of format; expected "gpu-tools exon model"'),
        (("version",), 1, "wrong value of version; expected 2"),
        (("units",), "nats", 'wrong value of units; expected "bits"'),
        (("name",), "", "wrong value of name; expected a text"),
        (("stops",), ["TAA", "XXX"], "wrong value of stops; expected a list of some of TAA"),
        (("stops",), [], "wrong value of stops"),
        (("stops",), [["TAA"]], "wrong value of stops"),
        (("coding",), [], "coding is no JSON object"),
        (("coding", "order"), 3, "wrong value of coding.coding; expected 3 x 256 numbers"),
        (("coding", "order"), 99, "wrong value of coding.order; expected an integer from 0 to 7"),
        (("coding", "order"), True, "wrong value of coding.order"),
        (("coding", "coding"), [[1, 2], [3]], "wrong value of coding.coding"),
        (("coding", "other"), [1, 2], "wrong value of coding.other; expected 1 x 1024 numbers"),
        (("coding", "window"), 0, "wrong value of coding.window; expected an integer from 1"),
        (("coding", "weight"), -1, "wrong value of coding.weight; expected a number from 0 to 10"),
        (("coding", "weight"), [1.0], "wrong value of coding.weight; expected one of the numbers"),
        (("coding", "gc"), 1, "wrong value of coding.gc; expected a number from 0.01 to 0.99"),
        (("coding", "gc_shifts"), [1, 2, 3], "wrong value of coding.gc_shifts; expected 4 numbers"),
        (("max_length",), 2, "wrong value of max_length; expected an integer from 3"),
        (("min_length",), 10_001, "wrong value of min_length"),
        (("min_length",), 2, "wrong value of min_length; expected an integer from 3"),
        (("min_probability",), "1.5", "wrong value of min_probability; expected one of the num"),
        (("min_probability",), None, "wrong value of min_probability"),
        (("min_probability",), True, "wrong value of min_probability"),
        (("min_probability",), 1.5, "min_probability; expected a number from 0 to 1"),
        (("donor",), [], "donor is no JSON object"),
        (("donor", "before"), -1, "wrong value of donor.before"),
        (("donor", "before"), 9, "wrong value of donor.scores; expected 11 to 1000 columns"),
        (("acceptor", "before"), 1, "wrong value of acceptor.before"),
        (
            ("start", "scores"), [[0, 0, 0]] * 12,
            "expected any number of x 4 or any number of x 4 x 4 numbers",
        ),
        (("start", "cutoff"), {}, "wrong value of start.cutoff"),
        (("length", "at"), [1, 5, 5], "wrong value of length.at; expected rising integers"),
        (("length", "at"), [2], "wrong value of length.at"),
        (("length", "Term"), [0.0], "wrong value of length.Term; expected"),
        (("gene",), 3, "gene is no JSON object"),
        (("gene", "between"), 1, "wrong value of gene.between; expected a number from 2"),
        (("gene", "intron"), None, "wrong value of gene.intron"),
        (("gene", "shortest_intron"), 0, "wrong value of gene.shortest_intron"),
        (("gene", "single"), 1, "wrong value of gene.single; expected a number from 0.0001"),
        (("gene", "last"), 0, "wrong value of gene.last"),
        (("gene", "introns"), [0.5, 0.5], "wrong value of gene.introns; expected 6 numbers"),
        (("gene", "introns"), [0.5] * 6, "expected 6 positive numbers that add up to 1"),
        (("gene", "introns"), [0, 0.2, 0.2, 0.2, 0.2, 0.2], "expected 6 positive numbers"),
    ],
)  # fmt: skip
def test_wrong_values_are_named(keys, value, message):
    with pytest.raises(InputError) as caught:
        model_from_dict(changed(*keys, value=value))
    assert message in str(caught.value)


INNER = [(part, key) for part in ("coding", "length", "gene", "donor") for key in SHIPPED[part]]


@pytest.mark.parametrize("keys", [*((key,) for key in SHIPPED), *INNER])
def test_every_key_is_needed(keys):
    content = copy.deepcopy(SHIPPED)
    del (content if len(keys) == 1 else content[keys[0]])[keys[-1]]
    with pytest.raises(InputError, match=f"no key {'.'.join(keys)}; expected a complete model"):
        model_from_dict(content)


def test_a_site_of_site_mode_has_independent_columns():
    with pytest.raises(InputError, match="expected any number of x 4 numbers"):
        read_site(ModelReader(SHIPPED["donor"], ""), (0, 2))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"{", "x.json, line 1: not JSON"),
        (b'{"format":\n,}', "x.json, line 2: not JSON"),
        (b"[1]", "x.json: the file is no JSON object"),
        (b'{"format": NaN}', "x.json: NaN is no number"),
        (b"\xff\xfe", "x.json: not UTF-8 text"),
    ],
)
def test_wrong_files_are_named(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        load_model(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", ["fungus", "./vertebrate", "vertebrate.json", "", "../models"])
def test_unknown_models(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"expected a JSON file or one of .*vertebrate"):
        load_model(name)
