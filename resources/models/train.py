"""Train the model ``vertebrate`` from the records of resources/training and write its JSON.

Run as ``python resources/models/train.py [--output FILE]``. It prints how the model does on the
records, as trained and with each record held out in turn.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpu_tools.exons.annotation import AnnotatedSequence
from gpu_tools.exons.model import model_from_dict, model_to_json
from gpu_tools.exons.training import Evaluation, cross_validate, evaluate, train
from gpu_tools.formats.coding import read_coding
from gpu_tools.formats.fasta import read_fasta

HERE = Path(__file__).parent
TRAINING = HERE.parent / "training"
NAME = "vertebrate"
SOURCE = "human ENm008 (hg38 chr16:186964-397118, RefSeq), AF129756 and Z69719; resources/training"


def annotated_records(folder: Path = TRAINING) -> list[AnnotatedSequence]:
    """Read the training records with their coding sequences."""
    coding = read_coding(folder / "annotation.gff3")
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(folder / "records.fa.gz")]


def line(label: str, result: Evaluation) -> str:
    """Return one line of the report."""
    return (
        f"{label}: {result.found} of {result.annotated} segments "
        f"({result.sensitivity:.3f}), {result.density:.1f} candidates per kb and strand"
    )


def main() -> None:
    """Write the model and report its figures on standard error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / f"{NAME}.json")
    options = parser.parse_args()
    records = annotated_records()
    content = train(records, NAME, SOURCE)
    options.output.write_text(model_to_json(content), encoding="ascii", newline="\n")
    model = model_from_dict(content)
    print(line("as trained", evaluate(records, model)), file=sys.stderr)
    held_out = cross_validate(records, model)
    for record, result in zip(records, held_out, strict=True):
        print(line(f"{record.sequence.name} held out", result), file=sys.stderr)
    total = sum(held_out, Evaluation(0, 0, 0, 0))
    print(line("held out, together", total), file=sys.stderr)


if __name__ == "__main__":
    main()
