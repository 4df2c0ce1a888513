"""Ends of a protein's alignment that support nothing: what is aligned since all residues must be.

From end to end all residues are aligned, also those whose exons do not lie in the base: beyond an
intron that is too long, a contig's end, or a run of N. They are aligned to other sequence then,
behind introns and frameshifts that lead there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.api import FLANK
from gpu_tools.sites.proteins.api import ProteinCase
from gpu_tools.sites.table import BoundaryScores
from gpu_tools.splicing.proteins import walk
from gpu_tools.splicing.proteins.bans import pairs_of
from gpu_tools.splicing.proteins.scored import SURE, column_scores, sure_stretch

_UNREAD = "*X"
"""Amino acids of stop codons and of codons of unknown nucleotides."""
_CERTAIN = 50
"""Points of a stretch that chance does not align in all sequence within reach of an exon."""
_SHARE = 0.1
"""Of the points that an end's codons would have: chance hardly reaches more."""
_CLEARLY_MORE = 10
"""Points that the rest scores more; true ends that are like nothing cost about nothing."""
_LEAST_LEFT_OUT = 3
"""An open frame that is no gene's end leaves out one residue of so many, or more."""


@dataclass(frozen=True)
class _Part:
    """A case of some residues of its protein, in the locus of its chain.

    So many residues are left out before them, and behind, and so many nucleotides before the locus.
    """

    case: ProteinCase
    before: int = 0
    behind: int = 0
    start: int = 0

    def without(self, before: int, behind: int, found: ProteinAlignment) -> _Part:
        """Return the case without further residues; where some are left out no codon counts."""
        case, strand, size = self.case, found.strand, len(self.case.base)
        rows, residues = pairs_of(found)
        rows = rows[(residues >= before) & (residues < len(case.target) - behind)]
        low, high = int(rows.min()) - FLANK, int(rows.max()) + FLANK
        low, high = (low, high) if strand == "+" else (size - high, size - low)
        low, high = max(low, 0), min(high, size)
        case, _ = case.of_interval(low, high, strand)
        case = case.of_residues(before, len(case.target) - behind)
        before, behind = self.before + before, self.behind + behind
        table = replace_ends(case.tables[strand], before > 0, behind > 0)
        return _Part(replace(case, tables={strand: table}), before, behind, self.start + low)

    def whole(self, found: ProteinAlignment, end_to_end: ProteinAlignment) -> ProteinAlignment:
        """Return the alignment of the residues as one of the protein and the base."""
        return found.changed(
            base_length=end_to_end.base_length, target_length=end_to_end.target_length,
            cells=end_to_end.cells, evalue=end_to_end.evalue, rank=end_to_end.rank,
            target_start=found.target_start + self.before,
            target_end=found.target_end + self.before,
            chain=tuple((start + self.start, end + self.start) for start, end in found.chain),
        )  # fmt: skip


def replace_ends(table, first: bool, last: bool):
    """Return a table whose first entries, last exits or both have the usual points alone."""
    made = {}
    for name, plain in (("first", first), ("last", last)):
        sites, none = getattr(table, name), np.zeros(0, np.int64)
        made[name] = sites if not plain else BoundaryScores.from_lists(
            sites.length, sites.usual, none, none, none.astype(np.uint8)
        )  # fmt: skip
    return table.changed(**made)


def with_supported_ends(
    cases: list[ProteinCase],
    found: list[ProteinAlignment],
    scoring: ProteinScoring,
    align: Callable[[list[ProteinCase]], list[ProteinAlignment]],
) -> list[ProteinAlignment | None]:
    """Return alignments without ends that support nothing, None for those that have no such end.

    The rest of the protein is aligned from end to end anew, where its exons lie, and judged again.
    It must score clearly more than all did: what an end has of sites and of a start or stop codon
    may support it.

    See `unsupported_ends`.
    """
    parts, results = dict(enumerate(map(_Part, cases))), [None] * len(cases)
    left = dict(enumerate(found))
    while left:
        cut = {k: ends for k, one in left.items() if any(ends := unsupported_ends(one, scoring))}
        parts |= {k: parts[k].without(*ends, left[k]) for k, ends in cut.items()}
        aligned = align([parts[k].case for k in cut]) if cut else []
        left = {
            k: one for k, one in zip(cut, aligned, strict=True)
            if one.chain and one.score > max(left[k].score, found[k].score + _CLEARLY_MORE)
        }  # fmt: skip
        results = [parts[k].whole(left[k], found[k]) if k in left else one
                   for k, one in enumerate(results)]  # fmt: skip
    return results


