"""Training of site models: shipped models, introns, sites per kb, and what training saw."""

import json
import runpy
import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gpu_tools.model.json_model import HUNDREDTHS
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import OTHER, decode, encode
from gpu_tools.sites.model import load_sites, shipped_sites, sites_from_dict
from gpu_tools.sites.table import CLOSED
from gpu_tools.sites.training import (
    CHUNK,
    IntronFigures,
    SiteDesign,
    census_of,
    census_rows,
    rising_penalties,
    shortest_intron,
    sites_per_kb_of,
    train_sites,
)
from tests.sites.cases import annotated, intron
from tests.sites.test_model import content


def test_shipped_model_is_what_training_gives():
    from benchmarks.accuracy.cases import annotated_records

    shipped = json.loads(resource_path("models", "sites", "vertebrate.json").read_text())
    assert train_sites(annotated_records(), shipped["name"], shipped["source"]) == shipped


AUGUSTUS = runpy.run_path(str(resource_path("models", "augustus_sites.py")))


def test_models_of_augustus_are_what_their_script_makes(tmp_path, monkeypatch):
    if not AUGUSTUS["FOLDER"].is_dir():
        pytest.skip("Debian's augustus-data is not installed")
    monkeypatch.setattr(sys, "argv", ["augustus_sites.py", "--output", str(tmp_path)])
    AUGUSTUS["main"]()
    made = sorted(path.name for path in tmp_path.iterdir())
    assert made == sorted(
        f"{name}.json" for name in ("generic", *(species.name for species in AUGUSTUS["SPECIES"]))
    )
    shipped = resource_path("models", "sites")
    assert all((tmp_path / name).read_text() == (shipped / name).read_text() for name in made)


def test_words_of_other_widths_become_words_of_five():
    of_five = AUGUSTUS["of_five"]
    long = np.array([encode("ACGTAC"), encode("ACGTAG")])
    assert of_five(long, np.array([1.0, 2.0]))[int(encode("ACGTA") @ AUGUSTUS["POWERS"])] == 3
    words = np.array([encode("".join(word)) for word in product("ACGT", repeat=3)])
    numbers = np.random.default_rng(1).uniform(1, 9, len(words))
    found, own = of_five(words, numbers).reshape((4,) * 5), numbers.reshape(4, 4, 4)
    assert found.sum(axis=(3, 4)) == pytest.approx(own)
    behind = own.sum(axis=0) / own.sum(axis=(0, 2))[:, None]
    assert found / found.sum(axis=4, keepdims=True) == pytest.approx(
        np.broadcast_to(behind, (4,) * 5)
    )


def test_shipped_models_differ_in_their_introns():
    names = shipped_sites()
    assert {"arabidopsis", "fly", "vertebrate", "worm", "yeast"} < set(names)
    models = {name: load_sites(name) for name in names}
    assert all(model.name == name and model.source for name, model in models.items())
    assert models["worm"].shortest_intron < models["fly"].shortest_intron
    nearest = {name: model.introns[0].rising[0][1] for name, model in models.items()}
    assert nearest["arabidopsis"] < nearest["fly"] < nearest["vertebrate"]
    cost = {name: model.introns[0].penalties[-1][1] for name, model in models.items()}
    assert cost["worm"] < cost["human"] < cost["yeast"]
    stops = {name: model.stops for name, model in models.items()}
    assert stops["tetrahymena"] == ("TGA",)
    assert {stops[name] for name in names if name != "tetrahymena"} == {("TAA", "TAG", "TGA")}


