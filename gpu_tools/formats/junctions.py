"""Splice evidence in files: introns that were seen, in many formats, and scores of splice sites."""

from __future__ import annotations

import logging
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import chain, islice, pairwise
from typing import NamedTuple

import numpy as np
import pysam
from numpy.typing import NDArray

from gpu_tools.errors import InputError, counted, did_you_mean
from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.intervals import bed_blocks
from gpu_tools.formats.files import (
    open_output,
    open_text,
    quiet_htslib,
    read_lines,
    without_compression,
)
from gpu_tools.formats.tables import Location, bed_fields, bed_line
from gpu_tools.model.evidence import (
    ACCEPTOR,
    DONOR,
    EvidenceWeights,
    PlacedScores,
    RecordJunctions,
    SpliceEvidence,
)
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence, decode

_log = logging.getLogger(__name__)
_ALIGNMENTS = (".bam", ".cram", ".sam")
_INTEGER = re.compile(r"-?[0-9]+")
_MULTIPLICITY = re.compile(r"(?:^|[;\s])mult=([0-9]+)")
_STAR_COLUMNS, _GFF_COLUMNS, _BED12 = 9, 9, 12
_STAR_STRANDS = {"0": None, "1": "+", "2": "-"}
_STRANDS = {"+": "+", "-": "-", ".": None}
_FORWARD_ENDS, _REVERSE_ENDS = {"GTAG", "GCAG", "ATAC"}, {"CTAC", "CTGC", "GTAT"}
_INTRON = {"intron", "so:0000188"}
_NOT_COUNTED = pysam.FUNMAP | pysam.FSECONDARY | pysam.FQCFAIL | pysam.FDUP
_ON_REFERENCE = {pysam.CMATCH, pysam.CDEL, pysam.CREF_SKIP, pysam.CEQUAL, pysam.CDIFF}
_CRAM_FIELDS = "required_fields=0x82e"
"""Flag, reference, position, CIGAR and tags: these need no reference sequence."""
_EXPECTED = (
    "introns in BED, GFF3, GTF, STAR's SJ.out.tab, SAM, BAM or CRAM, recognised by content and, of "
    "the last three, by suffix"
)


class SeenIntron(NamedTuple):
    """An intron in a file: 0-based half-open; `strand` is None if it is not known."""

    line: int | None
    record: str
    start: int
    end: int
    strand: str | None
    count: int


def splice_evidence(
    records: Iterable[Sequence],
    junctions: Iterable[str | os.PathLike] = (),
    splice_scores: str | os.PathLike | None = None,
    weights: EvidenceWeights | None = None,
    elsewhere: Mapping[str, int | None] | None = None,
) -> SpliceEvidence:
    """Read splice evidence on a genome.

    Parameters
    ----------
    records : iterable of Sequence
        The records, or loci of them, of which evidence is wanted.
    junctions : iterable of path-like
        Files of introns, with how often each was seen where the file says so: BED, of 12 columns
        the gaps between blocks; GFF3 or GTF, introns between exons of a transcript and features
        ``intron``; STAR's ``SJ.out.tab``; SAM, BAM or CRAM, whose operations N are counted.
    splice_scores : path-like, optional
        Scores of splice sites as minisplice writes them.
    weights : EvidenceWeights, optional
        What evidence is worth.
    elsewhere : mapping of str to int or None, optional
        Other records of the genome, and their lengths as far as they are known. Evidence on these
        is left out; on unknown ones it is an error.

    Returns
    -------
    SpliceEvidence

    Raises
    ------
    InputError
        If a file is in no such format, or names a record or a position that the genome lacks.

    Notes
    -----
    An intron that is seen on no known strand is taken to lie on the strand on which it begins with
    GT, GC or AT and ends with AG, AG or AC, else on both. Counts of one intron, also in several
    files, are added up.
    """
    places = _Places(records, elsewhere or {})
    found = defaultdict(list)
    for path in junctions:
        for record, *intron in places.introns(path, _introns(path)):
            found[record].append(intron)
        places.check_known(path)
    seen = {
        record: RecordJunctions.summed(*map(np.array, zip(*own, strict=True)))
        for record, own in found.items()
    }
    scores = None if splice_scores is None else _scores(splice_scores, places)
    return SpliceEvidence(seen, scores, weights or EvidenceWeights(), places.digest.hexdigest())


