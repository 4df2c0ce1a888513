"""Proteins in site mode: equal to the definition, and alignments that re-score."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.accuracy.cases import annotated_records, genes, translated
from gpu_tools import ScoringError, Sequence
from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.proteins import shown_lines
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.scoring import ProteinScoring, SubstitutionMatrix
from gpu_tools.model.sequences import (
    ProteinSequence,
    decode,
    decode_protein,
    encode,
    reverse_complement,
)
from gpu_tools.model.translation import amino_acids, stop_codons
from gpu_tools.sites.model import load_sites, shipped_sites
from gpu_tools.sites.proteins import api, limits
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)
from gpu_tools.sites.proteins.cpu import sweep as cpu
from gpu_tools.sites.table import CLOSED, BoundaryScores, IntronClass, SiteTable
from gpu_tools.splicing.bounds import LIMIT_INT16
from tests import cases
from tests.oracles import proteins as oracle
from tests.oracles import spliced as dna
from tests.sites.test_api import oracle_table, random_intron, random_marks

BLOSUM62 = load_matrix("BLOSUM62")
RESIDUES = list("ARNDCQEGHILKMFPSTWYVX")
STEPS = (3, 3, 3, 3, 4, 5, 6, 9, 10)
"""By how many nucleotides a random protein's codons follow each other."""
STOP = 26


def random_ends(rng, length, usual):
    """Return scores of first entries or last exits: `usual` at most boundaries."""
    scores = np.where(rng.random(length + 1) < 0.3, rng.integers(-3, 8, length + 1), usual)
    listed = np.flatnonzero(scores != usual)
    kinds = np.zeros(len(listed), np.uint8)
    return BoundaryScores.from_lists(length + 1, usual, listed, scores[listed], kinds)


def random_inner(rng, length, share=0.3):
    listed = np.flatnonzero(rng.random(length + 1) < share)
    kinds = rng.integers(0, 2, len(listed)).astype(np.uint8)
    scores = rng.integers(-3, 9, len(listed))
    return BoundaryScores.from_lists(length + 1, CLOSED, listed, scores, kinds)


def random_table(rng, length) -> SiteTable:
    introns = tuple(random_intron(rng, -2, 5, 12) for _ in range(rng.integers(1, 4)))
    first, last = (random_ends(rng, length, int(rng.integers(-5, 2))) for _ in range(2))
    acceptors, donors = (random_inner(rng, length) for _ in range(2))
    return SiteTable(first, acceptors, donors, last, introns, marks=random_marks(rng, length))


def random_scoring(rng) -> ProteinScoring:
    ends = str(rng.choice(["global", "free-target"]))
    costs = (int(n) for n in rng.integers(0, 8, 4) + (0, 0, 4, 4))
    return ProteinScoring(BLOSUM62, *costs, ends)


EDGES = ((0, 0, 1, 2, 5, 9), (0, 1, 11, 300, 9000, 10**6), (0, 10_000, 12_000, 20_000))
"""Costs of gaps, frameshifts and stop codons: around those of pairs, far apart, beyond 16 bits."""


def edge_scoring(rng) -> ProteinScoring:
    """Return a scoring whose costs are 0, equal, large, or a gap's dearer than a frameshift."""
    edges = EDGES[rng.choice(len(EDGES), p=[0.6, 0.2, 0.2])]
    costs = [int(cost) for cost in rng.choice(edges, 4)]
    scores = BLOSUM62.scores - int(rng.choice([0, 0, 12]))
    matrix = SubstitutionMatrix("edge", BLOSUM62.letters, scores)
    return ProteinScoring(matrix, *costs, str(rng.choice(["global", "free-target"])))


def random_protein(rng, base, length):
    """Return a mutated translation of parts of the base."""
    codes, at, letters = Sequence.from_text("b", base).codes, int(rng.integers(0, 3)), []
    while at + 3 <= len(codes) and len(letters) < length:
        letter = decode_protein(amino_acids()[tuple(codes[at : at + 3])][None])
        letters.append(letter if rng.random() > 0.2 and letter != "*" else rng.choice(RESIDUES))
        at += int(rng.choice(STEPS))
    return "".join(letters) or "M"


def random_question(seed):
    """Return base, protein, table and scoring."""
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, int(rng.integers(3, 34)))
    if seed % 5 == 0:
        base = base.replace("T", "N", 1)
    target = random_protein(rng, base, int(rng.integers(1, 8)))
    return base, target, random_table(rng, len(base)), random_scoring(rng)


