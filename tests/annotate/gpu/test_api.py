"""Annotation on CUDA and on the CPU gives the same genes, on a GPU or on numba's simulator."""

import numpy as np
import pytest

from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.hardware.device import simulated
from gpu_tools.splicing.proteins import walk
from tests.annotate.genomes import (
    cdnas,
    gene,
    genome,
    mutated,
    proteins,
    random_protein,
    random_text,
)

pytestmark = pytest.mark.cuda
RESIDUES, SPACE, INTRONS = (4, 3, 0) if simulated() else (120, 2000, 2)
# the simulator is slow: so short a target is not credible
MOST = 1.0 if simulated() else 0.001


@pytest.mark.parametrize("search", ["exhaustive", "seeded"] if not simulated() else ["exhaustive"])
def test_devices_give_the_same_genes(search, monkeypatch):
    rng = np.random.default_rng(6)
    protein = random_protein(rng, RESIDUES)
    text = gene(rng, protein, INTRONS)
    record = genome(random_text(rng, SPACE), text, random_text(rng, SPACE))
    targets = [proteins(a=protein)]
    if not simulated():
        targets = [proteins(a=protein, b=mutated(rng, protein)), cdnas(c=gene(rng, protein, 0))]
    options = AnnotationOptions(search=search, max_evalue=MOST)
    expected = annotate_genome([record], targets, options, device="cpu")
    assert len(expected.genes) >= 1
    left_to_cpu = []
    monkeypatch.setattr(
        walk, "align_largest_first", lambda cases, *more: left_to_cpu.extend(cases) or []
    )
    assert annotate_genome([record], targets, options, device="cuda") == expected
    assert not left_to_cpu
