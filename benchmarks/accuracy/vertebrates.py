"""Accuracy of site mode on genes of other vertebrates, whose own coding sequences are mutated.

Run ``python -m benchmarks.accuracy.vertebrates FOLDER [RECORD.json]``, FOLDER as for
`species`. The genes are AUGUSTUS's predictions, which are no annotation. Matrices and
weights are human and saw nothing of the orthologous region.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

from benchmarks import record
from benchmarks.accuracy.bench_accuracy import OURS, OURS_BY, Aligner, row, trials_of
from benchmarks.accuracy.cases import annotated_records, genes
from benchmarks.accuracy.species import ANNOTATIONS, HUMAN, annotated_region

DIVERGENCES = (5, 15, 25, 35, 45)


def rows(folder: Path, tiny: bool = False) -> Iterator[dict]:
    """Yield a row a species, mutation model, divergence and reading; tiny: only the first ones."""
    records, first = annotated_records(), slice(1 if tiny else None)
    aligners = {f"{OURS}{name}": Aligner(records, *how) for name, how in OURS_BY.items()}
    for species in [name for name in ANNOTATIONS if name != HUMAN][first]:
        every = genes([annotated_region(folder, species)])
        for mutations, divergence in [*product(("uniform", "biased"), DIVERGENCES)][first]:
            trials = trials_of(every, divergence, mutations == "biased")
            level = {"species": species, "mutations": mutations, "divergence": divergence}
            yield from (level | row(name, trials, of) for name, of in aligners.items())


def measure(folder: Path, tiny: bool = False) -> Iterator[tuple[str, list[dict]]]:
    """Yield all rows."""
    yield "vertebrates", list(rows(folder, tiny))


if __name__ == "__main__":
    record.main(measure, needs_folder=True)
