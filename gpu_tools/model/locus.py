"""Loci: parts of records, and windows of a genome in which a target may have a gene.

This module alone knows how a header names the part of a record that a sequence is, and moves
positions between the coordinates of a locus and of its record.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gpu_tools.errors import InputError
from gpu_tools.model.annotation import CodingSegment, CodingSequence
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.sequences import Sequence

COORDINATES = ("record", "locus")
"""What results on a locus are given in: its record's coordinates, or its own."""
_BOUND = r"([1-9][0-9]{0,2}(?:,[0-9]{3}){1,5}|[1-9][0-9]{0,17})"
_NAME = rf"(\S+):{_BOUND}-{_BOUND}"
_LOCUS_NAME = re.compile(_NAME)
_REGION = re.compile(rf"(\S+):(?=.*[0-9]){_BOUND}?-{_BOUND}?")
_LIKE_REGION = re.compile(r".*:(0|[1-9][0-9,]*)?-(0|[1-9][0-9,]*)?|\s*")
_ORIGIN = re.compile(rf"(?:^|\s)locus={_NAME}(?!\S)")
_RECORD_LENGTH = re.compile(r"(?:^|\s)record_length=([0-9]{1,18})(?!\S)")
_log = logging.getLogger(__name__)


class Locus(NamedTuple):
    """A part of a record, or all of it, on the forward strand."""

    record: str  # name of the record
    start: int  # 0-based half-open interval in the record
    end: int
    record_length: int | None = None  # symbols of the record, None if that is not known

    @classmethod
    def whole(cls, name: str, length: int) -> Locus:
        """Return all of a record."""
        return cls(name, 0, length, length)

    @classmethod
    def parse(cls, text: str) -> Locus | None:
        """Read ``NAME:START-END``, 1-based inclusive, commas allowed; None if `text` is no such.

        The last colon counts: NAME may hold others.
        """
        match = _LOCUS_NAME.fullmatch(text)
        return match and cls._of_match(match)

    @classmethod
    def _of_match(cls, match: re.Match) -> Locus | None:
        start, end = (int(match[k].replace(",", "")) for k in (2, 3))
        return cls(match[1], start - 1, end) if start <= end else None

    @classmethod
    def of(cls, sequence: Sequence) -> Locus:
        """Return the part of a record that a sequence is, see `of_header`."""
        return cls.of_header(sequence.name, sequence.description, len(sequence))

    @classmethod
    def of_header(cls, name: str, description: str, length: int) -> Locus:
        """Return which part of which record a sequence is, by its FASTA header.

        That is what ``locus=NAME:START-END`` in the description says, else what a name of the form
        NAME:START-END says, each only if `length` is END - START + 1. Any other sequence is a
        record of its own. ``record_length=N`` in the description is the record's length.
        """
        for locus in _stated(name, description):
            if locus.end - locus.start == length:
                known = _RECORD_LENGTH.search(description)
                return locus.on_record_of(int(known[1]) if known else None)
        return cls.whole(name, length)

    @property
    def name(self) -> str:
        """The locus as ``NAME:START-END``, 1-based inclusive."""
        return f"{self.record}:{self.start + 1}-{self.end}"

    @property
    def bounds(self) -> tuple[int, int]:
        """Start and end, 0-based half-open."""
        return self.start, self.end

    def is_all_of(self, name: str) -> bool:
        """Return whether the locus is all of the record of a name, so that nothing moves."""
        return self == Locus.whole(name, self.end)

    def header(self, name: str) -> str:
        """Return the description of a sequence of some name that `of_header` reads back."""
        origin = [] if name == self.name else [f"locus={self.name}"]
        length = [] if self.record_length is None else [f"record_length={self.record_length}"]
        return " ".join(origin + length)

    def on_record_of(self, length: int | None) -> Locus:
        """Return the locus on a record of a length, or raise `InputError` if that is too short."""
        if length is not None and self.end > length:
            raise InputError(
                f"locus {self.name} ends behind its record", record=self.record,
                expected=f"positions 1 to {length}",
            )  # fmt: skip
        return self._replace(record_length=length)

    def part(self, start: int, end: int) -> Locus:
        """Return a part of the locus, given 0-based half-open in the locus's coordinates."""
        return self._replace(start=self.start + start, end=self.start + end)

    def to_record(self, interval: tuple[int, int]) -> tuple[int, int]:
        """Move an interval from the locus's coordinates to the record's."""
        return interval[0] + self.start, interval[1] + self.start

    def exons_to_record(self, exons: ExonSet) -> ExonSet:
        """Move exons from the locus's coordinates to the record's."""
        return replace(exons, starts=exons.starts + self.start, ends=exons.ends + self.start)

    def exons_within(self, exons: ExonSet) -> ExonSet:
        """Take the record's exons that lie inside the locus, and move them to its coordinates."""
        inside = exons.take((exons.starts >= self.start) & (exons.ends <= self.end))
        return replace(inside, starts=inside.starts - self.start, ends=inside.ends - self.start)

    def exons_under(self, name: str, exons: ExonSet) -> ExonSet:
        """Return exons of the locus as those of a sequence of some name are read.

        That is, in the record's coordinates if the name is the record's, else in the locus's.
        """
        return self.exons_to_record(exons) if name == self.record else exons

    def exons_from(self, name: str, exons: ExonSet) -> ExonSet:
        """Return exons that `exons_under` wrote under a name in the record's coordinates."""
        return exons if name == self.record else self.exons_to_record(exons)

    def coding_within(self, coding: Iterable[CodingSequence]) -> tuple[CodingSequence, ...]:
        """Take the record's coding sequences that lie inside the locus, and move them to it."""
        return tuple(
            replace(one, segments=tuple(map(self._segment_from_record, one.segments)))
            for one in coding
            if all(self.start <= s.start and s.end <= self.end for s in one.segments)
        )

    def _segment_from_record(self, segment: CodingSegment) -> CodingSegment:
        return replace(segment, start=segment.start - self.start, end=segment.end - self.start)


