"""Strips that follow each other on threads."""

import time
from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.hardware.threads import blocks_of, run_strips


@pytest.mark.parametrize(("n_steps", "size"), [(1, 1), (10, 4), (12, 4), (3, 9)])
def test_blocks_cover_all_steps(n_steps, size):
    blocks = blocks_of(n_steps, size)
    assert [blocks[0][0], blocks[-1][1]] == [0, n_steps]
    assert all(one[1] == other[0] for one, other in pairwise(blocks))
    assert all(past - first == size for first, past in blocks[:-1])


def check_order(events, count, blocks):
    """Check that a block begins when the strip before is a block ahead, or has come to its end."""
    at = {event: k for k, event in enumerate(events)}
    assert len(events) == 2 * count * len(blocks)
    for strip in range(1, count):
        for number in range(len(blocks)):
            ahead = min(number + 1, len(blocks) - 1)
            begun, done = ("begun", strip, blocks[number]), ("done", strip - 1, blocks[ahead])
            assert at[done] < at[begun]


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_a_strip_stays_behind_the_one_before(count, n_blocks):
    rng, events, blocks = np.random.default_rng(count + n_blocks), [], blocks_of(n_blocks, 1)
    pauses = rng.uniform(0, 2e-3, (count, n_blocks))

    def block(strip, steps):
        events.append(("begun", strip, steps))
        time.sleep(pauses[strip, steps[0]])
        events.append(("done", strip, steps))

    run_strips(block, count, blocks)
    check_order(events, count, blocks)


def test_a_strip_that_fails_keeps_nobody_waiting():
    def block(strip, steps):
        if (strip, steps) == (1, (2, 3)):
            raise KeyError("of a strip")

    with pytest.raises(KeyError, match="of a strip"):
        run_strips(block, 3, blocks_of(6, 1))
