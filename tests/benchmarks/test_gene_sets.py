"""Comparison of gene sets: counts by hand."""

import pytest

from benchmarks.annotate.gene_sets import CodingModel, levels, loci, models_of_gff


def model(*exons, strand="+", record="a"):
    return CodingModel(record, strand, exons)


ONE = model((10, 20), (30, 40), (50, 60))
OTHER = model((10, 20), (32, 40), (50, 60))
BESIDE = model((100, 120))


def test_loci_share_a_nucleotide_of_an_exon_on_one_strand():
    nested = model((22, 28))
    joining = model((39, 45), (110, 130))
    reverse = model((10, 20), strand="-")
    found = {frozenset(locus) for locus in loci([ONE, OTHER, BESIDE, nested, reverse])}
    assert found == {frozenset(g) for g in ([ONE, OTHER], [BESIDE], [nested], [reverse])}
    assert len(loci([ONE, BESIDE, joining])) == 1


def test_levels_count_exons_chains_and_loci():
    found = levels([OTHER, BESIDE, model((200, 210))], [ONE, BESIDE, BESIDE])
    assert found["exon"] == {
        "truth": 4, "found": 5, "sensitivity": 0.75, "precision": 0.6,
        "f1": pytest.approx(2 * 0.75 * 0.6 / 1.35, abs=1e-4),
    }  # fmt: skip
    assert found["chain"]["f1"] == 0
    assert (found["locus"]["truth"], found["locus"]["found"]) == (2, 3)
    assert found["locus"]["sensitivity"] == 0.5
    assert levels([ONE], [ONE])["chain"]["f1"] == 1


def test_transcripts_are_read_from_gff3():
    lines = [
        "##gff-version 3\n",
        "a\tx\tCDS\t31\t40\t.\t+\t0\tID=c;Parent=m\n",
        "a\tx\tCDS\t11\t20\t.\t+\t0\tID=c;Parent=m\n",
        "a\tx\tmRNA\t11\t40\t.\t+\t.\tID=m\n",
    ]
    assert models_of_gff(lines, "CDS", {}) == [model((10, 20), (30, 40))]
