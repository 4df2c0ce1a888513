"""Find the coding sequences of the demo's loci by exact alignment and write them as GFF3.

Run as ``python resources/training/align.py [--output FILE]``. For each locus the longest reading
frame of its mouse orthologue's mRNA is the target of site mode with chains that read through: the
exons lie between canonical splice sites, begin with ATG, end with a stop codon and have no other.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from gpu_tools import Sequence, SiteCase, load_sites, site_align, tables_of
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import decode, encode

HERE = Path(__file__).parent
DEMO = HERE.parent / "demo"
READING_FRAME = re.compile(r"(?=(ATG(?:(?!TAA|TAG|TGA)[ACGT]{3})*(?:TAA|TAG|TGA)))")


def coding_part(mrna: Sequence) -> Sequence:
    """Return the longest reading frame of an mRNA, its start and stop codon included."""
    frames = READING_FRAME.findall(decode(mrna.codes))
    return Sequence(mrna.name, encode(max(frames, key=len)))


def gff3_lines(locus: Sequence, found: SplicedAlignment) -> Iterator[str]:
    """Yield the CDS lines of one locus, in reading order."""
    phase = 0
    for start, end in sorted(found.chain, reverse=found.strand == "-"):
        place = f"{start + 1}\t{end}\t.\t{found.strand}\t{phase}"
        yield f"{locus.name}\t.\tCDS\t{place}\tID=cds-{locus.name};Target={found.target}\n"
        phase = (phase - (end - start)) % 3


def main() -> None:
    """Write aligned.gff3."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "aligned.gff3")
    output = parser.parse_args().output
    sites, lines = load_sites("vertebrate"), ["##gff-version 3\n"]
    loci, mrnas = (read_fasta(DEMO / f"{name}.fa.gz") for name in ("loci", "mrnas"))
    for locus, mrna in zip(loci, mrnas, strict=True):
        tables = tables_of(locus, sites, reading="complete")
        (found,) = site_align([SiteCase(locus, coding_part(mrna), tables)])
        lines += gff3_lines(locus, found)
    output.write_text("".join(lines), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
