"""The traceback of site mode on a GPU: from a job's stored rows to its best chain.

A warp follows the chain of one job from its end to its start. `gpu_tools.splicing.traceback`
describes how an exon is found; ties are those of `gpu_tools.sites.cpu.traceback`.
"""

from __future__ import annotations

from numba import cuda, int32, int64

from gpu_tools.hardware.gpu.intrinsics.words import WARP, any_lane, kernel, sync_lanes
from gpu_tools.model.scoring import N_SYMBOLS
from gpu_tools.sites.gpu.exon_search import (
    NOT_FOUND,
    last_up_to,
    least_of,
    make_find_exon,
    split_before,
)
from gpu_tools.sites.gpu.stored_rows import layout32, packed_layout, packed_value, value32
from gpu_tools.sites.gpu.sweep32 import FREE, GAP, MOST
from gpu_tools.sites.gpu.trace_table import (
    AT_CLASS_SIZE,
    AT_CLASSES,
    AT_CODES,
    AT_COLUMN,
    AT_END,
    AT_ENTRIES,
    AT_EXIT_ROWS,
    AT_EXITS,
    AT_EXONS,
    AT_FIRST_EXIT,
    AT_GAINS,
    AT_JOB,
    AT_LENGTH,
    AT_LOW,
    AT_MOST_EXONS,
    AT_N_CLASSES,
    AT_N_EXITS,
    AT_STOPS,
    AT_TARGET,
    AT_VALUE,
    KIND,
    KIND_OF,
    LENGTH,
    LINES,
    N_LINES,
    NOT_EXPLAINED,
    ORIGIN,
    OUTSIDE,
    PENALTY,
    SITE,
    TOO_MANY,
    VALUE,
)
from gpu_tools.splicing import codons
from gpu_tools.splicing.codons import FRAMES

split_class = cuda.jit(device=True)(codons.split_class)
split_bases = cuda.jit(device=True)(codons.split_bases)


@cuda.jit(device=True)
def _penalty(classes, at, exit, entry):
    """Return the penalty of an intron of a class, which it is long enough for."""
    shortest, origin = int64(exit + classes[at + LENGTH]), int64(classes[at + ORIGIN])
    least = int64(0)
    for line in range(classes[at + N_LINES]):
        extra, every = classes[at + LINES + 2 * line], int64(classes[at + LINES + 2 * line + 1])
        own = extra + (entry + origin) // every - (shortest + origin) // every
        least = own if line == 0 else min(least, own)
    return int32(classes[at + PENALTY] + least)


@cuda.jit(device=True)
def _completes(codes, stops, length, split, boundary):
    """Return `codons.completes`; `stops` are words of three codes one behind the other."""
    if boundary + (FRAMES - split_bases(split)) % FRAMES > length:
        return False
    first = codes[boundary] if boundary < length else 0
    if split == 1:
        return stops[(3 * N_SYMBOLS + first) * N_SYMBOLS + codes[boundary + 1]] == 0
    if split == 3:
        return stops[3 * N_SYMBOLS * N_SYMBOLS + first] == 0
    if split == 4:
        return stops[(3 * N_SYMBOLS + 2) * N_SYMBOLS + first] == 0
    return True


def _make_find_exit(value_of):
    """Return the device function that finds the exit before an exon."""

    @cuda.jit(device=True)
    def admits(trace, buffers, at, start, kind, surplus):
        """Return whether an intron of some class, of a penalty `surplus`, joins exit and start."""
        sites, found = buffers[1], False
        for k in range(trace[AT_N_CLASSES]):
            of_class = trace[AT_CLASSES] + k * trace[AT_CLASS_SIZE]
            if (
                sites[at + KIND] == kind and sites[of_class + KIND_OF] == kind
                and sites[at] + sites[of_class + LENGTH] <= start
                and surplus >= sites[of_class + PENALTY]
            ):  # fmt: skip
                found |= surplus == _penalty(sites, of_class, sites[at], start)
        return found

    @cuda.jit(device=True)
    def joins(trace, buffers, boundary, start, frame):
        """Return whether the codon that an intron splits is no stop codon."""
        sites, codes = buffers[1:3]
        split = split_before(trace, start, frame)
        if trace[AT_STOPS] < 0 or split > boundary:
            return trace[AT_STOPS] < 0
        of_codon = split_class(codes, boundary, split)
        return _completes(codes, sites[trace[AT_STOPS] :], trace[AT_LENGTH], of_codon, start)

    @cuda.jit(device=True)
    def row_of(trace, exit, boundary, start, frame):
        """Return the stored row of an exit of the exon before, and the exon's frame."""
        if trace[AT_STOPS] < 0:
            return exit, frame
        frame = int32((boundary - (start - frame)) % FRAMES)
        return int32(exit * FRAMES + frame - trace[AT_EXIT_ROWS]), frame

    @cuda.jit(device=True)
    def find_exit(trace, layout, buffers, state, start, entry, gained, scratch):
        """Return the state at the nearest exit that explains an entry; its end is -1 without one.

        `state` is that of the exon behind, but for its first column.
        """
        memory, sites = buffers[:2]
        _, column, value, frame, _ = state
        at = trace[AT_ENTRIES] + entry * SITE
        kind, wanted = sites[at + KIND], int32(value - gained - sites[at + VALUE])
        last = last_up_to(sites, trace[AT_EXITS], trace[AT_N_EXITS], SITE, start)
        while last >= trace[AT_FIRST_EXIT]:
            exit, found = int32(last - cuda.threadIdx.x), int32(NOT_FOUND)
            if exit >= trace[AT_FIRST_EXIT]:
                at = trace[AT_EXITS] + exit * SITE
                row, _ = row_of(trace, exit, sites[at], start, frame)
                surplus = int32(value_of(memory, layout, row, column) + sites[at + VALUE] - wanted)
                admitted = admits(trace, buffers, at, start, kind, surplus)
                if admitted and joins(trace, buffers, sites[at], start, frame):
                    found = int32(cuda.threadIdx.x)
            if any_lane(found < NOT_FOUND):
                exit = int32(last - least_of(found, scratch))
                end = sites[trace[AT_EXITS] + exit * SITE]
                row, frame = row_of(trace, exit, end, start, frame)
                return end, column, value_of(memory, layout, row, column), frame, False
            last = int32(last - WARP)
        return int32(-1), column, value, frame, False

    return find_exit


