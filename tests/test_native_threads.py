"""Copies that threads make."""

import numpy as np
import pytest

pytest.importorskip("numba_cuda")

from gpu_tools.native_threads import Copy, _begin_threads


@pytest.mark.parametrize("count", [0, 1, 5_000_000])
def test_a_copy_is_the_same(count):
    values = np.arange(count, dtype=np.int32)
    copy = Copy(values)
    _begin_threads(copy.threads)
    expected = values.copy()
    found = copy.result()
    values[:] = 7
    assert (found == expected).all()
    assert copy.result() is found
