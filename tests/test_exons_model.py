"""Loading of exon models, and their errors."""

import copy
import json

import pytest

from gpu_tools.errors import InputError
from gpu_tools.exons import load_model
from gpu_tools.exons.model import FORBIDDEN, model_from_dict, model_to_json, shipped_models
from gpu_tools.resources import resource_path

SHIPPED = json.loads(resource_path("models", "vertebrate.json").read_text("utf-8"))


def changed(*keys, value):
    """Return the shipped model with one value replaced."""
    content = copy.deepcopy(SHIPPED)
    inner = content
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = value
    return content


def test_shipped_model_by_name_and_by_path(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(model_to_json(SHIPPED))
    by_name, by_path = load_model("vertebrate"), load_model(path)
    assert by_name.name == by_path.name == "vertebrate"
    assert (by_name.coding == by_path.coding).all()
    assert by_name.min_score == by_path.min_score == round(SHIPPED["min_score"] * 100)
    assert "vertebrate" in shipped_models()


def test_numbers_become_hundredths_and_null_forbids():
    model = load_model("vertebrate")
    edge = model.donor.before
    assert model.donor.scores[edge, :4].tolist() == [FORBIDDEN, FORBIDDEN, 0, FORBIDDEN]
    assert model.donor.scores[edge, 4] == FORBIDDEN
    assert model.donor.scores[0, 4] == 0
    assert model.donor.scores[0, 0] == round(100 * SHIPPED["donor"]["scores"][0][0])


def test_length_scores_by_class():
    model = model_from_dict(changed("length", value={"from": [1, 10], "scores": [-1, 2.5]}))
    assert model.length_scores[[1, 9, 10, model.max_length]].tolist() == [-100, -100, 250, 250]


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("format",), "other", 'wrong value of format; expected "gpu-tools exon model"'),
        (("version",), 2, "wrong value of version; expected 1"),
        (("units",), "nats", 'wrong value of units; expected "bits"'),
        (("name",), "", "wrong value of name; expected a text"),
        (("stops",), ["TAA", "XXX"], "wrong value of stops; expected a list of some of TAA"),
        (("stops",), [], "wrong value of stops"),
        (("stops",), [["TAA"]], "wrong value of stops"),
        (("coding_order",), 3, "wrong value of coding; expected 3 x 256 numbers"),
        (("coding_order",), 99, "wrong value of coding_order; expected an integer from 0 to 7"),
        (("coding_order",), True, "wrong value of coding_order"),
        (("coding",), [[1, 2], [3]], "wrong value of coding"),
        (("max_length",), 0, "wrong value of max_length; expected an integer from 1"),
        (("min_length",), 10_001, "wrong value of min_length"),
        (("min_score",), "1.5", "wrong value of min_score; expected one of the numbers"),
        (("min_score",), None, "wrong value of min_score"),
        (("min_score",), True, "wrong value of min_score"),
        (("min_score",), 1e9, "wrong value of min_score"),
        (("min_score",), [1.0], "wrong value of min_score"),
        (("donor",), [], "donor is no JSON object"),
        (("donor", "before"), -1, "wrong value of donor.before"),
        (("donor", "before"), 9, "wrong value of donor.scores; expected 11 to 1000 columns"),
        (("acceptor", "before"), 1, "wrong value of acceptor.before"),
        (("start", "scores"), [[0, 0, 0]] * 12, "expected any number of x 4 numbers"),
        (("start", "cutoff"), {}, "wrong value of start.cutoff"),
        (("length", "from"), [1, 5, 5], "wrong value of length.from; expected rising integers"),
        (("length", "from"), [2], "wrong value of length.from"),
        (("length", "scores"), [0.0], "wrong value of length.scores; expected 11 numbers"),
    ],
)
def test_wrong_values_are_named(keys, value, message):
    with pytest.raises(InputError) as caught:
        model_from_dict(changed(*keys, value=value))
    assert message in str(caught.value)


@pytest.mark.parametrize("key", sorted(SHIPPED))
def test_every_key_is_needed(key):
    content = {k: v for k, v in SHIPPED.items() if k != key}
    with pytest.raises(InputError, match=f"no key {key}; expected a complete model"):
        model_from_dict(content)


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
