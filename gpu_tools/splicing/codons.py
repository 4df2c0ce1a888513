"""Codons that an intron splits: their classes, and which of them would be stop codons."""

from __future__ import annotations

from numba.extending import register_jitable

from gpu_tools.splicing.reading import FRAMES

SPLITS = 6
"""Classes of what an intron leaves of a codon."""
_A, _G, _T = 0, 2, 3


@register_jitable
def split_class(codes, boundary, split):
    """Return the class of the `split` nucleotides before a boundary."""
    if split == 0:
        return 0
    last = codes[boundary - 1]
    if split == 1:
        return 1 if last == _T else 2
    if codes[boundary - 2] != _T or last not in (_A, _G):
        return 5
    return 3 if last == _A else 4


@register_jitable
def split_bases(split):
    """Return how many nucleotides of a codon a class of split codons has."""
    return 0 if split == 0 else (1 if split < 3 else 2)


@register_jitable
def completes(codes, stops, split, boundary):
    """Return whether a split codon of a class is complete behind a boundary, and is no stop."""
    if boundary + (FRAMES - split_bases(split)) % FRAMES > len(codes):
        return False
    if split == 1:
        return not stops[_T, codes[boundary], codes[boundary + 1]]
    if split in (3, 4):
        return not stops[_T, _A if split == 3 else _G, codes[boundary]]
    return True
