"""Where exons may begin and end on a strand, and what that scores.

Boundary i lies before nucleotide i; m nucleotides have the boundaries 0 to m. A chain enters its
first exon at a *first* entry and the others at an *inner* one (an acceptor). It leaves its last
exon at a *last* exit and the others at an *inner* one (a donor).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, reduce, wraps
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.model.scoring import LIMIT_INT32
from gpu_tools.sites.marks import NO_MARKS, Marks
from gpu_tools.splicing.reading import FRAMES

CLOSED = -(2**62)
"""Score where a chain may not enter or leave."""


@dataclass(frozen=True, eq=False)
class BoundaryScores:
    """Scores of the boundaries of a strand for one kind of entry or exit.

    Attributes
    ----------
    length : int
        How many boundaries there are.
    usual : int
        Score of each boundary that is not listed; `CLOSED` unless all boundaries are open.
    boundaries : ndarray of int32 or int64, shape (K,)
        The listed boundaries, rising.
    scores : ndarray of int32, shape (K,)
        Their scores, none of them `CLOSED`.
    kinds : ndarray of uint8, shape (K,)
        Their kinds.
    """

    length: int
    usual: int
    boundaries: NDArray = field(repr=False)
    scores: NDArray[np.int32] = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def from_array(cls, scores: NDArray, kinds: NDArray[np.uint8] | None = None) -> BoundaryScores:
        """List scores of all boundaries, `CLOSED` where there is none; and kinds, 0 by default.

        Where kinds are given, each open boundary is listed.
        """
        scores, usual = np.asarray(scores), CLOSED
        if kinds is None and len(scores) and not (scores == CLOSED).any():
            usual = int(np.partition(scores, len(scores) // 2)[len(scores) // 2])
            checked_scores(np.array([usual]))
        listed = np.flatnonzero(scores != usual)
        of_kind = np.zeros(len(listed), np.uint8) if kinds is None else np.asarray(kinds)[listed]
        return cls.from_lists(len(scores), usual, listed, scores[listed], of_kind)

    @classmethod
    def everywhere(cls, length: int) -> BoundaryScores:
        """Return a score of 0 for each boundary."""
        none = np.empty(0, np.int64)
        return cls.from_lists(length, 0, none, none, none)

    @classmethod
    def from_lists(cls, length: int, usual: int, boundaries, scores, kinds) -> BoundaryScores:
        """Check listed scores and hold them in narrow integers."""
        return cls(
            length, usual, boundaries.astype(boundary_type(length), copy=False),
            checked_scores(scores), kinds.astype(np.uint8, copy=False),
        )  # fmt: skip

    def listed(self, low: int, high: int) -> slice:
        """Return which of the listed boundaries lie in [low, high)."""
        # keys of another type would have the whole array converted
        ends = np.array([low, high], dtype=self.boundaries.dtype)
        return slice(*np.searchsorted(self.boundaries, ends).tolist())

    def between(self, low: int, high: int, dtype=np.int64, closed: int = CLOSED) -> NDArray:
        """Return the scores of the boundaries in [low, high), `closed` where there is none."""
        made = np.full(high - low, closed if self.usual == CLOSED else self.usual, dtype=dtype)
        part = self.listed(low, high)
        made[self.boundaries[part] - low] = self.scores[part]
        return made

    def kinds_between(self, low: int, high: int) -> NDArray[np.uint8]:
        """Return the kinds of the boundaries in [low, high), 0 where none is listed."""
        made, part = np.zeros(high - low, dtype=np.uint8), self.listed(low, high)
        made[self.boundaries[part] - low] = self.kinds[part]
        return made

    def at(self, boundary: int) -> int:
        """Return the score of a boundary."""
        # a key of another type would have the whole array converted
        k = int(np.searchsorted(self.boundaries, self.boundaries.dtype.type(boundary)))
        is_listed = k < len(self.boundaries) and self.boundaries[k] == boundary
        return int(self.scores[k]) if is_listed else self.usual

    def part(self, low: int, high: int) -> BoundaryScores:
        """Return the scores of the boundaries in [low, high), which are counted from `low`."""
        own = self.listed(low, high)
        lists = self.boundaries[own] - low, self.scores[own], self.kinds[own]
        return BoundaryScores.from_lists(high - low, self.usual, *lists)

    def without(self, boundary: int) -> BoundaryScores:
        """Return the scores with a listed boundary closed; `usual` is `CLOSED`."""
        kept = self.boundaries != boundary
        lists = self.boundaries[kept], self.scores[kept], self.kinds[kept]
        return BoundaryScores(self.length, self.usual, *lists)

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last open boundary, None if there is none."""
        if self.usual != CLOSED:
            return 0, self.length - 1
        return (int(self.boundaries[0]), int(self.boundaries[-1])) if len(self.boundaries) else None

    @cached_property
    def largest(self) -> int:
        """The largest magnitude, 0 if no boundary is open."""
        usual = 0 if self.usual == CLOSED else abs(self.usual)
        return max(usual, int(np.abs(self.scores).max(initial=0)))

    @cached_property
    def highest(self) -> int:
        """The highest score that is listed, 0 if none is above."""
        return int(self.scores.max(initial=0))

    @property
    def arrays(self) -> tuple[int, NDArray, NDArray[np.int32]]:
        """What compiled loops read: usual score, listed boundaries, and their scores."""
        return self.usual, self.boundaries, self.scores


