"""One case of spliced alignment: from its inputs to exon graphs, and from sweeps to a result."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import Sequence
from gpu_tools.spliced.exon_graph import ExonGraph, build_exon_graph
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs, PairCase


@dataclass(frozen=True)
class Case(PairCase):
    """A base sequence, its candidate exons and the target that a chain of them is aligned with.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    target : Sequence
        cDNA of a homologous gene, at least one symbol.
    exons : ExonSet
        Candidate exons of `base`; equal intervals of a strand count once, with the best score.
    banned : dict of str to BannedPairs, optional
        By strand, pairs of nucleotides that no chain aligns.
    """

    base: Sequence
    target: Sequence
    exons: ExonSet

    @property
    def cells(self) -> int:
        """Nominal cells of both strands: sum of distinct exons' lengths times target length."""
        return self.exons.unique().nucleotides * len(self.target)

    @property
    def space(self) -> int:
        """Size of what is searched for the target: distinct candidates of both strands."""
        return len(self.exons.unique())

    @property
    def strands(self) -> list[str]:
        """The strands that have candidates, ``+`` first."""
        return [strand for strand in "+-" if len(self.exons.on_strand(strand))]

    def on_strand(self, strand: str) -> Self:
        """Return the case of one strand."""
        banned = {s: pairs for s, pairs in self.banned.items() if s == strand}
        return replace(self, exons=self.exons.on_strand(strand), banned=banned)

    def check(self) -> None:
        """Raise `InputError` if the target is empty or an exon does not lie within the base."""
        if not len(self.target):
            raise InputError("empty target", record=self.target.name, expected="nucleotides")
        self.exons.check_within(len(self.base), self.base.name)
        self.check_banned()


def check_cases(cases: list[Case]) -> None:
    """Raise the `InputError` of the first wrong case; what cases share is checked once."""
    seen: set[tuple[int, int, bool]] = set()
    for case in cases:
        key = id(case.base), id(case.exons), len(case.target) > 0
        if key not in seen:
            case.check()
            seen.add(key)


def graphs_of(case: Case, scoring: SplicedScoring) -> list[ExonGraph]:
    """Return the exon graphs of the strands of a checked case that have candidates, ``+`` first."""
    unique = case.exons.unique()
    return [
        build_exon_graph(case.base.codes, unique.on_strand(strand), scoring, strand == "-")
        for strand in case.strands
    ]


def result_of(case: Case, cells: int, **found) -> SplicedAlignment:
    """Return the result of a case, without strand and chain unless `found` has them."""
    return SplicedAlignment(
        base=case.base.name,
        target=case.target.name,
        base_length=len(case.base),
        target_length=len(case.target),
        cells=cells,
        **found,
    )


# Cases as columns: distinct strands and targets once, and the jobs that put them together.


_COLUMNS = (
    ("starts", np.int64), ("ends", np.int64), ("scores", np.float64), ("reverse", np.bool_),
)  # fmt: skip


class Strands(NamedTuple):
    """P strands of bases with their B distinct candidate exons, on the forward strand."""

    addresses: NDArray[np.int64]  # (P,) of the base's symbols in memory, see `simd.bytes_at`
    lengths: NDArray[np.int64]  # (P,) of the base
    reverse: NDArray[np.bool_]  # (P,)
    first_exons: NDArray[np.int64]  # (P + 1,) where each strand's exons begin; at least one each
    starts: NDArray[np.int64]  # (B,)
    ends: NDArray[np.int64]  # (B,)
    scores: NDArray[np.float64]  # (B,) the candidates' own scores

    @property
    def count(self) -> int:
        """Number of strands."""
        return len(self.addresses)


class Jobs(NamedTuple):
    """J strands of cases, each with a target; jobs of a case follow each other, ``+`` first."""

    strands: NDArray[np.int64]  # (J,) number of the strand
    cases: NDArray[np.int64]  # (J,) number of the case
    targets: NDArray[np.int64]  # (J,) where the target begins among all targets' symbols
    lengths: NDArray[np.int64]  # (J,) of the target

    @property
    def count(self) -> int:
        """Number of jobs."""
        return len(self.strands)


class CaseColumns(NamedTuple):
    """Cases as arrays, see `case_columns`.

    Parameters
    ----------
    cases : list of Case
    strands : Strands
    bases : list of ndarray of uint8
        Keeps the nucleotides at their addresses.
    jobs : Jobs
        By case.
    first_jobs : ndarray of int64, shape (C + 1,)
        Where each case's jobs begin.
    targets : ndarray of uint8
        Symbols of all distinct targets.
    cells : ndarray of int64, shape (C,)
        Nominal cells of each case.
    banned : BannedPairs
        Those of all jobs.
    first_banned : ndarray of int64, shape (J + 1,)
        Where each job's banned pairs begin.
    """

    cases: list[Case]
    strands: Strands
    bases: list[NDArray[np.uint8]]
    jobs: Jobs
    first_jobs: NDArray[np.int64]
    targets: NDArray[np.uint8]
    cells: NDArray[np.int64]
    banned: BannedPairs
    first_banned: NDArray[np.int64]


