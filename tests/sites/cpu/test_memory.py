"""What a strip of a strand needs."""

import numpy as np
import pytest

from gpu_tools.sites.cpu.memory import lists_of, longest_wait, power_of_two, strip_sizes
from tests.sites.test_api import random_table


def pending_at(donors, boundary: int, wait: int) -> int:
    """Return how many exits before a boundary lie at most so far before it."""
    return int(((donors < boundary) & (donors >= boundary - wait)).sum())


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("block", [7, 60, 200])
def test_exits_and_entries_of_blocks_are_counted(block, share):
    table = random_table(np.random.default_rng(block), 150, share)
    sizes = strip_sizes(table, lists_of(np.zeros(150, np.uint8), table), block)
    donors, acceptors = table.donors.boundaries, table.acceptors.boundaries
    wait = longest_wait(table)
    lows = range(0, 151, block)
    pending = [pending_at(donors, low, wait) for low in lows]
    within = [((donors >= low) & (donors < low + block)).sum() for low in lows]
    entries = [((acceptors >= low) & (acceptors < low + block)).sum() for low in lows]
    most = max(pending_at(donors, donor, wait - 1) for donor in donors.tolist())
    assert sizes.blocks == len(lows)
    assert sizes.pending.tolist() == [0, *np.cumsum(pending)]
    assert sizes.entries_again == max(entries)
    assert sizes.places_again >= max(map(sum, zip(pending, within, strict=True)))
    assert sizes.places in (power_of_two(most + 1), power_of_two(most + 2))
