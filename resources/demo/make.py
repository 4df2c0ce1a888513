"""Cut the demo's loci and clean the names of its mRNAs, from the original files.

Run as ``python resources/demo/make.py FOLDER [--output FOLDER]``, FOLDER holding
``sample.gen.fasta.gz`` and ``sample.cdna.fasta`` of the examples of Debian's sim4 package.
Needs Biopython and pysam. README.md beside this file defines the cut.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections.abc import Iterable
from pathlib import Path

import pysam
from Bio import SeqIO
from Bio.bgzf import BgzfWriter
from Bio.SeqRecord import SeqRecord

SOURCE_FLANK = 50_000
FLANK = 1_000
GENE_HEADER = re.compile(r"(\S+), start=(\d+), end=(\d+)")
MRNA_HEADER = re.compile(r"gi\|\d+\|ref\|(\S+)\| (.+)")


def locus(record: SeqRecord) -> SeqRecord:
    """Return the transcript's bounds with FLANK bases on both sides."""
    name, start, end = GENE_HEADER.fullmatch(record.description).groups()
    length = int(end) - int(start)
    if len(record) != length + 2 * SOURCE_FLANK:
        raise SystemExit(f"{name}: {len(record)} bases do not fit the bounds {start}-{end}")
    first = SOURCE_FLANK - FLANK
    text = f"Homo sapiens, transcript {start}-{end} (0-based half-open) +- {FLANK} bp"
    return SeqRecord(record.seq[first : first + length + 2 * FLANK], name, description=text)


def mrna(record: SeqRecord) -> SeqRecord:
    """Return the record with its accession as name and the rest as description."""
    name, text = MRNA_HEADER.fullmatch(record.description).groups()
    return SeqRecord(record.seq, name, description=text)


def write_bgzip(records: Iterable[SeqRecord], path: Path) -> None:
    """Write FASTA through bgzip, which keeps no time of day, and its .fai and .gzi indexes."""
    with BgzfWriter(path) as stream:
        SeqIO.write(records, stream, "fasta")
    pysam.faidx(str(path))


def main() -> None:
    """Write loci.fa.gz and mrnas.fa.gz with their indexes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent)
    options = parser.parse_args()
    with gzip.open(options.source / "sample.gen.fasta.gz", "rt") as stream:
        write_bgzip(map(locus, SeqIO.parse(stream, "fasta")), options.output / "loci.fa.gz")
    mrnas = SeqIO.parse(options.source / "sample.cdna.fasta", "fasta")
    write_bgzip(map(mrna, mrnas), options.output / "mrnas.fa.gz")


if __name__ == "__main__":
    main()
