"""Train the site model ``vertebrate`` from resources/training and write its JSON.

Run as ``python resources/models/train_sites.py [--output FILE]``. For models of other species there
is ``gpu-tools sites train``; README.md tells how the shipped ones are made.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.json_model import model_to_json
from gpu_tools.sites.training import train_sites

HERE = Path(__file__).parent
TRAINING = HERE.parent / "training"
SOURCE = "human ENm008 (hg38 chr16:186964-397118, RefSeq), AF129756 and Z69719; resources/training"


def annotated_records() -> list[AnnotatedSequence]:
    """Read the training sequences with their coding sequences."""
    coding = read_coding(TRAINING / "annotation.gff3")
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(TRAINING / "records.fa.gz")]


def main() -> None:
    """Write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / "sites" / "vertebrate.json")
    options = parser.parse_args()
    content = train_sites(annotated_records(), "vertebrate", SOURCE)
    options.output.write_text(model_to_json(content), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