def terms(scoring: ProteinScoring) -> dict:
    """Return a scoring in the oracle's terms."""
    words, acids = scoring.codons, amino_acids()

    def of(table, codon):
        return table[tuple(Sequence.from_text("c", codon).codes)]

    return {
        "open": scoring.gap_open, "extend": scoring.gap_extend, "shift": scoring.frameshift,
        "stop": scoring.stop, "free": scoring.free,
        "pair": lambda codon, x: int(scoring.substitution[of(words, codon), ord(x) - ord("A")]),
        "is_stop": lambda codon: of(acids, codon) == STOP,
    }  # fmt: skip


def sites_of(table: SiteTable) -> dict:
    return oracle_table(table) | {"usual": (table.first.usual, table.last.usual)}


def align(base, target, tables, scoring, threads=1, introns=()):
    protein = replace(ProteinSequence.from_text("t", target), introns=introns)
    case = ProteinCase(Sequence.from_text("b", base), protein, tables)
    (result,) = protein_align([case], scoring, threads=threads, device="cpu")
    return result


def rescored(base, target, result, table, scoring, introns=()):
    """Recount the score of a result from its chain, its CIGAR and the table."""
    m = len(base)
    if result.strand == "-":
        base = decode(reverse_complement(Sequence.from_text("b", base).codes))
    chain = [(s, e) if result.strand == "+" else (m - e, m - s) for s, e in result.chain]
    chain[-1] = chain[-1][0], chain[-1][1] - 3 * result.stop_codon
    aligned = target[result.target_start : result.target_end]
    inner = oracle.inner_places(introns, len(target))
    places = [at - 3 * result.target_start for at in inner]
    return oracle.rescore(
        base, aligned, chain, result.cigar, sites_of(table), terms(scoring), places
    )


@pytest.fixture
def short_blocks(monkeypatch):
    """Blocks of so few rows that exons, gaps and introns go from one to the next."""
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 3)
    monkeypatch.setattr(cpu, "_STATE_TO_BLOCK", 0)


