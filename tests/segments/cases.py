"""Values and matrices that the tests of maximum segments share."""

import numpy as np

from tests.oracles import segments as oracle

DTYPES = ["int32", "int64", "float32", "float64"]
EDGE_CASES = [
    [0], [5], [-5], [-3, -1, -2], [0, 0, 0], [1, 2, 3], [0, 5, 0], [1, -1, 5], [5, -5, 5],
    [2, -1, 2, -5, 3], [1, -2, 1, -2, 1], [3, -3, 3, -3, 3], [-1, 0, 2, 0, -1],
    [1, -2, 3, -4, 5, -6, 7], [7, -6, 5, -4, 3, -2, 1], [5, -4, 3, -2, 1, -2, 3, -4, 5],
]  # fmt: skip


def random_values(rng, longest):
    """Return small integers with any drift, many zeros and ties now and then."""
    drift = int(rng.integers(-2, 3))
    return rng.integers(-4 + drift, 5 + drift, int(rng.integers(1, longest)))


def sparse_values(rng, chunk, chunks):
    """Return zeros with values near the ends of chunks and at some other places."""
    n = chunk * chunks + int(rng.integers(-chunk + 1, 1))
    values = np.zeros(n, np.int64)
    near = np.arange(chunk, n, chunk)[:, None] + np.arange(-8, 8)
    near = near[(near >= 0) & (near < n)]
    places = np.concatenate((near, rng.integers(0, n, 60)))
    drift = int(rng.integers(-2, 3))
    values[places] = rng.integers(-6 + drift, 7 + drift, len(places))
    return values


def maximal_of_sparse(values):
    """Return Ruzzo and Tompa's segments by the naive list over the values that are not 0."""
    places = np.flatnonzero(values)
    found = oracle.maximal_by_list(values[places].tolist())
    return [(int(places[i]), int(places[j - 1]) + 1, total) for i, j, total in found]


def best_of_sparse(values):
    """Return the best segment by a plain pass over all values: first start, then shortest."""
    best, running, start = None, 0, 0
    for k, value in enumerate(values.tolist()):
        running += value
        if running < 0:
            running, start = 0, k + 1
        elif running > (best[2] if best else 0):
            best = (start, k + 1, running)
    return best


def as_rectangle(found):
    """Return a result in the oracle's form."""
    if found is None:
        return None
    where = (found.row_start, found.row_end, found.column_start, found.column_end)
    return where, found.score


def best_by_numpy(matrix):
    """Return the largest sum and the first rectangle that has it, over all pairs of rows."""
    corner = np.zeros((matrix.shape[0] + 1, matrix.shape[1] + 1), np.int64)
    corner[1:, 1:] = matrix.cumsum(0).cumsum(1)
    best, where = 0, None
    for top in range(matrix.shape[0]):
        for bottom in range(top + 1, matrix.shape[0] + 1):
            sums = corner[bottom] - corner[top]
            gains = sums[None, :] - sums[:, None]
            gains[np.tril_indices(len(sums))] = np.iinfo(np.int64).min
            largest = int(gains.max())
            if largest >= best and largest > 0:
                left, right = np.unravel_index(int(gains.argmax()), gains.shape)
                key = (top, int(left), bottom, int(right))
                if largest > best or key < where:
                    best, where = largest, key
    top, left, bottom, right = where
    return best, (top, bottom, left, right)
