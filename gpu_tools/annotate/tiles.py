"""Windows of an exhaustive search: tiles that together hold every gene of a length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpu_tools.model.windows import SearchWindow

TILE = 1 << 20


def tiles(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Return tiles of a record, 0-based half-open.

    Parameters
    ----------
    length : int
        Nucleotides of the record.
    size : int
        Nucleotides of a tile at most.
    overlap : int
        Nucleotides that neighbours share; less than `size`. So each interval of at most `overlap`
        nucleotides lies in some tile.

    Returns
    -------
    list of (int, int)
    """
    starts = range(0, max(length - overlap, 1), size - overlap)
    return [(start, min(start + size, length)) for start in starts]


class GenomeTile(NamedTuple):
    """A stretch of a sequence of the genome, 0-based half-open; the sequence by its number."""

    record: int
    start: int
    end: int


def genome_tiles(lengths: Sequence[int], overlap: int) -> list[GenomeTile]:
    """Return the tiles of all sequences of a genome, in its order.

    Parameters
    ----------
    lengths : sequence of int
        Nucleotides of each sequence.
    overlap : int
        See `tiles`.

    Returns
    -------
    list of GenomeTile
    """
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