def case_columns(cases: Iterable[Case]) -> CaseColumns:
    """Return cases as arrays, the input of `spliced_align_many` and `spliced_scores`.

    Parameters
    ----------
    cases : iterable of Case
        A base, target or exon set that several cases share, as one object, is stored once.

    Returns
    -------
    CaseColumns

    Raises
    ------
    InputError
        If a target is empty or an exon does not lie within its base: that of the first such case.
    """
    cases = list(cases)
    firsts, of_case = _number([(id(case.base), id(case.exons)) for case in cases])
    bases = [np.ascontiguousarray(cases[k].base.codes) for k in firsts]
    strands, n_strands, nominal = _strands(bases, [cases[k].exons.unique() for k in firsts])
    chosen, target_of_case = _number([id(case.target) for case in cases])
    texts = [cases[k].target.codes for k in chosen]
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    symbols = np.concatenate([np.empty(0, dtype=np.uint8), *texts])
    within = (strands.starts >= 0) & (strands.starts < strands.ends)
    within &= strands.ends <= np.repeat(strands.lengths, np.diff(strands.first_exons))
    if not (lengths.all() and within.all()):
        check_cases(cases)
    counts, first = n_strands[of_case], first_of(n_strands)
    first_jobs = first_of(counts)
    owners = np.repeat(np.arange(len(cases)), counts)
    numbers = np.arange(len(owners)) + (first[of_case] - first_jobs[:-1])[owners]
    target = target_of_case[owners]
    jobs = Jobs(numbers, owners, (np.cumsum(lengths) - lengths)[target], lengths[target])
    cells = nominal[of_case] * lengths[target_of_case]
    banned = _banned(cases, jobs, strands.reverse)
    return CaseColumns(cases, strands, bases, jobs, first_jobs, symbols, cells, *banned)


def _banned(
    cases: list[Case], jobs: Jobs, reverse: NDArray[np.bool_]
) -> tuple[BannedPairs, NDArray[np.int64]]:
    """Return the banned pairs of all jobs, and where each one's begin; raise if they are wrong."""
    if not any(case.banned for case in cases):
        return NO_PAIRS, np.zeros(jobs.count + 1, np.int64)
    for case in cases:
        case.check_banned()
    names = np.where(reverse[jobs.strands], "-", "+").tolist()
    own = [
        cases[k].banned.get(s, NO_PAIRS) for k, s in zip(jobs.cases.tolist(), names, strict=True)
    ]
    pairs = BannedPairs(*map(np.concatenate, zip(NO_PAIRS, *own, strict=True)))
    return pairs, first_of(np.array([len(each.rows) for each in own], np.int64))


def _number(keys: list[Hashable]) -> tuple[list[int], NDArray[np.int64]]:
    """Return where each distinct key appears first, and the keys' numbers by first appearance."""
    numbers: dict[Hashable, int] = {}
    of_key = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    # a number that is higher than all before is new
    return np.flatnonzero(np.diff(np.maximum.accumulate(of_key), prepend=-1)).tolist(), of_key


def _strands(
    bases: list[NDArray[np.uint8]], sets: list[ExonSet]
) -> tuple[Strands, NDArray[np.int64], NDArray[np.int64]]:
    """Return the strands with candidates, and for each base the number of these and of its rows."""
    starts, ends, scores, reverse = (
        np.concatenate([np.empty(0, dtype=dtype), *(getattr(s, name) for s in sets)])
        for name, dtype in _COLUMNS
    )
    past = np.cumsum([len(s.starts) for s in sets], dtype=np.int64)
    # a set has its exons of + first
    on_minus = _sums(reverse, past)
    counts = np.stack([np.diff(past, prepend=0) - on_minus, on_minus], axis=1)
    there = np.flatnonzero(counts)
    first = first_of(counts.ravel()[there])
    addresses = np.array([base.ctypes.data for base in bases], dtype=np.int64)
    lengths = np.array([len(base) for base in bases], dtype=np.int64)
    strands = Strands(
        addresses[there // 2], lengths[there // 2], there % 2 == 1, first, starts, ends, scores,
    )  # fmt: skip
    return strands, np.count_nonzero(counts, axis=1), _sums(ends - starts, past)


def first_of(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first element of each part of an array from their lengths; last, the sum."""
    return np.concatenate(([0], np.cumsum(counts)))


def _sums(values, past: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums of parts of an array, `past` the end of each part."""
    return np.diff(np.concatenate(([0], np.cumsum(values)))[past], prepend=0)
