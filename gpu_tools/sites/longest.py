"""A longest intron: exits that lie too far back are dropped, a *step* of boundaries at a time.

The exits that may precede an entry of a class lie in the current step and in at most `most` steps
before it, see `gpu_tools.sites.table.IntronClass.admits`. So the row that entries read is a sliding
maximum over steps. Steps form groups of `most`. A window of `most` steps is the end of one group
and the beginning of the next one. For the beginning there is one row, which grows with each step.
For the ends there are rows made once a group, from its last step back: row s is the maximum over
the steps from s on. So a step costs a few row operations, however many steps a window has.

Penalties rise within a window. Each line has these rows for itself, all lowered as far as the line
has risen; the row that entries read is the largest of all lines, each less its first points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Longest(NamedTuple):
    """How far back exits may lie, and the lines of penalties; empty without a longest intron.

    `most` are the steps of each class's window, `first` the number of its first border, `stored`
    the first of its rows among those stored, `steps` among those of steps. `lines` are where each
    class's lines begin and the last one's end. `line_class`, `line_extra` and `line_steps` are
    class, first points and steps a point of each line, 0 if it does not rise; `ends` is the first
    of its rows of a group's ends. `n_ends` and `n_stored` say how many of these rows there are, for
    each kind of split codon.
    """

    most: NDArray[np.int64]
    first: NDArray[np.int64]
    stored: NDArray[np.int64]
    steps: NDArray[np.int64]
    lines: NDArray[np.int64]
    line_class: NDArray[np.int64]
    line_extra: NDArray[np.int64]
    line_steps: NDArray[np.int64]
    ends: NDArray[np.int64]
    n_ends: int
    n_stored: int


def longest_of(introns, length: int) -> Longest:
    """Return the windows of some `IntronClass` on a base sequence of a length."""
    limited = [intron for intron in introns if intron.longest]
    return _windows(limited, length) if limited else NO_LONGEST


def _windows(limited: list, length: int) -> Longest:
    first, borders = _borders(limited, length)
    # more steps than the base has are not needed
    most = [min(i.most_steps, count + 1) for i, count in zip(limited, borders, strict=True)]
    useful = [useful_lines(intron) for intron in limited]
    lines = [
        (k, extra, every // limited[k].step) for k, own in enumerate(useful) for extra, every in own
    ]
    columns = np.array(lines, dtype=np.int64).reshape(-1, 3).T
    stored, n_stored = _starts(borders)
    ends, n_ends = _starts([most[k] for k, *_ in lines])
    starts = np.cumsum([0, *map(len, useful)], dtype=np.int64)
    return Longest(
        np.array(most, dtype=np.int64), np.array(first, dtype=np.int64), stored, _starts(most)[0],
        starts, *(column.copy() for column in columns), ends, n_ends, n_stored,
    )  # fmt: skip


def useful_lines(intron) -> list[tuple[int, int]]:
    """Return the lines that cost less than the ones before for some intron that is short enough."""
    useful, span = [], (intron.most_steps + 1) * intron.step - 1
    for extra, every in intron.rising or ((0, 0),):
        if all(extra < first + -(-span // own) for first, own in useful):
            useful.append((extra, every))
    return useful


def _borders(introns, length: int) -> tuple[list[int], list[int]]:
    """Return the number of the first border of each class, and how many it has."""
    first = [-(-(1 + i.origin) // i.step) for i in introns]
    last = [(length + i.origin) // i.step for i in introns]
    return first, [max(b - a + 1, 0) for a, b in zip(first, last, strict=True)]


def _starts(counts: list[int]) -> tuple[NDArray[np.int64], int]:
    """Return where parts of some sizes begin, and the sum of the sizes."""
    ends = np.cumsum([0, *counts], dtype=np.int64)
    return ends[:-1].copy(), int(ends[-1])


NO_LONGEST = _windows([], 0)
"""There is no longest intron."""