def boundary_type(length: int) -> type:
    """Return the integers that hold numbers up to `length`, that included."""
    return np.int32 if length < 2**31 else np.int64


def checked_scores(scores: NDArray) -> NDArray[np.int32]:
    """Return scores, which are whole numbers of any type, in 32 bits."""
    largest = np.abs(scores).max(initial=0)
    if not largest < LIMIT_INT32:
        raise ScoringError(f"a site's score of {largest:.0f} is too large; expected less than 2^30")
    return scores.astype(np.int32, copy=False)


SHORT_STEPS, LONGEST_STEP = 32, 1024
"""A longest intron has at least about so many steps, none of them longer than that."""
Found = TypeVar("Found")


class IntronClass(NamedTuple):
    """Introns of one kind that are at least so long.

    Attributes
    ----------
    kind : int
        Kind of the sites at both ends; exits and entries of different kinds make no intron.
    min_length : int
        Shortest intron.
    penalty : int
        Subtracted for the intron; of all classes an intron belongs to, the least counts.
    rising : tuple of (int, int)
        How the penalty grows with the length: lines (extra, every), see
        `SiteTable.penalty_between`. The first line's extra is 0; `extra` and `every` rise from line
        to line. Without lines the penalty is constant.
    """

    kind: int
    min_length: int
    penalty: int
    rising: tuple[tuple[int, int], ...] = ()


class TableJunctions(NamedTuple):
    """Introns that have a penalty of their own, whatever the classes of introns say of them.

    They are those of splice evidence. A donor and an acceptor are among the table's sites, those
    that are sites for such introns alone have the kind `NO_KIND`.

    Attributes
    ----------
    donors, acceptors : ndarray of int64, shape (J,)
        Boundaries of each intron, by acceptor, then by donor.
    penalties : ndarray of int64, shape (J,)
        Subtracted for each; less than 0 if evidence is worth more than the intron costs.
    """

    donors: NDArray[np.int64]
    acceptors: NDArray[np.int64]
    penalties: NDArray[np.int64]

    @classmethod
    def of(cls, donors, acceptors, penalties) -> TableJunctions:
        """Return introns in their order."""
        order = np.lexsort((donors, acceptors))
        return cls(*(np.asarray(each, np.int64)[order] for each in (donors, acceptors, penalties)))

    def taken(self, which: NDArray, shift: int = 0) -> TableJunctions:
        """Return some of the introns, by numbers or a mask, on boundaries counted from `shift`."""
        donors, acceptors, penalties = (each[which] for each in self)
        return TableJunctions(donors - shift, acceptors - shift, penalties)

    def penalty_of(self, donor: int, acceptor: int) -> int | None:
        """Return the penalty of an intron, None if it is not among these."""
        found = self.penalties[(self.donors == donor) & (self.acceptors == acceptor)]
        return int(found[0]) if len(found) else None


class JunctionArrays(NamedTuple):
    """Introns of a table as compiled loops read them, those of each acceptor one behind the other.

    `donors` are the different donors, whose rows are kept; `kept` is the number of each intron's
    donor among them.
    """

    donors: NDArray
    acceptors: NDArray
    kept: NDArray[np.int64]
    penalties: NDArray[np.int64]

    @classmethod
    def of(cls, junctions: TableJunctions, length: int) -> JunctionArrays:
        """Return the arrays of some introns on a strand of a length."""
        donors, kept = np.unique(junctions.donors, return_inverse=True)
        donors, acceptors = (
            each.astype(boundary_type(length)) for each in (donors, junctions.acceptors)
        )
        return cls(donors, acceptors, kept, junctions.penalties.copy())