class RecordRegion(NamedTuple):
    """What is wanted of a record, before the record is known."""

    record: str  # name of the record
    start: int = 0  # 0-based half-open interval; without an end it goes to the record's
    end: int | None = None
    # the whole text, which may be a name: a record of this name counts first
    text: str | None = None

    @classmethod
    def parse(cls, text: str) -> RecordRegion | None:
        """Read ``NAME``, ``NAME:START-END``, ``NAME:START-`` or ``NAME:-END``.

        Positions are 1-based inclusive, commas allowed; None if they make no interval.
        """
        match = _REGION.fullmatch(text)
        if match is None:
            return cls(text) if text and not _LIKE_REGION.fullmatch(text) else None
        start, end = (match[k] and int(match[k].replace(",", "")) for k in (2, 3))
        if end is not None and (start or 1) > end:
            return None
        return cls(match[1], (start or 1) - 1, end, text)

    def within(self, names: Container[str]) -> RecordRegion | None:
        """Return the region of a record among `names`, None if there is none."""
        if self.text in names:
            return RecordRegion(self.text)
        return self if self.record in names else None


def described(description: str) -> str | None:
    """Return a FASTA description for a table: without what a locus states, None if that is all."""
    text = _RECORD_LENGTH.sub(" ", _ORIGIN.sub(" ", description))
    return " ".join(text.split()) or None


def may_be_locus(name: str, description: str) -> bool:
    """Return whether a FASTA header has the form of a locus's, whatever the sequence's length."""
    return any(True for _ in _stated(name, description))


def _stated(name: str, description: str) -> Iterator[Locus]:
    for match in (_ORIGIN.search(description), _LOCUS_NAME.fullmatch(name)):
        locus = match and Locus._of_match(match)
        if locus:
            yield locus


class Loci:
    """Where sequences of distinct names lie on records of known length.

    Parameters
    ----------
    sequences : iterable of Sequence
    coordinates : {"record", "locus"}
        ``locus``: each sequence is a record of its own, whatever its header says.

    Raises
    ------
    InputError
        If headers contradict each other about a record's length.

    Notes
    -----
    A record whose length no header states counts as long as its last locus's end, with a warning.
    """

    def __init__(self, sequences: Iterable[Sequence], coordinates: str = "record"):
        loci = {
            s.name: Locus.of(s) if coordinates == "record" else Locus.whole(s.name, len(s))
            for s in sequences
        }
        self.record_lengths: dict[str, int] = _record_lengths(loci.values())
        """Symbols of each record by name, in the order of the sequences."""
        self._loci = {
            name: locus.on_record_of(self.record_lengths[locus.record])
            for name, locus in loci.items()
        }

    def __getitem__(self, name: str) -> Locus:
        """Return the locus of a sequence by the sequence's name."""
        return self._loci[name]

    def exons_by_record(self, sets: Mapping[str, ExonSet]) -> dict[str, ExonSet]:
        """Move exons of the sequences, by their names, to the records, by theirs."""
        found: dict[str, list[ExonSet]] = {}
        for name, exons in sets.items():
            locus = self[name]
            found.setdefault(locus.record, []).append(locus.exons_to_record(exons))
        return {record: ExonSet.concatenate(parts) for record, parts in found.items()}

    def exons_by_sequence(self, sets: Mapping[str, ExonSet]) -> dict[str, ExonSet]:
        """Return exons of the sequences, by their names, as they are read under these names."""
        return {name: self[name].exons_under(name, exons) for name, exons in sets.items()}


