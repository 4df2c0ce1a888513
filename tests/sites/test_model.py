"""Site models: tables, files, and what they score."""

import numpy as np
import pytest

from gpu_tools import InputError, ScoringError, Sequence, is_coding, tables_of
from gpu_tools.model.sequences import encode
from gpu_tools.sites import model as model_of_sites
from gpu_tools.sites.model import load_sites, sites_from_dict
from gpu_tools.sites.table import CLOSED
from gpu_tools.splicing.reading import translation_of
from gpu_tools.splicing.site_matrix import site_scores
from tests import cases
from tests.oracles import sites as oracle

ONLY = {
    letter: [0.0 if k == code else None for code in range(4)] for k, letter in enumerate("ACGT")
}


def content(**changes):
    """Return a small model: GT-AG of one point each, AT-AC of another kind."""
    site = {"cutoff": -9.0}
    donor = site | {"before": 0, "scores": [ONLY["G"], [None, None, None, 1.0]]}
    acceptor = site | {"before": 2, "scores": [ONLY["A"], [None, None, 1.0, None]]}
    minor_donor = site | {"before": 0, "scores": [ONLY["A"], [None, None, None, 2.0]]}
    minor_acceptor = site | {"before": 2, "scores": [ONLY["A"], [None, 2.0, None, None]]}
    return {
        "format": "gpu-tools site model", "version": 1, "name": "small", "source": "test",
        "units": "bits", "points_per_bit": 1.0,
        "introns": [
            {"donor": donor, "acceptor": acceptor, "from": [4, 6], "penalties": [5, 3]},
            {"donor": minor_donor, "acceptor": minor_acceptor, "from": [4], "penalties": [4]},
        ],
        "start": 2, "stop": 3, "begin": -7, "end": -8, "stops": ["TAA", "TAG", "TGA"],
    } | changes  # fmt: skip


def test_table_of_a_small_model():
    table = sites_from_dict(content()).table(encode("CATGGTAAACAGTAATC"))
    opened = [{i: int(s) for i, s in enumerate(x) if s != CLOSED} for x in table.scores]
    first, acceptors, donors, last = opened
    assert {i for i in first if first[i] == 2} == {1}
    assert {last[i] for i in last} == {-8, 3}
    assert {i for i in last if last[i] == 3} == {8, 15}
    assert donors == {1: 2, 4: 1, 11: 1, 14: 2}
    assert acceptors == {10: 2, 12: 1}
    assert [tuple(i) for i in table.introns] == [
        (0, 4, 5, ()), (0, 6, 3, ()), (1, 4, 4, ()),
    ]  # fmt: skip
    assert table.exit_kind[[1, 4]].tolist() == [1, 0]
    assert table.entry_kind[[10, 12]].tolist() == [1, 0]


@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
@pytest.mark.parametrize("reading", ["any", "complete", "incomplete"])
@pytest.mark.parametrize("points", [(2, 3, -7, -8), (0, 0, -8, -8), (-5, 1, 2, -3)])
def test_ends_have_the_points_of_the_page(ends, reading, points):
    base = cases.random_text(np.random.default_rng(3), 900).replace("U", "T")
    names = "start", "stop", "begin", "end"
    model = sites_from_dict(content(**dict(zip(names, points, strict=True))))
    made = model.table(encode(base), ends, reading)
    assert (made.stops is None) == (reading == "any")
    for found, expected in zip(
        (made.first_entry, made.last_exit),
        oracle.end_points(base, ends, reading, points), strict=True,
    ):  # fmt: skip
        known = {i: int(score) for i, score in enumerate(found) if score != CLOSED}
        assert known == {i: score for i, score in expected.items() if score > float("-inf")}


