"""Runs of a traceback: moves that are joined, and arrays that grow."""

from itertools import groupby

import numpy as np
import pytest

from gpu_tools.splicing.proteins import walk

LETTER_OF = {
    walk._PAIR: "M", walk._LEFT_OUT: "D", walk._SHIFT_1: "F", walk._SHIFT_2: "F",
    walk._SHIFT_PAIR_1: "G", walk._SHIFT_PAIR_2: "G", walk._RESIDUES: "I",
}  # fmt: skip
TWO = walk._SHIFT_2, walk._SHIFT_PAIR_2


@pytest.mark.parametrize("seed", range(5))
def test_codons_and_what_is_left_out_are_joined(seed):
    rng = np.random.default_rng(seed)
    moves = np.ones((60, 2), np.int64)
    moves[:, 0] = rng.choice(list(LETTER_OF), 60)
    of_residues = moves[:, 0] == walk._RESIDUES
    moves[of_residues, 1] = rng.integers(1, 9, of_residues.sum())
    runs, count = np.empty((1, 2), np.int64), 0
    for first in range(0, 60, 7):
        part = moves[first : first + 7]
        runs, count = walk.add_moves(runs, count, part, len(part))
    single = [(LETTER_OF[m], 2 if m in TWO else length) for m, length in moves[::-1].tolist()]
    expected = []
    for letter, own in groupby(single, key=lambda run: run[0]):
        lengths = [length for _, length in own]
        joined = [sum(lengths)] if letter in "MD" else lengths
        expected += [(letter, length) for length in joined]
    assert walk.runs_in_order(runs, count) == expected
