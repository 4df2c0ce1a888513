"""Parses of a sequence into genes, introns and the space between, as paths through a lattice.

An edge is an exon; between two exons, and at the sequence's ends, a parse rests in a state: between
genes, or in an intron of either strand. The states of introns are the phases, split by what the
exon before leaves of a codon, so that no stop codon arises across an intron.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit

BETWEEN = 0
"""State between genes."""
N_INTRONS = 6
"""Intron states of a strand: phase 0; phase 1 after T or not; phase 2 after TA, TG or neither."""
N_STATES = 1 + 2 * N_INTRONS
FIRST_OF_PHASE = (0, 1, 3, 6)
"""First intron state of each phase, counted from the strand's first."""


class States(NamedTuple):
    """What resting in a state costs."""

    # shape (N_STATES,): bits added for each nucleotide in the state, at most 0
    stay: NDArray[np.float64]
    # shape (N_STATES,): fewest nucleotides, at least 1, of a rest between two exons; the
    # sequence's ends may cut it
    shortest: NDArray[np.int64]
    # shape (N_STATES,): bits added where a parse begins or ends in the state
    begin: NDArray[np.float64]
    end: NDArray[np.float64]


class Lattice(NamedTuple):
    """The exons that a parse may use, as parallel arrays."""

    # shape (B,): 0-based half-open intervals, none empty, all within the sequence
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    # shape (B,): sets of states, bit s for state s, that may lie left and right of the exon.
    # A parse counts once for each pair of states it can take.
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    scores: NDArray[np.float64]  # shape (B,): bits that the exon adds to a parse


class _Order(NamedTuple):
    """Where each exon's right state is complete, and the exons in the order of both events."""

    ready: NDArray[np.int64]
    by_start: NDArray[np.int64]
    by_ready: NDArray[np.int64]


def posteriors(lattice: Lattice, states: States, n: int) -> tuple[NDArray[np.float64], float]:
    """Sum over all parses of a sequence.

    Forward-backward over exons instead of positions: time and memory are linear in the number of
    exons and do not depend on how long states last, because each nucleotide of a rest costs the
    same.
    """
    order = _ordered(lattice, states, n)
    forward, total = _forward(lattice, states, order, n)
    backward = _backward(lattice, states, order, n)
    return forward + lattice.scores + backward - total, total


def best_path(lattice: Lattice, states: States, n: int) -> tuple[NDArray[np.int64], float]:
    """Find the parse of the greatest weight."""
    order = _ordered(lattice, states, n)
    previous, last, weight = _viterbi(lattice, states, order, n)
    path = []
    while last >= 0:
        path.append(last)
        last = previous[last]
    return np.array(path[::-1], dtype=np.int64), weight


def _ordered(lattice: Lattice, states: States, n: int) -> _Order:
    # all states of a set last equally long: introns of one phase, or the space between genes
    first = np.log2(lattice.after & -lattice.after).astype(np.int64)
    ready = np.minimum(lattice.ends + states.shortest[first], n)
    return _Order(
        ready, np.argsort(lattice.starts, kind="stable"), np.argsort(ready, kind="stable")
    )


@njit
def _added(one, other):
    """Logarithm of the sum of two numbers, all three as logarithms."""
    high, low = max(one, other), min(one, other)
    return high if low == -np.inf else high + np.log2(1.0 + np.exp2(low - high))


@njit
def _sum_over(level, stay, position, states_in):
    """Sum the states of a set; a level is a state's weight less its costs up to a position."""
    total = -np.inf
    for state in range(N_STATES):
        if states_in >> state & 1:
            total = _added(total, level[state] + stay[state] * position)
    return total


@njit(cache=True)
def _forward(lattice, states, order, n):
    """Return the weights of all paths to each exon's left edge, and of all parses."""
    starts, before = lattice.starts, lattice.before
    ready, by_start, by_ready = order
    stay = states.stay
    level, reached = states.begin.copy(), np.empty(len(starts))
    done = 0
    for k in by_start:
        while done < len(by_ready) and ready[by_ready[done]] <= starts[k]:
            _enter(level, stay, lattice, by_ready[done], reached)
            done += 1
        reached[k] = _sum_over(level, stay, starts[k], before[k])
    for e in by_ready[done:]:
        _enter(level, stay, lattice, e, reached)
    return reached, _sum_over(level + states.end, stay, n, (1 << N_STATES) - 1)


@njit(cache=True)
def _enter(level, stay, lattice, e, reached):
    """Add the paths through exon e to the states right of it."""
    through = reached[e] + lattice.scores[e]
    for state in range(N_STATES):
        if lattice.after[e] >> state & 1:
            level[state] = _added(level[state], through - stay[state] * lattice.ends[e])


@njit(cache=True)
def _backward(lattice, states, order, n):
    """Return the weights of all paths from each exon's right edge to the sequence's end."""
    starts, ends, before, after, scores = lattice
    ready, by_start, by_ready = order
    stay = states.stay
    level = states.end + stay * n
    left = np.empty(len(starts))
    todo = len(by_start) - 1
    for k in by_ready[::-1]:
        while todo >= 0 and starts[by_start[todo]] >= ready[k]:
            e = by_start[todo]
            through = left[e] + scores[e]
            for state in range(N_STATES):
                if before[e] >> state & 1:
                    level[state] = _added(level[state], through + stay[state] * starts[e])
            todo -= 1
        left[k] = _sum_over(level, -stay, ends[k], after[k])
    return left


@njit(cache=True)
def _viterbi(lattice, states, order, n):
    """Return each exon's predecessor, the last exon (-1: none) and the best parse's weight."""
    starts, before = lattice.starts, lattice.before
    ready, by_start, by_ready = order
    stay = states.stay
    level, holder = states.begin.copy(), np.full(N_STATES, -1)
    reached, previous = np.empty(len(starts)), np.full(len(starts), -1)
    done = 0
    for k in by_start:
        while done < len(by_ready) and ready[by_ready[done]] <= starts[k]:
            _claim(level, holder, stay, lattice, by_ready[done], reached)
            done += 1
        reached[k], previous[k] = _best_over(level, holder, stay, starts[k], before[k])
    for e in by_ready[done:]:
        _claim(level, holder, stay, lattice, e, reached)
    weight, last = _best_over(level + states.end, holder, stay, n, (1 << N_STATES) - 1)
    return previous, last, weight


@njit
def _claim(level, holder, stay, lattice, e, reached):
    """Let exon e hold the states right of it in which it is better than their holder."""
    through = reached[e] + lattice.scores[e]
    for state in range(N_STATES):
        if lattice.after[e] >> state & 1:
            weight = through - stay[state] * lattice.ends[e]
            if weight > level[state]:
                level[state], holder[state] = weight, e


@njit
def _best_over(level, holder, stay, position, states_in):
    best, last = -np.inf, -1
    for state in range(N_STATES):
        if states_in >> state & 1:
            weight = level[state] + stay[state] * position
            if weight > best:
                best, last = weight, holder[state]
    return best, last
