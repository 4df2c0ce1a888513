"""What files show of a protein's alignment: PAF, parts of gene models, sequences, text."""

from __future__ import annotations

import numpy as np

from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.results import cigar_text
from gpu_tools.model.sequences import ProteinSequence, encode_protein, reverse_complement
from gpu_tools.model.sequences import Sequence as Nucleotides

UNKNOWN_QUALITY = 255
_CODON = 3


def exon_targets(alignment: ProteinAlignment) -> list[tuple[int, int]]:
    """Return the residues aligned in each exon, 0-based half-open, in transcript order.

    The residue of a codon that an intron splits belongs to the exon behind it.
    """
    parts, at = [], alignment.target_start
    start = at
    for letter, length in alignment.cigar:
        if letter in "NUV":
            parts.append((start, at))
            start, at = at, at + (letter != "N")
        elif letter in "MI":
            at += length
        elif letter == "G":
            at += 1
    return [*parts, (start, at)]


def model_attributes(alignment: ProteinAlignment) -> list[str]:
    """Return the attributes of a gene model that only a protein's has."""
    found = [
        f"identity={alignment.identity:.4f}",
        f"positive={alignment.positives / max(alignment.columns, 1):.4f}",
        f"coverage={alignment.coverage:.4f}",
    ]
    counts = {"frameshift": alignment.frameshifts, "in_frame_stop": alignment.inner_stops}
    return found + [f"{name}={count}" for name, count in counts.items() if count]


def protein_paf_line(alignment: ProteinAlignment) -> str:
    """Return a line of PAF, the protein as the query.

    Columns 10 and 11 count nucleotides, as miniprot does: three for each equal residue, and three
    for each column of the alignment. ``cg`` is the protein's CIGAR, ``np`` the number of pairs that
    score above 0, ``fs`` that of frameshifts, and ``st`` that of stop codons inside.
    """
    start = min(s for s, _ in alignment.chain)
    end = max(e for _, e in alignment.chain)
    # the stop codon behind the alignment is not part of it
    if alignment.stop_codon:
        start += _CODON * (alignment.strand == "-")
        end -= _CODON * (alignment.strand == "+")
    columns = (
        alignment.target, alignment.target_length, alignment.target_start, alignment.target_end,
        alignment.strand, alignment.base, alignment.base_length, start, end,
        _CODON * alignment.matches, _CODON * alignment.columns, UNKNOWN_QUALITY,
        f"AS:i:{alignment.score}", f"np:i:{alignment.positives}",
        f"fs:i:{alignment.frameshifts}", f"st:i:{alignment.inner_stops}",
        f"cg:Z:{cigar_text(alignment.cigar)}",
    )  # fmt: skip
    return "\t".join(map(str, columns)) + "\n"


def translated(alignment: ProteinAlignment) -> ProteinSequence:
    """Return the protein of a chain: its codons in the order of the alignment, X at frameshifts."""
    letters = (c.upper() for c in alignment.translation if c != "-")
    text = "".join("X" if c == "!" else c for c in letters)
    return ProteinSequence(alignment.target, encode_protein(text), place_of(alignment))


def coding_sequence(alignment: ProteinAlignment, base: Nucleotides, place: str) -> Nucleotides:
    """Return the nucleotides of a chain in the coordinates of `base`; `place` describes them."""
    joined = np.concatenate([base.codes[start:end] for start, end in sorted(alignment.chain)])
    codes = joined if alignment.strand == "+" else reverse_complement(joined)
    return Nucleotides(alignment.target, codes, place)


def place_of(alignment: ProteinAlignment) -> str:
    """Return base, exons and strand of a chain as text, 1-based and inclusive."""
    exons = ",".join(f"{start + 1}-{end}" for start, end in alignment.chain)
    return f"{alignment.base}:{exons}({alignment.strand})"
