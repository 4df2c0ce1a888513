"""Measure how the frequency of G and C in coding sequence follows their share around.

Run as ``python resources/training/gc_shifts.py``: for each position in the codon a logistic
regression of G or C, over the coding segments of the training records, on the logit of the share in
some bases around. The slopes are `gpu_tools.exons.training.Design.gc_shifts`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpu_tools.exons.model import GC_CLASSES, gc_classes
from gpu_tools.formats.exons.annotation import read_coding
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.annotation import AnnotatedSequence, strands_of

HERE = Path(__file__).parent
RECORDS = (
    (HERE / "records.fa.gz", HERE / "annotation.gff3"),
    (HERE.parent / "demo" / "loci.fa.gz", HERE / "aligned.gff3"),
)
WINDOWS = (5_000, 10_000, 20_000)
STEPS = 30


def observations(window: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each position in the codon the logits around and whether there is G or C."""
    found: list[list[tuple[float, bool]]] = [[], [], []]
    for sequences, annotation in RECORDS:
        coding = read_coding(annotation)
        for sequence in read_fasta(sequences):
            for strand in strands_of(AnnotatedSequence(sequence, coding[sequence.name])):
                share = GC_CLASSES[gc_classes(strand.codes, window)]
                logit = np.log(share / (1 - share))
                for start, end, phase in strand.readings:
                    for k in range(start, end):
                        strong = strand.codes[k] in (1, 2)
                        found[(k - start - phase) % 3].append((logit[k], strong))
    return [tuple(np.array(column) for column in zip(*rows, strict=True)) for rows in found]


def slope(logits: np.ndarray, strong: np.ndarray) -> float:
    """Return the slope of a logistic regression, by Newton's method."""
    design = np.column_stack([np.ones(len(logits)), logits])
    weights = np.zeros(2)
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-design @ weights))
        curvature = design.T @ (design * (chance * (1 - chance))[:, None])
        weights += np.linalg.solve(curvature, design.T @ (strong - chance))
    return float(weights[1])


def main() -> None:
    """Print the slopes for some windows."""
    for window in WINDOWS:
        print(window, *(f"{slope(*rows):.2f}" for rows in observations(window)), sep="\t")


if __name__ == "__main__":
    main()
