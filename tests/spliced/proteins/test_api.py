"""Proteins in list mode: equal to the definition, and alignments that re-score."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gpu_tools import ExonSet, InputError, ScoringError, Sequence
from gpu_tools.hardware.threads import CaseProgress
from gpu_tools.model.exon_set import ANY_PHASE
from gpu_tools.model.scoring import ProteinScoring, SubstitutionMatrix
from gpu_tools.model.sequences import ProteinSequence, decode, reverse_complement
from gpu_tools.spliced.proteins import cpu
from gpu_tools.spliced.proteins.api import ListedProteinCase, protein_spliced_align
from gpu_tools.splicing.proteins import walk
from tests import cases
from tests.oracles import listed_proteins as oracle
from tests.sites.proteins.test_api import (
    BLOSUM62,
    EXONS,
    INTRON,
    PROTEIN,
    edge_scoring,
    gene,
    random_protein,
    random_scoring,
    terms,
)


def random_exons(rng, length, count):
    """Return candidates of both strands, some with phases, some of one start or end."""
    starts = rng.integers(0, length, count)
    starts = np.where(rng.random(count) < 0.3, starts[0], starts)
    ends = np.minimum(starts + rng.integers(1, max(14, length // 6), count), length)
    again = rng.integers(0, count, count)
    twice = rng.random(count) < 0.3
    starts, ends = np.where(twice, starts[again], starts), np.where(twice, ends[again], ends)
    phases = np.where(rng.random(count) < 0.5, ANY_PHASE, rng.integers(0, 3, count))
    return ExonSet(
        starts, ends, rng.random(count) < 0.3, rng.integers(-4, 12, count).astype(float),
        phases=phases.astype(np.int8),
    )  # fmt: skip


def random_question(seed, longest=40, residues=8, most=9):
    """Return base, protein, candidates and scoring."""
    rng = np.random.default_rng([seed, 11])
    base = cases.random_text(rng, int(rng.integers(6, longest)))
    if seed % 4 == 0:
        at = int(rng.integers(0, len(base) - 3))
        base = base[:at] + "TAA" + base[at + 3 :]
    if seed % 5 == 0:
        base = base.replace("T", "N", 1)
    target = random_protein(rng, base, int(rng.integers(1, residues)))
    exons = random_exons(rng, len(base), int(rng.integers(1, most)))
    scoring = random_scoring(rng)
    weights = {"exon_weight": 0.7, "intron_penalty": int(rng.integers(-2, 6))}
    return base, target, exons, replace(scoring, **weights)


def candidates(exons, strand, length, scoring):
    """Return the candidates of a strand in the oracle's terms, by reading direction."""
    best = {}
    for k in np.flatnonzero(exons.reverse == (strand == "-")):
        start, end = int(exons.starts[k]), int(exons.ends[k])
        interval = (length - end, length - start) if strand == "-" else (start, end)
        listed = *interval, None if exons.phases[k] == ANY_PHASE else int(exons.phases[k])
        best[listed] = max(best.get(listed, exons.scores[k]), exons.scores[k])
    return [(*each, round(scoring.exon_weight * score)) for each, score in best.items()]


def of_strand(base, strand):
    return (
        decode(reverse_complement(Sequence.from_text("b", base).codes)) if strand == "-" else base
    )


def align(base, target, exons, scoring, **options):
    case = ListedProteinCase(
        Sequence.from_text("b", base), ProteinSequence.from_text("t", target), exons
    )
    (result,) = protein_spliced_align([case], scoring, device="cpu", **options)
    return result


def rescored(base, target, result, exons, scoring):
    """Recount the score of a result from its chain and its CIGAR."""
    m, strand = len(base), result.strand
    chain = [(s, e) if strand == "+" else (m - e, m - s) for s, e in result.chain]
    bonuses = {c[:3]: c[3] for c in candidates(exons, strand, m, scoring)}
    found = [
        max(bonuses[*exon, p] for p in (None, phase) if (*exon, p) in bonuses)
        for exon, phase in zip(chain, result.phases, strict=True)
    ]
    chain[-1] = chain[-1][0], chain[-1][1] - 3 * result.stop_codon
    aligned = target[result.target_start : result.target_end]
    known = terms(scoring) | {"penalty": scoring.intron_penalty}
    return oracle.rescore(of_strand(base, strand), aligned, chain, result.cigar, found, known)


