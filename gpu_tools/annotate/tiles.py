"""Windows of an exhaustive search: tiles that together hold every gene of a length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


def tile_windows(lengths: Sequence[int], targets: int, overlap: int) -> Iterator[SearchWindow]:
    """Yield windows of all targets in all records, on both strands.

    Parameters
    ----------
    lengths : sequence of int
        Nucleotides of each record.
    targets : int
        How many there are.
    overlap : int
        See `tiles`.
    """
    size = max(TILE, 4 * overlap)
    for record, length in enumerate(lengths):
        for start, end in tiles(length, size, overlap):
            for strand in "+-":
                for target in range(targets):
                    yield SearchWindow(target, record, strand, start, end, 0)
