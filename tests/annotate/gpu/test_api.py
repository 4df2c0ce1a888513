"""Annotation on CUDA and on the CPU gives the same genes, on a GPU.

It would take the simulator minutes: there `tests.sites.proteins.gpu` compares alignments, and
`tests.hardware.test_gpu_faults` sees that ``annotate`` takes the GPU.
"""

import numpy as np
import pytest

from gpu_tools.annotate.api import annotate_genome
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.hardware.device import simulated
from gpu_tools.sites.proteins import api
from tests.annotate.genomes import (
    cdnas,
    gene,
    genome,
    mutated,
    proteins,
    random_protein,
    random_text,
)

pytestmark = [
    pytest.mark.cuda, pytest.mark.skipif(simulated(), reason="takes the simulator minutes"),
]  # fmt: skip


@pytest.mark.parametrize("search", ["exhaustive", "seeded"])
def test_devices_give_the_same_genes(search, monkeypatch):
    rng = np.random.default_rng(6)
    protein = random_protein(rng)
    record = genome(random_text(rng, 2000), gene(rng, protein), random_text(rng, 2000))
    targets = [proteins(a=protein, b=mutated(rng, protein)), cdnas(c=gene(rng, protein, 0))]
    options = AnnotationOptions(search=search)
    expected = annotate_genome([record], targets, options, device="cpu")
    assert len(expected.genes) >= 1
    left_to_cpu = []
    monkeypatch.setattr(api, "align_on_cpu", lambda cases, *more: left_to_cpu.extend(cases) or [])
    assert annotate_genome([record], targets, options, device="cuda") == expected
    assert not left_to_cpu