def read_junctions(paths: Iterable[str | os.PathLike]) -> dict[str, Counter]:
    """Return how often introns (start, end, strand) of each record were seen, by some files.

    Those of no known strand count for both.
    """
    found: dict[str, Counter] = defaultdict(Counter)
    for path in paths:
        for intron in _introns(path):
            for strand in intron.strand or "+-":
                found[intron.record][intron.start, intron.end, strand] += intron.count
    return found


class _Places:
    """The sequences of which evidence is wanted, and the records that evidence may name."""

    def __init__(self, records: Iterable[Sequence], elsewhere: Mapping[str, int | None]):
        self.lengths: dict[str, int | None] = dict(elsewhere)
        self.own: dict[str, list[tuple[Locus, Sequence]]] = defaultdict(list)
        self.named: dict[str, Locus] = {}
        self.has_loci, self.unknown, self.names_known = False, None, False
        self.digest = sha256()  # of all evidence, also elsewhere
        for sequence in records:
            locus = Locus.of(sequence)
            self.own[locus.record].append((locus, sequence))
            self.lengths[locus.record] = locus.record_length
            if not locus.is_all_of(sequence.name):
                self.has_loci = True
                self.named[sequence.name] = locus

    def moved(self, path, line: int | None, name: str, end: int) -> tuple[str, int] | None:
        """Return the record of a name and what is added to positions; None if it is elsewhere.

        `end` is the last boundary that is named.
        """
        shift, length = 0, self.lengths.get(name)
        if name not in self.lengths:
            if name not in self.named:
                if self.unknown is None or not self.has_loci:
                    self.unknown = InputError(
                        f"evidence on an unknown sequence {name!r}"
                        f"{did_you_mean(name, self.lengths)}",
                        path=path, line=line, expected="names of the genome's records",
                    )  # fmt: skip
                if self.has_loci:
                    return None
                raise self.unknown
            locus = self.named[name]
            name, shift, length = locus.record, locus.start, locus.end - locus.start
        if length is not None and end > length:
            raise InputError(
                f"evidence at {end} lies behind the end of {name}", path=path, line=line,
                expected=f"positions up to {length}",
            )  # fmt: skip
        self.names_known = True
        return (name, shift) if name in self.own else None

    def check_known(self, path) -> None:
        """Refuse a file all of whose names are unknown; beside loci there may be other records."""
        if self.unknown is not None and not self.names_known:
            raise self.unknown
        self.unknown, self.names_known = None, False

    def introns(self, path, seen: Iterable[SeenIntron]) -> Iterator[tuple]:
        """Yield record, start, end, whether it is reverse, and count of introns in the pieces."""
        for intron in seen:
            self.digest.update(repr(intron[1:]).encode())
            place = self.moved(path, intron.line, intron.record, intron.end)
            if place is None:
                continue
            (record, shift), start, end = place, intron.start, intron.end
            for locus, sequence in self.own[record]:
                low, high = start + shift - locus.start, end + shift - locus.start
                if low < 0 or high > len(sequence):
                    continue
                for strand in intron.strand or _strands_by_sites(sequence, low, high):
                    yield record, start + shift, end + shift, strand == "-", intron.count
                break

    def wants(self, record: str, positions: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which positions of a record lie in a piece, or at its ends."""
        wanted = np.zeros(len(positions), bool)
        for locus, _ in self.own[record]:
            wanted |= (locus.start <= positions) & (positions <= locus.end)
        return wanted


def _strands_by_sites(sequence: Sequence, start: int, end: int) -> str:
    """Return the strand on which an intron has the usual first and last nucleotides, or both."""
    ends = decode(
        np.concatenate([sequence.codes[start : start + 2], sequence.codes[end - 2 : end]])
    )
    if ends in _FORWARD_ENDS:
        return "+"
    return "-" if ends in _REVERSE_ENDS else "+-"


# Introns in files.


def _introns(path: str | os.PathLike) -> Iterator[SeenIntron]:
    """Yield the introns of a file; a warning says if there are none."""
    introns = _introns_by_format(path)
    first = next(introns, None)
    if first is None:
        _log.warning("%s holds no intron", path)
        return
    yield first
    yield from introns


def _introns_by_format(path: str | os.PathLike) -> Iterator[SeenIntron]:
    if without_compression(path).endswith(_ALIGNMENTS):
        return _of_alignments(path)
    lines = read_lines(path)
    head = list(islice(lines, gff.LINES_TO_RECOGNISE))
    return _format_of(path, head)(path, chain(head, lines))


def _format_of(path, head: list[tuple[int, str]]):
    """Return the reader of a file that begins with some lines."""
    if gff.has_version(head):
        return _of_features
    data = [
        (number, line) for number, line in head
        if line.strip() and not line.startswith(("#", "track", "browser"))
    ]  # fmt: skip
    for number, line in data:
        fields = line.rstrip().split("\t") if "\t" in line else line.split()
        if len(fields) == _STAR_COLUMNS and all(map(_INTEGER.fullmatch, fields[1:])):
            return _of_star
        if len(fields) == _GFF_COLUMNS and all(map(_INTEGER.fullmatch, fields[3:5])):
            return _of_features
        if 3 <= len(fields) <= _BED12 and all(map(_INTEGER.fullmatch, fields[1:3])):
            return _of_bed
        raise InputError("no format of introns", path=path, line=number, expected=_EXPECTED)
    return _of_bed  # an empty file has no intron


def _count(text: str | None) -> int:
    """Return a count that BED may have in its column of scores, 1 if that is no positive number."""
    try:
        return max(int(float(text or "")), 1)
    except (ValueError, OverflowError):
        return 1


def _of_bed(path, lines: Iterable[tuple[int, str]]) -> Iterator[SeenIntron]:
    """Yield the intervals of BED, of 12 columns the gaps between blocks."""
    for location, fields in bed_fields(path, lines):
        if not 3 <= len(fields) <= _BED12:
            raise location.error(counted(len(fields), "column"), "3 to 12 columns")
        interval = location.half_open_interval(fields[1], fields[2])
        _, score, strand = (fields[3:6] + [None] * 3)[:3]
        strand, count = _strand(location, strand or "."), _count(score)
        gaps = [interval]
        if len(fields) == _BED12:
            blocks = sorted(bed_blocks(location, interval, fields[9:]))
            gaps = [(a, b) for (_, a), (b, _) in pairwise(blocks) if a < b]
        for start, end in gaps:
            yield SeenIntron(location.line, fields[0], start, end, strand, count)


def _strand(location: Location, text: str, strands: Mapping = _STRANDS) -> str | None:
    if text not in strands:
        raise location.error(f"unknown strand {text!r}", ", ".join(strands))
    return strands[text]


def _of_star(path, lines: Iterable[tuple[int, str]]) -> Iterator[SeenIntron]:
    """Yield the introns of STAR's table; of all reads, those that map to one place and others."""
    for number, line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        location, fields = Location(path, number), line.split("\t")
        if len(fields) != _STAR_COLUMNS:
            raise location.error(
                counted(len(fields), "column"), "the 9 columns of STAR's SJ.out.tab"
            )
        start, end = location.closed_interval(fields[1], fields[2])
        strand = _strand(location, fields[3], _STAR_STRANDS)
        reads = location.integer(fields[6], "reads") + location.integer(fields[7], "reads")
        if reads > 0:
            yield SeenIntron(number, fields[0], start, end, strand, reads)


def _of_features(path, lines: Iterable[tuple[int, str]]) -> Iterator[SeenIntron]:
    """Yield features ``intron``, and the introns between exons of a transcript.

    An intron of several transcripts counts once. A feature's attribute ``mult`` is its count.
    """
    parts, coding, introns = defaultdict(list), defaultdict(list), {}
    for feature in gff.features(path, lines):
        place = feature.record, _strand(feature.location, feature.strand)
        line = feature.location.line
        if feature.type.strip('" ').lower() in _INTRON:
            found = _MULTIPLICITY.search(feature.attributes)
            key = (*place, *feature.interval)
            count = max(int(found[1]), 1) if found else 1
            introns[key] = introns.get(key, (line, 0))[0], introns.get(key, (line, 0))[1] + count
        elif feature.kind in (gff.EXON, gff.CODING):
            own = parts if feature.kind == gff.EXON else coding
            for parent in feature.parents:
                own[(*place, parent)].append((feature.interval, line))
    between = {}
    for key, exons in (coding | parts).items():
        spans = gff.merged(interval for interval, _ in exons)
        line = max(number for _, number in exons)
        for (_, start), (end, _) in pairwise(spans):
            between.setdefault((*key[:2], start, end), line)
    for (record, strand, start, end), (line, count) in introns.items():
        yield SeenIntron(line, record, start, end, strand, count)
    for (record, strand, start, end), line in between.items():
        if (record, strand, start, end) not in introns:
            yield SeenIntron(line, record, start, end, strand, 1)


def _of_alignments(path: str | os.PathLike) -> Iterator[SeenIntron]:
    """Yield the introns of alignments of reads, each with the number of reads that have it."""
    counts: Counter = Counter()
    try:
        with (
            quiet_htslib(),
            pysam.AlignmentFile(
                str(path), check_sq=False, format_options=[_CRAM_FIELDS.encode()]
            ) as reads,
        ):
            for read in reads.fetch(until_eof=True):
                if not read.flag & _NOT_COUNTED and read.cigartuples:
                    counts.update(_of_read(read))
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read as alignments ({error})", path=path, expected="SAM, BAM or CRAM"
        ) from None
    for (record, start, end, strand), count in counts.items():
        yield SeenIntron(None, record, start, end, strand, count)