@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
def test_chains_of_targets_that_are_not_coding_begin_and_end_anywhere_at_no_cost(ends):
    base = Sequence.from_text("b", "CATGGTAAACAGTAATC")
    model = sites_from_dict(content(start=2, stop=3, begin=-7, end=-8))
    whole = tables_of(base, model, ends=ends, coding=True)
    for strand, table in tables_of(base, model, ends=ends).items():
        none = np.zeros(len(base) + 1)
        assert np.array_equal(table.first_entry, none)
        assert np.array_equal(table.last_exit, none)
        assert np.array_equal(table.inner_entry, whole[strand].inner_entry)
        assert np.array_equal(table.inner_exit, whole[strand].inner_exit)
        assert table.introns == whole[strand].introns
        assert whole[strand].neutral is whole[strand].neutral


@pytest.mark.parametrize("coding", [False, True])
def test_chains_that_translate_have_the_points_of_their_ends(coding):
    base = Sequence.from_text("b", "CATGGTAAACAGTAATC")
    (table,) = tables_of(base, load_sites("fly"), "+", reading="complete", coding=coding).values()
    assert table.first_entry.tolist()[:3] == [CLOSED, 0, CLOSED]


@pytest.mark.parametrize(
    ("text", "coding"),
    [
        ("ATGGCTTAA", True),
        ("augnnnuga", True),
        ("ATGTAA", True),
        ("TTAAGCCAT", True),  # its reverse complement is
        ("ATGTAAGCTTAA", False),
        ("ATGGCTGCT", False),
        ("GCTGCTTAA", False),
        ("ATGGCTTAAA", False),
        ("ATGGCTGTAA", False),
        ("ATG", False),
        ("", False),
    ],
)
def test_which_cdnas_are_coding(text, coding):
    assert is_coding(Sequence.from_text("t", text)) is coding


def test_stop_codons_of_coding_cdnas_are_those_that_are_given():
    target = Sequence.from_text("t", "ATGTAACAATGA")
    assert not is_coding(target)
    assert is_coding(target, ("TGA",))


@pytest.mark.parametrize("strand", ["+", "-"])
def test_a_locus_has_the_sites_and_penalties_of_its_record(strand):
    """But for sites whose matrices reach beyond its ends."""
    record = cases.random_text(np.random.default_rng(6), 3000).replace("U", "T")
    model, low, high, reach = load_sites("vertebrate"), 700, 2600, 33
    whole = tables_of(Sequence.from_text("r", record), model, strand)[strand]
    part = Sequence.from_text(f"r:{low + 1}-{high}", record[low:high])
    locus = tables_of(part, model, strand)[strand]
    shift = low if strand == "+" else len(record) - high
    inside = slice(reach, high - low + 1 - reach)
    for own, other in zip(locus.scores[1:3], whole.scores[1:3], strict=True):
        assert own[inside].tolist() == other[shift:][inside].tolist()
    for k in range(len(locus.introns)):
        ends, entry = np.arange(0, 900), 1800
        moved = whole.penalty_between(k, ends + shift, entry + shift)
        assert locus.penalty_between(k, ends, entry).tolist() == moved.tolist()
        assert len(set(moved)) > 1


@pytest.mark.parametrize("part", [2, 7, 1 << 18])
def test_sites_score_as_the_exon_models_do(part, monkeypatch):
    monkeypatch.setattr(model_of_sites, "PART", part)
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 5, 3000).astype(np.uint8)
    model = load_sites("vertebrate")
    table = model.table(codes)
    for kind, intron in enumerate(model.introns):
        for site, scores, kinds in (
            (intron.donor, table.inner_exit, table.exit_kind),
            (intron.acceptor, table.inner_entry, table.entry_kind),
        ):
            bits = site_scores(codes, site)
            here = (scores != CLOSED) & (kinds == kind)
            assert np.array_equal(scores[here], np.rint(model.points_per_bit * bits[here] / 100))
            assert np.array_equal(here, bits >= site.cutoff)
            assert here.any()


@pytest.mark.parametrize("part", [1, 4])
def test_codons_are_found_across_parts(part, monkeypatch):
    codes, model = encode("ATGATGTAACATGAT"), sites_from_dict(content())
    whole = model.table(codes)
    assert np.flatnonzero(whole.first_entry == 2).tolist() == [0, 3, 10]
    assert np.flatnonzero(whole.last_exit == 3).tolist() == [4, 9, 14]
    monkeypatch.setattr(model_of_sites, "PART", part)
    for scores, expected in zip(model.table(codes).scores, whole.scores, strict=True):
        assert scores.tolist() == expected.tolist()


