"""Warnings about site models that do not suit, and stand-ins for laws of scores that lack.

A model that does not suit the sequences is reported, not refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from gpu_tools.errors import ScoringError
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import ProteinScoring, SplicedScoring
from gpu_tools.model.sequences import OTHER
from gpu_tools.model.significance import (
    NullModel,
    nearest_setting,
    null_model,
    null_model_of_sites,
    setting_of,
)
from gpu_tools.model.translation import STANDARD
from gpu_tools.sites.api import SiteCase
from gpu_tools.sites.model import GeneSites, SitesPerKb, load_sites, shipped_sites
from gpu_tools.sites.proteins.api import protein_sites

_log = logging.getLogger(__name__)

LEAST_KB = 5.0
"""Known nucleotides, in kb, below which site counts say nothing."""
LARGEST_RATIO = 1.5
"""Factor by which site counts may differ from what the model expects."""
NEAR_SHORTEST = 3
"""Nucleotides above the shortest intron that count as near it."""
LARGEST_SHARE, LEAST_INTRONS = 0.1, 5
LEAST_POINTS = 4.0
"""Mean points of an intron's two sites below which a chain may be on the wrong strand."""
_STANDS_IN = "vertebrate"
"""The site model whose laws are taken for a model that has none."""
_WORDS = {"pairs": "this matrix", "sites": "other weights of the site model"}


def unusual_site_counts(model: GeneSites, cases: Iterable[SiteCase]) -> str | None:
    """Say that base sequences have far more or fewer sites than the model expects."""
    if model.sites_per_kb is None:
        return None
    counts, known = np.zeros(2), 0
    for case in {id(case.base): case for case in cases}.values():
        own = int(np.count_nonzero(case.base.codes != OTHER))
        for table in case.tables.values():
            counts += len(table.donors.boundaries), len(table.acceptors.boundaries)
            known += own
    if known < LEAST_KB * 1000:
        return None
    found = SitesPerKb(*(counts * 1000 / known))
    if all(_is_near(*pair) for pair in zip(found, model.sites_per_kb, strict=True)):
        return None
    expected = model.sites_per_kb
    return (
        f"{found.donors:.0f} donors and {found.acceptors:.0f} acceptors per kb, where the site "
        f"model {model.name} expects {expected.donors:.0f} and {expected.acceptors:.0f}; it may "
        "not suit these sequences: gpu-tools sites train makes another one"
    )


def _is_near(found: float, expected: float) -> bool:
    return expected / LARGEST_RATIO <= found <= expected * LARGEST_RATIO


def many_shortest_introns(model: GeneSites, results: Iterable[SplicedAlignment]) -> str | None:
    """Say that many introns are as short as the model admits."""
    lengths = np.array([n for result in results for n in _intron_lengths(result)], dtype=np.int64)
    near = int(np.count_nonzero(lengths <= model.shortest_intron + NEAR_SHORTEST))
    if near < LEAST_INTRONS or near <= LARGEST_SHARE * len(lengths):
        return None
    return (
        f"{near} of {len(lengths)} introns have at most {NEAR_SHORTEST} nucleotides more than "
        f"the shortest one of the site model {model.name}, {model.shortest_intron}; introns may "
        "be shorter here: choose another model or --min-intron"
    )


def has_weak_sites(case: SiteCase, result: SplicedAlignment) -> bool:
    """Return whether the introns of a chain have sites as on the wrong strand.

    Introns that were seen are no reason to doubt the strand.
    """
    if result.n_chain < 2:
        return False
    table = case.tables[result.strand]
    own = [one for one in case.introns_of(result) if table.junctions.penalty_of(*one) is None]
    points = [table.donors.at(a) + table.acceptors.at(b) for a, b in own]
    return bool(own) and sum(points) <= LEAST_POINTS * len(points)


def _intron_lengths(result: SplicedAlignment) -> list[int]:
    exons = sorted(result.chain or ())
    return [following[0] - preceding[1] for preceding, following in pairwise(exons)]


