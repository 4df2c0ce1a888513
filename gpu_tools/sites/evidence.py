"""Splice evidence in tables of sites: scores of sites, and introns with a penalty of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.evidence import StrandEvidence
from gpu_tools.sites.table import (
    NO_KIND,
    BoundaryScores,
    SiteTable,
    TableJunctions,
    checked_scores,
)


def with_evidence(table: SiteTable, evidence: StrandEvidence, points_per_bit: float) -> SiteTable:
    """Return the table of a model as evidence on the strand changes it.

    Splice scores change the points of sites. An intron that was seen has its penalty less what it
    gains. What is no site of the model is one of `NO_KIND` then, of 0 points.
    """
    weights, acceptors, donors = evidence.weights, table.acceptors, table.donors
    if evidence.acceptor_scores is not None:
        acceptors, donors = (
            _rescored(sites, weights.points(sites.scores, placed.at(sites.boundaries),
                                            points_per_bit))
            for sites, placed in ((acceptors, evidence.acceptor_scores),
                                  (donors, evidence.donor_scores))
        )  # fmt: skip
    lengths = evidence.acceptors - evidence.donors
    kept = lengths <= table.longest if table.longest else np.full(len(lengths), True)
    pairs = evidence.donors[kept], evidence.acceptors[kept]
    acceptors, donors = _with(acceptors, pairs[1]), _with(donors, pairs[0])
    penalties = _penalties(*pairs, _kinds(donors, pairs[0]), _kinds(acceptors, pairs[1]), table)
    gains = weights.bonuses(evidence.counts[kept], points_per_bit)
    junctions = TableJunctions.of(*pairs, penalties - gains)
    return table.changed(acceptors=acceptors, donors=donors, junctions=junctions)


def _rescored(sites: BoundaryScores, scores: NDArray) -> BoundaryScores:
    return BoundaryScores.from_lists(
        sites.length, sites.usual, sites.boundaries, checked_scores(scores), sites.kinds
    )


def _with(sites: BoundaryScores, boundaries: NDArray[np.int64]) -> BoundaryScores:
    """Return sites and, of no kind and 0 points, those boundaries that are none."""
    more = np.setdiff1d(boundaries, sites.boundaries)
    if not len(more):
        return sites
    places = np.searchsorted(sites.boundaries, more)
    lists = (
        np.insert(each, places, values)
        for each, values in ((sites.boundaries, more), (sites.scores, 0), (sites.kinds, NO_KIND))
    )
    return BoundaryScores.from_lists(sites.length, sites.usual, *lists)


def _kinds(sites: BoundaryScores, boundaries: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the kinds of listed boundaries."""
    return sites.kinds[np.searchsorted(sites.boundaries, boundaries)]


def _penalties(donors, acceptors, donor_kinds, acceptor_kinds, table) -> NDArray[np.int64]:
    """Return what introns cost by their lengths, whether their sites are of one kind or not.

    That is the penalty of the classes of their kind. An intron of none has the least penalty of all
    classes; one that is too short for these has that of the shortest intron.
    """
    unknown = np.int64(2**62)
    introns, own = table.introns, np.full(len(donors), unknown)
    any_kind = own
    shortest = min((intron.min_length for intron in introns), default=0)
    usual = min((i.penalty for i in introns if i.min_length == shortest), default=0)
    for k, intron in enumerate(introns):
        fits = acceptors - donors >= intron.min_length
        costs = np.where(fits, table.penalty_between(k, donors, acceptors), unknown)
        alike = (donor_kinds == intron.kind) & (acceptor_kinds == intron.kind)
        any_kind = np.minimum(any_kind, costs)
        own = np.minimum(own, np.where(alike, costs, unknown))
    found = np.where(own < unknown, own, any_kind)
    return np.where(found < unknown, found, usual)
