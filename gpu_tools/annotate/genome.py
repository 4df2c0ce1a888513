"""A genome: its records, windows of them as loci, and a digest of its content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple

from gpu_tools.annotate.options import Alignment
from gpu_tools.errors import InputError
from gpu_tools.model.acceptance import with_cut_ends
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import Loci, Locus, SearchWindow
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import Composition


class GenomeSummary(NamedTuple):
    """What hits depend on besides the nucleotides around them."""

    loci: tuple[Locus, ...]  # what each sequence is of which record
    composition: Composition
    digest: str  # a text that differs for other sequences or names


def summarized(records: Iterable[Nucleotides]) -> GenomeSummary:
    """Return the summary of a genome, whose records may pass by one at a time."""
    loci, composition, digest = [], Composition(), sha256()
    for record in records:
        loci.append(Locus.of(record))
        composition = composition.with_record(record)
        digest.update(f"{record.name}\t{record.description}\t{len(record)}\n".encode())
        digest.update(record.codes.tobytes())
    return GenomeSummary(tuple(loci), composition, digest.hexdigest())


class GenomeRecords:
    """Records that are searched for genes.

    Parameters
    ----------
    records : sequence of Sequence
        Each a record, or a locus of one (see `gpu_tools.model.locus`); no two overlap.

    Raises
    ------
    InputError
        If there is no record, or loci of a record overlap.
    """

    def __init__(self, records: Iterable[Nucleotides]):
        self.records: Sequence[Nucleotides] = tuple(records)
        if not self.records:
            raise InputError("a genome without any record", expected="at least one record")
        loci = Loci(self.records)
        self.loci = [loci[record.name] for record in self.records]
        self.record_lengths: dict[str, int] = loci.record_lengths
        """Symbols of each record by name, in the order of the sequences."""
        _check_apart(self.loci)
        self._places = {}
        for k, locus in enumerate(self.loci):
            self._places.setdefault(locus.record, []).append(k)

    @cached_property
    def lengths(self) -> list[int]:
        """Nucleotides of each sequence."""
        return [len(record) for record in self.records]

    @cached_property
    def summary(self) -> GenomeSummary:
        """Loci, composition and digest."""
        return summarized(self.records)

    def locus_of(self, window: SearchWindow) -> Locus:
        """Return where a window lies in its record."""
        return self.loci[window.record].part(window.start, window.end)

    def cut(self, window: SearchWindow) -> Nucleotides:
        """Return the sequence of a window, on the forward strand."""
        locus, record = self.locus_of(window), self.records[window.record]
        codes = record.codes[window.start : window.end]
        return Nucleotides(locus.name, codes, locus.header(locus.name))

    def sequence_at(self, record: str, position: int) -> tuple[Nucleotides, int]:
        """Return the sequence that holds a position of a record, and where it begins there."""
        for k in self._places[record]:
            if self.loci[k].start <= position < self.loci[k].end:
                return self.records[k], self.loci[k].start
        raise ValueError(f"{record} has no sequence at {position}")

    def around(self, alignment: Alignment, flank: int) -> tuple[Nucleotides, Locus]:
        """Return the sequence of a chain and its flanks, as far as there is one."""
        low, high = interval_of(alignment)
        record, first = self.sequence_at(alignment.base, low)
        start, end = max(low - first - flank, 0), min(high - first + flank, len(record))
        locus = Locus.of(record).part(start, end)
        return Nucleotides(locus.name, record.codes[start:end], locus.header(locus.name)), locus

    def with_cut_ends(self, alignment: Alignment) -> Alignment:
        """Return an alignment that knows what of its target lies beyond the genome's sequences."""
        if not alignment.chain:
            return alignment
        return with_cut_ends(alignment, *self.sequence_at(alignment.base, alignment.chain[0][0]))


def _check_apart(loci: list[Locus]) -> None:
    last: dict[str, Locus] = {}
    for locus in sorted(loci):
        before = last.get(locus.record)
        if before and before.end > locus.start:
            raise InputError(
                f"{before.name} and {locus.name} overlap", record=locus.record,
                expected="loci that do not",
            )  # fmt: skip
        last[locus.record] = locus


# Windows of an exhaustive search: tiles that together hold every gene of a length.


TILE = 1 << 20


def tiles(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return tiles of a record, 0-based half-open."""
    starts = range(0, max(length - overlap, 1), size - overlap)
    return [(start, min(start + size, length)) for start in starts]


class GenomeTile(NamedTuple):
    """A stretch of a sequence of the genome, 0-based half-open; the sequence by its number."""

    record: int
    start: int
    end: int


def genome_tiles(lengths: Sequence[int], overlap: int) -> list[GenomeTile]:
    """Return the tiles of all sequences of a genome, in its order."""
    size = max(TILE, 4 * overlap)
    return [
        GenomeTile(record, *bounds)
        for record, length in enumerate(lengths)
        for bounds in tiles(length, size, overlap)
    ]


def tile_windows(wanted: Iterable[GenomeTile], targets: int) -> Iterator[SearchWindow]:
    """Yield windows of a number of targets in tiles, on both strands."""
    for tile in wanted:
        for strand in "+-":
            for target in range(targets):
                yield SearchWindow(target, tile.record, strand, tile.start, tile.end, 0)
