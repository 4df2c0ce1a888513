"""The two ends of a protein's chain: points and features of start and stop codons."""

import subprocess

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import Sequence, decode_protein
from gpu_tools.model.translation import amino_acids
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.api import BEGIN, START, protein_sites, protein_tables_of
from gpu_tools.sites.table import BoundaryScores, SiteTable
from tests.oracles import proteins as oracle
from tests.programs import require
from tests.sites.proteins.test_api import (
    BLOSUM62,
    align,
    random_question,
    rescored,
    short_blocks,  # noqa: F401
    sites_of,
    terms,
)

MODEL = protein_sites(load_sites("vertebrate"))
CODING = "CATGTTGAAGCTCTGTGGGAACGCTGGCCCCTGGACGCTCTGGCGGACCTCTGGTTTCCTGACCCACAGTGG"
INTRON = "GTAAGTCTCCCACCGCCATCTATTACCATCACCTCTATCTTTCCTTTTTTTTTTTCAG"


@pytest.mark.parametrize("seed", range(40))
def test_many_first_entries_score_as_the_definition_says(seed, short_blocks):  # noqa: F811
    base, target, table, scoring = random_question(seed)
    rng = np.random.default_rng([seed, 3])
    listed = np.flatnonzero(rng.random(len(base) + 1) < 0.4)
    scores, kinds = rng.integers(-6, 20, len(listed)), np.zeros(len(listed), np.uint8)
    first = BoundaryScores.from_lists(len(base) + 1, table.first.usual, listed, scores, kinds)
    table = SiteTable(first, table.acceptors, table.donors, table.last, table.introns)
    expected = oracle.best_score(base, target, sites_of(table), terms(scoring))
    result = align(base, target, {"+": table}, scoring)
    assert result.score == expected
    if expected is not None:
        assert rescored(base, target, result, table, scoring) == expected


