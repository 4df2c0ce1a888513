"""What one strip of columns hands on to the next, and which strip a warp begins.

Where one strip ends and the next begins, a *border* word of each boundary lies in memory: the last
column's value with the exons that are entered there, and without. It is `NEVER` before, so that
a warp that needs it sees whether it is there; no flags and no fences are needed.
"""

from __future__ import annotations

from numba import cuda, int32, uint32

from gpu_tools.hardware.gpu.intrinsics.rows import load_word
from gpu_tools.hardware.gpu.intrinsics.words import any_lane, shuffle
from gpu_tools.sites.gpu.job_table import LIFTING

NEVER_BYTE = 0x80
NEVER = int32(-0x7F7F7F80)
"""A word that is not there yet: in each half less than any cell, each byte `NEVER_BYTE`."""


@cuda.jit(device=True)
def begin_strip(strips, scratch):
    """Return the number of the next strip to begin, the same in all lanes; -1 if none is left."""
    number = int32(0)
    if cuda.threadIdx.x == 0:
        number = int32(cuda.atomic.add(strips, (strips.shape[0] - 1, 0), 1))
        if number >= strips.shape[0] - 1:
            number = int32(-1)
    return shuffle(number, int32(0), scratch)


@cuda.jit(device=True)
def lowered_by(job, strip):
    """Return what is added to packed border words because lifting begins anew with each strip."""
    each = int32(-job[LIFTING]) if strip > 0 else int32(0)
    return int32(int32(each & int32(0xFFFF)) | int32(each << int32(16)))


@cuda.jit(device=True)
def peek(arriving, strip, at):
    """Look at a border word without waiting; at the last one if there is no such row."""
    if any_lane(strip == 0):
        return int32(NEVER)
    return load_word(arriving, uint32(min(at, int32(arriving.shape[0] - 1))))


@cuda.jit(device=True)
def await_word(arriving, strip, at, value, floor):
    """Return a border word once it is there; `value` is what was seen of it last."""
    if any_lane(strip == 0):
        return floor
    index = uint32(min(at, int32(arriving.shape[0] - 1)))
    while any_lane(value == NEVER):
        value = load_word(arriving, index)
    return value
