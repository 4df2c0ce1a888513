"""A longest intron on a CPU: the rows of `gpu_tools.sites.longest`, and what a border does."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.cpu import simd
from gpu_tools.sites.cpu.memory import part
from gpu_tools.sites.rising import is_border
from gpu_tools.splicing.rows import clear, put


class WindowRows(NamedTuple):
    """Rows of a strip, each for every kind of split codon.

    `step` is the maximum over the exits of the current step, a row a class, and `steps` are those
    of the steps of the current group. `group` is the maximum over the current group, a row a line;
    `ends` are each line's maxima over the ends of the group before. `stored` are the rows that
    entries read behind each border: written by a sweep, and read where `again` says that some of
    its rows are computed again.
    """

    step: NDArray
    steps: NDArray
    group: NDArray
    ends: NDArray
    stored: NDArray
    again: bool


@njit(nogil=True)
def window_in(cells, rows, again):
    """Return the rows among those of a strip; `rows` are its `RowStarts`."""
    return WindowRows(
        part(cells, rows.step, rows.steps), part(cells, rows.steps, rows.group),
        part(cells, rows.group, rows.ends), part(cells, rows.ends, rows.block_exits),
        part(cells, rows.stored, rows.best_exits), again,
    )  # fmt: skip


@njit(nogil=True)
def raise_both(before, to, window, exits, source, lanes):
    """Raise a row before entries, and its row of the current step, to that of an exit."""
    width, step = before.shape[1], window.step
    for k in range(0, width, lanes):
        value, at = simd.load(exits, source * width + k), to * width + k
        simd.store(before, at, simd.maximum(value, simd.load(before, at)))
        simd.store(step, at, simd.maximum(value, simd.load(step, at)))


@njit(nogil=True, error_model="numpy")
def cross_step(before, window, longest, rising, boundary, splits, floor, lanes):
    """Bring the rows before entries up to date at a border, all earlier exits being taken."""
    width = before.shape[1]
    for k in range(len(longest.most)):
        if not is_border(rising, k, boundary):
            continue
        number = (boundary + rising.origin) // rising.near_every[k]
        stored = splits * (longest.stored[k] + number - longest.first[k])
        if not window.again:
            _end_step(window, longest, k, number, stored, splits, floor, lanes)
        for split in range(splits):
            put(before, k * splits + split, window.stored, stored + split, width, lanes, 0)


@njit(nogil=True, error_model="numpy")
def _rises(before, number, steps):
    """Return by how much a line rises behind a border, up to another one."""
    return number // steps - before // steps if steps > 0 else 0


@njit(nogil=True, error_model="numpy")
def _end_step(window, longest, k, number, stored, splits, floor, lanes):
    """Take the step that ends at a border into the rows of a class; write the stored ones."""
    most, lines = longest.most[k], (longest.lines[k], longest.lines[k + 1])
    if most == 0:
        for split in range(splits):
            clear(window.stored, stored + split, floor, lanes)
        return
    place = number % most
    points = np.empty((lines[1], 3), window.step.dtype)
    for line in range(lines[0], lines[1]):
        steps, extra = longest.line_steps[line], longest.line_extra[line]
        points[line, 0] = -_rises(number - 1, number, steps)
        points[line, 1] = -extra
        points[line, 2] = -extra - _rises(number - place - 1, number, steps)
    for split in range(splits):
        rows = k * splits + split, (longest.steps[k] + place) * splits + split, stored + split
        ends = (place + 1) * splits + split if place + 1 < most else 0
        _take_step(window, longest.ends, lines, rows, ends, points, splits, split, floor, lanes)
    if place + 1 == most:
        for line in range(lines[0], lines[1]):
            _end_group(window, longest, line, number, splits, floor, lanes)


@njit(nogil=True)
def _take_step(window, first_ends, lines, rows, ends, points, splits, split, floor, lanes):
    """Take the row of a step into those of its group, and make the stored row.

    `rows` are those of the step, of its copy, and the stored one; `ends` is the row of the ends of
    the group before, counted from each line's first one, 0 if the group is complete. `points` are
    added to a line's group, and to what goes from group and ends into the stored row.
    """
    step, copy, to = rows
    width, low = window.step.shape[1], simd.splat(floor)
    for k in range(0, width, lanes):
        value, best = simd.load(window.step, step * width + k), low
        simd.store(window.steps, copy * width + k, value)
        simd.store(window.step, step * width + k, low)
        for line in range(lines[0], lines[1]):
            at = (line * splits + split) * width + k
            group = simd.maximum(value, simd.load(window.group, at))
            group = simd.maximum(simd.add(group, simd.splat(points[line, 0])), low)
            best = simd.maximum(best, simd.add(group, simd.splat(points[line, 1])))
            if ends > 0:
                end = simd.load(window.ends, (first_ends[line] * splits + ends) * width + k)
                best = simd.maximum(best, simd.add(end, simd.splat(points[line, 2])))
            simd.store(window.group, at, group if ends > 0 else low)
        simd.store(window.stored, to * width + k, best)


@njit(nogil=True, error_model="numpy")
def _end_group(window, longest, line, number, splits, floor, lanes):
    """Make each row of a line's ends the maximum over the group's steps from its own on.

    They are lowered as far as the line has risen at the border.
    """
    k, line_steps = longest.line_class[line], longest.line_steps[line]
    width, low, most = window.step.shape[1], simd.splat(floor), longest.most[k]
    size, steps, ends = splits * width, window.steps, window.ends
    for place in range(most - 1, -1, -1):
        risen = simd.splat(ends.dtype.type(-_rises(number - most + place, number, line_steps)))
        source, to = (longest.steps[k] + place) * size, (longest.ends[line] + place) * size
        for j in range(0, size, lanes):
            value = simd.maximum(simd.add(simd.load(steps, source + j), risen), low)
            if place + 1 < most:
                value = simd.maximum(value, simd.load(ends, to + size + j))
            simd.store(ends, to + j, value)
