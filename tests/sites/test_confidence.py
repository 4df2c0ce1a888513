"""Confidence of introns and exons against its definition."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    InputError,
    ProteinSequence,
    Sequence,
    SplicedScoring,
    load_sites,
    protein_align,
    protein_sites,
    protein_tables_of,
    site_align,
    tables_of,
    with_confidence,
)
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import Locus
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import decode, reverse_complement
from gpu_tools.sites.api import SiteCase
from gpu_tools.sites.proteins.api import ProteinCase
from gpu_tools.sites.table import SiteTable
from tests import cases
from tests.oracles import confidence as oracle
from tests.oracles import proteins as oracle_proteins
from tests.oracles import sites as oracle_sites
from tests.sites import test_api as nucleotides
from tests.sites.proteins import test_api as proteins


def reading(base, result):
    """Return base and chain of a result in reading direction of its strand."""
    if result.strand == "+":
        return base, list(result.chain)
    turned = decode(reverse_complement(Sequence.from_text("b", base).codes))
    return turned, [(len(base) - end, len(base) - start) for start, end in result.chain]


def cdna_case(seed, ends="global", stops=None):
    """Return base, target, tables of both strands with many sites, and scoring."""
    rng = np.random.default_rng(seed)
    length = int(rng.integers(8, 15))
    base = cases.random_text(rng, length)
    # sites that score well, so that chains have introns
    table = nucleotides.with_gain(nucleotides.random_table(rng, length, 0.45), 3)
    tables = {"+-"[seed % 2]: table}
    scoring = SplicedScoring(2, -1, -1, ends=ends)
    return base, nucleotides.random_target(rng, base, int(rng.integers(3, 9))), tables, scoring


def protein_case(seed):
    """Return a case of a protein on one strand, and its scoring."""
    base, target, table, scoring = proteins.random_question(seed)
    if seed % 2:  # cheap introns
        introns = tuple(each._replace(penalty=each.penalty - 8) for each in table.introns)
        table = nucleotides.changed(table, introns=introns)
    bases = Sequence.from_text("b", base), ProteinSequence.from_text("t", target)
    return ProteinCase(*bases, {"+-"[seed % 2]: table}), scoring


@pytest.mark.parametrize("ends", ["global", "free-target"])
def test_the_confidence_of_cdnas_is_that_of_the_definition(ends):
    introns = 0
    for seed in range(120):
        base, target, tables, scoring = cdna_case(seed, ends)
        case = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), tables)
        (found,) = with_confidence([case], site_align([case], scoring, device="cpu"), scoring,
                                   device="cpu", threads=1)  # fmt: skip
        if not found.chain:
            assert found.intron_confidences is None
            continue
        text, chain = reading(base, found)
        terms = cases.oracle_scoring(scoring)
        sites = nucleotides.oracle_table(tables[found.strand])

        def best(exit_, entry, question=(text, target, sites, terms)):
            def is_wanted(other):
                return oracle.avoids(other, exit_, entry)

            return oracle_sites.best_score(*question, is_wanted)

        wanted = oracle.confidences(chain, found.score, best)
        assert (found.intron_confidences, found.exon_confidences) == wanted, seed
        introns += len(chain) - 1
    assert introns > 40


def test_the_confidence_of_proteins_is_that_of_the_definition():
    introns = 0
    for seed in range(150):
        case, scoring = protein_case(seed)
        aligned = protein_align([case], scoring, device="cpu", threads=1)
        (found,) = with_confidence([case], aligned, scoring, device="cpu", threads=1)
        if not found.chain:
            assert found.intron_confidences is None
            continue
        text, chain = reading(case.base.letters(), found)
        sites, terms = proteins.sites_of(case.tables[found.strand]), proteins.terms(scoring)

        target = case.target.letters()

        def best(exit_, entry, question=(text, target, sites, terms)):
            text, target, sites, terms = question
            left = {
                "inner_exit": {i: s for i, s in sites["inner_exit"].items() if i != exit_},
                "inner_entry": {i: s for i, s in sites["inner_entry"].items() if i != entry},
            }
            return oracle_proteins.best_score(text, target, sites | left, terms)

        wanted = oracle.confidences(chain, found.score, best)
        assert (found.intron_confidences, found.exon_confidences) == wanted, seed
        introns += len(chain) - 1
    assert introns > 40


EXONS = (
    "ATGTACATGTTCTGGAAGTCGACGTGCCGCGAACAGTGGTATGCAATCACTAATTCGAATATAACGGAAGAACAACC",
    "GCAGGTGCATATTTTAAAAAAGCTTGTAACATCCCCCATGGAGGTCATATGCACCGATTGGATGAACGCCCAT",
    "GCTAACCTTGTCATCACCTATACGATGCATTTGCAAATCGGCTGCGTAGCACGAGATGTATTCTGGTGTCCTGGATAA",
)
INTRONS = "GTAAGTATTTTCTTTTATTTATTTTACTAACTTTTTTCTTTGCAG", "GTAAGTTTTTATTTTATATTTTCTAACTTTTTTTTTCAG"
GENE = "TTTATTTATC" + EXONS[0] + INTRONS[0] + EXONS[1] + INTRONS[1] + EXONS[2] + "TTCTATTTTA"
PROTEIN = "MYMFWKSTCREQWYAITNSNITEEQPQVHILKKLVTSPMEVICTDWMNAHANLVITYTMHLQIGCVARDVFWCPG"


def gene_cases(kind, text=GENE):
    """Return cases of a gene of three exons, its mRNA or protein, and their scoring."""
    base, model = Sequence.from_text("b", text), load_sites("worm")
    if kind == "protein":
        scoring = ProteinScoring(load_matrix("BLOSUM62"))
        tables = protein_tables_of(base, protein_sites(model), scoring)
        return [ProteinCase(base, ProteinSequence.from_text("t", PROTEIN), tables)], scoring
    scoring = SplicedScoring(ends="free-target")
    tables = tables_of(base, model, ends=scoring.ends, reading=kind)
    return [SiteCase(base, Sequence.from_text("t", "".join(EXONS)), tables)], scoring


def aligned(question, scoring, **options):
    align = protein_align if isinstance(scoring, ProteinScoring) else site_align
    return with_confidence(question, align(question, scoring), scoring, **options)


@pytest.mark.parametrize("kind", ["protein", "any", "complete"])
def test_confidence_does_not_depend_on_the_strand_and_is_kept(kind):
    (found,) = aligned(*gene_cases(kind))
    assert len(found.chain) == 3
    assert (len(found.intron_confidences), len(found.exon_confidences)) == (2, 3)
    assert 0 < min(found.intron_confidences) == found.min_confidence
    assert max(found.intron_confidences + found.exon_confidences) <= found.score
    kept = found.moved(Locus("r", 100, 100 + len(GENE), 9000))
    assert (kept.base, kept.min_confidence) == ("r", found.min_confidence)
    turned = decode(reverse_complement(Sequence.from_text("b", GENE).codes))
    (mirrored,) = aligned(*gene_cases(kind, turned))
    assert mirrored.strand == "-"
    assert mirrored.intron_confidences == found.intron_confidences
    assert mirrored.exon_confidences == found.exon_confidences


def test_closing_a_site_is_aligning_without_it():
    (case,), scoring = gene_cases("any")
    (found,) = aligned([case], scoring)
    donor, acceptor = found.chain[0][1], found.chain[1][0]
    left = []
    for names in (("donors",), ("acceptors",)):
        table = case.tables["+"]
        closed = {"donors": donor, "acceptors": acceptor}
        lists = {n: getattr(table, n).without(closed[n]) if n in names else getattr(table, n)
                 for n in closed}  # fmt: skip
        table = SiteTable(table.first, lists["acceptors"], lists["donors"], table.last,
                          table.introns)  # fmt: skip
        (other,) = site_align([replace(case, tables={"+": table})], scoring)
        left.append(other.score)
    assert found.intron_confidences[0] == found.score - max(left)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("kind", ["protein", "any"])
def test_the_locus_is_the_span_and_a_flank(kind, turned):
    """Cut out of a longer base, with the sites of the flank and penalties that rise with length."""
    text = "CTTCTAAGAG" * 30 + GENE + "CTTCTAAGAG" * 25
    text = decode(reverse_complement(Sequence.from_text("b", text).codes)) if turned else text
    (case,), scoring = gene_cases(kind, text)
    align = protein_align if kind == "protein" else site_align
    (found,) = align([case], scoring)
    cut = with_confidence([case], [found], scoring, flank=40)[0]
    low, high = interval_of(found)
    locus = Locus("b", low - 40, high + 40, len(text))
    base = Sequence(locus.name, case.base.codes[low - 40 : high + 40])
    tables = {found.strand: case.tables[found.strand]}
    start = low - 40 if found.strand == "+" else len(text) - high - 40
    part = replace(case, base=base, tables={
        s: t.part(start, start + len(base)) for s, t in tables.items()})  # fmt: skip
    assert align([part], scoring)[0].score == found.score
    own = found.changed(chain=tuple((a - low + 40, b - low + 40) for a, b in found.chain),
                        base_length=len(base))  # fmt: skip
    whole = with_confidence([part], [own], scoring, flank=None)[0]
    assert cut.chain == found.chain
    assert cut.intron_confidences == whole.intron_confidences
    wide = with_confidence([case], [found], scoring, flank=None)[0]
    assert all(a <= b for a, b in zip(
        wide.intron_confidences, cut.intron_confidences, strict=True))  # fmt: skip


def test_residues_that_are_left_out_stay_so():
    (case,), scoring = gene_cases("protein")
    (plain,) = protein_align([case], scoring)
    longer = replace(case.target, codes=np.append(case.target.codes, case.target.codes[1:30]))
    shorter = plain.changed(target_length=len(longer))
    (wanted,) = with_confidence([case], [plain], scoring)
    (found,) = with_confidence([replace(case, target=longer)], [shorter], scoring)
    # without the points of the stop codon, which an end that is left out has not
    assert found.intron_confidences[0] == pytest.approx(wanted.intron_confidences[0], abs=18)


def test_an_exon_without_introns_is_worth_its_score():
    (case,), scoring = gene_cases("any", "TTTATTTATC" + "".join(EXONS) + "TTCTATTTTA")
    (found,) = aligned([case], scoring)
    assert found.intron_confidences == ()
    assert found.exon_confidences == (found.score,) == (found.min_confidence,)


def test_a_batch_gives_what_single_cases_give(monkeypatch):
    from gpu_tools.sites import confidence

    (one,), scoring = gene_cases("any")
    turned = decode(reverse_complement(Sequence.from_text("b", GENE).codes))
    (two,), _ = gene_cases("any", turned)
    monkeypatch.setattr(confidence, "_AT_A_TIME", 3 * len(GENE))
    done = []
    found = aligned([one, two, one], scoring, progress=done.append)
    assert [each.intron_confidences for each in found] == [found[0].intron_confidences] * 3
    assert len({each.strand for each in found}) == 2
    assert sum(done) == 3 * 5 * len(GENE) * len(one.target)


def test_what_has_no_such_sites_is_refused():
    (case,), scoring = gene_cases("any")
    (found,) = site_align([case], scoring)
    shifted = found.changed(chain=tuple((a + 1, b + 1) for a, b in found.chain))
    with pytest.raises(InputError, match="site that the case does not have"):
        with_confidence([case], [shifted], scoring)
    listed = Case(case.base, case.target, ExonSet.empty())
    with pytest.raises(InputError, match="listed candidates"):
        with_confidence([listed], [found], scoring)


@pytest.mark.cuda
@pytest.mark.parametrize("kind", ["cdna", "protein"])
def test_a_gpu_finds_the_same_confidences(kind):
    if kind == "protein":
        case, scoring = protein_case(1)
    else:
        base, target, tables, scoring = cdna_case(1)
        case = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), tables)
    align = protein_align if kind == "protein" else site_align
    found = align([case], scoring, device="cpu")
    one, other = (
        with_confidence([case], found, scoring, device=device) for device in ("cpu", "cuda")
    )
    assert one == other
    assert one[0].intron_confidences