def _of_read(read: pysam.AlignedSegment) -> Iterator[tuple[str, int, int, str | None]]:
    """Yield the introns of a read: operations N."""
    at, strand, is_known = read.reference_start, None, False
    for operation, length in read.cigartuples:
        if operation == pysam.CREF_SKIP:
            if not is_known:
                strand, is_known = _strand_of_read(read), True
            yield read.reference_name, at, at + length, strand
        if operation in _ON_REFERENCE:
            at += length


def _strand_of_read(read: pysam.AlignedSegment) -> str | None:
    """Return a transcript's strand by the tag XS, or by ts, which is relative to the read."""
    if read.has_tag("XS") and read.get_tag("XS") in ("+", "-"):
        return read.get_tag("XS")
    if read.has_tag("ts") and read.get_tag("ts") in ("+", "-"):
        return "+-"[(read.get_tag("ts") == "-") != read.is_reverse]
    return None


# Scores of splice sites.


_BLOCK = 1 << 22
"""Bytes of lines of scores that are read at a time: a genome has some per cent as many lines as
nucleotides."""
_TAB, _LINE_END, _MINUS, _ZERO, _COMMENT = b"\t\n-0#"
_MOST_DIGITS = 12


class _ScoreLines(NamedTuple):
    """Lines of scores: numbers of the first lines of runs of one contig, and columns."""

    names: dict[int, str]
    offsets: NDArray[np.int64]
    strands: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    scores: NDArray[np.int64]


