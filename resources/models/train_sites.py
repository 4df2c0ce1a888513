"""Train a site model and write its JSON.

Run as ``python resources/models/train_sites.py`` for the shipped model ``vertebrate``, or with
``--records FASTA --annotation GFF3 --name NAME --output FILE`` for another one; the annotation's
features CDS give the sites.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from gpu_tools.formats.exons.coding import read_coding
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.json_model import model_to_json
from gpu_tools.sites.training import train_sites

HERE = Path(__file__).parent
TRAINING = HERE.parent / "training"
SOURCE = "human ENm008 (hg38 chr16:186964-397118, RefSeq), AF129756 and Z69719; resources/training"


def annotated_records(records: Path, annotation: Path) -> list[AnnotatedSequence]:
    """Read sequences with their coding sequences."""
    coding = read_coding(annotation)
    return [AnnotatedSequence(s, coding.get(s.name, ())) for s in read_fasta(records)]


def main() -> None:
    """Write the model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=Path, default=TRAINING / "records.fa.gz")
    parser.add_argument("--annotation", type=Path, default=TRAINING / "annotation.gff3")
    parser.add_argument("--name", default="vertebrate")
    parser.add_argument("--source", default=SOURCE)
    parser.add_argument("--output", type=Path, default=HERE / "sites" / "vertebrate.json")
    options = parser.parse_args()
    records = annotated_records(options.records, options.annotation)
    content = train_sites(records, options.name, options.source)
    options.output.write_text(model_to_json(content), encoding="ascii", newline="\n")


if __name__ == "__main__":
    main()
