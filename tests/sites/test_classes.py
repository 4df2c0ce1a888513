"""Arrays of intron classes."""

import numpy as np
import pytest

from gpu_tools.sites.introns import LENGTH, LINES, N_LINES, ORIGIN, class_arrays, rising_of
from gpu_tools.sites.table import IntronClass, SiteTable


def table_of(*introns) -> SiteTable:
    """Return a table of no sites."""
    return SiteTable(*(np.zeros(3, np.int64) for _ in range(4)), introns)


@pytest.mark.parametrize("origin", [0, 70, -9])
@pytest.mark.parametrize("lines", [(), ((0, 10), (3, 40)), [[0, 10], [3, 40]]])
def test_base_sequences_of_one_model_differ_in_the_origin_alone(origin, lines):
    classes = [IntronClass(k, 30 + k, 5 - k, lines, origin) for k in range(2)]
    found = class_arrays(table_of(*classes))
    assert [each.tolist() for each in found[:3]] == [[0, 1], [30, 31], [5, 4]]
    assert found.rising.origin == origin
    for part, expected in zip(found.rising[1:], rising_of(classes)[1:], strict=True):
        assert part.tolist() == expected.tolist()
    assert found.rows[:, [LENGTH, ORIGIN, N_LINES]].tolist() == [
        [30 + k, origin, len(lines)] for k in range(2)
    ]
    assert found.rows[0, LINES:].tolist() == [number for line in lines for number in line]


def test_a_table_may_have_no_introns():
    found = class_arrays(table_of())
    assert (len(found.rows), len(found.kinds), found.rising.origin) == (0, 0, 0)
