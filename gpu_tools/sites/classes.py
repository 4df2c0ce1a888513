"""Intron classes as the arrays that compiled loops read; all tables of a model share them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.sites.rising import Rising, rising_of
from gpu_tools.sites.table import IntronClass, SiteTable, once_a_table

KIND, LENGTH, PENALTY, ORIGIN, STEP, MOST_STEPS, N_LINES, LINES = range(8)
"""Of a row of an intron class: its fields, see `IntronClass`; without a longest intron its step is
0. Last are its lines, extra and every of each.
"""
_MODELS = 64


class ClassArrays(NamedTuple):
    """Kinds, least lengths, penalties and lines of intron classes, and a row of numbers of each."""

    kinds: NDArray[np.int64]
    lengths: NDArray[np.int64]
    penalties: NDArray[np.int64]
    rising: Rising
    rows: NDArray[np.int64]


@once_a_table
def class_arrays(table: SiteTable) -> ClassArrays:
    """Return the arrays of a table's intron classes; nobody may change them."""
    introns = table.introns
    origin = introns[0].origin if introns else 0
    # base sequences differ in their origins alone
    made = _at_origin_0(tuple([
        i._replace(origin=0, rising=tuple(map(tuple, i.rising))) for i in introns
    ]))  # fmt: skip
    if origin == 0:
        return made
    rows = made.rows.copy()
    rows[:, ORIGIN] = origin
    return made._replace(rising=made.rising._replace(origin=origin), rows=rows)


@lru_cache(_MODELS)
def _at_origin_0(introns: tuple[IntronClass, ...]) -> ClassArrays:
    rows = _rows_of(introns)
    columns = (rows[:, column].copy() for column in (KIND, LENGTH, PENALTY))
    return ClassArrays(*columns, rising_of(introns), rows)


def _rows_of(introns: tuple[IntronClass, ...]) -> NDArray[np.int64]:
    """Return the numbers of each intron class, a row a class."""
    most = max((len(intron.rising) for intron in introns), default=0)
    rows = np.zeros((len(introns), LINES + 2 * most), np.int64)
    for row, each in zip(rows, introns, strict=True):
        steps = (each.step, each.most_steps) if each.longest else (0, 0)
        lines = [number for line in each.rising for number in line]
        numbers = [*each[:3], each.origin, *steps, len(each.rising), *lines]
        row[: len(numbers)] = numbers
    return rows