@pytest.mark.parametrize("part", [100, 1 << 18])
def test_penalties_rise_along_the_models_lines(part, monkeypatch):
    monkeypatch.setattr(model_of_sites, "PART", part)
    lines = [[0, 64], [3, 256]]
    introns = [content()["introns"][0] | {"rising": lines}, content()["introns"][1]]
    base = cases.random_text(np.random.default_rng(1), 1000).replace("U", "T")
    table = sites_from_dict(content(introns=introns)).table(encode(base), origin=5)
    assert [i.rising for i in table.introns] == [((0, 64), (3, 256))] * 2 + [()]
    assert table.origin == 5
    ranks = oracle.marks(base, 64)
    assert dict(zip(*(each.tolist() for each in table.marks), strict=True)) == ranks
    crossed = [i for i in ranks if i > table.introns[0].min_length]
    far = 3 + sum(ranks[i] < 2**31 // 256 for i in crossed)
    assert far < len(crossed)
    assert table.penalty_between(0, np.array([0]), 1000).tolist() == [5 + far]


def test_penalties_and_lengths_can_be_changed():
    model = sites_from_dict(content())
    assert [i.penalties for i in model.with_penalty(9).introns] == [((4, 9),), ((4, 10),)]
    assert model.with_shortest_intron(5).introns[0].penalties == ((5, 5), (6, 3))
    assert model.with_shortest_intron(8).introns[0].penalties == ((8, 3),)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"format": "other"}, "format"), ({"introns": []}, "introns"), ({"begin": 0.5}, "begin"),
        ({"stops": ["AAA"]}, "stops"), ({"points_per_bit": "1"}, "points_per_bit"),
        ({"sites_per_kb": {"donors": 80, "acceptors": -1}}, "sites_per_kb.acceptors"),
        ({"introns": [content()["introns"][0] | {"penalties": [1, 2]}]}, r"introns\[0\].penalties"),
        ({"introns": [content()["introns"][0] | {"from": [6, 4]}]}, r"introns\[0\].from"),
        *(
            ({"introns": [content()["introns"][0] | {"rising": lines}]}, r"introns\[0\].rising")
            for lines in (
                1, [1], [[0, 64, 2]], [[0, 64.0]], [[1, 64]], [[0, 63]], [[0, 64], [0, 128]],
                [[0, 64], [1001, 128]], [[0, 64]] * 5,
            )
        ),
    ],
)  # fmt: skip
def test_bad_models_name_the_key(changes, key):
    with pytest.raises(InputError, match=f"wrong value of {key}"):
        sites_from_dict(content(**changes))


def test_a_model_without_an_end_is_refused():
    with pytest.raises(InputError, match="/dev/zero: more than 64 MiB; expected a site model"):
        load_sites("/dev/zero")


def test_unknown_model_names_the_shipped_ones():
    with pytest.raises(InputError, match=r"no such site model .*one of .*vertebrate"):
        load_sites("martian")


def test_translation():
    chain = [(0, 4), (10, 11), (20, 24), (30, 33)]
    codes = encode("ATGA" + "C" * 26 + "TAG" + "C")
    found = translation_of(codes, chain)
    assert found == {"phases": (0, 2, 1, 0), "start_codon": True, "stop_codon": True}
    other = translation_of(codes[1:], chain)
    assert (other["start_codon"], other["stop_codon"]) == (False, False)


def test_a_longest_intron_near_the_usual_lengths_makes_shorter_ones_usual():
    model = load_sites("vertebrate")
    (shortest, dear), (low, usual) = model.introns[0].penalties
    assert dear > usual
    assert model.with_longest_intron(low + 64).introns == model.introns
    joined = model.with_longest_intron(low + 63)
    assert joined.introns[0].penalties == ((shortest, usual),)
    assert joined.introns[1] == model.introns[1]
    with pytest.raises(ScoringError, match=f"expected {shortest + 64} to"):
        model.with_longest_intron(shortest + 63)
