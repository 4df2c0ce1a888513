"""Turn the annotated records into one bgzipped FASTA and one GFF3 of checked coding segments.

Run as ``python resources/training/make.py FOLDER [--output FOLDER]``, FOLDER holding
``hg38.fa.gz``, ``refseq.hg38.gtf``, ``AF129756.embl.gz`` and ``Z69719.embl.gz``. Needs Biopython
and pysam. README.md beside this file names the sources and the rules.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pysam
from Bio import SeqIO
from Bio.bgzf import BgzfWriter
from Bio.Seq import Seq
from Bio.SeqFeature import BeforePosition, SeqFeature
from Bio.SeqRecord import SeqRecord

STOPS = {"TAA", "TAG", "TGA"}


@dataclass(frozen=True)
class Coding:
    """One coding sequence; segments are 0-based, half-open, rising, open ends those cut short."""

    record: str
    name: str
    strand: str
    segments: tuple[tuple[int, int], ...]
    phase: int = 0
    open_left: bool = False
    open_right: bool = False

    @property
    def open_start(self) -> bool:
        """Whether the transcript's first segment is cut short."""
        return self.open_left if self.strand == "+" else self.open_right

    @property
    def open_end(self) -> bool:
        """Whether the transcript's last segment is cut short."""
        return self.open_right if self.strand == "+" else self.open_left


def region(folder: Path) -> tuple[SeqRecord, list[Coding]]:
    """Read ENm008; its GTF counts from the region's first base."""
    with gzip.open(folder / "hg38.fa.gz", "rt") as stream:
        whole = SeqIO.read(stream, "fasta")
    text = "Homo sapiens hg38 chr16:186964-397118, ENCODE region ENm008"
    segments, strands = defaultdict(set), {}
    for line in (folder / "refseq.hg38.gtf").read_text("ascii").splitlines():
        fields = line.split("\t")
        if fields[2] in ("CDS", "stop_codon"):
            name = re.search(r'transcript_id "([^"]+)"', fields[8]).group(1)
            segments[name].add((int(fields[3]) - 1, int(fields[4])))
            strands[name] = fields[6]
    coding = [Coding("ENm008", n, strands[n], joined(segments[n])) for n in segments]
    return SeqRecord(whole.seq, "ENm008", description=text), coding


def joined(segments: set[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return segments in order, those that touch made one: GTF parts the stop codon off."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(segments):
        if merged and merged[-1][1] == start:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(merged)


def entry(path: Path) -> tuple[SeqRecord, list[Coding]]:
    """Read an EMBL entry; pseudogenes and features on other entries are left out."""
    with gzip.open(path, "rt") as stream:
        whole = SeqIO.read(stream, "embl")
    name = whole.id.partition(".")[0]
    features = [f for f in whole.features if f.type == "CDS" and "pseudo" not in f.qualifiers]
    coding = [described(name, feature) for feature in features]
    return SeqRecord(whole.seq.upper(), name, description=whole.description), coding


def described(record: str, feature: SeqFeature) -> Coding:
    """Return one CDS feature of an EMBL entry."""
    parts = sorted(feature.location.parts, key=lambda part: int(part.start))
    if any(part.ref for part in parts):
        raise SystemExit(f"{record}: a coding sequence with parts on another entry")
    qualifiers = feature.qualifiers
    label = qualifiers.get("locus_tag", qualifiers["product"])[0]
    return Coding(
        record,
        re.sub(r"[^A-Za-z0-9.-]", "_", label),
        "+" if feature.location.strand > 0 else "-",
        tuple((int(part.start), int(part.end)) for part in parts),
        int(qualifiers.get("codon_start", ["1"])[0]) - 1,
        isinstance(parts[0].start, BeforePosition),
        not str(parts[-1].end).isdigit(),
    )


def check(coding: Coding, sequence: Seq) -> None:
    """Stop unless the coding sequence reads through, from ATG to a stop where it is complete."""
    spliced = Seq("".join(str(sequence[start:end]) for start, end in coding.segments)).upper()
    spliced = spliced if coding.strand == "+" else spliced.reverse_complement()
    reading = str(spliced)[coding.phase :]
    codons = [reading[i : i + 3] for i in range(0, len(reading) - 2, 3)]
    inner = codons if coding.open_end else codons[:-1]
    sound = not STOPS & set(inner)
    sound &= coding.open_start or (coding.phase == 0 and codons[0] == "ATG")
    sound &= coding.open_end or (len(reading) % 3 == 0 and codons[-1] in STOPS)
    if not sound:
        raise SystemExit(f"{coding.record}: {coding.name} does not read through")


def gff3_lines(coding: Coding) -> Iterator[str]:
    """Yield the CDS lines of one coding sequence, in rising order."""
    order = coding.segments if coding.strand == "+" else coding.segments[::-1]
    phases, phase = {}, coding.phase
    for start, end in order:
        phases[start] = phase
        phase = (phase - (end - start)) % 3
    for k, (start, end) in enumerate(coding.segments):
        cut = (k == 0 and coding.open_left) or (k == len(coding.segments) - 1 and coding.open_right)
        note = ";partial=true" if cut else ""
        place = f"{start + 1}\t{end}\t.\t{coding.strand}\t{phases[start]}"
        yield f"{coding.record}\t.\tCDS\t{place}\tID=cds-{coding.name}{note}\n"


def write(records: list[SeqRecord], coding: list[Coding], folder: Path) -> None:
    """Write the two files and the FASTA's indexes."""
    with BgzfWriter(folder / "records.fa.gz") as stream:
        SeqIO.write(records, stream, "fasta")
    pysam.faidx(str(folder / "records.fa.gz"))
    regions = [f"##sequence-region {r.id} 1 {len(r)}\n" for r in records]
    lines = [line for one in coding for line in gff3_lines(one)]
    with open(folder / "annotation.gff3", "w", encoding="ascii", newline="\n") as stream:
        stream.writelines(["##gff-version 3\n", *regions, *lines])


def main() -> None:
    """Write records.fa.gz, its indexes and annotation.gff3."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    entries = (entry(options.source / f"{name}.embl.gz") for name in ("AF129756", "Z69719"))
    parts = [region(options.source), *entries]
    records = [record for record, _ in parts]
    sequences = {record.id: record.seq for record in records}
    coding = [one for _, several in parts for one in several]
    for one in coding:
        check(one, sequences[one.record])
    write(records, coding, options.output)


if __name__ == "__main__":
    main()
