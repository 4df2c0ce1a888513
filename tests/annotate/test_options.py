"""Options of an annotation that are not given."""

from dataclasses import replace

import pytest

from gpu_tools import (
    ProteinSequence,
    Sequence,
    SpliceEvidence,
    cdna_targets,
    load_sites,
    protein_targets,
)
from gpu_tools.annotate.options import AnnotationOptions, longest_intron_of
from gpu_tools.cli.annotate import limits_of
from gpu_tools.errors import InputError
from gpu_tools.search.words import INTRON_COSTS


@pytest.mark.parametrize(
    ("name", "longest"), [("fly", 65_536), ("arabidopsis", 32_768), ("vertebrate", 100_000)]
)
def test_the_site_model_says_which_introns_are_too_long(name, longest):
    """Its penalties rise by ten points up to there; an intron that is one longer costs more."""
    sites = load_sites(name)
    assert longest_intron_of(sites) == longest
    extra = [min(p + n // every for p, every in sites.introns[0].rising) for n in (longest,)]
    assert extra[0] <= 10
    assert limits_of({"site_model": name, "max_intron": None}).max_intron == longest
    assert limits_of({"site_model": name, "max_intron": 7}).max_intron == 7


@pytest.mark.parametrize(("name", "every"), [("vertebrate", 256), ("fly", 256), ("fungus", 128)])
def test_the_site_model_says_what_introns_cost_in_the_search(name, every):
    """Those of cDNAs cost what those of proteins cost; if no penalty rises they cost the usual."""
    sites = load_sites("fission-yeast" if name == "fungus" else name)
    lines = (0, every), (8, 8 * every), (16, 64 * every)
    for targets in (protein_targets([], sites), cdna_targets([], sites)):
        assert targets.intron_costs == lines
    constant = replace(sites, introns=tuple(replace(one, rising=()) for one in sites.introns))
    assert protein_targets([], constant).intron_costs == INTRON_COSTS
    assert protein_targets([], load_sites("vertebrate")).intron_costs == INTRON_COSTS


def test_introns_of_proteins_cost_more_beside_an_alignment_than_in_the_search():
    """Unless their penalties do not rise, or something pays for them."""
    sites = load_sites("vertebrate")
    assert protein_targets([], sites).costs_beside == ((0, 256), (16, 2048), (32, 16384))
    assert cdna_targets([], sites).costs_beside == INTRON_COSTS
    constant = replace(sites, introns=tuple(replace(one, rising=()) for one in sites.introns))
    seen = protein_targets([], sites, evidence=SpliceEvidence())
    own = protein_targets([replace(ProteinSequence.from_text("p", "MKV"), introns=(3,))], sites)
    for usual in (protein_targets([], constant), seen, own):
        assert usual.costs_beside == INTRON_COSTS


@pytest.mark.parametrize(
    ("threads", "targets", "usual"),
    [(1, 808, 100), (1, 20, 20), (2, 808, 100), (16, 808, 13), (16, 20, 1), (1, 0, 1)],
)
def test_a_batch_has_the_number_given_or_what_keeps_threads_busy(threads, targets, usual):
    assert AnnotationOptions().batch_on("cpu", threads, targets) == usual
    assert AnnotationOptions(batch=7).batch_on("cpu", threads, targets) == 7


@pytest.mark.cuda
def test_batches_on_a_gpu_are_large():
    assert AnnotationOptions().batch_on("cuda", 1, 20) == 1000


@pytest.mark.parametrize("name", ["max_intron", "longest_gene", "batch"])
def test_a_number_below_one_is_named(name):
    with pytest.raises(ValueError, match=f"{name} 0; expected at least 1"):
        AnnotationOptions(**{name: 0})


def test_targets_are_of_their_kind():
    protein, cdna = ProteinSequence.from_text("p", "MKW"), Sequence.from_text("c", "ATG")
    with pytest.raises(InputError, match="record c: nucleotides; expected a ProteinSequence"):
        protein_targets([cdna], load_sites("fly"))
    with pytest.raises(InputError, match="record p: a protein; expected a Sequence of nucleo"):
        cdna_targets([protein], load_sites("fly"))
