"""The axis on which introns are shortened."""

from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.report.models import AXIS_WIDTH, ShortenedAxis, merged


def random_exons(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    starts = np.sort(rng.choice(100_000, n, replace=False))
    return [(int(start), int(start) + int(rng.integers(1, 3000))) for start in starts]


@pytest.mark.parametrize("seed", range(40))
def test_exons_are_to_one_scale_and_positions_rise_within_the_axis(seed):
    exons = random_exons(seed)
    axis = ShortenedAxis(exons, (exons[0][0] - 100, max(end for _, end in exons) + 100))
    for start, end in exons:
        inside = [s for s in axis.stretches if s.to_scale and s.start <= start and end <= s.end]
        assert len(inside) == 1
        assert axis(end) - axis(start) == pytest.approx(axis.scale * (end - start), abs=0.11)
    assert all(a.right == b.left and a.end == b.start for a, b in pairwise(axis.stretches))
    pixels = [axis(p) for p in range(exons[0][0] - 200, exons[0][0] + 110_000, 97)]
    assert pixels == sorted(pixels)
    assert pixels[0] == 0
    assert pixels[-1] <= AXIS_WIDTH + 0.1


@pytest.mark.parametrize("seed", range(10))
def test_nothing_between_exons_is_longer_than_to_scale(seed):
    exons = random_exons(seed)
    axis = ShortenedAxis(exons, exons[0])
    for s in axis.stretches[1:-1]:
        assert s.right - s.left <= axis.scale * (s.end - s.start) + 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_labels_are_apart_and_name_the_first_and_the_last_nucleotide(seed):
    exons = random_exons(seed)
    labels = ShortenedAxis(exons, exons[0]).labels(84)
    assert all(b[0] - a[0] >= 84 for a, b in pairwise(labels)) or len(labels) == 2
    assert labels[0][1] == exons[0][0] + 1
    assert labels[-1][1] == max(end for _, end in exons)


def test_exons_that_touch_are_one_stretch():
    assert merged([(5, 9), (0, 3), (2, 6), (100, 120), (131, 140)]) == [(0, 9), (100, 140)]
