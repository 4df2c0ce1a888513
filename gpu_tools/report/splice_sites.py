"""The nucleotides at the ends of introns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gpu_tools.formats.sequences.locus import cut_loci
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import decode, reverse_complement

Interval = tuple[int, int]
CANONICAL = ("GT-AG", "GC-AG", "AT-AC")
"""Donor and acceptor of the introns that spliceosomes remove."""


class SequenceFile(NamedTuple):
    """A record of a FASTA file: all of a base, or the part of it that begins at `start`."""

    path: Path
    record: str
    start: int


def splice_sites(
    file: SequenceFile, introns: Iterable[tuple[Interval, str]]
) -> dict[tuple[Interval, str], str]:
    """Return donor and acceptor of introns.

    Parameters
    ----------
    file : SequenceFile
        Where the base lies.
    introns : iterable of ((int, int), str)
        Each intron, 0-based half-open in the base's record, and its strand.

    Returns
    -------
    dict of ((int, int), str) to str
        Two nucleotides each, on the intron's strand, such as ``GT-AG``. Introns of less than four
        nucleotides are left out.

    Raises
    ------
    InputError
        If the file or its record cannot be read.
    """
    wanted = [(i, s) for i, s in dict.fromkeys(introns) if i[1] - i[0] >= 4]
    loci = [
        Locus(file.record, a - file.start, b - file.start)
        for (start, end), _ in wanted
        for a, b in ((start, start + 2), (end - 2, end))
    ]
    cut = iter(cut_loci(file.path, loci) if loci else [])
    pairs = zip(wanted, zip(cut, cut, strict=True), strict=True)
    return {key: _named(first.codes, last.codes, key[1]) for key, (first, last) in pairs}


def _named(first, last, strand: str) -> str:
    if strand == "-":
        first, last = reverse_complement(last), reverse_complement(first)
    return f"{decode(first)}-{decode(last)}"
