"""Kernels become machine code of every generation of GPUs, also where there is none."""

import numpy as np
import pytest
from numba import types, vectorize
from numba.extending import intrinsic

from tests.kernels import HOPPER, OLDEST, array, assembled

pytest.importorskip("numba_cuda")

from gpu_tools.hardware.gpu.intrinsics import words
from gpu_tools.local.gpu import packed as local_packed
from gpu_tools.local.gpu import score_pass
from gpu_tools.matching import gpu as matching
from gpu_tools.segments import gpu as segments
from gpu_tools.spliced.gpu import launch, sweep, traceback

INT16, INT32, INT64, UINT8, UINT32, UINT64 = (
    array(getattr(types, name)) for name in ("int16", "int32", "int64", "uint8", "uint32", "uint64")
)
TABLE32, TABLE64 = array(types.int32, 2), array(types.int64, 2)
LISTS, SUMS = array(types.int16, 3), array(types.int64, 3)
LONG, PAIR = types.int64, types.UniTuple(types.int64, 2)
BLOCK, PRUNING = (
    types.NamedUniTuple(types.int32, len(kind._fields), kind)
    for kind in (score_pass.BlockPosition, score_pass.Pruning32)
)
PACKED = TABLE64, TABLE32, types.UniTuple(INT32, 2), types.UniTuple(INT64, 3), INT32, INT64, INT32
WIDE = types.UniTuple(UINT8, 2), INT32, array(types.int32, 3), TABLE32, TABLE32, INT32
WORDS = UINT64, TABLE64, UINT32, TABLE32, LONG, TABLE32, TABLE64, INT32
COSTS = UINT64, TABLE64, array(types.int32, 3), INT32, TABLE32, TABLE64, INT32
SWEEP = TABLE64, INT32, INT32, INT32, UINT8, INT32, INT16, INT32, INT32
TRACE = TABLE64, TABLE32, UINT8, INT32, UINT8, INT16, INT64, INT32, INT32, INT32, INT32
COMPILED = {
    "local": (lambda: local_packed.make_kernel(max(local_packed.ROWS), False), PACKED, "max.s16x2"),
    "local, one level": (
        lambda: local_packed.make_kernel(max(local_packed.ROWS), True), PACKED, "max.s16x2"
    ),
    "local in 32 bits": (
        lambda: score_pass.fill_blocks_warp, (*WIDE, BLOCK, PRUNING), "atom"
    ),
    "unit costs": (lambda: matching.find_words(1, 5), WORDS, ".entry"),
    "unit costs on lanes": (lambda: matching.find_words(4, 5), WORDS, ".entry"),
    "costs": (lambda: matching.find_costs(8, 8), COSTS, "min.s16x2"),
    "costs of bytes": (lambda: matching.find_costs(4, 256), COSTS, "min.s16x2"),
    "job inputs": (
        lambda: launch.write_job_inputs, (TABLE64, INT32, UINT8, INT32, INT32, INT32),
        ".entry",
    ),
    "ends": (lambda: traceback.find_ends, (TABLE64, TABLE32, INT16, INT64, INT32), ".entry"),
    "gather": (lambda: traceback.gather, (INT32, INT32, TABLE64, INT32, INT32, INT32), ".entry"),
}  # fmt: skip
WITHOUT_LOCAL_MEMORY = {
    "sweep": (sweep.sweep_warp_tiles, SWEEP, "max.s16x2"),
    "chains": (traceback.trace_chains, TRACE, ".entry"),
    "lists of integers": (
        segments.list_runs_thread, (INT32, LONG, LONG, LISTS, SUMS, INT32, TABLE64, TABLE64),
        ".entry",
    ),
    "lists of floats": (
        segments.list_runs_thread,
        (array(types.float64), types.float64, LONG, LISTS, SUMS, INT32, TABLE64, TABLE64), ".entry",
    ),
    "count": (segments.count_remaining_thread, (LISTS, INT32, TABLE32, TABLE32), ".entry"),
    "write": (segments.write_runs_thread, (LISTS, SUMS, TABLE64, PAIR, INT64), ".entry"),
}  # fmt: skip


PACKED_CODE = "s16x2"
BEFORE, LATER = ((8, 0), (8, 6), (8, 9)), ((10, 0), (12, 0))
SAMPLE, PACKED_SAMPLE = "unit costs on lanes", "costs"
"""A kernel of each kind that takes little time to compile."""
BY_HALVES = {
    "add": (words.sum_by_halves, np.add),
    "max": (words.max_by_halves, np.maximum),
    "min": (words.min_by_halves, np.minimum),
}


def capability_of(expected):
    """Return the first generation that has the instructions of a kernel, which is to have some."""
    return HOPPER if PACKED_CODE in expected else OLDEST


@pytest.mark.parametrize("name", COMPILED)
def test_compiles(name, to_ptx):
    make, arguments, expected = COMPILED[name]
    capability = capability_of(expected)
    ptx = to_ptx(make(), *arguments, capability=capability)
    assert expected in ptx
    assert assembled(ptx, capability) > 0


@pytest.mark.parametrize("name", WITHOUT_LOCAL_MEMORY)
def test_what_a_thread_holds_stays_in_registers(name, to_ptx):
    kernel, arguments, expected = WITHOUT_LOCAL_MEMORY[name]
    capability = capability_of(expected)
    ptx = to_ptx(kernel, *arguments, capability=capability)
    assert expected in ptx
    assert ".local" not in ptx
    assert assembled(ptx, capability) > 0


@pytest.mark.parametrize(
    ("name", "capability"),
    [(SAMPLE, each) for each in (*BEFORE, HOPPER)]
    + [(PACKED_SAMPLE, each) for each in (OLDEST, *BEFORE, *LATER)],
)
def test_other_generations(name, capability, to_ptx):
    make, arguments, _ = COMPILED[name]
    ptx = to_ptx(make(), *arguments, capability=capability)
    assert (PACKED_CODE in ptx) == (name == PACKED_SAMPLE and capability >= HOPPER)
    assert assembled(ptx, capability) > 0


@pytest.mark.parametrize("name", BY_HALVES)
def test_packed_operations_of_ordinary_instructions(name):
    """As a CPU does them; halves of all sizes, the smallest and the largest ones among them."""
    emitted, operation = BY_HALVES[name]

    @intrinsic
    def by_halves(typing_context, left, right):
        return types.int32(
            types.int32, types.int32
        ), lambda context, builder, signature, words: emitted(builder, *words)

    @vectorize(["int32(int32, int32)"])
    def compiled(left, right):
        return by_halves(left, right)

    rng = np.random.default_rng(1)
    extremes = np.array([-(2**15), 1 - 2**15, -2, -1, 0, 1, 2**15 - 2, 2**15 - 1], np.int16)
    halves = np.append(extremes, rng.integers(-(2**15), 2**15, 24).astype(np.int16))
    pairs = np.stack(np.meshgrid(halves, halves), axis=-1).reshape(-1, 2)
    left, right = (each.reshape(-1, 2) for each in np.broadcast_arrays(pairs[:, None], pairs))
    made = compiled(left.copy().view(np.int32), right.copy().view(np.int32))
    assert (made.view(np.int16) == operation(left, right)).all()


@pytest.mark.parametrize("cell", ["float32", "int32", "int64"])
def test_submatrix(cell, to_ptx):
    cells = array(getattr(types, cell), 2)
    ptx = to_ptx(segments.PAIR_KERNELS[np.dtype(cell)], cells, PAIR, cells)
    assert ".local" not in ptx
    assert ("add.sat.f32" in ptx) == (cell == "float32")
