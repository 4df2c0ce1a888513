"""Training of site models."""

import json
import runpy
import sys
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools.model.json_model import HUNDREDTHS
from gpu_tools.model.resources import resource_path
from gpu_tools.sites.model import load_sites, shipped_sites, sites_from_dict
from gpu_tools.sites.training import SiteDesign, rising_penalties, shortest_intron, train_sites
from tests.sites.cases import annotated, intron


def test_shipped_model_is_what_training_gives():
    from benchmarks.accuracy.cases import annotated_records

    shipped = json.loads(resource_path("models", "sites", "vertebrate.json").read_text())
    assert train_sites(annotated_records(), shipped["name"], shipped["source"]) == shipped


def test_worm_is_what_its_script_makes(tmp_path, monkeypatch):
    script, output = resource_path("models", "worm_sites.py"), tmp_path / "worm.json"
    names = runpy.run_path(str(script))
    if not names["FOLDER"].is_dir():
        pytest.skip("Debian's augustus-data is not installed")
    monkeypatch.setattr(sys, "argv", ["worm_sites.py", "--output", str(output)])
    names["main"]()
    assert output.read_text() == resource_path("models", "sites", "worm.json").read_text()


def test_shipped_models_differ_in_their_introns():
    assert shipped_sites() == ["arabidopsis", "fly", "vertebrate", "worm"]
    models = {name: load_sites(name) for name in shipped_sites()}
    assert all(model.name == name and model.source for name, model in models.items())
    assert models["worm"].shortest_intron < models["fly"].shortest_intron
    nearest = {name: model.introns[0].rising[0][1] for name, model in models.items()}
    assert nearest["arabidopsis"] < nearest["fly"] < nearest["vertebrate"]


@pytest.mark.parametrize("name", shipped_sites())
def test_shipped_models_have_the_weights_of_the_design(name):
    """Models whose sequences are not shipped must be made again when the design changes."""
    model, design = load_sites(name), SiteDesign()
    assert (model.points_per_bit, model.begin, model.end) == (
        design.points_per_bit, design.anywhere, design.anywhere
    )  # fmt: skip
    major = model.introns[0]
    cutoffs = major.donor.cutoff / HUNDREDTHS, major.acceptor.cutoff / HUNDREDTHS
    assert cutoffs == (design.cutoff, design.acceptor_cutoff)
    divisors = {1, 2, 4}
    for kind in model.introns:
        assert kind.penalties == ((model.shortest_intron, design.penalty),)
        assert kind.rising in [
            tuple((extra, every // divisor) for extra, every in design.rising)
            for divisor in divisors
        ]


def test_worm_acceptors_prefer_their_consensus():
    worm = load_sites("worm").introns[0]
    best = "".join("ACGT"[k] for k in np.argmax(worm.acceptor.scores[:, :4], axis=1))
    assert best[: worm.acceptor.before].endswith("TTTTCAG")
    best = "".join("ACGT"[k] for k in np.argmax(worm.donor.scores[:, :4], axis=1))
    assert best == "AGGTAAG"


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([], 30),
        ([50] * 999, 30),
        ([25] * 999, 22),
        ([50] * 1000, 45),
        ([21] + [50] * 999, 45),
        ([21, 21] + [50] * 998, 20),
        ([90] * 5000, 60),
    ],
)
def test_shortest_intron(lengths, expected):
    assert shortest_intron(np.array(lengths), SiteDesign()) == expected


@pytest.mark.parametrize(
    ("quartile", "every"), [(5000, 1024), (700, 1024), (350, 512), (150, 256), (20, 256)]
)
def test_penalties_rise_faster_where_introns_are_short(quartile, every):
    design = SiteDesign(rising=((0, 1024), (4, 8192)))
    assert rising_penalties(quartile, design) == [[0, every], [4, 8 * every]]
    close = replace(design, rising=((0, 128), (4, 256)))
    assert rising_penalties(quartile, close)[0][1] == max(every // 8, 64)
    assert rising_penalties(quartile, replace(design, rising=())) == []


def test_introns_of_a_trained_model():
    short = train_sites([annotated([intron(30)] * 30)], "x", "a test")
    assert short["introns"][0]["from"] == [27]
    assert short["introns"][0]["rising"][0] == [0, 256]
    # what bridges a frameshift is no intron
    bridged = train_sites([annotated([intron(30)] * 30 + [intron(8)] * 40)], "x", "a test")
    assert bridged["introns"][0]["from"] == [27]
    assert sites_from_dict(short).sites_per_kb == tuple(short["sites_per_kb"].values())
