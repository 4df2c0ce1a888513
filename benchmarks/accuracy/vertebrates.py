"""Accuracy of site mode on genes of other vertebrates, whose own coding sequences are mutated.

Run ``python -m benchmarks.accuracy.vertebrates FOLDER [RECORD.json]``, FOLDER as for
`accuracy_species`. The genes are AUGUSTUS's predictions, which are no annotation. Matrices and
weights are human and saw nothing of the orthologous region.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import record
from benchmarks.accuracy.bench_accuracy import OURS, OURS_BY, Aligner, row, trials_of
from benchmarks.accuracy.cases import annotated_records, genes
from benchmarks.accuracy.species import ANNOTATIONS, HUMAN, annotated_region

DIVERGENCES = (5, 15, 25, 35, 45)


def rows(folder: Path) -> list[dict]:
    """Return a row a species, mutation model, divergence and reading."""
    records, found = annotated_records(), []
    aligners = {f"{OURS}{name}": Aligner(records, *how) for name, how in OURS_BY.items()}
    for species in [name for name in ANNOTATIONS if name != HUMAN]:
        every = genes([annotated_region(folder, species)])
        for mutations in ("uniform", "biased"):
            for divergence in DIVERGENCES:
                trials = trials_of(every, divergence, mutations == "biased")
                level = {"species": species, "mutations": mutations, "divergence": divergence}
                found += [level | row(name, trials, of) for name, of in aligners.items()]
    return found


def main() -> None:
    """Print the rows; write the record."""
    found = rows(Path(sys.argv[1]))
    for line in found:
        print("\t".join(map(str, line.values())))
    if len(sys.argv) > 2:
        record.write(sys.argv[2], {"vertebrates": found})


if __name__ == "__main__":
    main()
