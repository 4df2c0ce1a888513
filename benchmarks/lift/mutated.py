"""Copies of a genome with substitutions, indels and moved genes, and where its genes lie in them.

Run ``python -m benchmarks.lift.mutated GENOME ANNOTATION FOLDER``: writes ``free_P.fa`` and
``free_P.gff3`` with P per cent of nucleotides substituted and a tenth as many indels, ``kept_P``
where splice sites, start and stop codons stay, ``frame_P`` where indels of coding sequences are
whole codons, too, and ``moved_2`` with inversions, tandem copies and
genes at other places. An annotation in GTF gives GTF.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.genes import read_genes
from gpu_tools.formats.files import open_output, read_lines
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.genes import ReferenceGene, ReferenceTranscript
from gpu_tools.model.sequences import decode

SEED = 2611
PERCENT = 1, 5, 10, 20
INDELS, LONGER = 0.1, 0.5
"""Indels for each substitution, half of them deletions; the probability that one goes on."""
MOVED, MOVED_PERCENT, INVERSIONS, GENES_INVERTED = 20, 2, 5, 4
"""Genes that are copied, and that are moved; of inversions the number and the loci of each."""
FLANK = 60
"""Nucleotides on each side of a locus that go with it."""
_NUCLEOTIDES = np.frombuffer(b"ACGT", np.uint8)
_COMPLEMENT = bytes.maketrans(b"ACGTN", b"TGCAN")
_NAMES = re.compile(r'((?:ID|Parent)=)([^;]+)|((?:gene|transcript)_id ")([^"]+)')


class Piece(NamedTuple):
    """An interval of the reference, how it is read in the copy, and whether it is a second copy."""

    record: str
    start: int
    end: int
    reverse: bool = False
    copy: int = 0

    @property
    def length(self) -> int:
        """Nucleotides."""
        return self.end - self.start


class Copied(NamedTuple):
    """Where a line of the reference lies in the copy; `copy` as in `Piece`."""

    record: str
    start: int
    end: int
    reverse: bool
    copy: int


class Protected(NamedTuple):
    """Which nucleotides of a record stay, and behind which ones nothing is inserted."""

    stays: NDArray[np.bool_]
    together: NDArray[np.bool_]  # with the following nucleotide
    in_frame: NDArray[np.bool_]  # what is deleted or inserted there is whole codons

    @classmethod
    def none(cls, length: int) -> Protected:
        """Return one that protects nothing."""
        return cls(*np.zeros((3, length), bool))


def protect(
    transcripts: Iterable[ReferenceTranscript], length: int, frames: bool = False
) -> Protected:
    """Protect two nucleotides at each end of an intron, start and stop codons, and frames."""
    own = Protected.none(length)
    for one in transcripts:
        for (_, end), (start, _) in zip(one.exons, one.exons[1:], strict=False):
            own.stays[end : end + 2] = own.stays[start - 2 : start] = True
            own.together[end - 1 : end + 1] = own.together[start - 2 : start] = True
        coding = np.concatenate([np.arange(s.start, s.end) for s in one.coding] or [[]])
        positions = np.sort(coding.astype(int))
        for codon in (positions[:3], positions[-3:]):
            own.stays[codon] = True
            own.together[codon[:-1]] = True
        own.in_frame[positions if frames else positions[:0]] = True
    own.together[:-1] |= own.in_frame[:-1] != own.in_frame[1:]
    return own


class MutatedRecord:
    """A record of pieces with point mutations, and the way from the reference to it."""

    def __init__(self, name: str, pieces: list[Piece], genome: dict[str, bytes]):
        self.name, self.pieces = name, pieces
        self._offsets = np.concatenate([[0], np.cumsum([piece.length for piece in pieces])])
        parts = [genome[p.record][p.start : p.end] for p in pieces]
        parts = [
            part.translate(_COMPLEMENT)[::-1] if piece.reverse else part
            for part, piece in zip(parts, pieces, strict=True)
        ]
        self._text = np.frombuffer(b"".join(parts), np.uint8)
        self._alive = self._at = np.arange(len(self._text))
        self.text = self._text

    def mutate(self, rng, rate: float, protected: Protected) -> None:
        """Substitute a part of the nucleotides, and insert and delete some."""
        n, free = len(self._text), ~protected.stays
        text = self._text.copy()
        changed = np.flatnonzero((rng.random(n) < rate) & free & np.isin(text, _NUCLEOTIDES))
        codes = np.searchsorted(_NUCLEOTIDES, text[changed])
        text[changed] = _NUCLEOTIDES[(codes + rng.integers(1, 4, len(changed))) % 4]
        alive = np.ones(n, bool)
        for start in np.flatnonzero(rng.random(n) < rate * INDELS / 2):
            in_frame = protected.in_frame[start]
            end = start + rng.geometric(LONGER) * (3 if in_frame else 1)
            kept = protected.stays[start:end].any()
            if not kept and (protected.in_frame[start:end] == in_frame).all():
                alive[start:end] = False
        inserted = np.flatnonzero((rng.random(n) < rate * INDELS / 2) & ~protected.together)
        sizes = np.zeros(n, int)
        sizes[inserted] = rng.geometric(LONGER, len(inserted))
        sizes[protected.in_frame] *= 3
        # an insertion behind a nucleotide shifts what follows
        at = np.cumsum(alive) - alive + np.cumsum(sizes) - sizes
        self.text = _NUCLEOTIDES[rng.integers(0, 4, int(alive.sum() + sizes.sum()))]
        self._alive = np.flatnonzero(alive)
        self._at = at
        self.text[at[alive]] = text[alive]

    def place(self, k: int, start: int, end: int) -> Copied | None:
        """Return where an interval of a piece of the reference lies; None if all is deleted."""
        piece, offset = self.pieces[k], int(self._offsets[k])
        low, high = start - piece.start, end - piece.start
        if piece.reverse:
            low, high = piece.length - high, piece.length - low
        first, past = np.searchsorted(self._alive, [offset + low, offset + high])
        if first == past:
            return None
        begin, last = self._at[self._alive[[first, past - 1]]]
        return Copied(self.name, int(begin), int(last) + 1, piece.reverse, piece.copy)


class Mutated:
    """A copy of a genome."""

    def __init__(self, genome: dict[str, bytes], layout: dict[str, list[Piece]]):
        self.records = {n: MutatedRecord(n, pieces, genome) for n, pieces in layout.items()}
        self._index: dict[str, list[tuple[int, int, str, int]]] = {}
        for name, record in self.records.items():
            for k, piece in enumerate(record.pieces):
                row = piece.start, piece.end, name, k
                self._index.setdefault(piece.record, []).append(row)
        for rows in self._index.values():
            rows.sort()

    def places(self, record: str, start: int, end: int) -> Iterator[Copied]:
        """Yield where an interval of the reference lies, first of all itself, then its copies."""
        rows = self._index.get(record, [])
        upto = bisect_right(rows, (start, float("inf")))
        found = []
        for first, last, name, k in rows[max(0, upto - 2) : upto]:
            if first <= start and end <= last:
                place = self.records[name].place(k, start, end)
                found += [place] if place else []
        yield from sorted(found, key=lambda place: place.copy)

    def write(self, path: Path) -> None:
        """Write FASTA."""
        with open_output(path) as stream:
            for name, record in self.records.items():
                stream.write(f">{name}\n{record.text.tobytes().decode()}\n")


def truth(copy: Mutated, annotation: Path, gene_lines: set[int]) -> Iterator[str]:
    """Yield the lines of an annotation's genes as they are on a copy; copied genes twice."""
    rows = list(read_lines(annotation))
    if gff.is_gff3(annotation, rows):
        yield "##gff-version 3\n"
    for feature in gff.features(annotation, rows):
        if feature.location.line not in gene_lines:
            continue
        for place in copy.places(feature.record, *feature.interval):
            strand = {"+": "-", "-": "+"}[feature.strand] if place.reverse else feature.strand
            names = _renamed(feature.attributes) if place.copy else feature.attributes
            yield "\t".join(map(str, (
                place.record, feature.source, feature.type, place.start + 1, place.end,
                feature.score, strand, feature.phase, names,
            ))) + "\n"  # fmt: skip