def _scores(path: str | os.PathLike, places: _Places) -> dict[tuple[str, str, str], PlacedScores]:
    """Read scores by record, strand and kind: contig, offset, strand, D or A, score a line."""
    found: dict[tuple[str, str, str], list] = defaultdict(list)
    number = 1
    with open_text(path) as stream:
        while block := stream.read(_BLOCK) + stream.readline():
            places.digest.update(block)
            block = block if block.endswith(b"\n") else block + b"\n"
            lines = _columns(block) or _checked_columns(path, number, block)
            _place(path, number, lines, places, found)
            number += block.count(b"\n")
    if number == 1:
        _log.warning("%s holds no score", path)
    places.check_known(path)
    return {
        key: PlacedScores.highest(*(np.concatenate(each) for each in zip(*parts, strict=True)))
        for key, parts in found.items()
    }


def _columns(block: bytes) -> _ScoreLines | None:
    """Split lines into columns all at once; None if some line is not as it should be."""
    text = np.frombuffer(block, np.uint8)
    ends, tabs = np.flatnonzero(text == _LINE_END), np.flatnonzero(text == _TAB)
    starts = np.append(0, ends[:-1] + 1)
    if len(tabs) != 4 * len(ends):
        return None
    tabs = tabs.reshape(-1, 4)
    if (tabs[:, 0] <= starts).any() or (tabs[:, 3] >= ends).any() or _COMMENT in text[starts]:
        return None
    negative = text[tabs[:, 3] + 1] == _MINUS
    offsets = _numbers(text, tabs[:, 0] + 1, tabs[:, 1])
    scores = _numbers(text, tabs[:, 3] + 1 + negative, ends)
    strands, kinds = text[tabs[:, 1] + 1], text[tabs[:, 2] + 1]
    known = np.isin(strands, [*b"+-"]).all() and np.isin(kinds, [*b"DA"]).all()
    if offsets is None or scores is None or not known or (np.diff(tabs[:, 1:]) != 2).any():
        return None
    names = _names(block, text, starts, tabs[:, 0])
    return _ScoreLines(names, offsets, strands, kinds, np.where(negative, -scores, scores))


