"""Loading of exon models, and their errors."""

import copy
import json

import pytest

from gpu_tools.errors import InputError
from gpu_tools.exons import load_model
from gpu_tools.exons.model import model_from_dict
from gpu_tools.model.json_model import ModelReader, model_to_json
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


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("format",), "other", 'wrong value of format; expected "gpu-tools exon model"'),
        (("version",), 1, "wrong value of version; expected 2"),
        (("units",), "nats", 'wrong value of units; expected "bits"'),
        (("stops",), ["TAA", "XXX"], "wrong value of stops; expected a list of some of TAA"),
        (("coding",), [], "coding is no JSON object"),
        (("coding", "order"), 3, "wrong value of coding.coding; expected 3 x 256 numbers"),
        (("coding", "order"), True, "wrong value of coding.order"),
        (("coding", "other"), [1, 2], "wrong value of coding.other; expected 1 x 1024 numbers"),
        (("coding", "weight"), -1, "wrong value of coding.weight; expected a number from 0 to 10"),
        (("coding", "gc_shifts"), [1, 2, 3], "wrong value of coding.gc_shifts; expected 4 numbers"),
        (("max_length",), 2, "wrong value of max_length; expected an integer from 3"),
        (("min_probability",), "1.5", "wrong value of min_probability; expected one of the num"),
        (("donor", "before"), 9, "wrong value of donor.scores; expected 11 to 1000 columns"),
        (
            ("start", "scores"), [[0, 0, 0]] * 12,
            "expected any number of x 4 or any number of x 4 x 4 numbers",
        ),
        (("start", "cutoff"), {}, "wrong value of start.cutoff"),
        (("length", "at"), [1, 5, 5], "wrong value of length.at; expected rising integers"),
        (("length", "Term"), [0.0], "wrong value of length.Term; expected"),
        (("gene", "between"), 1, "wrong value of gene.between; expected a number from 2"),
        (("gene", "single"), 1, "wrong value of gene.single; expected a number from 0.0001"),
        (("gene", "introns"), [0.5, 0.5], "wrong value of gene.introns; expected 6 numbers"),
        (("gene", "introns"), [0.5] * 6, "expected 6 positive numbers that add up to 1"),
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
