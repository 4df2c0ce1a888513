"""A protein's alignment as sequences, and as a readable text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from gpu_tools.formats.alignments.walk import CODON, coding_parts, extent
from gpu_tools.formats.files import open_output
from gpu_tools.model import sequences
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import Sequence as Nucleotides


def translated(alignment: ProteinAlignment) -> sequences.ProteinSequence:
    """Return the protein of a chain: its codons in the order of the alignment, X at frameshifts.

    A chain that splits frameshifts has no codon there.
    """
    at_frameshift = "" if alignment.splits_frameshifts else "X"
    text = alignment.translation.replace("-", "").replace("!", at_frameshift).upper()
    return sequences.ProteinSequence(
        alignment.target, sequences.encode_protein(text), place_of(alignment)
    )


def coding_sequence(alignment: ProteinAlignment, base: Nucleotides, place: str) -> Nucleotides:
    """Return the nucleotides of a chain in the coordinates of `base`; `place` describes them."""
    parts = sorted(interval for interval, _ in coding_parts(alignment))
    joined = np.concatenate([base.codes[start:end] for start, end in parts])
    codes = joined if alignment.strand == "+" else sequences.reverse_complement(joined)
    return Nucleotides(alignment.target, codes, place)


def place_of(alignment: ProteinAlignment) -> str:
    """Return base, exons and strand of a chain as text, 1-based and inclusive."""
    exons = ",".join(f"{start + 1}-{end}" for start, end in alignment.chain)
    return f"{alignment.base}:{exons}({alignment.strand})"


# Readable alignments of proteins: residues, translation, nucleotides and splice sites.
#
# A line of an alignment is four lines of text: the protein, what agrees, the translation, and the
# genome. Numbers before and behind the first and the last are those of their outer symbols. A codon
# takes three columns, its residue and its amino acid stand at its second nucleotide.


LABELS = "protein", "", "translation", "genome"
_SYMBOLS_PER_LINE = 84
"""Symbols of a line."""
_SITE = 6
"""Nucleotides that are shown of an intron at each end."""
_INTRONS = "NUV"


class Piece(NamedTuple):
    """Columns that stand in one line: as many symbols of each of the four lines of text.

    `nucleotides` and `residues` are how many symbols of the strand and of the protein they show.
    """

    residue: str
    mark: str
    acid: str
    genome: str
    nucleotides: int
    residues: int = 0


def write_shown(
    path: str | os.PathLike,
    found: Iterable[tuple[ProteinAlignment, ProteinAlignment, Nucleotides]],
    scoring: ProteinScoring,
) -> None:
    """Write alignments as text, a paragraph a line of symbols; the file appears when complete."""
    with open_output(path) as stream:
        for own, moved, base in found:
            stream.write("\n".join([_head(moved), *shown_lines(own, moved, base, scoring), "", ""]))


def shown_lines(
    own: ProteinAlignment, moved: ProteinAlignment, base: Nucleotides, scoring: ProteinScoring
) -> Iterator[str]:
    """Yield the lines of an alignment behind its head, an empty one before each four."""
    low, high = extent(own.chain)
    codes = base.codes[low:high]
    text = sequences.decode(codes if own.strand == "+" else sequences.reverse_complement(codes))
    shift = moved.chain[0][0] - own.chain[0][0]
    direction, position = (1, low + shift + 1) if own.strand == "+" else (-1, high + shift)
    residue = own.target_start + 1
    for line in _lines(_pieces(own, text, scoring)):
        rows = ["".join(parts) for parts in zip(*(piece[:4] for piece in line), strict=True)]
        nucleotides, residues = (sum(piece[k] for piece in line) for k in (4, 5))
        following = position + direction * nucleotides
        of_protein = (residue, residue + residues - 1) if residues else None
        of_genome = (position, following - direction) if nucleotides else None
        yield ""
        yield from map(_numbered, LABELS, rows, (of_protein, None, None, of_genome))
        position, residue = following, residue + residues


def _head(alignment: ProteinAlignment) -> str:
    evalue = "." if alignment.evalue is None else f"{alignment.evalue:.1e}"
    exons = ",".join(f"{start + 1}-{end}" for start, end in alignment.chain)
    return (
        f"> {alignment.target} {alignment.target_start + 1}-{alignment.target_end} of "
        f"{alignment.target_length}\n> {alignment.base} {alignment.strand} {exons}\n"
        f"> score {alignment.score}, E-value {evalue}, identity {alignment.identity:.4f}, "
        f"coverage {alignment.coverage:.4f}, {alignment.frameshifts} frameshifts, "
        f"{alignment.inner_stops} stop codons inside"
    )


def _numbered(label: str, symbols: str, outer: tuple[int, int] | None) -> str:
    """Return a line of text with the numbers of its outer symbols."""
    before, behind = (f"{outer[0]}", f"  {outer[1]}") if outer else ("", "")
    return f"{label:<11}{before:>11}  {symbols}{behind}".rstrip()


def _lines(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Fill lines with pieces."""
    line, width = [], 0
    for piece in pieces:
        if line and width + len(piece.genome) > _SYMBOLS_PER_LINE:
            yield line
            line, width = [], 0
        line.append(piece)
        width += len(piece.genome)
    yield line


