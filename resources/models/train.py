"""Train the model ``vertebrate`` from resources/training and write its JSON.

Run as ``python resources/models/train.py [--output FILE]``. It prints how models do on each
annotated record that were trained on all the other ones.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from gpu_tools.exons.model import model_from_dict
from gpu_tools.exons.training import train
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.scales import read_codon_usage
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence
from gpu_tools.model.json_model import model_to_json

HERE = Path(__file__).resolve().parent
# the repository's own benchmarks, wherever the script is started from
sys.path.insert(0, str(HERE.parents[1]))

from benchmarks.exons.evaluation import Ranking, folds, rank_probabilities, trained_on  # noqa: E402

TRAINING = HERE.parent / "training"
DEMO = HERE.parent / "demo"
NAME = "vertebrate"
SOURCE = (
    "human ENm008 (hg38 chr16:186964-397118, RefSeq), AF129756, Z69719, ten human loci aligned "
    "with mouse mRNAs, and human codon usage; resources/training"
)


def annotated_records() -> list[AnnotatedSequence]:
    """Read the records whose coding sequences their databases annotate."""
    return _joined(TRAINING / "records.fa.gz", TRAINING / "annotation.gff3")


def aligned_records() -> list[AnnotatedSequence]:
    """Read the demo's loci with the coding sequences that alignment finds in them."""
    return _joined(DEMO / "loci.fa.gz", TRAINING / "aligned.gff3")


def _joined(sequences: Path, annotation: Path) -> list[AnnotatedSequence]:
    coding = read_coding(annotation)
    return [AnnotatedSequence(s, coding[s.name]) for s in read_fasta(sequences)]


def line(label: str, ranking: Ranking, cutoff: float) -> str:
    """Return one line of the report."""
    found = ranking.found(cutoff)
    return (
        f"{label}: {found.sum()} of {len(found)} segments ({found.mean():.3f}), internal "
        f"{found[ranking.internal].mean():.3f}, {ranking.density(cutoff):.1f} candidates per kb "
        "and strand"
    )


def main() -> None:
    """Write the model and report its figures on standard error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=HERE / f"{NAME}.json")
    options = parser.parse_args()
    records, aligned = annotated_records(), aligned_records()
    usage = read_codon_usage(TRAINING / "codon_usage.tsv")
    content = train([*records, *aligned], NAME, SOURCE, usage=usage)
    options.output.write_text(model_to_json(content), encoding="ascii", newline="\n")
    cutoff = model_from_dict(content).log_min_probability
    rankings = []
    for held_out, others in folds(records):
        model = trained_on([*others, *aligned], usage=usage)
        rankings.append(rank_probabilities(held_out, model))
        print(line(f"{held_out.sequence.name} held out", rankings[-1], cutoff), file=sys.stderr)
    print(line("held out, together", Ranking.together(rankings), cutoff), file=sys.stderr)


if __name__ == "__main__":
    main()