def null_model_or_stand_in(
    scoring: SplicedScoring | ProteinScoring, reading: str = "any", sites: GeneSites | None = None,
    own_weights: bool = False,
) -> NullModel:  # fmt: skip
    """Return the shipped model of unrelated targets' scores, or that of what resembles these.

    A model of the standard code stands in for that of another genetic code. For that of a site
    model, the one of the same name with other weights stands in, or that of `vertebrate`. A warning
    says so, but for a shipped site model: that is told at level INFO, as chance is measured in
    place where it matters.
    """
    return null_models_or_stand_ins(scoring, reading, sites, own_weights, [False])[0]


def null_models_or_stand_ins(
    scoring: SplicedScoring | ProteinScoring, reading: str, sites: GeneSites | None,
    own_weights: bool, coding: Iterable[bool],
) -> list[NullModel]:  # fmt: skip
    """Return the models for targets that are coding from end to end or not, each if it is."""
    coding = list(coding)
    of_kind = {
        kind: _null_model_and_lack(scoring, reading, sites, own_weights, kind)
        for kind in dict.fromkeys(coding)
    }
    for level, *lack in dict.fromkeys(lack for _, lack in of_kind.values() if lack):
        _log.log(level, "no E-values are known for %s; those of %s stand in", *lack)
    return [of_kind[kind][0] for kind in coding]


def _null_model_and_lack(
    scoring: SplicedScoring | ProteinScoring, reading: str, sites: GeneSites | None,
    own_weights: bool, coding: bool,
) -> tuple[NullModel, tuple]:  # fmt: skip
    """Return a model; if it stands in, also the level of the word, for what, and what it is of."""
    is_protein = isinstance(scoring, ProteinScoring)
    own = null_model(scoring, reading, sites, coding)
    if own:
        return own, ()
    code = scoring.genetic_code if is_protein else STANDARD
    usual = replace(scoring, genetic_code=STANDARD) if is_protein else scoring
    lacking = [(f"genetic code {code}", "the standard code")] if code != STANDARD else []
    level, found = logging.WARNING, null_model(usual, reading, sites, coding)
    if not found and sites and not own_weights:
        names = (sites.name, _STANDS_IN)
        laws = ((name, null_model_of_sites(name, usual, reading, coding)) for name in names)
        instead, found = next(((name, law) for name, law in laws if law), (None, None))
        told = instead if instead != sites.name else f"{instead} with other weights"
        lacking.append((f"the site model {sites.name}", told))
        level = logging.INFO if _is_shipped(sites, is_protein) and code == STANDARD else level
    if not found:
        unlike = _unlike(usual, reading, sites, own_weights, coding)
        raise ScoringError(f"no E-values are known for {unlike}")
    return found, (level, *(" and ".join(words) for words in zip(*lacking, strict=True)))


def _is_shipped(sites: GeneSites, is_protein: bool) -> bool:
    """Return whether a model is one of the shipped ones as it is."""
    if sites.name not in shipped_sites():
        return False
    shipped = load_sites(sites.name)
    return sites.fingerprint == (protein_sites(shipped) if is_protein else shipped).fingerprint


def _unlike(scoring, reading: str, sites: GeneSites | None, own_weights: bool, coding: bool) -> str:
    """Return what differs from the setting nearest to this one that has a model."""
    if getattr(scoring, "matrix", None) is not None and isinstance(scoring, SplicedScoring):
        return _WORDS["pairs"]
    own = setting_of(scoring, reading, sites and sites.fingerprint, coding)
    known = nearest_setting(own)
    if not own_weights:  # there are laws that stand in for those of other site models
        own["sites"] = known["sites"]
    return ", ".join(
        _WORDS.get(name, f"{name.replace('_', ' ')} {value}") for name, value in own.items()
        if value != known[name]
    )  # fmt: skip
