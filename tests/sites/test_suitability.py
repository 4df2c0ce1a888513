"""Warnings about models that do not suit, and what stands in for settings without E-values."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence, SplicedScoring, null_model
from gpu_tools.errors import ScoringError
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import CANDIDATE_WEIGHTS, ProteinScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.model.significance import null_model_of_sites
from gpu_tools.sites.api import SiteCase, tables_of
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.api import protein_sites
from gpu_tools.sites.suitability import (
    many_shortest_introns,
    null_model_or_stand_in,
    unusual_site_counts,
)
from gpu_tools.sites.training import sites_per_kb_of

TARGET = Sequence.from_text("t", "ACGT")


def cases_of(model, codes, n=1):
    base = Sequence("b", codes)
    return [SiteCase(base, TARGET, tables_of(base, model, "+"))] * n


def test_site_counts():
    codes = np.random.default_rng(2).integers(0, 4, 8000).astype(np.uint8)
    model = load_sites("fly")
    model = replace(model, sites_per_kb=sites_per_kb_of(model, [codes]))
    assert unusual_site_counts(model, cases_of(model, codes)) is None
    for factor, told in ((1.4, False), (1.6, True), (1 / 1.4, False), (1 / 1.6, True)):
        expected = model.sites_per_kb._replace(donors=model.sites_per_kb.donors * factor)
        other = replace(model, sites_per_kb=expected)
        text = unusual_site_counts(other, cases_of(model, codes, 3))
        assert (text is not None) == told
        assert not told or f"site model fly expects {expected.donors:.0f} and" in text


def test_site_counts_need_known_nucleotides_and_an_expectation():
    codes = np.zeros(8000, dtype=np.uint8)
    model = load_sites("fly")
    assert "0 donors and 0 acceptors per kb" in unusual_site_counts(model, cases_of(model, codes))
    codes[4000:] = OTHER
    assert unusual_site_counts(model, cases_of(model, codes)) is None
    model = replace(model, sites_per_kb=None)
    assert unusual_site_counts(model, cases_of(model, codes * 0)) is None


def result(*introns):
    """Return a chain with introns of some lengths."""
    chain, at = [], 0
    for length in (*introns, 0):
        chain.append((at, at + 10))
        at += 10 + length
    return SplicedAlignment("b", "t", at, 9, 9, None, "-", 5, tuple(chain[::-1]))


@pytest.mark.parametrize(
    ("introns", "told"),
    [
        ([43] * 5, "5 of 5 introns"), ([43] * 4, None), ([46] * 5 + [47] * 44, "5 of 49 introns"),
        ([46] * 5 + [47] * 45, None), ([47] * 50, None), ([], None),
    ],
)  # fmt: skip
def test_short_introns(introns, told):
    model = load_sites("fly")
    assert model.shortest_intron == 43
    results = [result(*introns[k : k + 7]) for k in range(0, len(introns), 7)]
    results.append(replace(result(), chain=()))
    text = many_shortest_introns(model, results)
    assert text is None if told is None else text.startswith(told)


FLY = load_sites("fly")
OWN = replace(FLY, name="mine", begin=FLY.begin - 1)
CHANGED = replace(FLY.with_shortest_intron(77), name="mine")
PROTEINS = ProteinScoring(load_matrix("BLOSUM62"))
CILIATE = replace(PROTEINS, genetic_code=6)


def law(name, scoring, reading="any"):
    found = null_model_of_sites(name, scoring, reading)
    assert found is not None
    return found


@pytest.mark.parametrize("scoring", [SplicedScoring(), PROTEINS])
@pytest.mark.parametrize(("name", "standing"), [("fly", "fly"), ("yeast", "vertebrate")])
def test_a_shipped_model_is_taken_without_a_word(scoring, name, standing, caplog):
    sites = load_sites(name)
    weighted = protein_sites(sites) if scoring is PROTEINS else sites
    found = null_model_or_stand_in(scoring, sites=weighted)
    assert found == (null_model(scoring, sites=weighted) or law(standing, scoring))
    assert caplog.messages == []


def test_what_stands_in_for_a_shipped_model_is_told_on_request(caplog):
    caplog.set_level("INFO", "gpu_tools")
    null_model_or_stand_in(SplicedScoring(), sites=load_sites("yeast"))
    assert caplog.messages == [
        "no E-values are known for the site model yeast; those of vertebrate stand in"
    ]


@pytest.mark.parametrize(
    ("scoring", "own", "standing", "what"),
    [
        (SplicedScoring(), OWN, "vertebrate", "the site model mine; those of vertebrate stand in"),
        (SplicedScoring(), FLY.with_penalty(5), "fly",
         "the site model fly; those of fly with other weights stand in"),
        (CILIATE, CHANGED, "vertebrate", "genetic code 6 and the site model mine; those"),
    ],
)  # fmt: skip
def test_what_stands_in(scoring, own, standing, what, caplog):
    weigh = protein_sites if isinstance(scoring, ProteinScoring) else lambda sites: sites
    found = null_model_or_stand_in(scoring, sites=weigh(own))
    assert found == law(standing, PROTEINS if scoring is CILIATE else scoring)
    (message,) = caplog.messages
    assert message.startswith(f"no E-values are known for {what}")


def test_the_standard_code_stands_in_for_listed_candidates(caplog):
    listed = replace(CILIATE, **CANDIDATE_WEIGHTS)
    found = null_model_or_stand_in(listed)
    assert found == null_model(replace(listed, genetic_code=1)) is not None
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((SplicedScoring(gap=-3), "any", FLY), "gap -3"),
        ((SplicedScoring(), "any", OWN, True), "other weights of the site model"),
        ((SplicedScoring(match=2, exon_weight=0.5, intron_penalty=10),), "match 2"),
        ((replace(PROTEINS, gap_open=9), "any", protein_sites(FLY)), "gap open 9"),
        ((replace(PROTEINS, matrix=load_matrix("BLOSUM45")), "any", protein_sites(FLY)),
         "this matrix"),
        ((SplicedScoring(matrix=np.eye(5, dtype=int)), "any", FLY), "this matrix"),
        ((SplicedScoring(matrix=np.eye(5, dtype=int)),), "this matrix"),
    ],
)  # fmt: skip
def test_what_has_no_evalues_is_told(arguments, what, caplog):
    with pytest.raises(ScoringError) as error:
        null_model_or_stand_in(*arguments)
    assert str(error.value) == f"no E-values are known for {what}"
    assert caplog.messages == []
