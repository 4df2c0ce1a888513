"""The program that makes the parameters of best scores, on a small scale."""

import importlib.util
import json
import sys
from functools import partial

import numpy as np
import pytest

from gpu_tools import ExonSet, SplicedScoring
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scoring import ENDS
from gpu_tools.model.sequences import decode
from gpu_tools.model.significance import setting_of
from gpu_tools.spliced import Case, spliced_align

STOPS = ("TAA", "TAG", "TGA")


@pytest.fixture(scope="module")
def program():
    spec = importlib.util.spec_from_file_location(
        "calibrate", resource_path("models", "calibrate.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["calibrate"] = module  # a dataclass looks its module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["calibrate"]


def test_coding_targets_translate(program):
    random = np.random.default_rng(1)
    for length in program.LENGTHS:
        text = decode(program.coding(random, length).codes)
        codons = [text[k : k + 3] for k in range(0, length, 3)]
        assert len(text) == length
        assert (codons[0], codons[-1]) == ("ATG", "TAA")
        assert not set(codons[:-1]) & set(STOPS)


def test_an_entry_is_the_same_each_time_and_holds_what_it_is_for(program, tmp_path):
    """With candidates that lie anywhere, and a few targets of each length."""
    records = np.random.default_rng(2).integers(0, 4, 30_000).astype(np.uint8)
    simulation = program.Simulation(records, "cpu")
    scoring = SplicedScoring(ends="free-target")
    setting = setting_of(scoring)

    def cases(base, targets):
        starts = range(0, len(base) - 50, 50)
        exons = ExonSet.from_intervals([(start, start + 20) for start in starts])
        return [Case(base, target, exons) for target in targets[::4]]

    align = partial(spliced_align, scoring=scoring)
    entries = [simulation.law(setting, cases, align, 100) for _ in range(2)]
    assert entries[0] == entries[1]
    assert entries[0]["setting"] == setting
    assert entries[0]["least_space"] == 99  # starts from 0 to 4,900
    assert entries[0]["passing"]["0.01"] <= entries[0]["passing"]["0.1"] < 0.2
    assert "least_agreement" not in entries[0]
    assert 0.25 < entries[0]["largest_agreement"] < 0.3
    program.write(tmp_path / "x" / "y.json", iter(entries[:1]), "here")
    content = json.loads((tmp_path / "x" / "y.json").read_text())
    assert content["laws"] == entries[:1]
    assert content["format"] == program.SIGNIFICANCE_FORMAT


def test_the_shipped_parameters_hold_for_the_simulated_targets():
    """At an E-value of 0.01 1 % of them pass: of a law 10 of 520 at most, as chance makes 5."""
    for path in resource_path("models", "significance").glob("*.json"):
        laws = json.loads(path.read_text())["laws"]
        assert np.mean([law["passing"]["0.01"] for law in laws]) <= 0.011, path.stem
        for law in laws:
            assert law["passing"]["0.01"] <= 0.02, (path.stem, law["setting"])
            assert 0.02 <= law["passing"]["0.1"] <= 0.15, (path.stem, law["setting"])


COSTS = {"global": (0,), "free-target": (0, 5), "free": (0, 5)}
"""Costs of clipped ends for which there are laws of site mode, by ends."""


def expected_limits(stem):
    """Return reading, ends and exon weight of the laws of a file that have a limit."""
    if stem.startswith("proteins-"):
        return []
    if stem == "candidates":
        readings, ends = ("complete", "incomplete"), ("global", "free-target")
        return [(reading, end, 0.5) for reading in readings for end in ends]
    return [("complete", "global", 0.0), ("incomplete", "global", 0.0)]


def expected_margins(stem):
    """Return reading and ends of the laws of a file that have a margin."""
    if stem.startswith("proteins-"):
        return [(None, ends) for ends in ("global", "free-target")]
    if stem == "candidates":
        return []
    readings = ("complete", "incomplete")
    return [(reading, end) for reading in readings for end in ENDS for _ in COSTS[end]]


def test_the_shipped_limits_are_those_of_the_program(program):
    """Chains that translate have a margin or a shift, some a least agreement; proteins a margin."""
    for path in resource_path("models", "significance").glob("*.json"):
        limited, wider = [], []
        for law in json.loads(path.read_text())["laws"]:
            setting = law["setting"]
            names = "least_agreement", "margin", "repetition"
            known = {k: v for k, v in law.items() if k in names}
            assert known == program.limits_of(setting), path.stem
            shifted = path.stem == "candidates" and "least_agreement" in known
            assert ("repetition" in known) == shifted
            if "margin" in known:
                wider.append((setting.get("reading"), setting["ends"]))
            if "least_agreement" in known:
                limited.append(
                    (setting["reading"], setting["ends"], setting.get("exon_weight", 0.0))
                )
        assert (limited, wider) == (expected_limits(path.stem), expected_margins(path.stem))
