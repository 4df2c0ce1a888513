"""Cases as columns: distinct strands and targets once, and the jobs that put them together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.spliced.case import Case


class Strands(NamedTuple):
    """Strands of bases with their distinct candidate exons, on the forward strand.

    Attributes
    ----------
    codes : list of ndarray of uint8
        Forward strand of each strand's base.
    reverse : ndarray of bool, shape (P,)
    first_exons : ndarray of int64, shape (P + 1,)
        Where each strand's exons begin; at least one each.
    starts, ends : ndarray of int64, shape (B,)
    scores : ndarray of float64, shape (B,)
        The candidates' own scores.
    """

    codes: list[NDArray[np.uint8]]
    reverse: NDArray[np.bool_]
    first_exons: NDArray[np.int64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    scores: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Lengths of the strands' bases, shape (P,)."""
        return np.array([len(codes) for codes in self.codes], dtype=np.int64)


class Jobs(NamedTuple):
    """Strands of cases, each with a target, as columns.

    Attributes
    ----------
    programs, cases : ndarray of int64, shape (J,)
        Numbers of the strand and of the case; jobs of a case follow each other, ``+`` first.
    targets, lengths : ndarray of int64, shape (J,)
        Where the target begins among all targets' symbols, and its length.
    """

    programs: NDArray[np.int64]
    cases: NDArray[np.int64]
    targets: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of jobs."""
        return len(self.programs)

    def take(self, chosen) -> Jobs:
        """Return the jobs that a mask or an array of indices chooses."""
        return Jobs(*(column[chosen] for column in self))


class Gathered(NamedTuple):
    """Cases as columns.

    Attributes
    ----------
    strands : Strands
    jobs : Jobs
        By case.
    targets : ndarray of uint8
        Symbols of all distinct targets.
    cells : ndarray of int64, shape (C,)
        Nominal cells of each case.
    """

    strands: Strands
    jobs: Jobs
    targets: NDArray[np.uint8]
    cells: NDArray[np.int64]


def gather(cases: list[Case]) -> Gathered:
    """Return checked cases as columns."""
    firsts, of_case = _number((id(case.base), id(case.exons)) for case in cases)
    strands, n_strands, nominal = _strands([cases[k] for k in firsts])
    chosen, target_of_case = _number(id(case.target) for case in cases)
    texts = [cases[k].target.codes for k in chosen]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    places, counts = np.cumsum(lengths) - lengths, n_strands[of_case]
    owners = np.repeat(np.arange(len(cases)), counts)
    nth = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    programs = (np.cumsum(n_strands) - n_strands)[of_case[owners]] + nth
    target = target_of_case[owners]
    jobs = Jobs(programs, owners, places[target], lengths[target])
    symbols = np.concatenate([np.empty(0, dtype=np.uint8), *texts])
    return Gathered(strands, jobs, symbols, nominal[of_case] * lengths[target_of_case])


def _number(keys: Iterable[Hashable]) -> tuple[list[int], NDArray[np.int64]]:
    """Return where each distinct key comes first, and the number of every key among those."""
    numbers: dict[Hashable, int] = {}
    firsts, of_key = [], []
    for k, key in enumerate(keys):
        number = numbers.setdefault(key, len(numbers))
        if number == len(firsts):
            firsts.append(k)
        of_key.append(number)
    return firsts, np.array(of_key, dtype=np.int64)


def _strands(cases: list[Case]) -> tuple[Strands, NDArray[np.int64], NDArray[np.int64]]:
    """Return the strands of cases with candidates, and of each how many, and its nominal rows."""
    sets = [case.exons.unique() for case in cases]
    reverse = [int(np.count_nonzero(exons.reverse)) for exons in sets]
    # a set has its exons of + first
    counts = np.array([(len(s) - n, n) for s, n in zip(sets, reverse, strict=True)])
    counts = counts.reshape(-1, 2)
    there = np.flatnonzero(counts)
    starts, ends, scores = (
        np.concatenate([np.empty(0, dtype=dtype), *(getattr(s, name) for s in sets)])
        for name, dtype in (("starts", np.int64), ("ends", np.int64), ("scores", np.float64))
    )
    first = np.concatenate(([0], np.cumsum(counts.ravel()[there])))
    rows = np.concatenate(([0], np.cumsum(ends - starts)))
    after = np.cumsum(counts.sum(axis=1))
    codes = [cases[k // 2].base.codes for k in there.tolist()]
    strands = Strands(codes, there % 2 == 1, first, starts, ends, scores)
    nominal = np.diff(rows[np.concatenate(([0], after))])
    return strands, np.count_nonzero(counts, axis=1), nominal