def _renamed(attributes: str) -> str:
    """Return attributes whose IDs end in the suffix of copies."""

    def with_suffix(match: re.Match) -> str:
        key, names = match[1] or match[3], match[2] or match[4]
        return key + ",".join(f"{name}{COPY}" for name in names.split(","))

    return _NAMES.sub(with_suffix, attributes)


COPY = "_copy1"
"""What ends the IDs of second copies in the truth."""


def loci(genes: list[ReferenceGene], lengths: dict[str, int]) -> dict[str, list[list]]:
    """Return start, end and whether an mRNA is there, of genes that are apart from others."""
    found: dict[str, list[list]] = {name: [] for name in lengths}
    for gene in sorted(genes, key=lambda gene: (gene.record, gene.interval)):
        start = min(gene.interval[0], *(t.exons[0][0] for t in gene.transcripts)) - FLANK
        end = max(gene.interval[1], *(t.exons[-1][1] for t in gene.transcripts)) + FLANK
        start, end = max(start, 0), min(end, lengths[gene.record])
        own, coding = found[gene.record], any(one.coding for one in gene.transcripts)
        if own and start <= own[-1][1]:
            own[-1][1], own[-1][2] = max(own[-1][1], end), own[-1][2] or coding
        else:
            own.append([start, end, coding])
    return found