@pytest.mark.parametrize("edge", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_score_is_that_of_the_definition(seed, edge, short_blocks):
    base, target, table, scoring = random_question(seed)
    scoring = edge_scoring(np.random.default_rng(seed)) if edge else scoring
    expected = oracle.best_score(base, target, sites_of(table), terms(scoring))
    result = align(base, target, {"+": table}, scoring)
    assert result.score == expected, (seed, base, target)
    if expected is not None:
        assert rescored(base, target, result, table, scoring) == expected


def random_introns(rng, residues):
    """Return places of introns, also where the protein has no residue."""
    return tuple(np.flatnonzero(rng.random(3 * residues + 1) < 0.2).tolist())


@pytest.mark.parametrize("edge", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_introns_of_the_target_have_the_points_of_the_definition(seed, edge, short_blocks):
    base, target, table, scoring = random_question(seed)
    rng = np.random.default_rng([seed, 3])
    scoring = edge_scoring(rng) if edge else scoring
    introns = random_introns(rng, len(target))
    own = sites_of(table), terms(scoring), introns
    expected = oracle.best_score(base, target, *own)
    result = align(base, target, {"+": table}, scoring, introns=introns)
    assert result.score == expected, (seed, base, target, introns)
    if expected is not None:
        assert rescored(base, target, result, table, scoring, introns) == expected


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_larger_cases_rescore_and_do_not_depend_on_blocks_or_threads(seed, placed, monkeypatch):
    rng = np.random.default_rng([seed, 7])
    base = cases.random_text(rng, int(rng.integers(100, 900)))
    target = random_protein(rng, base, int(rng.integers(1, 150)))
    tables = {strand: random_table(rng, len(base)) for strand in "+-"}
    scoring, introns = random_scoring(rng), random_introns(rng, len(target)) if placed else ()
    result = align(base, target, tables, scoring, threads=2, introns=introns)
    if result.score is not None:
        own = tables[result.strand], scoring, introns
        assert rescored(base, target, result, *own) == result.score
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", int(rng.integers(1, 60)))
    monkeypatch.setattr(cpu, "_STATE_TO_BLOCK", 0)
    assert align(base, target, tables, scoring, introns=introns) == result


def scaled(sites: BoundaryScores, factor: int) -> BoundaryScores:
    usual = sites.usual if sites.usual == CLOSED else factor * sites.usual
    return BoundaryScores.from_lists(
        sites.length, usual, sites.boundaries, factor * sites.scores, sites.kinds
    )


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_cells_of_large_scores_give_the_same(seed, narrow, monkeypatch):
    base, target, table, scoring = random_question(seed)
    plain = [intron._replace(rising=()) for intron in table.introns]
    table = SiteTable(table.first, table.acceptors, table.donors, table.last, plain)
    laid_out, bounds = [], []

    def columns_of(*arguments):
        laid_out.append(limits.columns_of(*arguments))
        return laid_out[-1]

    def cell_bounds(*arguments):
        bounds.append(cell_bounds_of(*arguments))
        return bounds[-1]

    cell_bounds_of = limits.cell_bounds
    monkeypatch.setattr(limits, "cell_bounds", cell_bounds)
    monkeypatch.setattr(cpu, "columns_of", columns_of)
    expected = align(base, target, {"+": table}, scoring)
    # as large as 16 bits hold with something taken off, or larger
    factor = (2**16 - 100) // (bounds[0].highest - bounds[0].lowest + 2) if narrow else 3000
    introns = tuple(IntronClass(i.kind, i.min_length, factor * i.penalty) for i in plain)
    wide = SiteTable(*(scaled(sites, factor) for sites in table.lists), introns)
    matrix = SubstitutionMatrix("large", BLOSUM62.letters, factor * BLOSUM62.scores)
    costs = ("gap_open", "gap_extend", "frameshift", "stop")
    large = replace(
        scoring, matrix=matrix, **{name: factor * getattr(scoring, name) for name in costs}
    )
    found = align(base, target, {"+": wide}, large)
    assert found.score == (None if expected.score is None else factor * expected.score)
    assert replace(found, score=expected.score) == expected
    assert laid_out[1].none.dtype == (np.int16 if narrow else np.int32)
    assert (laid_out[1].bias != 0) == (narrow and bounds[1].magnitude >= LIMIT_INT16)


INTRON = "GTAAGT" + "C" * 60 + "TTTTTTTCAG"
EXONS = "ATGGCTCTGTGGATGCGCCTCCTGCCCCTGCTGGCGCTGCTGGCCC", "TCTGGGGACCTGACCCAGCCGCAGCCTTTGTGAACTAA"
PROTEIN = "MALWMRLLPLLALLALWGPDPAAAFVN"


def gene(flank=200):
    text = cases.random_text(np.random.default_rng(5), flank)
    return text + EXONS[0] + INTRON + EXONS[1] + text, flank


def align_by_model(text, protein=PROTEIN, scoring=None):
    """Return the chain of a protein in a text by the model of vertebrates."""
    scoring = scoring or ProteinScoring(BLOSUM62)
    base = Sequence.from_text("b", text)
    tables = protein_tables_of(base, protein_sites(load_sites("vertebrate")), scoring)
    case = ProteinCase(base, ProteinSequence.from_text("t", protein), tables)
    return protein_align([case], scoring)[0]


@pytest.mark.parametrize("strand", ["+", "-"])
def test_a_protein_of_the_genome_is_found_in_full(strand):
    text, flank = gene()
    turn = strand == "-"
    result = align_by_model(dna.reverse_complement(text) if turn else text)
    second = flank + len(EXONS[0]) + len(INTRON)
    chain = [(flank, flank + len(EXONS[0])), (second, second + len(EXONS[1]))]
    turned = [(len(text) - e, len(text) - s) for s, e in chain]
    assert list(result.chain) == (turned if turn else chain)
    assert (result.identity, result.coverage, result.strand) == (1.0, 1.0, strand)
    assert result.translation == result.residues == PROTEIN
    assert result.start_codon
    assert result.stop_codon
    assert result.phases == (0, 2)
    assert result.cigar == (("M", 15), ("U", len(INTRON)), ("M", 11))


def test_the_proteins_of_real_genes_have_identity_1():
    """The shortest annotated genes with introns, the weights of the command."""
    spliced = [gene for gene in genes(annotated_records(), 300) if len(gene.exons) > 1]
    model, scoring = protein_sites(load_sites("vertebrate")), ProteinScoring(BLOSUM62)
    for own in sorted(spliced, key=lambda gene: len(gene.codes))[:6]:
        base = Sequence(own.name, own.codes)
        target = ProteinSequence.from_text(own.name, translated(own.coding))
        tables = protein_tables_of(base, model, scoring)
        (found,) = protein_align([ProteinCase(base, target, tables)], scoring, device="cpu")
        assert (found.strand, found.chain) == ("+", own.exons), own.name
        assert (found.identity, found.coverage) == (1.0, 1.0), own.name
        assert found.translation == found.residues == translated(own.coding), own.name


def test_frameshifts_and_stop_codons_inside_are_counted():
    text, flank = gene()
    at = flank + 12
    scoring = ProteinScoring(BLOSUM62, frameshift=8, stop=4)
    assert align_by_model(text[:at] + "A" + text[at:], scoring=scoring).frameshifts == 1
    stopped = align_by_model(text[: at + 3] + "TAA" + text[at + 6 :], scoring=scoring)
    assert (stopped.inner_stops, stopped.frameshifts) == (1, 0)
    assert stopped.translation.replace("*", stopped.residues[5]) == PROTEIN


def test_selenocysteine_pairs_with_its_codon():
    text, flank = gene()
    at = flank + 6
    changed = text[:at] + "TGA" + text[at + 3 :]
    scores = [align_by_model(changed, start + PROTEIN[5:]) for start in ("MAUWM", "MACWM")]
    assert scores[0].score - scores[1].score == 9 + ProteinScoring(BLOSUM62).stop
    assert scores[0].translation == scores[0].residues
    assert [(own.inner_stops, own.matches) for own in scores] == [(0, 27), (1, 26)]
    assert [own.positives for own in scores] == [27, 26]


def test_a_stop_of_the_protein_on_a_stop_codon_is_no_equal_residue():
    text, flank = gene()
    at = flank + 6
    base = Sequence.from_text("b", text[:at] + "TGA" + text[at + 3 :])
    scoring = ProteinScoring(BLOSUM62)
    found = align_by_model(decode(base.codes), "MA*WM" + PROTEIN[5:])
    assert found.translation == found.residues
    assert (found.inner_stops, found.matches, found.positives) == (1, 26, 26)
    lines = "\n".join(shown_lines(found, found, base, scoring)).splitlines()
    assert lines[2].split()[:4] == ["|", "|", "|", "|"]


def test_bad_input():
    base, target = Sequence.from_text("b", "ACGTACGT"), ProteinSequence.from_text("t", "MA")
    scoring, table = ProteinScoring(BLOSUM62), random_table(np.random.default_rng(1), 8)
    empty = ProteinSequence("t", target.codes[:0])
    with pytest.raises(InputError, match="empty target; expected amino acids"):
        protein_align([ProteinCase(base, empty, {"+": table})], scoring)
    with pytest.raises(InputError, match="sites of 8 bases; expected a table of 4"):
        short = Sequence("b", base.codes[:4])
        protein_align([ProteinCase(short, target, {"+": table})], scoring)
    with pytest.raises(InputError, match="strand"):
        protein_align([ProteinCase(base, target, {"x": table})], scoring)
    closed = SiteTable(np.full(9, CLOSED), table.acceptors, table.donors, table.last, table.introns)
    with pytest.raises(ScoringError, match="begin anywhere"):
        protein_align([ProteinCase(base, target, {"+": closed})], scoring)
    with pytest.raises(ScoringError, match="genetic code 7"):
        replace(scoring, genetic_code=7)
    with pytest.raises(ScoringError, match="penalties"):
        replace(scoring, stop=-1)


CODES = encode("CCATGGCTTGACCTAACC")


def model_table(ends="global", code=1):
    scoring = ProteinScoring(BLOSUM62, ends=ends, genetic_code=code)
    return api.protein_table(protein_sites(load_sites("vertebrate")), CODES, scoring)


def listed(scores):
    return dict(zip(scores.boundaries.tolist(), scores.scores.tolist(), strict=True))


def test_chains_begin_at_start_codons_and_end_before_stop_codons():
    made = model_table()
    assert (made.first.usual, listed(made.first)) == (api.BEGIN, {2: api.START})
    assert (made.last.usual, listed(made.last)) == (api.END, {8: api.STOP, 13: api.STOP})


def test_stop_codons_are_those_of_the_genetic_code():
    assert listed(model_table(code=2).last) == {13: api.STOP}, "TGA is W in code 2"


def test_free_ends_cost_nothing():
    made = model_table("free")
    assert (made.first.usual, made.last.usual) == (0, 0)


@pytest.mark.parametrize("ends", ["global", "free-target", "free"])
@pytest.mark.parametrize("code", [1, 2, 22, 23])
def test_ends_have_the_points_of_the_page(ends, code):
    base = cases.random_text(np.random.default_rng(code), 900)
    scoring = ProteinScoring(BLOSUM62, ends=ends, genetic_code=code)
    made = api.protein_table(protein_sites(load_sites("fly")), encode(base), scoring)
    first, last = oracle.end_points(base.replace("U", "T"), ends, stop_codons(code))
    assert made.first_entry.tolist() == first
    assert made.last_exit.tolist() == last


@pytest.mark.parametrize("name", shipped_sites())
def test_penalties_rise_as_the_page_says(name):
    model = load_sites(name)
    made = api.protein_table(protein_sites(model), CODES, ProteinScoring(BLOSUM62))
    classes = [
        (kind, least, 2 * cost, oracle.rising_lines(intron.rising))
        for kind, intron in enumerate(model.introns) for least, cost in intron.penalties
    ]  # fmt: skip
    assert [*made.introns] == classes
