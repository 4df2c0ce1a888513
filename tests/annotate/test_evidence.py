"""Splice evidence in an annotation: introns that were seen are told; hits are kept apart."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import splice_evidence
from gpu_tools.annotate import tables
from gpu_tools.formats.tables import read_table
from tests.annotate.genomes import (
    annotate,
    cdnas,
    gene,
    genome,
    proteins,
    random_protein,
    random_text,
    reversed_text,
)

RNG = np.random.default_rng(4)
PROTEIN = random_protein(RNG)
GENE = gene(RNG, PROTEIN)
EXONS = GENE.split("GTAAGT")


def spliced() -> str:
    """Return the gene without its two introns."""
    return EXONS[0] + "".join(part.split("TTTTTTCAG", 1)[1] for part in EXONS[1:])


@pytest.mark.parametrize("kind", ["cDNA", "protein"])
@pytest.mark.parametrize("strand", "+-")
def test_introns_that_were_seen_are_told(kind, strand, tmp_path):
    before, behind = random_text(RNG, 900), random_text(RNG, 900)
    text = before + (GENE if strand == "+" else reversed_text(GENE)) + behind
    record = genome(text)
    start = 900 + (len(EXONS[0]) if strand == "+" else len(GENE) - len(EXONS[0]))
    length = GENE.index("TTTTTTCAG") + 9 - len(EXONS[0])
    first = (start, start + length) if strand == "+" else (start - length, start)
    (tmp_path / "j.bed").write_text(f"chr1\t{first[0]}\t{first[1]}\t.\t12\t{strand}\n")
    evidence = splice_evidence([record], [tmp_path / "j.bed"])
    plain = proteins(a=PROTEIN) if kind == "protein" else cdnas(a=spliced())
    targets = replace(plain, evidence=evidence)
    without, found = (annotate([record], each) for each in (plain, targets))
    (one,), (other,) = without.genes[0].transcripts, found.genes[0].transcripts
    assert one.alignment.chain == other.alignment.chain
    assert len(one.alignment.chain) == 3
    assert other.alignment.score > one.alignment.score
    assert (one.junction_counts, other.junction_counts) == (None, (12, 0))
    assert plain.setting() != targets.setting()
    for name, each, counts, seen in (
        ("a", without, [], None),
        ("b", found, ["junction_counts=12,0"], "1"),
    ):
        tables.write_gff3(tmp_path / f"{name}.gff3", each)
        tables.write_gene_table(tmp_path / f"{name}.tsv", each)
        text = (tmp_path / f"{name}.gff3").read_text()
        assert re.findall(r"junction_counts=[0-9,]+", text) == counts
        ((_, row),) = read_table(tmp_path / f"{name}.tsv", ("gene",), ("seen_introns",))
        assert row["seen_introns"] == seen


def test_evidence_of_a_part_has_the_key_of_all(tmp_path):
    """Processes that search parts of a genome read different pieces of one file."""
    record = genome(random_text(RNG, 400))
    (tmp_path / "j.bed").write_text("chr1\t10\t90\t.\t1\t+\nchr1\t210\t290\t.\t1\t+\n")
    part = genome(record.letters()[:200], name="chr1:1-200")
    whole, of_part = (splice_evidence([each], [tmp_path / "j.bed"]) for each in (record, part))
    assert whole.digest == of_part.digest
    assert len(whole.junctions["chr1"].starts) == 2
    assert len(of_part.junctions["chr1"].starts) == 1
    assert splice_evidence([part]).digest != of_part.digest
