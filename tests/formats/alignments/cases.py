"""Alignments by hand, and what the tests of formats do with any."""

import re

import numpy as np

from gpu_tools.formats.alignments import write_alignments
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence

BASE_LENGTH = 120


def parsed(cigar):
    return tuple((op, int(n)) for n, op in re.findall(r"(\d+)([=XIDN])", cigar))


def alignment(strand, chain, cigar, free=(0, 0), **other):
    """An alignment on base ``b``; `free` target symbols stay unaligned before and after."""
    runs = parsed(cigar)
    aligned = sum(n for op, n in runs if op in "=XI")
    values = {"target": "t", "score": 7, "n_exons": len(chain)} | other
    return SplicedAlignment(
        "b", base_length=BASE_LENGTH, target_length=free[0] + aligned + free[1], strand=strand,
        chain=tuple(chain), target_start=free[0], target_end=free[0] + aligned, cigar=runs,
        **values,
    )  # fmt: skip


HAND_MADE = {
    "two exons": alignment("+", [(10, 20), (40, 45)], "10=20N5="),
    "two exons, reverse": alignment("-", [(40, 45), (10, 20)], "5=20N3=1X6="),
    "free target ends": alignment("+", [(10, 20), (40, 45)], "10=20N5=", (3, 8)),
    "free target ends, reverse": alignment("-", [(40, 45), (10, 20)], "5=20N10=", (3, 8)),
    "D at both ends": alignment("+", [(10, 20), (40, 45)], "2D8=20N3=2D", (1, 0)),
    "D at both ends, reverse": alignment("-", [(40, 45), (10, 20)], "2D3=20N7=3D", (1, 2)),
    "I at both ends": alignment("+", [(10, 20)], "3I10=2I"),
    "I then D at both ends": alignment("-", [(10, 20)], "3I2D6=2D1I", (0, 4)),
    "D then I": alignment("+", [(10, 20)], "2D3I8=", (1, 0)),
    "I and D at a junction": alignment("+", [(10, 20), (40, 45)], "8=2D20N3I5="),
    "I before and after the junction": alignment("-", [(40, 45), (10, 20)], "5=1I20N2I10="),
    "first exon has only I and D": alignment("+", [(10, 12), (40, 45)], "3I2D28N5="),
    "last exon has only I and D": alignment("-", [(40, 45), (10, 12)], "5=28N2D3I", (2, 2)),
    "inner exon only D": alignment("+", [(10, 12), (20, 23), (40, 45)], "2=8N3D17N5="),
    "outer exons only D": alignment("-", [(40, 45), (20, 23), (10, 12)], "5D17N3=8N2D"),
    "exons that touch, no N": alignment("+", [(10, 20), (20, 25)], "15="),
    "exons that touch, N of 0": alignment("-", [(20, 25), (10, 20)], "5=0N4=1X5="),
    "touching exons and I": alignment("-", [(20, 25), (10, 20)], "5=2I10=", (1, 0)),
    "whole base": alignment("+", [(0, BASE_LENGTH)], f"{BASE_LENGTH}="),
}
NO_PAIR = alignment("+", [(10, 12), (40, 43)], "3I2D28N3D")
NO_CHAIN = SplicedAlignment("b", "t", BASE_LENGTH, 5)


def transcript_positions(a):
    """Forward position of every symbol of the spliced transcript."""
    step = -1 if a.strand == "-" else 1
    return [p for start, end in a.chain for p in list(range(start, end))[::step]]


def columns(a):
    """(operation, target position, base position) of every column, in transcript order."""
    positions = iter(transcript_positions(a))
    target = iter(range(a.target_start, a.target_end))
    return [
        (op, next(target) if op in "=XI" else None, next(positions) if op in "=XD" else None)
        for op, n in a.cigar if op != "N" for _ in range(n)
    ]  # fmt: skip


def sequences(a, seed=0):
    """Random base and a target that agree with the alignment's = and X."""
    random = np.random.default_rng(seed)
    base = random.integers(0, 4, BASE_LENGTH).astype(np.uint8)
    target = random.integers(0, 4, a.target_length).astype(np.uint8)
    for op, t, p in columns(a):
        if op in "=X":
            symbol = 3 - base[p] if a.strand == "-" else base[p]
            target[t] = symbol if op == "=" else (symbol + 1) % 4
    return base, Sequence("t", target)


def write_one(path, a, target):
    write_alignments(path, [a], {"b": BASE_LENGTH}, {"t": target})