def _numbers(text, starts, ends) -> NDArray[np.int64] | None:
    """Return the numbers between places of a text; None if there is anything but digits."""
    widths, total = ends - starts, np.zeros(len(starts), np.int64)
    if widths.min(initial=1) < 1 or widths.max(initial=1) > _MOST_DIGITS:
        return None
    for k in range(widths.max(initial=0)):
        own = k < widths
        digits = text[starts[own] + k].astype(np.int64) - _ZERO
        if ((digits < 0) | (digits > 9)).any():
            return None
        total[own] = 10 * total[own] + digits
    return total


def _names(block: bytes, text, starts, ends) -> dict[int, str]:
    """Return names by the number of the first of some lines that have it."""
    widths = ends - starts
    new = np.append(True, widths[1:] != widths[:-1])
    for k in range(widths.max(initial=0)):
        both = np.flatnonzero(~new & (k < widths))
        new[both] = text[starts[both] + k] != text[starts[both - 1] + k]
    numbers = np.flatnonzero(new)
    return {int(n): block[starts[n] : ends[n]].decode() for n in numbers}


def _checked_columns(path, first: int, block: bytes) -> _ScoreLines:
    """Split lines into columns one by one; a line that is wrong is an error."""
    names, rows, last = {}, [], None
    for number, text in enumerate(block.decode(errors="replace").split("\n")[:-1], start=first):
        line = text.rstrip("\r")
        if not line.strip() or line.startswith("#"):
            # keeps its place: scores of no contig
            names[number - first], last = "", ""
            rows.append((0, ord("+"), ord(DONOR), 0))
            continue
        location, fields = Location(path, number), line.split("\t")
        if len(fields) != 5:
            raise location.error(
                counted(len(fields), "column"),
                "contig, offset, strand, D or A, and score, between tabs",
            )
        name, offset, strand, kind, score = fields
        if strand not in ("+", "-") or kind not in (DONOR, ACCEPTOR):
            raise location.error(f"strand {strand!r} and kind {kind!r}", "+ or -, and D or A")
        position = location.integer(offset, "offset")
        if position < 0:
            raise location.error(f"offset {position} lies before the sequence", "0 or more")
        if name != last:
            names[number - first], last = name, name
        rows.append((position, ord(strand), ord(kind), location.integer(score, "score")))
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return _ScoreLines(names, columns[0], *columns[1:3].astype(np.uint8), columns[3])


def _place(path, first: int, lines: _ScoreLines, places: _Places, found: dict) -> None:
    """Add the scores of lines that lie in the pieces of which they are wanted."""
    bounds = [*lines.names, len(lines.offsets)]
    for (start, name), past in zip(lines.names.items(), bounds[1:], strict=True):
        if not name:
            continue
        own = slice(start, past)
        last = start + int(lines.offsets[own].argmax())
        place = places.moved(path, first + last, name, int(lines.offsets[last]))
        if place is None:
            continue
        record, positions = place[0], lines.offsets[own] + place[1]
        wanted, scores = places.wants(record, positions), lines.scores[own].clip(-127, 127)
        for strand in "+-":
            for kind in (DONOR, ACCEPTOR):
                # also without any: other sites of a record with scores have none
                alike = (lines.strands[own] == ord(strand)) & (lines.kinds[own] == ord(kind))
                part = wanted & alike
                found[record, strand, kind].append((positions[part], scores[part].astype(np.int8)))


def write_evidence(
    evidence: Iterable[SpliceEvidence],
    junctions: str | os.PathLike | None,
    splice_scores: str | os.PathLike | None,
) -> None:
    """Write evidence on different pieces: BED of 6 columns, and scores as they are read.

    Either file may be None.
    """
    evidence = list(evidence)
    if junctions is not None:
        with open_output(junctions) as stream:
            for own in evidence:
                for record, seen in own.junctions.items():
                    columns = seen.starts, seen.ends, seen.counts, seen.reverse
                    for start, end, count, reverse in zip(*columns, strict=True):
                        strand = "-" if reverse else "+"
                        stream.write(bed_line(record, start, end, ".", count, strand))
    if splice_scores is not None:
        with open_output(splice_scores) as stream:
            for own in evidence:
                for (record, strand, kind), placed in (own.scores or {}).items():
                    for place, score in zip(placed.positions, placed.half_bits, strict=True):
                        stream.write(f"{record}\t{place}\t{strand}\t{kind}\t{score}\n")