def rearranged(rng, genes: list[ReferenceGene], lengths: dict[str, int]) -> dict[str, list[Piece]]:
    """Return a genome of the same pieces, some copied behind themselves, moved and inverted."""
    layout = {name: [*_pieces(name, lengths[name], own)] for name, own in
              loci(genes, lengths).items()}  # fmt: skip
    coding = {(name, a, b) for name, own in loci(genes, lengths).items() for a, b, is_coding in own
              if is_coding}  # fmt: skip
    chosen = [sorted(coding)[k] for k in rng.permutation(len(coding))[: 2 * MOVED]]
    copied, moved = {*chosen[:MOVED]}, {*chosen[MOVED:]}
    taken = []
    for name, pieces in layout.items():
        kept = []
        for piece in pieces:
            key = piece[:3]
            if key in moved:
                taken.append(piece)
                continue
            kept += [piece] + [piece._replace(copy=1)] * (key in copied)
        layout[name] = kept
    names = [name for name, pieces in layout.items() if len(pieces) > 8] or [*layout]
    for _ in range(INVERSIONS):
        pieces = layout[names[rng.integers(len(names))]]
        size = 2 * GENES_INVERTED - 1
        k = int(rng.integers(1, max(2, len(pieces) - size - 1)))
        pieces[k : k + size] = [p._replace(reverse=not p.reverse) for p in pieces[k : k + size]][
            ::-1
        ]
    for piece in taken:
        pieces = layout[names[rng.integers(len(names))]]
        own = piece._replace(reverse=bool(rng.integers(2)))
        pieces.insert(int(rng.integers(len(pieces) + 1)), own)
    return layout


def _pieces(name: str, length: int, own: list[list]) -> Iterator[Piece]:
    at = 0
    for start, end, _ in own:
        if at < start:
            yield Piece(name, at, start)
        yield Piece(name, start, end)
        at = end
    if at < length:
        yield Piece(name, at, length)


class Reference(NamedTuple):
    """A genome and its annotation."""

    genome: dict[str, bytes]
    annotation: Path
    genes: list[ReferenceGene]
    lines: set[int]  # of genes, transcripts and their parts

    @classmethod
    def read(cls, genome: Path, annotation: Path) -> Reference:
        """Read both."""
        texts = {one.name: decode(one.codes).encode() for one in read_fasta(genome)}
        genes = read_genes(annotation, {name: len(text) for name, text in texts.items()}).genes
        lines = {
            line.line for gene in genes for one in gene.transcripts
            for line in (gene.feature, one.feature, *one.parts) if line is not None
        }  # fmt: skip
        return cls(texts, annotation, genes, lines)

    @property
    def lengths(self) -> dict[str, int]:
        """Nucleotides of each record."""
        return {name: len(text) for name, text in self.genome.items()}

    def protected(self, frames: bool = False) -> dict[str, Protected]:
        """Return what stays in the copies whose sites stay, and whose frames do."""
        own = {
            name: [t for g in self.genes if g.record == name for t in g.transcripts]
            for name in self.lengths
        }
        return {name: protect(own[name], n, frames) for name, n in self.lengths.items()}


def copies(reference: Reference, percents: tuple[int, ...] = PERCENT) -> Iterator[tuple]:
    """Yield name and `Mutated` of each copy."""
    plain = {name: [Piece(name, 0, length)] for name, length in reference.lengths.items()}
    nothing = {name: Protected.none(length) for name, length in reference.lengths.items()}
    every = {"free": nothing, "kept": reference.protected(), "frame": reference.protected(True)}
    for number, (series, protected) in enumerate(every.items()):
        for percent in percents:
            rng = np.random.default_rng([SEED, percent, number])
            copy = Mutated(reference.genome, plain)
            for name, record in copy.records.items():
                record.mutate(rng, percent / 100, protected[name])
            yield f"{series}_{percent}", copy
    rng = np.random.default_rng(SEED)
    copy = Mutated(reference.genome, rearranged(rng, reference.genes, reference.lengths))
    for record in copy.records.values():
        record.mutate(rng, MOVED_PERCENT / 100, Protected.none(len(record.text)))
    yield f"moved_{MOVED_PERCENT}", copy


def write(reference: Reference, folder: Path, percents: tuple[int, ...] = PERCENT) -> list[str]:
    """Write all copies and their truths, and return their names."""
    suffix = ".gtf" if reference.annotation.name.removesuffix(".gz").endswith("gtf") else ".gff3"
    names = []
    for name, copy in copies(reference, percents):
        copy.write(folder / f"{name}.fa")
        with open_output(folder / f"{name}{suffix}") as stream:
            stream.writelines(truth(copy, reference.annotation, reference.lines))
        names.append(name)
    return names


if __name__ == "__main__":
    given = Reference.read(Path(sys.argv[1]), Path(sys.argv[2]))
    print(*write(given, Path(sys.argv[3])), sep="\n")