def edge_question(seed):
    """Return base, protein, candidates and scoring, with costs and weights at their edges."""
    rng, (base, target, exons, _) = np.random.default_rng([seed, 3]), random_question(seed)
    penalty, weight = int(rng.choice([-3000, -3, 0, 4])), float(rng.choice([0, 0.7, 2000]))
    scoring = replace(edge_scoring(rng), exon_weight=weight, intron_penalty=penalty)
    return base, target, exons, scoring


# with the last four, cells of no chain rise above real ones, or leave 16 bits, if bounds are slack
@pytest.mark.parametrize(
    ("question", "seed"),
    [(random_question, seed) for seed in range(60)]
    + [(edge_question, seed) for seed in (*range(30), 938, 1177, 1583, 1875)],
)
def test_score_is_that_of_the_definition(question, seed):
    base, target, exons, scoring = question(seed)
    known = terms(scoring) | {"penalty": scoring.intron_penalty}
    scores = {
        strand: oracle.best_score(
            of_strand(base, strand), target, candidates(exons, strand, len(base), scoring), known
        )
        for strand in "+-"
    }
    found = [(score, strand == "+") for strand, score in scores.items() if score is not None]
    result = align(base, target, exons, scoring)
    assert result.score == max(found, default=(None,))[0], (seed, base, target)
    if found:
        assert result.strand == ("+" if max(found)[1] else "-")
        assert rescored(base, target, result, exons, scoring) == result.score


def test_larger_cases_rescore_and_wide_cells_give_the_same():
    for seed in range(8):
        base, target, exons, scoring = random_question(seed, 900, 150, 90)
        matrix = SubstitutionMatrix("large", BLOSUM62.letters, 3000 * BLOSUM62.scores)
        names = ("gap_open", "gap_extend", "frameshift", "stop", "intron_penalty")
        costs = {name: 3000 * getattr(scoring, name) for name in names}
        scores = scoring.exon_bonus(exons.scores)
        plain = align(base, target, replace(exons, scores=scores), replace(scoring, exon_weight=1))
        if plain.score is not None:
            weighted = replace(exons, scores=scores), replace(scoring, exon_weight=1)
            assert rescored(base, target, plain, *weighted) == plain.score, seed
        large = replace(scoring, matrix=matrix, exon_weight=3000, **costs)
        found = align(base, target, replace(exons, scores=scores), large)
        assert found.score == (None if plain.score is None else 3000 * plain.score), seed
        assert replace(found, score=plain.score) == plain


SCORING = ProteinScoring(BLOSUM62)


def on_strand(text, intervals, strand):
    """Return text and intervals of the forward strand that read so on a strand."""
    if strand == "+":
        return text, intervals
    return of_strand(text, "-"), [(len(text) - e, len(text) - s) for s, e in intervals]


def listed(*, stop=True, phases=(0, 2), strand="+"):
    """Return base and candidates of a gene of two exons, the second of phase 2."""
    text, flank = gene()
    second = flank + len(EXONS[0]) + len(INTRON)
    intervals = [
        (flank, flank + len(EXONS[0])), (second, second + len(EXONS[1]) - 3 * (not stop)),
    ]  # fmt: skip
    text, intervals = on_strand(text, intervals, strand)
    exons = ExonSet.from_intervals(intervals, strand)
    return text, replace(exons, phases=np.array(phases, np.int8)), intervals