@pytest.mark.parametrize("name", shipped_sites())
def test_shipped_models_have_the_weights_of_the_design(name):
    """Models whose sequences are not shipped must be made again when the design changes."""
    model, design = load_sites(name), SiteDesign()
    assert (model.points_per_bit, model.begin, model.end) == (
        design.points_per_bit, design.anywhere, design.anywhere
    )  # fmt: skip
    major, minor = model.introns
    cutoffs = major.donor.cutoff / HUNDREDTHS, major.acceptor.cutoff / HUNDREDTHS
    assert cutoffs == (design.cutoff, design.acceptor_cutoff)
    assert minor.penalties[0][1] > major.penalties[-1][1]
    assert name == "generic" or min(model.mean_bits) > 1
    divisors = {1, 2, 4}
    for kind in model.introns:
        assert kind.penalties[0][0] == model.shortest_intron
        assert kind.rising in [
            tuple((extra, every // divisor) for extra, every in design.rising)
            for divisor in divisors
        ]


@pytest.mark.parametrize("name", shipped_sites())
def test_shipped_models_prefer_the_consensus(name):
    usual = load_sites(name).introns[0]
    donor, acceptor = (
        np.argmax(site.scores[:, :4], axis=1) for site in (usual.donor, usual.acceptor)
    )
    edge = usual.donor.before
    assert decode(donor[edge - 1 : edge + 3]) in ("GGTA", "GGTG", "AGTA")
    assert decode(acceptor[usual.acceptor.before - 2 :][:2]) == "AG"


def figures(lengths, per_nucleotide=1 / 256, shortest=30, minor=0):
    lengths = np.array(lengths)
    shares = np.bincount(lengths) / len(lengths)
    return IntronFigures(shares, len(lengths), shortest, per_nucleotide, minor)


def test_an_intron_costs_its_rarity_in_bits():
    # 8 bits for one in 256 nucleotides, 4 for one of 16 lengths
    assert figures(range(30, 46)).classes() == [(30, pytest.approx(12))]
    dense = figures(range(30, 46), 1 / 16)
    assert dense.classes() == [(30, pytest.approx(8))]


def test_lengths_below_the_usual_ones_cost_more():
    lengths = [60, 61, 62, 63] * 1000 + [100, 200, 300, 400]
    (least, rare), (low, usual) = figures(lengths).classes()
    assert (least, low) == (30, 60)
    assert usual == pytest.approx(8 + 2, abs=0.1)
    assert rare == pytest.approx(8 + np.log2(30 * 2 * 4004))
    (_, seen), _ = figures([45] * 390 + lengths).classes()
    assert usual < seen < rare


def test_few_introns_make_a_broad_class():
    # a tenth of them would be two
    (_, _), (low, usual) = figures(range(50, 90, 2)).classes()
    assert (low, usual) == (50, pytest.approx(8 + np.log2(39)))


def test_introns_at_ac_cost_their_share():
    assert figures([60] * 10).minor_bits() == pytest.approx(np.log2(1010))
    assert figures([60] * 1000, minor=99).minor_bits() == pytest.approx(np.log2(20))


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
    assert short["introns"][0]["from"] == [27, 30]
    assert short["introns"][0]["rising"][0] == [0, 256]
    # what bridges a frameshift is no intron
    bridged = train_sites([annotated([intron(30)] * 30 + [intron(8)] * 40)], "x", "a test")
    assert bridged["introns"][0]["from"] == [27, 30]
    assert sites_from_dict(short).sites_per_kb == tuple(short["sites_per_kb"].values())


INTRONS = [
    intron(30), intron(40), intron(40), intron(50, ("GC", "AG")), intron(60, ("AT", "AC")),
    intron(70, ("CC", "CC")),
]  # fmt: skip


@pytest.mark.parametrize("strand", "+-")
def test_census(strand):
    record = annotated(INTRONS, strand, copies=2)
    census = census_of([record], n_annotated=14)
    assert census.kinds == {"GT-AG": 3, "GC-AG": 1, "AT-AC": 1, "other": 1}
    assert sorted(census.lengths) == [30, 40, 40, 50, 60, 70]
    assert (census.n_coding, census.n_genes, census.n_introns) == (12, 6, 12)
    content = train_sites([record], "x", "a test")
    rows = {name: (value, share) for name, value, share in census_rows(census, content)}
    assert rows["coding sequences left out"] == (2, "0.1429")
    assert rows["distinct introns GC-AG"] == (1, "0.1667")
    assert [rows[f"intron length {p} %"][0] for p in (0, 50, 100)] == [30, 40, 70]
    assert rows["shortest intron of the model"] == (27, None)
    assert float(rows["introns per kb of coding sequence"][0]) == content["introns_per_kb"] > 0
    # all four donors that have GT or GC score alike but for C instead of T
    assert float(rows["mean bits of the donors"][0]) > 1
    assert rows["donors per kb"][0] == content["sites_per_kb"]["donors"]


def test_genes_of_different_strands_do_not_join():
    forward, reverse = annotated(INTRONS[:2]), annotated(INTRONS[:2], "-")
    both = forward.coding + reverse.coding
    assert census_of([type(forward)(forward.sequence, both)], 4).n_genes == 4


def test_warnings():
    few, unusual = census_of([annotated(INTRONS)], 6).warnings()
    assert "only 6 distinct introns" in few
    assert "1 of 6 introns are neither GT-AG nor GC-AG nor AT-AC" in unusual
    assert not list(census_of([annotated([intron(30)] * 200)], 200).warnings())


def text_codes(rng, n):
    return rng.integers(0, 4, n).astype(np.uint8)


def test_counts_are_those_of_tables():
    rng = np.random.default_rng(5)
    model, strands = load_sites("fly"), [text_codes(rng, 3000), text_codes(rng, 700)]
    tables = [model.table(codes) for codes in strands]
    found = sites_per_kb_of(model, strands)
    for per_kb, name in zip(found, ("inner_exit", "inner_entry"), strict=True):
        count = sum(int((getattr(table, name) != CLOSED).sum()) for table in tables)
        assert per_kb == pytest.approx(count / 3.7, abs=0.01)


def test_unknown_nucleotides_do_not_count():
    codes = np.tile(np.array([2, 3, 0, 2], dtype=np.uint8), 100)  # GTAG
    model = sites_from_dict(content())
    alone = sites_per_kb_of(model, [codes])
    assert alone.donors == pytest.approx(250)
    unknown = np.full(5000, OTHER, dtype=np.uint8)
    assert sites_per_kb_of(model, [np.concatenate([codes, unknown]), unknown]) == alone
    assert sites_per_kb_of(model, [unknown]) == (0, 0)


def test_long_strands_are_sampled():
    codes = text_codes(np.random.default_rng(6), CHUNK // 4)
    once = sites_per_kb_of(load_sites("fly"), [codes])
    sampled = sites_per_kb_of(load_sites("fly"), [np.tile(codes, 4)] * 50)
    assert sampled == pytest.approx(once, rel=0.001)