def _record_lengths(loci: Iterable[Locus]) -> dict[str, int]:
    lengths: dict[str, set[int | None]] = {}
    ends: dict[str, int] = {}
    for locus in loci:
        lengths.setdefault(locus.record, set()).add(locus.record_length)
        ends[locus.record] = max(locus.end, ends.get(locus.record, 0))
    return {record: _record_length(record, lengths[record] - {None}, ends[record])
            for record in lengths}  # fmt: skip


def _record_length(record: str, known: set[int], last_end: int) -> int:
    if len(known) > 1:
        one, other = sorted(known)[:2]
        raise InputError(
            f"the record has {one} symbols by one header and {other} by another",
            record=record, expected="loci of one record",
        )  # fmt: skip
    if not known:
        _log.warning(
            "the length of record %s is not known; the end of its last locus, %d, stands for it",
            record, last_end,
        )  # fmt: skip
    return known.pop() if known else last_end


class SeedHit(NamedTuple):
    """A stretch of a genome that resembles one of a target, without a gap."""

    start: int  # nucleotides on the record's forward strand
    end: int
    first: int  # from its first symbol of the target to behind its last one
    last: int


class SeedChain(NamedTuple):
    """Words that a target and a genome share one behind the other, as a search found them."""

    start: int  # its first nucleotide on the record's forward strand
    end: int
    score: int
    low: int  # the window that it would have if no long intron lay at either end of the gene
    high: int
    seed: SeedHit | None = None  # its best stretch without a gap
    symbols: tuple[int, int] | None = None  # of the target, from its first to behind its last one

    def of_reverse_complement(self, length: int) -> SeedChain:
        """Return the chain of the target's reverse complement, both of a length."""
        seed, (first, last) = self.seed, self.symbols
        seed = seed._replace(first=length - seed.last, last=length - seed.first)
        return self._replace(seed=seed, symbols=(length - last, length - first))


@dataclass(frozen=True, order=True)
class SearchWindow:
    """A stretch of a genome in which a target may have a gene, for exact alignment.

    Parameters
    ----------
    target : int
        Position of the target among those searched, from 0.
    record : int
        Position of the record in the genome, from 0.
    strand : str
        ``+`` or ``-``.
    start, end : int
        0-based half-open on the record's forward strand.
    score : int
        Score of its best chain of words; it ranks the windows of one target.
    chains : tuple of SeedChain
        Its chains of words; empty if they are unknown.
    """

    target: int
    record: int
    strand: str
    start: int
    end: int
    score: int
    chains: tuple[SeedChain, ...] = field(default=(), compare=False)

    def __len__(self) -> int:
        return self.end - self.start

    def part(self, start: int, end: int) -> SearchWindow:
        """Return the window of the same target from `start` to `end`."""
        return replace(self, start=start, end=end)

    def of_reverse_complement(self, target: int, length: int) -> SearchWindow:
        """Return the window of the reverse complement, a target of this `length` and number."""
        chains = tuple(chain.of_reverse_complement(length) for chain in self.chains)
        strand = "-" if self.strand == "+" else "+"
        return replace(self, target=target, strand=strand, chains=chains)

    @property
    def near(self) -> SearchWindow:
        """The part that its best chain needs without long introns, or all of it."""
        best = self.best
        return self.part(max(best.low, self.start), min(best.high, self.end)) if best else self

    @property
    def best(self) -> SeedChain | None:
        """The best of its chains, the first one of equals; None if no chain is known."""
        return max(self.chains, key=lambda chain: chain.score, default=None)