def _pieces(alignment: ProteinAlignment, text: str, scoring: ProteinScoring) -> Iterator[Piece]:
    """Yield the pieces of an alignment; `text` are the strand's nucleotides from its begin on."""
    at, k = 0, 0
    for letter, length in alignment.cigar:
        if letter == "F":
            yield Piece(" " * length, " " * length, "!" * length, text[at : at + length], length)
            at += length
        elif letter in _INTRONS:
            phase = _INTRONS.index(letter)
            yield from _around_intron(alignment, text, at, length, phase, k, scoring)
            at, k = at + length + CODON * (phase > 0), k + (phase > 0)
        else:
            for _ in range(1 if letter == "G" else length):
                size = {"M": CODON, "D": CODON, "I": 0, "G": length}[letter]
                yield _column(alignment, k, text[at : at + size], scoring)
                at, k = at + size, k + 1
    if alignment.stop_codon:
        yield Piece("   ", "   ", " * ", text[at : at + CODON], CODON)


def _column(alignment: ProteinAlignment, k: int, nucleotides: str, scoring) -> Piece:
    """Return the piece of a column of residue and codon, one of which may be missing."""
    residue, acid = alignment.residues[k], alignment.translation[k].upper()
    mark = _mark(residue, acid, nucleotides, scoring)
    return Piece(
        f" {residue} ", f" {mark} ", f" {acid} ", f"{nucleotides:-<3}", len(nucleotides),
        int(residue != "-"),
    )  # fmt: skip


def _mark(residue: str, acid: str, nucleotides: str, scoring: ProteinScoring) -> str:
    if "-" in (residue, acid) or acid == "!":
        return " "
    if residue == acid != "*":
        return "|"
    codon = scoring.codons[tuple(sequences.encode(nucleotides))]
    return "+" if scoring.substitution[codon, sequences.encode_protein(residue)[0]] > 0 else " "


def _around_intron(
    alignment: ProteinAlignment, text: str, at: int, length: int, phase: int, k: int, scoring
) -> Iterator[Piece]:
    """Yield an intron, and the parts of the codon that it splits."""
    end = at + phase + length
    rest = text[end : end + (CODON - phase) % CODON]
    whole = _column(alignment, k, text[at : at + phase] + rest, scoring) if phase else None
    if whole:
        yield _part(whole, 0, phase)
    sites = min(_SITE, length // 2)
    donor, acceptor = text[at + phase : at + phase + sites], text[end - sites : end]
    shown = f" {donor.lower()} <{length} nt, phase {phase}> {acceptor.lower()} "
    yield Piece(*[" " * len(shown)] * 3, shown, length)
    if whole:
        yield _part(whole, phase, CODON)


def _part(piece: Piece, first: int, past: int) -> Piece:
    """Return some columns of a codon's piece; the residue counts where it stands."""
    rows = (row[first:past] for row in piece[:4])
    return Piece(*rows, past - first, int(first <= 1 < past) * piece.residues)