@pytest.mark.parametrize("strand", ["+", "-"])
@pytest.mark.parametrize("stop", [True, False])
def test_a_protein_of_the_genome_is_found_in_full(strand, stop):
    text, exons, intervals = listed(stop=stop, strand=strand)
    result = align(text, PROTEIN, exons, SCORING)
    assert list(result.chain) == intervals
    assert (result.identity, result.coverage, result.n_exons) == (1.0, 1.0, 2)
    assert result.cigar == (("M", 15), ("U", len(INTRON)), ("M", 11))
    assert (result.phases, result.start_codon, result.stop_codon) == ((0, 2), True, stop)
    assert result.exon_scores == (0.0, 0.0)


@pytest.mark.parametrize("strand", ["+", "-"])
def test_a_first_candidate_that_spells_a_start_codon_with_its_intron_has_none(strand):
    first, second = "AT", "C" + EXONS[0][3:]
    begin = len("CC" + first + INTRON)
    text, intervals = on_strand(
        "CC" + first + INTRON + second + "CC", [(2, 4), (begin, begin + len(second))], strand
    )
    exons = ExonSet.from_intervals(intervals, strand)
    result = align(text, "I" + PROTEIN[1:15], exons, SCORING)
    assert list(result.chain) == intervals
    assert (result.translation[0], result.start_codon) == ("I", False)


def test_a_candidate_whose_phase_contradicts_the_chain_is_left_out():
    text, exons, intervals = listed(phases=(0, 1))
    assert align(text, PROTEIN, exons, SCORING).frameshifts > 0
    dear = replace(SCORING, frameshift=99)
    assert align(text, PROTEIN, exons, dear).chain == (intervals[0],)
    text, exons, _ = listed(phases=(2, 1))
    assert align(text, PROTEIN, exons, SCORING).score is None


def test_an_interval_with_and_without_a_phase_has_both_and_each_its_own_score():
    text, exons, intervals = listed(phases=(0, 1))
    both = ExonSet.concatenate([exons, ExonSet.from_intervals(intervals, scores=[-1, -2])])
    result = align(text, PROTEIN, both, replace(SCORING, exon_weight=2.0, frameshift=99))
    assert result.chain == tuple(intervals)
    assert (result.n_exons, result.exon_scores) == (2, (0.0, -2.0))


def test_many_cases_on_threads():
    text, exons, _ = listed()
    base, done = Sequence.from_text("b", text), []
    targets = [ProteinSequence.from_text(str(k), PROTEIN[: k + 1]) for k in range(9)]
    made = [ListedProteinCase(base, target, exons) for target in targets]
    options = {"device": "cpu", "progress": done.append}
    results = protein_spliced_align(made, SCORING, threads=2, **options)
    assert [r.target for r in results] == [t.name for t in targets]
    assert results == [protein_spliced_align([c], SCORING, device="cpu")[0] for c in made]
    assert sum(done) == sum(case.cells for case in made)


def test_a_sweep_in_parts_is_the_same_and_reported(monkeypatch):
    text, exons, _ = listed()
    expected = align(text, PROTEIN, exons, SCORING)
    monkeypatch.setattr(cpu, "CELLS_PER_CALL", 1)
    monkeypatch.setattr(walk, "CaseProgress", partial(CaseProgress, least=1))
    base, target = Sequence.from_text("b", text), ProteinSequence.from_text("p", PROTEIN)
    made, done = ListedProteinCase(base, target, exons), []
    (found,) = protein_spliced_align([made], SCORING, device="cpu", progress=done.append)
    assert replace(found, base=expected.base, target=expected.target) == expected
    assert sum(done) == made.cells
    assert len(done) > 1


def test_bad_input():
    text, exons, _ = listed()
    with pytest.raises(InputError, match="empty target; expected amino acids"):
        align(text, "", exons, SCORING)
    with pytest.raises(InputError, match="does not lie within the sequence"):
        align(text[:300], PROTEIN, exons, SCORING)
    with pytest.raises(ScoringError, match="free ends"):
        align(text, PROTEIN, exons, replace(SCORING, ends="free"))
    with pytest.raises(ScoringError, match="exon weight"):
        replace(SCORING, exon_weight=float("nan"))
    assert align(text, PROTEIN, ExonSet.empty(), SCORING).score is None