NO_KIND = 255
"""Kind of sites of no intron class."""
NO_JUNCTIONS = TableJunctions(*np.empty((3, 0), np.int64))


class SiteTable:
    """Scores at the boundaries of one strand of a base sequence, in reading direction.

    A table takes little memory: it lists the boundaries where something is possible. Each list of
    scores may also be given as the array that the property of its name returns.

    Parameters
    ----------
    first_entry, inner_entry, inner_exit, last_exit : ndarray of int64 or BoundaryScores
        Score of each boundary, shape (m + 1,), `CLOSED` where the chain may not do that.
    introns : tuple of IntronClass
        Which introns there are.
    entry_kind, exit_kind : ndarray of uint8, shape (m + 1,), optional
        Kind of each inner entry and exit, 0 by default; not for `BoundaryScores`, which hold kinds.
    stops : ndarray of bool, shape (5, 5, 5), optional
        Which words of three codes are stop codons. If given, chains must translate: whole codons,
        no stop among them but for the last one, the first and the last codon not split by an
        intron, none in three exons, at least two in all.
    junctions : TableJunctions
        Introns that have a penalty of their own.
    marks : Marks
        Where penalties of introns may rise, see `gpu_tools.sites.marks`.
    longest : int
        No intron is longer, see `is_short`; 0 if introns may have any length.
    origin : int
        Added to a boundary before its multiples of `step` are counted, so that a locus and its
        record admit the same introns.

    Attributes
    ----------
    first, acceptors, donors, last : BoundaryScores
        The scores as lists: of first entries, inner entries, inner exits and last exits.

    Raises
    ------
    ScoringError
        If a score or a penalty is 2^30 or more, the lines of a penalty are not as `IntronClass`
        says, or the longest intron is too short.
    """

    def __init__(
        self, first_entry, inner_entry, inner_exit, last_exit,
        introns: tuple[IntronClass, ...], entry_kind=None, exit_kind=None, stops=None,
        junctions: TableJunctions = NO_JUNCTIONS, marks: Marks = NO_MARKS, longest: int = 0,
        origin: int = 0,
    ):  # fmt: skip
        self.first, self.last = _listed(first_entry), _listed(last_exit)
        self.acceptors = _listed_inner(inner_entry, entry_kind)
        self.donors = _listed_inner(inner_exit, exit_kind)
        self.introns, self.stops, self.junctions = tuple(introns), stops, junctions
        self.marks, self.longest, self.origin = marks, longest, origin
        self._largest = self._largest_scores()
        largest = max(self._largest)
        if largest >= LIMIT_INT32:
            raise ScoringError(f"a penalty of {largest} is too large; expected less than 2^30")
        if not all(are_lines(intron.rising) for intron in self.introns):
            raise ScoringError(
                "penalties that rise along wrong lines; expected those of IntronClass"
            )
        if longest and self.most_steps < 0:
            raise ScoringError(
                "a longest intron that is too short; expected at least the shortest one and a step"
            )

    @cached_property
    def junction_arrays(self) -> JunctionArrays:
        """The introns that have a penalty of their own, as compiled loops read them."""
        return JunctionArrays.of(self.junctions, self.length)

    @property
    def step(self) -> int:
        """Distance of the boundaries at which exits that lie too far back are dropped."""
        return min(max(self.longest // SHORT_STEPS, 1), LONGEST_STEP)

    @property
    def most_steps(self) -> int:
        """How many multiples of `step` an intron may cross if there is a longest one."""
        shortest = max((intron.min_length for intron in self.introns), default=0)
        return (self.longest - shortest + 1) // self.step - 1

    @cached_property
    def surely_short(self) -> int:
        """Up to this length a longest intron changes nothing."""
        if not self.longest:
            return self.length
        shortest = min((intron.min_length for intron in self.introns), default=0)
        return shortest + self.most_steps * self.step

    @cached_property
    def unlimited(self) -> SiteTable:
        """The table without a longest intron, itself if it has none."""
        return self.changed(longest=0) if self.longest else self

    @cached_property
    def neutral(self) -> SiteTable:
        """The table whose chains begin and end anywhere at no cost, itself if chains translate."""
        if self.stops is not None:
            return self
        anywhere = BoundaryScores.everywhere(self.length + 1)
        return self.changed(first=anywhere, last=anywhere)

    def changed(self, **parts) -> SiteTable:
        """Return the table with other parts, given by the names of its attributes."""
        sites = [parts.pop(n, getattr(self, n)) for n in ("first", "acceptors", "donors", "last")]
        others = ("introns", "stops", "junctions", "marks", "longest", "origin")
        return SiteTable(*sites, **{name: getattr(self, name) for name in others} | parts)

    def is_short(self, k: int, exits: NDArray[np.int64] | int, entry: int) -> NDArray[np.bool_]:
        """Return which introns of class `k`, all of them long enough, are not too long.

        Too long is an intron that crosses more than `most_steps` multiples of `step` behind its
        shortest length, up to the entry. So none is longer than `longest`, all are admitted that
        are shorter by two steps and what shortest lengths differ by, and of those between it
        depends on where they lie.
        """
        first, last = exits + self.introns[k].min_length + self.origin, entry + self.origin
        crossed = last // self.step - first // self.step
        return (crossed <= self.most_steps) | (not self.longest)

    def penalty_between(
        self, k: int, exits: NDArray[np.int64] | int, entry: NDArray[np.int64] | int
    ) -> NDArray[np.int64]:
        """Return the penalties of introns of class `k`, all of them long enough.

        A line adds `extra` points, and one point for each mark of level `every` behind the shortest
        intron, up to the entry. The least line counts.
        """
        first, lines, intron = exits + self.introns[k].min_length, [], self.introns[k]
        for extra, every in intron.rising:
            marks = self.marks.of_level(every)
            past = np.searchsorted(marks, entry, "right")
            lines.append(extra + past - np.searchsorted(marks, first, "right"))
        return intron.penalty + (reduce(np.minimum, lines) if lines else 0 * first)

    def admits(self, donor: int, acceptor: int) -> bool:
        """Return whether an intron costs what it costs without a longest intron.

        The intron is one that some class admits if there is no longest one.
        """
        kind = self.donors.kinds_between(donor, donor + 1)[0]
        alike = kind == self.acceptors.kinds_between(acceptor, acceptor + 1)[0]
        costs = {False: [], True: []}
        for k, intron in enumerate(self.introns):
            if alike and kind == intron.kind and donor + intron.min_length <= acceptor:
                cost = int(self.penalty_between(k, donor, acceptor))
                costs[bool(self.is_short(k, donor, acceptor))].append(cost)
        if (own := self.junctions.penalty_of(donor, acceptor)) is not None:
            costs[True].append(own)
        return bool(costs[True]) and min(costs[True]) <= min(costs[False], default=2**62)

    def has_sites(self, donors: Iterable[int], acceptors: Iterable[int]) -> bool:
        """Return whether there are all of some inner exits and entries."""
        return set(donors) <= set(self.donors.boundaries.tolist()) and set(acceptors) <= set(
            self.acceptors.boundaries.tolist()
        )

    def part(self, start: int, end: int) -> SiteTable:
        """Return the table of the nucleotides in [start, end), with the penalties that it has."""
        first, acceptors, donors, last = (each.part(start, end + 1) for each in self.lists)
        seen = self.junctions
        inside = (seen.donors >= start) & (seen.acceptors <= end)
        return self.changed(
            first=first, acceptors=acceptors, donors=donors, last=last,
            junctions=seen.taken(inside, start), marks=self.marks.part(start, end + 1),
            origin=self.origin + start,
        )  # fmt: skip

    def without(self, donor: int | None, acceptor: int | None) -> SiteTable:
        """Return the table without an inner exit, an inner entry or both."""
        donors = self.donors if donor is None else self.donors.without(donor)
        acceptors = self.acceptors if acceptor is None else self.acceptors.without(acceptor)
        seen = self.junctions
        left = seen.taken((seen.donors != donor) & (seen.acceptors != acceptor))
        return self.changed(acceptors=acceptors, donors=donors, junctions=left)

    @property
    def lists(self) -> tuple[BoundaryScores, ...]:
        """The four lists of scores."""
        return self.first, self.acceptors, self.donors, self.last

    @property
    def scores(self) -> tuple[NDArray[np.int64], ...]:
        """The four arrays of scores, made anew, in the order of the flags."""
        return tuple(each.between(0, self.length + 1) for each in self.lists)

    @property
    def first_entry(self) -> NDArray[np.int64]:
        """Scores of first entries as a new array, shape (m + 1,), `CLOSED` where there is none."""
        return self.scores[0]

    @property
    def inner_entry(self) -> NDArray[np.int64]:
        """Scores of inner entries as a new array."""
        return self.scores[1]

    @property
    def inner_exit(self) -> NDArray[np.int64]:
        """Scores of inner exits as a new array."""
        return self.scores[2]

    @property
    def last_exit(self) -> NDArray[np.int64]:
        """Scores of last exits as a new array."""
        return self.scores[3]

    @property
    def entry_kind(self) -> NDArray[np.uint8]:
        """Kinds of inner entries as a new array, shape (m + 1,), 0 where there is none."""
        return self.acceptors.kinds_between(0, self.length + 1)

    @property
    def exit_kind(self) -> NDArray[np.uint8]:
        """Kinds of inner exits as a new array."""
        return self.donors.kinds_between(0, self.length + 1)

    @property
    def length(self) -> int:
        """Nucleotides of the strand."""
        return self.first.length - 1

    @property
    def tracks(self) -> int:
        """Rows of an exit and of an entry: one for each reading frame if chains translate."""
        return 1 if self.stops is None else FRAMES

    def largest_scores(self) -> list[int]:
        """Return the largest magnitudes of the four kinds of scores, then of the penalties."""
        return self._largest.copy()

    def _largest_scores(self) -> list[int]:
        largest = [each.largest for each in self.lists]
        penalties = [*map(self._largest_penalty, self.introns)]
        own = int(np.abs(self.junctions.penalties).max(initial=0))
        return [*largest, max([*penalties, own])]

    def _largest_penalty(self, intron: IntronClass) -> int:
        """Return the largest magnitude that a class adds to a row at a time."""
        rises = (extra + self._most_marks(every) for extra, every in intron.rising)
        return abs(intron.penalty) + max(rises, default=0)

    def _most_marks(self, every: int) -> int:
        """Return how many marks of a level are crossed at a time, at most."""
        if not self.longest:
            return 1
        marks = self.marks.of_level(every)
        before = np.searchsorted(marks, marks - self.longest)
        return int((np.arange(1, len(marks) + 1) - before).max(initial=1))

    def has_chain(self) -> bool:
        """Return whether an exon can be entered as the first and left as the last."""
        entries, exits = self.first.span, self.last.span
        return entries is not None and exits is not None and entries[0] < exits[1]


def once_a_table(function: Callable[[SiteTable], Found]) -> Callable[[SiteTable], Found]:
    """Decorate a function of a table so that it is computed once and stored with the table."""
    found: WeakKeyDictionary[SiteTable, Found] = WeakKeyDictionary()

    @wraps(function)
    def of(table: SiteTable) -> Found:
        known = found.get(table)
        if known is None:
            known = found[table] = function(table)
        return known

    return of


def made_once(
    cases: Iterable, make: Callable, spread: Callable, is_wanted: Callable = lambda table: True
) -> dict[int, Any]:
    """Return what `make` returns for the nucleotides and the table of each strand, by `id(table)`.

    Cases may share tables; `spread` maps a function over the different ones that are wanted.
    """
    first = {
        id(table): (case, name)
        for case in cases
        for name, table in case.tables.items()
        if is_wanted(table)
    }
    made = spread(lambda own: make(own[0].codes(own[1]), own[0].tables[own[1]]), first.values())
    return dict(zip(first, made, strict=True))


def are_lines(lines) -> bool:
    """Return whether a penalty can rise along lines, see `IntronClass`.

    With other lines the sweeps would not find the least penalty.
    """
    if not lines:
        return True
    pairs = pairwise(lines)
    steps = (b[0] > a[0] and b[1] > a[1] for a, b in pairs)
    return lines[0][0] == 0 and lines[0][1] > 0 and all(steps)


def _listed(scores) -> BoundaryScores:
    return scores if isinstance(scores, BoundaryScores) else BoundaryScores.from_array(scores)


def _listed_inner(scores, kinds) -> BoundaryScores:
    if isinstance(scores, BoundaryScores):
        return scores
    kinds = np.zeros(len(scores), dtype=np.uint8) if kinds is None else kinds
    return BoundaryScores.from_array(scores, kinds)
