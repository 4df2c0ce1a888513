"""Write what the site model ``dictyostelium`` is trained on, from Debian's package ``spaln-data``.

Run as ``python resources/models/dictyostelium.py FOLDER OUTPUT``. FOLDER is the package's
``/usr/share/spaln/seqdb``. Into the folder OUTPUT go ``genome.fa`` and ``cds.fa``: the coding
sequences of cDNAs that read from ATG to a stop codon, as their headers say where these are.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.sequences import Sequence
from gpu_tools.model.translation import stop_codons

LEAST = 300
"""Nucleotides of a coding sequence."""


def coding_sequences(path: Path) -> Iterator[Sequence]:
    """Yield the coding sequences of cDNAs, ``/cds=p(FIRST,LAST)`` in their headers."""
    for cdna in read_fasta(path):
        place = re.search(r"/cds=p\((\d+),(\d+)\)", cdna.description)
        if not place:
            continue
        text = cdna.letters()[int(place[1]) - 1 : int(place[2])].upper()
        codons = [text[k : k + 3] for k in range(0, len(text), 3)]
        stops = [k for k, codon in enumerate(codons) if codon in stop_codons()]
        whole = len(text) % 3 == 0 and codons[0] == "ATG" and stops == [len(codons) - 1]
        if whole and len(text) >= LEAST and set(text) <= set("ACGT"):
            yield Sequence.from_text(cdna.name.split("|")[-1], text)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    options.output.mkdir(exist_ok=True)
    genome = read_fasta(options.folder / "dictdisc_g.gf.gz")
    write_fasta(options.output / "genome.fa", genome)
    coding = {one.name: one for one in coding_sequences(options.folder / "dictdisc.cf.gz")}
    write_fasta(options.output / "cds.fa", coding.values())


if __name__ == "__main__":
    main()