def _make_trace(value_of, layout_of):
    """Return what a warp does if rows lie as `layout_of` says and `value_of` reads them."""
    find_exon, find_exit = make_find_exon(value_of), _make_find_exit(value_of)

    @cuda.jit(device=True)
    def follow(trace, job, buffers, scoring, exons):
        """Follow the chain of a job back; return its exons, or why there are none."""
        # a line each: the simulator tells shared arrays apart by it
        scratch = cuda.shared.array(WARP, int32)
        table = cuda.shared.array(GAP, int32)
        for k in range(cuda.threadIdx.x, GAP, WARP):
            table[k] = scoring[k]
        sync_lanes()
        layout, at, n = layout_of(job), trace[AT_EXONS], int32(0)
        scores = table, scoring[GAP], scoring[FREE] != 0, scoring[MOST]
        end, column = int32(trace[AT_END]), int32(trace[AT_COLUMN])
        state = end, column, int32(trace[AT_VALUE]), int32(end % FRAMES), True
        while state[0] >= 0:
            found, entry, left, gained = find_exon(trace, layout, buffers, scores, state, scratch)
            if found == NOT_FOUND:
                return int32(OUTSIDE if trace[AT_LOW] > 0 else NOT_EXPLAINED)
            if n == trace[AT_MOST_EXONS]:
                return int32(TOO_MANY)
            start, column = int32(state[0] - left), int32(found >> 1)
            if cuda.threadIdx.x == 0:
                exons[at + n, 0], exons[at + n, 1] = start, state[0]
                exons[at + n, 2], exons[at + n, 3] = column, state[1]
            n = int32(n + 1)
            if found & 1 == 0:
                return n
            state = state[0], column, state[2], state[3], state[4]
            state = find_exit(trace, layout, buffers, state, start, entry, gained, scratch)
        return int32(OUTSIDE if trace[AT_LOW] > 0 else NOT_EXPLAINED)

    return follow


_follow_packed = _make_trace(packed_value, packed_layout)
_follow32 = _make_trace(value32, layout32)


@cuda.jit(device=True)
def _buffers_of(trace, memory, sites, codes, targets, gains, symbols):
    """Return the buffers from where a job's parts begin."""
    return (
        memory, sites, codes[trace[AT_CODES] :], targets[trace[AT_TARGET] :],
        gains[2 * trace[AT_GAINS] :], symbols[trace[AT_GAINS] :],
    )  # fmt: skip


# two kernels rather than a function that makes them: what was compiled of a kernel that holds other
# functions is not found again by another process


@kernel()
def trace_packed_warp(
    traces, jobs, memory, sites, codes, targets, gains, symbols, scoring, exons, counts
):
    """Follow the chain of a job that the packed kernel swept; a thread block is one warp.

    Parameters
    ----------
    traces : int64 array, shape (T, 27)
        See `TraceNumbers`.
    jobs : int64 array, shape (J, 30)
    memory : int32 array
        What the sweep wrote.
    sites : int32 array
        The strands' lists: exits and entries of three numbers, first entries of two, intron
        classes, and words of stop codons.
    codes, targets : uint8 array
        The strands' nucleotides, and the jobs' symbols.
    gains, symbols : int32 array
        Space for twice the columns, and for the columns, up to a multiple of four a lane.
    scoring : int32 array, shape (28,)
        As in `sweep32`.
    exons : int32 array, shape (E, 4)
        Start, end, first and last column of each exon, the chain's last one first; written.
    counts : int32 array, shape (T,)
        Exons of each chain, or `NOT_EXPLAINED`, `TOO_MANY` or `OUTSIDE`; written.
    """
    trace = traces[cuda.blockIdx.x]
    buffers = _buffers_of(trace, memory, sites, codes, targets, gains, symbols)
    n = _follow_packed(trace, jobs[trace[AT_JOB]], buffers, scoring, exons)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = n


@kernel()
def trace32_warp(
    traces, jobs, memory, sites, codes, targets, gains, symbols, scoring, exons, counts
):
    """Follow the chain of a job that the 32-bit kernel swept; see `trace_packed_warp`."""
    trace = traces[cuda.blockIdx.x]
    buffers = _buffers_of(trace, memory, sites, codes, targets, gains, symbols)
    n = _follow32(trace, jobs[trace[AT_JOB]], buffers, scoring, exons)
    if cuda.threadIdx.x == 0:
        counts[cuda.blockIdx.x] = n
