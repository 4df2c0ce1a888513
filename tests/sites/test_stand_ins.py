"""Models of best scores for settings without one: what stands in, and what is told."""

from dataclasses import replace

import pytest

from gpu_tools import SplicedScoring, load_sites, null_model
from gpu_tools.errors import ScoringError
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.scoring import CANDIDATE_WEIGHTS, ProteinScoring
from gpu_tools.sites.proteins.api import protein_sites
from gpu_tools.sites.suitability import null_model_or_stand_in

FLY, VERTEBRATE = load_sites("fly"), load_sites("vertebrate")
OWN = replace(FLY, name="mine", begin=FLY.begin - 1)
CHANGED = replace(FLY.with_shortest_intron(77), name="mine")
PROTEINS = ProteinScoring(load_matrix("BLOSUM62"))
CILIATE = replace(PROTEINS, genetic_code=6)


def test_a_shipped_model_is_taken_without_a_word(caplog):
    found = null_model_or_stand_in(SplicedScoring(), "complete", FLY)
    assert found == null_model(SplicedScoring(), "complete", FLY)
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("scoring", "own", "standing", "what"),
    [
        (SplicedScoring(), OWN, (SplicedScoring(), VERTEBRATE), "the site model mine; those of v"),
        (CILIATE, FLY, (PROTEINS, FLY), "genetic code 6; those of the standard code stand in"),
        (CILIATE, CHANGED, (PROTEINS, VERTEBRATE), "genetic code 6 and the site model mine; those"),
    ],
)
def test_what_stands_in(scoring, own, standing, what, caplog):
    weigh = protein_sites if isinstance(scoring, ProteinScoring) else lambda sites: sites
    known, sites = standing
    found = null_model_or_stand_in(scoring, sites=weigh(own))
    assert found == null_model(known, sites=weigh(sites)) is not None
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
    ],
)  # fmt: skip
def test_what_has_no_evalues_is_told(arguments, what, caplog):
    with pytest.raises(ScoringError) as error:
        null_model_or_stand_in(*arguments)
    assert str(error.value) == f"no E-values are known for {what}"
    assert caplog.messages == []