def translated(text):
    codes = Sequence.from_text("c", text).codes
    words = codes[: len(codes) // 3 * 3].reshape(-1, 3)
    return decode_protein(amino_acids()[tuple(words.T)])


def flanked(gene, rng):
    """Return a gene between nucleotides that lengthen no chain, and where it begins."""
    flank = "".join(rng.choice(["C", "CT", "TC"], 60))
    return flank + gene + "TAA" + flank, len(flank)


def aligned(base, protein, ends, **costs):
    scoring = ProteinScoring(BLOSUM62, ends=ends, **costs)
    tables = protein_tables_of(Sequence.from_text("b", base), MODEL, scoring, "+")
    result = align(base, protein, tables, scoring)
    assert rescored(base, protein, result, tables["+"], scoring) == result.score
    return result


@pytest.mark.parametrize("ends", ["global", "free-target"])
@pytest.mark.parametrize("exons", [("AT", "C"), ("ATG", ""), ("ATGCAT", "")])
def test_a_start_codon_counts_if_it_lies_in_the_first_exon(exons, ends):
    """Behind two nucleotides the exon and its intron spell ATG, which is not the chain's codon."""
    first, second = exons
    base, start = flanked(first + INTRON + second + CODING, np.random.default_rng(1))
    result = aligned(base, translated(first + second + CODING), ends)
    assert result.chain[0] == (start, start + len(first))
    assert result.start_codon == (len(first) >= 3)


def test_the_points_of_a_split_start_codon_are_those_of_any_begin():
    rng = np.random.default_rng(1)
    protein = translated("ATC" + CODING)
    bases = [flanked(first + CODING, rng)[0] for first in ("AT" + INTRON + "C", "ATC")]
    split, whole = (aligned(base, protein, "global") for base in bases)
    other = aligned(flanked("ATG" + CODING, rng)[0], protein, "global")
    pairs = BLOSUM62.table()
    m, i = (ord(letter) - ord("A") for letter in "MI")
    assert other.score - whole.score == START - BEGIN + int(pairs[m, i] - pairs[i, i])
    assert (split.n_chain, split.start_codon, whole.start_codon) == (2, False, False)


def test_a_start_codon_that_is_left_out_of_the_alignment_counts():
    gene = "ATG" + "GCT" * 3 + CODING
    base, start = flanked(gene, np.random.default_rng(2))
    result = aligned(base, translated(CODING), "global")
    assert result.chain[0][0] == start
    assert (result.cigar[0], result.start_codon) == (("D", 4), True)


def test_a_frameshift_behind_the_first_codon_leaves_its_points():
    base, start = flanked("ATG" + "C" + CODING, np.random.default_rng(3))
    result = aligned(base, "M" + translated(CODING), "global", frameshift=5)
    assert result.chain[0][0] == start
    assert (result.cigar[:2], result.start_codon) == ((("M", 1), ("F", 1)), True)


def random_gene(rng):
    """Return a base with a gene cut anywhere near its start, and a protein much like its own."""
    coding = str(rng.choice(["ATG", "ATG", "ATC"])) + CODING[: 3 * int(rng.integers(10, 24))]
    coding = coding[:3] + str(rng.choice(["", "", "A", "GC", "GCTGCT"])) + coding[3:]
    cut = int(rng.choice([1, 2, 3, 4, 5, 6, 31]))
    base, _ = flanked(coding[:cut] + INTRON + coding[cut:], rng)
    return base, translated(coding).replace("*", "A")[int(rng.choice([0, 0, 1, 2])) :]


def spliced(base, result):
    return "".join(base[start:end] for start, end in result.chain)


@pytest.mark.parametrize("seed", range(30))
def test_a_chain_with_a_start_codon_begins_with_it(seed):
    rng = np.random.default_rng([seed, 1])
    base, protein = random_gene(rng)
    ends = ("global", "free-target")[seed % 2]
    result = aligned(base, protein, ends, frameshift=int(rng.choice([0, 5, 23])))
    if result.start_codon:
        start, end = result.chain[0]
        assert end - start >= 3
        assert spliced(base, result).startswith("ATG")
        assert result.translation.replace("-", "")[0] in "Mm"
    if result.stop_codon:
        assert spliced(base, result)[-3:] in ("TAA", "TAG", "TGA")


def test_the_cds_of_gff3_translates_to_the_product(tmp_path):
    """Of all pairs of some genes and proteins, related or not, by another program."""
    require("gffread")
    made = [random_gene(np.random.default_rng([seed, 2])) for seed in range(9)]
    for name, texts in zip(("base", "protein"), zip(*made, strict=True), strict=True):
        fasta = (f">{name}{k}\n{text}\n" for k, text in enumerate(texts))
        (tmp_path / f"{name}.fa").write_text("".join(fasta))
    base, proteins, gff3, products = (
        tmp_path / name for name in ("base.fa", "protein.fa", "o.gff3", "o.aa")
    )
    command = f"spliced-align --base {base} --proteins {proteins} --site-model vertebrate --quiet"
    command += f" --device cpu --output {tmp_path}/o.tsv --alignments {gff3} --all-alignments"
    assert main([*command.split(), "--protein-sequences", str(products)]) == 0
    subprocess.run(["gffread", "-g", base, "-y", tmp_path / "y.aa", gff3], check=True)
    found, own = records(tmp_path / "y.aa"), records(products)
    lines = [line.split("\t") for line in gff3.read_text().splitlines() if line[0] != "#"]
    models = {line[8].split(";")[0][3:]: line[8] for line in lines if line[2] == "mRNA"}
    places = {line[8].split(";")[0][3:]: line[0] for line in lines if line[2] == "mRNA"}
    starts = {line[8].split("Parent=")[1] for line in lines if line[2] == "start_codon"}
    assert len(models) == len(own) == len(made) ** 2
    assert starts
    for name, attributes in models.items():
        product = own[name.removeprefix("mRNA:").rpartition(".")[0], places[name]]
        if "frameshift=" not in attributes:
            assert found[name].replace(".", "*") == product
        assert name not in starts or product[0] == "M"


def records(path):
    """Return the sequences of a FASTA file by name, those of products by target and base."""
    parts = (part.partition("\n") for part in path.read_text().split(">")[1:])
    named = ((head.split(), text.replace("\n", "")) for head, _, text in parts)
    return {
        (head[0], head[1].split(":")[0]) if len(head) > 1 else head[0]: text
        for head, text in named
    }  # fmt: skip