def unsupported_ends(alignment: ProteinAlignment, scoring: ProteinScoring) -> tuple[int, int]:
    """Return how many residues to leave out at the begin and at the end of an alignment.

    An end supports nothing if its codons would have `SURE` points, were they as much like their
    residues as the rest of the protein is, and its columns have no tenth of these; and if it is no
    open frame of the protein's length: it comes to an intron, a frameshift, a stop codon or a codon
    of unknown nucleotides, or leaves out a third of its residues. It lies before the first stretch
    that chance does not align. An open frame beside a supported exon stays: genes begin and end
    there, alike or not.
    """
    if not alignment.chain or scoring.free:
        return 0, 0
    columns = _Columns.of(alignment, scoring)
    spans = list(_breaks(alignment))
    last = len(columns.scores)
    front = _end(columns, spans)
    turned = _Columns(*(each[::-1] for each in columns))
    back = _end(turned, sorted((last - past, last - first) for first, past in spans))
    if front + back >= last:
        return 0, 0
    residues = columns.residues
    return int(residues[:front].sum()), int(residues[last - back :].sum())


class _Columns(NamedTuple):
    """Of columns: scores, those of residues with themselves, and which have residues, and pairs."""

    scores: NDArray
    own: NDArray
    residues: NDArray[np.bool_]
    pairs: NDArray[np.bool_]

    @classmethod
    def of(cls, alignment: ProteinAlignment, scoring: ProteinScoring) -> _Columns:
        """Return the columns of an alignment."""
        acids, residues = (
            np.frombuffer(line.encode(), "S1")
            for line in (alignment.translation, alignment.residues)
        )
        given = residues != b"-"
        pairs = given & (acids != b"-") & (acids != b"!")
        return cls(*column_scores(alignment, scoring), given, pairs)


def _end(columns: _Columns, breaks: list[tuple[int, int]]) -> int:
    """Return the first columns that support nothing and lack most; breaks are given by place.

    The column of a break goes with them, though it may be alike by chance.
    """
    begin, certain = sure_stretch(columns.scores, _CERTAIN)
    if begin == len(columns.scores):
        return 0
    sums, owns, residues, pairs, expected = (
        np.append(0, np.cumsum(each)) for each in
        (columns.scores, columns.own, columns.residues, columns.pairs, columns.own * columns.pairs)
    )  # fmt: skip
    expected = expected * np.clip((sums[-1] - sums) / np.maximum(owns[-1] - owns, 1), 0, 1)
    lacks = np.where((sums <= _SHARE * expected) & (expected >= SURE), expected - sums, 0)
    most, end = max(
        ((max(lacks[first], lacks[past]), past) for first, past in breaks if first < certain),
        key=lambda found: found[0], default=(0, 0),
    )  # fmt: skip
    short = np.flatnonzero(
        _LEAST_LEFT_OUT * pairs[: begin + 1] <= residues[: begin + 1] * (_LEAST_LEFT_OUT - 1)
    )
    inner = int(short[lacks[short].argmax()])
    # an exon's border is the better guess, unless much lacks inside of it
    if lacks[inner] >= most + SURE:
        most, end = lacks[inner], inner
    return end if most else 0


def _breaks(alignment: ProteinAlignment) -> Iterator[tuple[int, int]]:
    """Yield the columns at which no codon follows one in frame: none, or one that belongs there."""
    column = 0
    for letter, length in alignment.cigar:
        if letter in walk.INTRON:
            own = int(letter != walk.INTRON[0])
            yield column, column + own
            column += own
        elif letter in (walk.SHIFT, walk.SHIFTED):
            own = int(letter == walk.SHIFTED)
            yield column, column + own
            column += own
        elif letter in (walk.CODON, walk.RESIDUE, walk.MISSING):
            column += length
    for place, acid in enumerate(alignment.translation):
        if acid in _UNREAD:
            yield place, place + 1
