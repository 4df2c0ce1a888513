"""Models of unrelated targets' scores for settings that have none of their own."""

from __future__ import annotations

import logging
from dataclasses import replace

from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import ProteinScoring, SplicedScoring
from gpu_tools.model.significance import NullModel, nearest_setting, null_model, setting_of
from gpu_tools.model.translation import STANDARD
from gpu_tools.sites.model import GeneSites, load_sites
from gpu_tools.sites.proteins.sites import protein_sites

_log = logging.getLogger(__name__)
_STANDS_IN = "vertebrate"
"""The site model whose laws are taken for a model that has none."""
_WORDS = {"pairs": "this matrix", "sites": "other weights of the site model"}


def null_model_or_stand_in(
    scoring: SplicedScoring | ProteinScoring, reading: str = "any", sites: GeneSites | None = None,
    own_weights: bool = False,
) -> NullModel:  # fmt: skip
    """Return the shipped model of unrelated targets' scores, or that of what resembles these.

    A model of the standard code stands in for that of another genetic code, one of `vertebrate` for
    that of a site model that is not shipped. A warning says so.
    """
    own, is_protein = null_model(scoring, reading, sites), isinstance(scoring, ProteinScoring)
    if own:
        return own
    code = scoring.genetic_code if is_protein else STANDARD
    usual = replace(scoring, genetic_code=STANDARD) if is_protein else scoring
    lacking = [(f"genetic code {code}", "the standard code")] if code != STANDARD else []
    found = null_model(usual, reading, sites)
    if not found and sites and not own_weights:
        lacking.append((f"the site model {sites.name}", _STANDS_IN))
        shipped = load_sites(_STANDS_IN)
        sites = protein_sites(shipped) if is_protein else shipped
        found = null_model(usual, reading, sites)
    if not found:
        raise ScoringError(f"no E-values are known for {_unlike(usual, reading, sites)}")
    what, instead = (" and ".join(words) for words in zip(*lacking, strict=True))
    _log.warning("no E-values are known for %s; those of %s stand in", what, instead)
    return found


def _unlike(scoring, reading: str, sites: GeneSites | None) -> str:
    """Return what differs from the setting nearest to this one that has a model."""
    if getattr(scoring, "matrix", None) is not None and isinstance(scoring, SplicedScoring):
        return _WORDS["pairs"]
    own = setting_of(scoring, reading, sites and sites.fingerprint)
    known = nearest_setting(own)
    return ", ".join(
        _WORDS.get(name, f"{name.replace('_', ' ')} {value}") for name, value in own.items()
        if value != known[name]
    )  # fmt: skip
