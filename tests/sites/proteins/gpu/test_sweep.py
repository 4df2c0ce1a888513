"""Proteins in site mode on CUDA and on the CPU give the same, on a GPU or on numba's simulator."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.hardware.device import simulated
from gpu_tools.model.scoring import ProteinScoring, SubstitutionMatrix
from gpu_tools.model.sequences import ProteinSequence
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.proteins.api import (
    ProteinCase,
    _result,
    protein_align,
    protein_sites,
    protein_tables_of,
)
from gpu_tools.splicing.best_chains import best_chains
from tests import cases
from tests.sites.proteins.test_api import (
    BLOSUM62,
    PROTEIN,
    edge_scoring,
    gene,
    random_introns,
    random_protein,
    random_scoring,
    random_table,
)
from tests.sites.test_junctions import with_junctions

pytestmark = pytest.mark.cuda
LONGEST_BASE, LONGEST_TARGET = (30, 9) if simulated() else (3000, 1300)
SEEDS = (5,) if simulated() else range(60)
BLOCK = 12 if simulated() else 96


def on_gpu(made: list[ProteinCase], scoring, least=(), **options):
    """Return results with `options` of the GPU's schedule, and how many cases the CPU was left.

    `least` are the scores from which on chains are wanted, all by default.
    """
    from gpu_tools.sites.gpu.batches import GpuCall
    from gpu_tools.sites.proteins.gpu.schedule import ProteinGpuOptions, align_on_gpus

    left = []

    def on_cpu(cases):
        left.extend(cases)
        return protein_align(cases, scoring, device="cpu")

    wanted = dict(zip(map(id, made), least, strict=False))

    def finish(case, strand, found):
        return _result(case, scoring, strand, found, wanted.get(id(case)))

    def is_traced(case, score):
        return score >= wanted.get(id(case), score)

    call = GpuCall(made, scoring, 1, finish, is_traced, on_cpu)
    return align_on_gpus(call, (0,), ProteinGpuOptions(**options)), len(left)


def random_case(rng, placed=False) -> ProteinCase:
    """Return a case whose introns have nucleotides; with `placed` the protein's gene has some.

    Two classes of introns are of a kind and have penalties that rise alike.
    """
    base = cases.random_text(rng, int(rng.integers(LONGEST_BASE // 2, LONGEST_BASE)))
    target = random_protein(rng, base, int(rng.integers(1, LONGEST_TARGET)))
    if rng.random() < 0.5:
        base = base.replace("N", "C")
    table = random_table(rng, len(base))
    introns = [each._replace(min_length=max(each.min_length, 1)) for each in table.introns]
    introns += [
        each._replace(min_length=each.min_length + 3, penalty=each.penalty - 2)
        for each in introns[-1:]
    ]
    table = table.changed(introns=introns)
    protein = ProteinSequence.from_text("t", target)
    if placed:
        protein = replace(protein, introns=random_introns(rng, len(target)))
    return ProteinCase(Sequence.from_text("b", base), protein, {"+": table})


def has_no_space(found, columns: int) -> bool:
    """Return whether a chain is for the CPU since it has too many runs or exons."""
    from gpu_tools.sites.proteins.gpu import traces

    many = len(found.cigar) > traces._RUNS + columns
    return many or len(found.chain) > traces._EXONS + columns


@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.parametrize("scoring_of", [random_scoring, edge_scoring])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_cases(seed, scoring_of, evidence):
    rng = np.random.default_rng(seed)
    case, scoring = random_case(rng, evidence), scoring_of(rng)
    if evidence:
        case.tables["+"] = with_junctions(rng, case.tables["+"], 12)
    found, left = on_gpu([case], scoring, block=BLOCK)
    assert found == protein_align([case], scoring, device="cpu")
    assert not left or scoring_of is edge_scoring or has_no_space(found[0], len(case.target) + 1)


def test_batches_of_one_case_and_chains_that_are_not_wanted():
    """Cases that share a base and a protein, two batches at a time on a GPU.

    Memory has checkpoints of some blocks alone.
    """
    rng = np.random.default_rng(11)
    case, scoring = random_case(rng), random_scoring(rng)
    other = replace(case, target=random_case(rng, placed=True).target)
    made = [case, other] + [replace(case) for _ in range(0 if simulated() else 50)]
    # one chain is worth its score, the second is not
    best = protein_align(made, scoring, device="cpu")
    least = [one.score + (k == 1) for k, one in enumerate(best)]
    found, left = on_gpu(made, scoring, least, block=BLOCK, strips=1, checkpoints=2)
    assert not left
    assert found == protein_align(made, scoring, device="cpu", min_scores=least)
    assert [bool(one.chain) for one in found[:2]] == [True, False]


def test_a_protein_longer_than_a_strip():
    """It has columns in several strips, which hand their borders on."""
    rng = np.random.default_rng(9)
    letters = rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 70 if simulated() else 1100)
    base = cases.random_text(rng, 20 if simulated() else 600).replace("N", "A")
    target = ProteinSequence.from_text("t", "".join(letters))
    target = replace(target, introns=random_introns(rng, len(target)))
    case = ProteinCase(Sequence.from_text("b", base), target, {"+": random_table(rng, len(base))})
    introns = tuple(each._replace(min_length=2) for each in case.tables["+"].introns)
    case.tables["+"] = with_junctions(rng, case.tables["+"].changed(introns=introns), 8)
    scoring = random_scoring(rng)
    found, left = on_gpu([case], scoring, block=BLOCK)
    assert not left
    assert found == protein_align([case], scoring, device="cpu")


@pytest.mark.skipif(simulated(), reason="too many cells for the simulator")
@pytest.mark.parametrize("residues", [2500, 4700])
def test_a_protein_whose_scores_need_all_of_16_bits(residues):
    """Cells of the longer one are stored less a constant."""
    from gpu_tools.sites.proteins.gpu.strips import BIAS, ProteinJobs

    rng = np.random.default_rng(residues)
    base, letters = cases.random_text(rng, 2000), rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), residues)
    base, scoring = Sequence.from_text("b", base), ProteinScoring(BLOSUM62)
    tables = protein_tables_of(base, protein_sites(load_sites("fly")), scoring)
    case = ProteinCase(base, ProteinSequence.from_text("p", "".join(letters)), tables)
    biases = ProteinJobs([case], scoring, block=BLOCK).table[:, BIAS]
    assert ((biases > 0) == (residues > 4000)).all()
    found, left = on_gpu([case], scoring)
    assert not left
    assert found == protein_align([case], scoring, device="cpu")


@pytest.mark.skipif(simulated(), reason="too many cells for the simulator")
def test_a_gene_on_both_strands_by_a_model():
    scoring, base = ProteinScoring(BLOSUM62), Sequence.from_text("b", gene(9000)[0])
    tables = protein_tables_of(base, protein_sites(load_sites("vertebrate")), scoring)
    case = ProteinCase(base, ProteinSequence.from_text("p", PROTEIN), tables)
    expected = protein_align([case] * 3, scoring, device="cpu")
    assert protein_align([case] * 3, scoring, device="cuda") == expected


def test_what_the_kernel_does_not_take_is_for_the_cpu():
    """Scores of more than a byte, and bases that memory does not hold."""
    rng = np.random.default_rng(4)
    case, scoring = random_case(rng), random_scoring(rng)
    large = SubstitutionMatrix("large", BLOSUM62.letters, BLOSUM62.scores * 40)
    for own, options in ((replace(scoring, matrix=large), {}), (scoring, {"memory": 100})):
        found, left = on_gpu([case], own, block=BLOCK, **options)
        assert left == 1
        assert found == protein_align([case], own, device="cpu")


def test_a_chain_of_more_runs_than_space_was_made_for_is_for_the_cpu(monkeypatch):
    from gpu_tools.sites.proteins.gpu import traces

    base, protein = Sequence.from_text("b", "ATGGCC"), ProteinSequence.from_text("p", "MAW")
    table = random_table(np.random.default_rng(1), len(base))
    scoring = ProteinScoring(BLOSUM62, ends="global")
    case = ProteinCase(base, protein, {"+": table.changed(introns=())})
    monkeypatch.setattr(traces, "_RUNS", -len(protein))
    found, left = on_gpu([case], scoring, block=BLOCK)
    assert left == 1
    assert found == protein_align([case], scoring, device="cpu")
    assert len(found[0].cigar) > 1


def test_further_chains_of_cases_are_those_of_the_cpu():
    rng = np.random.default_rng(6)
    scoring = random_scoring(rng)
    made = [random_case(rng) for _ in range(2)]

    def ranked(device):
        def align(cases):
            return protein_align(cases, scoring, device=device)

        return best_chains(made, align(made), 3, align, scoring)

    found = ranked("cuda")
    assert max(map(len, found)) == 3
    on_cpu = ranked("cpu")
    assert [[one.alignment for one in own] for own in found] == [
        [one.alignment for one in own] for own in on_cpu
    ]
    some = [found[0][0].case, max(found, key=len)[-1].case]
    assert on_gpu(some, scoring)[1] == 1
