"""Parts that several processes compute make the genes of one process."""

import random

import numpy as np
import pytest

from gpu_tools.annotate.api import (
    AnnotationPart,
    PartRun,
    Share,
    annotation_of,
    hits_of_part,
    read_hits,
    read_part,
    write_hits,
)
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import write_fasta
from tests.annotate.genomes import (
    annotate,
    cdnas,
    gene,
    genome,
    mutated,
    proteins,
    random_protein,
    random_text,
    reversed_text,
)

RNG = np.random.default_rng(40)
A, B = random_protein(RNG), random_protein(RNG)
GENE_A, GENE_B = gene(RNG, A), gene(RNG, B)
RECORDS = [
    genome(random_text(RNG, 700), GENE_A, random_text(RNG, 900), gene(RNG, mutated(RNG, A, 0.1)),
           random_text(RNG, 300)),
    genome(random_text(RNG, 400), name="chr2"),
    genome(random_text(RNG, 300), reversed_text(GENE_B), random_text(RNG, 600), name="chr3"),
]  # fmt: skip
TARGETS = [
    proteins(a=A, b=mutated(RNG, B), none=random_protein(RNG), a2=mutated(RNG, A)),
    cdnas(c=gene(RNG, A, 0)),
]
OPTIONS = AnnotationOptions(search="exhaustive", longest_gene=600)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("parts") / "genome.fa"
    write_fasta(path, RECORDS)
    return path


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Have tiles of four times the longest gene."""
    monkeypatch.setattr("gpu_tools.annotate.genome.TILE", 100)


def test_shares_hold_each_item_once_and_weigh_about_the_same():
    chosen = random.Random(41)
    for _ in range(300):
        weights = [chosen.randrange(1, 20) for _ in range(chosen.randrange(12))]
        of = chosen.randrange(1, 8)
        bounds = [Share(k, of).bounds(weights) for k in range(1, of + 1)]
        items = [item for first, last in bounds for item in range(first, last)]
        assert items == list(range(len(weights))), (weights, of)
        for first, last in bounds:
            assert sum(weights[first:last]) <= sum(weights) / of + max(weights, default=0)


def files_of_parts(path, folder, targets, tiles, options=OPTIONS):
    """Write the hits of all parts as processes of their own would, and return the files."""
    parts = [
        AnnotationPart(Share(t, targets), Share(g, tiles))
        for t in range(1, targets + 1) for g in range(1, tiles + 1)
    ]  # fmt: skip
    files = []
    for k, part in enumerate(parts):
        searched = read_part(path, part.tiles, options)
        found = hits_of_part(
            searched, TARGETS, options, part.targets, PartRun(device="cpu", threads=2)
        )
        files.append(folder / f"{k}.json")
        write_hits(files[-1], searched, TARGETS, options, part, found)
    return parts, files


@pytest.mark.parametrize(("search", "tiles"), [("exhaustive", 3), ("seeded", 1)])
def test_genes_of_parts_are_those_of_one_process(path, tmp_path, search, tiles):
    options = AnnotationOptions(search=search, longest_gene=600)
    parts, files = files_of_parts(path, tmp_path, 2, tiles, options)
    whole = GenomeRecords(RECORDS)
    found = read_hits(files[::-1], whole, TARGETS, options, parts)
    expected = annotate(RECORDS, *TARGETS, search=search, longest_gene=600)
    assert len(expected.genes) == 3
    assert annotation_of(whole, TARGETS, options, found, 2) == expected


def test_a_part_holds_its_tiles_alone(path):
    part = read_part(path, Share(3, 3), OPTIONS)
    assert sum(len(record) for record in part.genome.records) < sum(map(len, RECORDS)) / 2
    assert part.whole == GenomeRecords(RECORDS).summary
    nothing = read_part(path, Share(1, 50), OPTIONS)
    assert nothing.tiles == []
    assert hits_of_part(nothing, TARGETS, OPTIONS, Share(), PartRun(device="cpu")) == []


def test_parts_of_another_annotation_and_missing_ones_are_refused(path, tmp_path):
    searched, options = read_part(path, Share(), OPTIONS), OPTIONS
    parts = [AnnotationPart(Share(k, 2)) for k in (1, 2)]
    files = [tmp_path / f"{k}.json" for k in (1, 2)]
    for file, part in zip(files, parts, strict=True):
        write_hits(file, searched, TARGETS, options, part, [])
    whole = GenomeRecords(RECORDS)
    assert read_hits(files, whole, TARGETS, options, parts) == []
    with pytest.raises(InputError, match="no hits of targets 2/2, tiles 1/1"):
        read_hits(files[:1], whole, TARGETS, options, parts)
    with pytest.raises(InputError, match="expected each part once"):
        read_hits([files[0], *files], whole, TARGETS, options, parts)
    with pytest.raises(InputError, match="hits of another genome"):
        read_hits(files, GenomeRecords(RECORDS[:1]), TARGETS, options, parts)
    files[0].write_text(files[0].read_text()[:30])
    with pytest.raises(InputError, match="whole file of hits"):
        read_hits(files, whole, TARGETS, options, parts)
