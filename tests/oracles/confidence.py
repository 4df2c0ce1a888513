"""Naive definition of the confidence of introns and exons; imports nothing from gpu_tools."""

from __future__ import annotations


def confidences(chain, score, best_without):
    """Confidences of a chain's introns and of its exons, in reading direction.

    `best_without` gives the best score, None if there is none, of the chains that use neither an
    inner exit nor an inner entry, both boundaries or None.
    """

    def loss(exit_, entry):
        return max(0, score - max(0, best_without(exit_, entry) or 0))

    introns, exons = [], []
    for k, (start, end) in enumerate(chain):
        entry = start if k > 0 else None
        exit_ = end if k < len(chain) - 1 else None
        inner = entry is not None or exit_ is not None
        exons.append(loss(exit_, entry) if inner else max(score, 0))
        if exit_ is not None:
            introns.append(min(loss(exit_, None), loss(None, chain[k + 1][0])))
    return tuple(introns), tuple(exons)


def avoids(chain, exit_, entry):
    """Whether a chain uses neither an inner exit nor an inner entry."""
    exits, entries = {end for _, end in chain[:-1]}, {start for start, _ in chain[1:]}
    return exit_ not in exits and entry not in entries
