"""All parses of one sequence: from a model's scores to exons with probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.enumeration import (
    AFTER,
    BEFORE,
    END,
    INIT,
    INTR,
    SCORE,
    SNGL,
    START,
    TERM,
    TYPE,
    Rules,
    SiteScores,
    StrandScores,
    enumerate_exons,
)
from gpu_tools.exons.features import coding_sums, next_stops, sites_over
from gpu_tools.exons.lattice import N_INTRONS, Lattice, States, best_path, posteriors
from gpu_tools.exons.model import ExonModel
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.json_model import HUNDREDTHS
from gpu_tools.model.sequences import encode, reverse_complement

SITE_BITS = (4.0, 4.0, 6.0)
"""Bits that AG, GT and ATG (or a stop codon) count: how rare they are among random nucleotides."""


@dataclass(frozen=True)
class Parsed:
    """The exons of a sequence and what its parses make of them.

    Attributes
    ----------
    exons : ExonSet
        Every exon that sites and frames allow, sorted by strand (+ first), start, end and type,
        with score and posterior probability.
    logarithms : ndarray of float64, shape (B,)
        Logarithms to base 2 of the probabilities.
    chosen : ndarray of bool, shape (B,)
        Whether the exon is in the best parse.
    total, best : float
        Logarithms to base 2 of the weights of all parses together and of the best one.
    """

    exons: ExonSet
    logarithms: NDArray[np.float64]
    chosen: NDArray[np.bool_]
    total: float
    best: float


def parse(codes: NDArray[np.uint8], model: ExonModel, most: int | None = None) -> Parsed | None:
    """Weigh all parses of a sequence.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded sequence; memory is linear in its length.
    model : ExonModel
        See `gpu_tools.exons.load_model`.
    most : int, optional
        How many exons a strand may have, each frame counted; any number by default.

    Returns
    -------
    Parsed or None
        None if a strand has more exons.
    """
    n = len(codes)
    strands = [_one_strand(side, model, most) for side in (codes, reverse_complement(codes))]
    if any(strand is None for strand in strands):
        return None
    rows, reverse = _both_strands(*strands, n)
    starts, ends, before, after = (rows[:, k].copy() for k in (START, END, BEFORE, AFTER))
    weights = rows[:, SCORE] / HUNDREDTHS + exon_weights(model)[rows[:, TYPE], ends - starts]
    lattice, states = Lattice(starts, ends, before, after, weights), states_of(model)
    logarithms, total = posteriors(lattice, states, n)
    path, best = best_path(lattice, states, n)
    chosen = np.zeros(len(rows), dtype=bool)
    chosen[path] = True
    return Parsed(*_merged(rows, reverse, logarithms, chosen), total, best)


def _both_strands(
    forward: NDArray[np.int64], mirrored: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the rows of both strands on the forward strand, and which are of the reverse one."""
    reverse = mirrored.copy()
    reverse[:, START], reverse[:, END] = n - mirrored[:, END], n - mirrored[:, START]
    for column, other in ((BEFORE, AFTER), (AFTER, BEFORE)):
        reverse[:, column] = _mirror(mirrored[:, other])
    rows = np.concatenate([forward, reverse])
    return rows, np.arange(len(rows)) >= len(forward)


def _mirror(states: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn sets of states of the forward strand into the same of the reverse one."""
    return (states & 1) | (states >> 1 << 1 + N_INTRONS)


def _one_strand(
    codes: NDArray[np.uint8], model: ExonModel, most: int | None
) -> NDArray[np.int64] | None:
    acceptors, donors, starts = (
        SiteScores(*sites_over(codes, site)) for site in (model.acceptor, model.donor, model.start)
    )
    stops, coding = next_stops(codes, model.stops), coding_sums(codes, model.coding)
    rules = Rules(model.min_length, model.max_length, model.coding.order, _split_stops(model.stops))
    strand = StrandScores(codes, stops, coding, acceptors, donors, starts)
    return enumerate_exons(strand, rules, most)


def _split_stops(stops: tuple[str, ...]) -> NDArray[np.bool_]:
    """Return which intron states and codes of the next two nucleotides make a stop codon.

    The shape is (6, 5, 5), the intron states those of `gpu_tools.exons.lattice`. Stop codons begin
    with T.
    """
    table = np.zeros((N_INTRONS, 5, 5), dtype=bool)
    after_t, after_ta, after_tg = 2, 4, 5
    for stop in stops:
        _, second, third = encode(stop)
        table[after_t, second, third] = True
        table[after_ta if second == 0 else after_tg, third, :] = True
    return table


def exon_weights(model: ExonModel) -> NDArray[np.float64]:
    """Return the bits that an exon adds to a parse besides its score.

    Parameters
    ----------
    model : ExonModel
        Gives lengths and states.

    Returns
    -------
    ndarray of float64, shape (5, max_length + 1)
        By type and length: the length's probability, the change of state that ends in the exon,
        and how rare its sites are. A gene is of either strand with probability 1/2, single with
        ``single``, else each exon after an intron is the last with ``last``.
    """
    gene, (acceptor, donor, start) = model.gene, SITE_BITS
    weights = model.lengths.copy()
    weights[INIT] += np.log2((1 - gene.single) / 2 / gene.between) + start + donor
    weights[INTR] += np.log2((1 - gene.last) / gene.intron) + acceptor + donor
    weights[TERM] += np.log2(gene.last / gene.intron) + acceptor + start
    weights[SNGL] += np.log2(gene.single / 2 / gene.between) + start + start
    return weights


def states_of(model: ExonModel) -> States:
    """Return what the states of a model cost.

    Parameters
    ----------
    model : ExonModel
        Gives the means.

    Returns
    -------
    States
        Geometric lengths. A sequence may begin and end in an intron; ``begin`` and ``end`` weigh
        that as if the sequence were cut out of one without ends, and mirror each other.
    """
    gene = model.gene
    stay = np.log2(1 - 1 / np.array([gene.between] + [gene.intron] * 2 * N_INTRONS))
    shortest = np.array([1] + [gene.shortest_intron] * 2 * N_INTRONS)
    # introns for each time between genes, by state; each strand knows its state of entry
    frequent = np.log2((1 - gene.single) / 2 / gene.last * np.array(gene.introns))
    none = np.zeros(N_INTRONS)
    return States(
        stay, shortest, np.concatenate([[0], frequent, none]), np.concatenate([[0], none, frequent])
    )


def _merged(rows, reverse, logarithms, chosen) -> tuple[ExonSet, NDArray, NDArray]:
    """Make one exon of the rows of equal interval, strand and type."""
    order = np.lexsort((rows[:, TYPE], rows[:, END], rows[:, START], reverse))
    rows, reverse, logarithms = rows[order], reverse[order], logarithms[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (np.diff(rows[:, [START, END, TYPE]], axis=0) != 0).any(axis=1)
    first[1:] |= reverse[1:] != reverse[:-1]
    at = np.flatnonzero(first)
    together = np.logaddexp2.reduceat(logarithms, at)
    exons = ExonSet(
        rows[at, START], rows[at, END], reverse[at],
        np.maximum.reduceat(rows[:, SCORE], at) / HUNDREDTHS,
        rows[at, TYPE].astype(np.uint8), np.minimum(np.exp2(together), 1.0),
    )  # fmt: skip
    return exons, together, np.logical_or.reduceat(chosen[order], at)
