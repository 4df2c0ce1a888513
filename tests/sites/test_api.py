"""Site mode on the CPU against its definition, and against listed candidates."""

import pickle
from dataclasses import asdict, fields, replace
from inspect import signature
from itertools import pairwise

import numpy as np
import pytest

from gpu_tools import (
    Case,
    ExonSet,
    ScoringError,
    Sequence,
    SplicedAlignment,
    SplicedScoring,
    spliced_align,
)
from gpu_tools.sites.api import SiteCase, site_align
from gpu_tools.sites.cpu import schedule
from gpu_tools.sites.cpu import sweep as cpu
from gpu_tools.sites.marks import Marks
from gpu_tools.sites.model import load_sites
from gpu_tools.sites.table import CLOSED, IntronClass, SiteTable
from gpu_tools.splicing.traceback import align_chain
from tests import cases
from tests.oracles import sites as oracle_sites
from tests.oracles import spliced as oracles


def random_scores(rng, length, share):
    """Return scores at a share of the boundaries."""
    scores = rng.integers(-4, 5, length + 1).astype(np.int64)
    scores[rng.random(length + 1) > share] = CLOSED
    return scores


def random_lines(rng, every: int = 1) -> tuple[tuple[int, int], ...]:
    """Return lines of a penalty that rises with the intron's length, none in a third of calls."""
    lines, extra = [], 0
    for _ in range(rng.integers(0, 3) and rng.integers(1, 4)):
        every *= int(rng.integers(2, 4))
        lines.append((extra, every))
        extra += int(rng.integers(1, 4))
    return tuple(lines)


def random_intron(rng, least: int = 0, longest: int = 5, penalty: int = 5) -> IntronClass:
    return IntronClass(
        int(rng.integers(0, 2)), int(rng.integers(0, longest)), int(rng.integers(least, penalty)),
        random_lines(rng, int(rng.choice([1, 5, 40]))),
    )  # fmt: skip


def random_table(rng, length, share=0.3, introns=None) -> SiteTable:
    introns = introns or tuple(random_intron(rng, -2) for _ in range(rng.integers(1, 4)))
    return SiteTable(
        *(random_scores(rng, length, share) for _ in range(4)), introns,
        *(rng.integers(0, 2, length + 1).astype(np.uint8) for _ in range(2)),
        marks=random_marks(rng, length),
    )  # fmt: skip


def random_marks(rng, length) -> Marks:
    """Return a rank for most boundaries."""
    boundaries = 1 + np.flatnonzero(rng.random(length) < 0.9)
    return Marks(boundaries, rng.integers(0, 2**31, len(boundaries)).astype(np.int32))


def changed(table: SiteTable, **parts) -> SiteTable:
    """Return a table some of whose arguments are others."""
    names = [*signature(SiteTable).parameters]
    return SiteTable(**{name: getattr(table, name) for name in names} | parts)


def with_gain(table: SiteTable, gain: int) -> SiteTable:
    introns = tuple(intron._replace(penalty=intron.penalty - gain) for intron in table.introns)
    return changed(table, introns=introns)


def oracle_table(table: SiteTable) -> dict:
    """Return a table in the oracle's terms."""
    names = ("first_entry", "inner_entry", "inner_exit", "last_exit")
    open_sites = {
        name: {i: int(s) for i, s in enumerate(getattr(table, name)) if s != CLOSED}
        for name in names
    }
    kinds = {name: getattr(table, name).tolist() for name in ("entry_kind", "exit_kind")}
    donors, acceptors, penalties = (each.tolist() for each in table.junctions)
    return open_sites | kinds | {
        "introns": table.introns,
        "junctions": dict(zip(zip(donors, acceptors, strict=True), penalties, strict=True)),
        "marks": dict(zip(*(each.tolist() for each in table.marks), strict=True)),
        "window": (table.origin, table.step, table.most_steps) if table.longest else None,
    }  # fmt: skip


def random_target(rng, base, length):
    """Return a mutated part of the base, so that alignments are worth while."""
    cut = sorted(rng.integers(0, len(base) + 1, 4))
    letters = base[cut[0] : cut[1]] + base[cut[2] : cut[3]]
    mutated = [c if rng.random() > 0.2 else str(rng.choice(list("ACGT"))) for c in letters]
    return ("".join(mutated) + cases.random_text(rng, length))[:length]


def align(base, target, tables, scoring, threads=1):
    case = SiteCase(Sequence.from_text("b", base), Sequence.from_text("t", target), tables)
    (result,) = site_align([case], scoring, threads=threads)
    return result


def sites_of_chain(table: SiteTable, chain) -> int:
    """Return the sum of a chain's sites less its introns' penalties, in reading direction."""
    total = int(table.first_entry[chain[0][0]] + table.last_exit[chain[-1][1]])
    for (_, end), (start, _) in pairwise(chain):
        penalty = oracle_sites.intron_penalty(oracle_table(table), end, start)
        total += int(table.inner_exit[end] + table.inner_entry[start]) - penalty
    return total


def rescored(base, target, result, table, scoring):
    """Recount the score of a result from its chain, its CIGAR and the table."""
    m = len(base)
    reading = [(s, e) if result.strand == "+" else (m - e, m - s) for s, e in result.chain]
    terms = cases.oracle_scoring(scoring) | {"penalty": 0}
    aligned = oracles.rescore(base, target, result, terms, dict.fromkeys(result.chain, 0))
    return aligned + sites_of_chain(table, reading)


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(cpu, "BLOCK_LENGTH", 1)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", 3)


@pytest.mark.parametrize("penalty", [-1000, -100, -10])
def test_introns_that_gain(penalty):
    """Here no donor stands before the acceptor, and no intron is as short as the base."""
    model, codes = load_sites("vertebrate"), Sequence.from_text("b", "CAGGG").codes
    tables = [each.table(codes) for each in (model, model.with_penalty(penalty))]
    usual, gaining = (align("CAGGG", "A", {"+": table}, SplicedScoring()) for table in tables)
    assert (gaining.score, gaining.chain) == (usual.score, usual.chain) == (-15, ((1, 2),))
    with pytest.raises(
        ScoringError, match="an intron penalty of -1000001 is too large; expected at"
    ):
        model.with_penalty(-1000001)


def check_by_enumeration(base, target, tables, scoring, coding=False):
    """Compare score and strand with those of all chains; return the result."""
    terms, expected = cases.oracle_scoring(scoring), {}
    for strand, table in tables.items():
        text = base if strand == "+" else oracles.reverse_complement(base)
        sites = oracle_table(table) | ({"coding": True} if coding else {})
        score = oracle_sites.best_score(text, target, sites, terms)
        expected |= {} if score is None else {strand: score}
    result = align(base, target, tables, scoring)
    assert result.score == max(expected.values(), default=None)
    if expected:
        assert result.strand == max(sorted(expected), key=expected.get)
        assert rescored(base, target, result, tables[result.strand], scoring) == result.score
    return result


def check_by_programme(base, target, table, scoring, threads=1):
    """Compare the score with that of the recurrence over all exits; return the result."""
    result = align(base, target, {"+": table}, scoring, threads)
    terms = cases.oracle_scoring(scoring)
    expected = oracle_sites.best_by_programme(base, target, oracle_table(table), terms)
    assert result.score == expected
    if expected is not None:
        assert rescored(base, target, result, table, scoring) == expected
    return result


def random_strands(rng) -> str:
    return ("+", "-", "+-")[int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(60))
def test_small_cases_by_enumeration(seed, short_blocks):
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, int(rng.integers(1, 13)))
    target = random_target(rng, base, int(rng.integers(1, 9)))
    scoring = cases.random_site_scoring(rng)
    tables = {s: random_table(rng, len(base)) for s in random_strands(rng)}
    if seed >= 40:  # introns that gain much
        tables = {s: with_gain(table, int(rng.integers(1, 500))) for s, table in tables.items()}
    check_by_enumeration(base, target, tables, scoring)


@pytest.mark.parametrize("seed", range(20))
def test_rising_penalties_of_longer_cases(seed, short_blocks):
    """Introns cross many borders."""
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, int(rng.integers(40, 90)))
    target = cases.with_tail(rng, random_target(rng, base, int(rng.integers(5, 20))))
    scoring = cases.random_site_scoring(rng)
    lines = [random_lines(rng, every) for every in (1, 2, 5)]
    introns = tuple(
        IntronClass(k % 2, int(rng.integers(0, 8)), int(rng.integers(-2, 3)), lines[k])
        for k in range(3)
    )
    check_by_programme(base, target, random_table(rng, len(base), 0.4, introns), scoring)


def test_a_table_may_have_no_introns():
    scores = [np.full(5, CLOSED) for _ in range(4)]
    scores[0][0] = scores[3][4] = scores[1][2] = scores[2][1] = 1
    result = check_by_enumeration("ACGT", "AGT", {"+": SiteTable(*scores, ())}, SplicedScoring())
    assert result.chain == ((0, 4),)


STOPS = np.zeros((5, 5, 5), dtype=bool)
STOPS[3, [0, 0, 2], [0, 2, 0]] = True


def random_coding_text(rng, least: int) -> str:
    """Return some nucleotides, rich in stop codons."""
    letters = rng.choice(list("AGTTN"), int(rng.integers(least, 19)), p=[0.3, 0.2, 0.2, 0.27, 0.03])
    return "".join(letters)


def coding_table(rng, length) -> SiteTable:
    least, penalty = int(rng.integers(0, 3)), int(rng.integers(-9, 1))
    introns = (IntronClass(0, least, penalty, random_lines(rng)),)
    table = random_table(rng, length, 0.5, introns)
    same = np.zeros(length + 1, dtype=np.uint8)
    return changed(table, stops=STOPS, entry_kind=same, exit_kind=same)


@pytest.mark.parametrize("seed", range(8))
def test_chains_that_translate_by_enumeration(seed, short_blocks):
    rng = np.random.default_rng(300 + seed)
    spliced = 0
    for _ in range(15):
        base = random_coding_text(rng, 8)
        target = random_target(rng, base, int(rng.integers(1, 9)))
        scoring = cases.random_site_scoring(rng)
        tables = {s: coding_table(rng, len(base)) for s in random_strands(rng)}
        result = check_by_enumeration(base, target, tables, scoring, coding=True)
        text, m, chain = base, len(base), result.chain
        if result.strand == "-":
            text, chain = oracles.reverse_complement(base), [(m - e, m - s) for s, e in chain]
        assert not chain or oracle_sites.translates(text, chain)
        spliced += result.n_chain > 1
    assert spliced > 1


@pytest.mark.parametrize("stop", oracle_sites.STOPS)
@pytest.mark.parametrize("bases", [1, 2])
@pytest.mark.parametrize("last", "CATG")
def test_stop_codons_across_introns(stop, bases, last):
    """A codon that an intron splits is read as a whole."""
    codon = stop[:2] + last
    coding = ["ATGGCC" + codon[:bases], codon[bases:] + "CCCTAA"]
    base, length = coding[0] + "GGGGGG" + coding[1], len(coding[0])
    scores = [np.full(len(base) + 1, CLOSED) for _ in range(4)]
    places = (0, length + 6, length, len(base))
    for of_kind, place in zip(scores, places, strict=True):
        of_kind[place] = 0
    table = SiteTable(*scores, (IntronClass(0, 4, 0),), stops=STOPS)
    result = align(base, "".join(coding), {"+": table}, SplicedScoring())
    spliced = ((0, length), (length + 6, len(base)))
    chains = [c for c in (spliced,) if oracle_sites.translates(base, c)]
    if not chains and oracle_sites.translates(base, ((0, len(base)),)):
        chains = [((0, len(base)),)]
    assert [result.chain] == (chains or [()])


def whole_base(length: int) -> dict[str, SiteTable]:
    """Return a table whose chains begin and end anywhere at no cost, without introns."""
    nowhere, anywhere = np.full(length + 1, CLOSED), np.zeros(length + 1, np.int64)
    return {"+": SiteTable(anywhere, nowhere, nowhere, anywhere, ())}


@pytest.mark.parametrize(
    ("cost", "span"),
    [(0, (1, 10)), (1, (1, 10)), (2, (0, 13)), (1000, (0, 13))],
)
@pytest.mark.parametrize("ends", ["free-target", "free"])
def test_an_end_is_left_out_where_that_costs_less(cost, span, ends):
    """Both ends lack a point: one symbol is a mismatch, and of three two are; a tie leaves out."""
    base, target = "GACCATGCATGGC", "TACCATGCATTTC"
    scoring = SplicedScoring(ends=ends, end_cost=cost)
    result = align(base, target, whole_base(len(base)), scoring)
    expected = oracle_sites.best_by_programme(
        base, target, oracle_table(whole_base(len(base))["+"]), cases.oracle_scoring(scoring)
    )
    assert result.score == expected
    assert (result.target_start, result.target_end) == span


@pytest.mark.parametrize(("tail", "kept"), [(9, 1), (10, 0), (30, 0)])
def test_a_poly_a_tail_is_left_out_at_no_cost(tail, kept):
    base = "CGTCCATGCATGGTC"
    scoring = SplicedScoring(ends="free-target", end_cost=5)
    result = align(base, base + "A" * tail, whole_base(len(base)), scoring)
    assert (result.score, result.target_end) == (len(base) - 5 * kept, len(base))
    turned = align(base, "A" * tail + base, whole_base(len(base)), scoring)
    assert (turned.score, turned.target_start) == (len(base) - 5, tail)


def listed(base, table, minus):
    """Return every interval that a table admits, with the sum of its sites as its score."""
    m = len(base)
    pairs = [
        (a, b) for a in np.flatnonzero(table.first_entry != CLOSED)
        for b in np.flatnonzero(table.last_exit != CLOSED) if a < b
    ]  # fmt: skip
    scores = [float(table.first_entry[a] + table.last_exit[b]) for a, b in pairs]
    if minus:
        return ExonSet.from_intervals([(m - b, m - a) for a, b in pairs], "-", scores)
    return ExonSet.from_intervals(pairs, "+", scores)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("seed", range(25))
def test_equals_the_list_of_all_admitted_intervals(seed, threads, monkeypatch):
    """Score, chain, alignment and ties are those of listed candidates."""
    rng = np.random.default_rng(100 + seed)
    monkeypatch.setattr(cpu, "BLOCK_LENGTH", 1)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", int(rng.choice([1, 7, 1000])))
    monkeypatch.setattr(cpu, "COLUMNS_PER_STRIP", 20)
    base = cases.random_text(rng, int(rng.integers(20, 120)))
    target = random_target(rng, base, int(rng.integers(1, 90)))
    penalty = int(rng.integers(0, 6))
    tables, sets = {}, []
    for strand in ("+", "-"):
        entry, leave = (random_scores(rng, len(base), 0.2) for _ in range(2))
        tables[strand] = SiteTable(entry, entry, leave, leave, (IntronClass(0, 0, penalty),))
        sets.append(listed(base, tables[strand], strand == "-"))
    plain = cases.random_scoring(rng)
    scoring = SplicedScoring(
        plain.match, plain.mismatch, plain.gap, plain.matrix, 1.0, penalty, plain.ends
    )
    case = Case(
        Sequence.from_text("b", base), Sequence.from_text("t", target), ExonSet.concatenate(sets)
    )
    (expected,) = spliced_align([case], scoring, device="cpu")
    result = align(base, target, tables, scoring, threads)
    for name in ("strand", "score", "chain", "target_start", "target_end", "cigar"):
        assert getattr(result, name) == getattr(expected, name), name


@pytest.mark.parametrize("seed", range(12))
def test_larger_cases_by_programme(seed, monkeypatch):
    """Introns longer than a block, several kinds and lengths, 16-bit and 32-bit cells, strips."""
    rng = np.random.default_rng(500 + seed)
    monkeypatch.setattr(cpu, "BLOCK_LENGTH", 1)
    monkeypatch.setattr(cpu, "ROWS_PER_BLOCK", int(rng.choice([5, 16])))
    monkeypatch.setattr(cpu, "COLUMNS_PER_STRIP", 30)
    factor = int(rng.choice([1, 2000]))
    base = cases.random_text(rng, int(rng.integers(60, 140)))
    target = cases.with_tail(rng, random_target(rng, base, int(rng.integers(30, 100))))
    introns = tuple(
        IntronClass(kind, least, factor * penalty)
        for kind in (0, 1)
        for least, penalty in ((int(rng.integers(0, 8)), 6), (int(rng.integers(10, 40)), 2))
    )
    table = random_table(rng, len(base), 0.15, introns)
    scaled = [np.where(s == CLOSED, CLOSED, factor * s) for s in table.scores]
    table = SiteTable(*scaled, introns, table.entry_kind, table.exit_kind)
    ends = str(rng.choice(["global", "free-target"]))
    cost = factor * int(rng.choice([0, 1, 5, 40]))
    scoring = SplicedScoring(factor, -factor, -2 * factor, ends=ends, end_cost=cost)
    check_by_programme(base, target, table, scoring, int(rng.integers(1, 4)))


def test_both_widths_are_used():
    table = random_table(np.random.default_rng(1), 50, 0.5)
    codes, target = np.zeros(50, dtype=np.uint8), np.zeros(40, dtype=np.uint8)
    strand = cpu.strand_of(codes, table, SplicedScoring().gap)
    small = cpu.sweep(strand, target, SplicedScoring())
    large = cpu.sweep(strand, target, SplicedScoring(match=2000))
    assert (small.inputs.weights.dtype, large.inputs.weights.dtype) == (np.int16, np.int32)


@pytest.mark.parametrize("cost", [0, 40])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(("ends", "length"), [("global", 6_400), ("free-target", 10_600)])
def test_narrow_cells_hold_the_longest_targets(ends, length, alike, cost, monkeypatch):
    rng = np.random.default_rng(length)
    codes = rng.integers(0, 2, length).astype(np.uint8)
    target = codes if alike else codes + 2
    table = random_table(rng, length, 0.02, (IntronClass(0, 30, 5),))
    scoring = SplicedScoring(ends=ends, end_cost=cost)
    strand = cpu.strand_of(codes, table, scoring.gap)
    narrow = cpu.sweep(strand, target, scoring)
    monkeypatch.setattr(cpu, "narrowest", lambda bounds: np.dtype(np.int32))
    wide = cpu.sweep(strand, target, scoring)
    assert (narrow.inputs.weights.dtype, wide.inputs.weights.dtype) == (np.int16, np.int32)
    assert narrow[:3] == wide[:3]
    traced = [cpu.trace(s, table, codes, target, scoring) for s in (narrow, wide)]
    assert traced[0].intervals == traced[1].intervals
    assert traced[0].cigar == traced[1].cigar


def test_scores_that_could_overflow_are_refused():
    table = random_table(np.random.default_rng(1), 50, 0.5)
    with pytest.raises(ScoringError, match="expected less than 2"):
        align("A" * 50, "A" * 40, {"+": table}, SplicedScoring(match=2**27))


def test_threads_do_not_change_the_result():
    rng = np.random.default_rng(7)
    base = cases.random_text(rng, 3000)
    target = "".join(base[k : k + 120] for k in range(100, 2900, 300))
    table = random_table(rng, len(base), 0.05, (IntronClass(0, 30, 5), IntronClass(1, 20, 5)))
    results = [align(base, target, {"+": table}, SplicedScoring(), n) for n in (1, 2, 3)]
    assert results[0].n_chain > 3
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("strands", [0, 1, 2])
def test_progress_moves_within_a_case(strands, threads, short_blocks, monkeypatch):
    """It counts all cells, also those of strands on which there is no chain."""
    monkeypatch.setattr(schedule, "CELLS_PER_REPORT", 300)
    monkeypatch.setattr(schedule, "CELLS_PER_CALL", 75)
    monkeypatch.setattr(cpu, "COLUMNS_PER_STRIP", 10)
    rng = np.random.default_rng(11)
    base, target = (Sequence.from_text("s", cases.random_text(rng, n)) for n in (200, 40))
    none = changed(random_table(rng, 200), first_entry=np.full(201, CLOSED))
    tables = {s: random_table(rng, 200) if k < strands else none for k, s in enumerate("+-")}
    case, small, reported = SiteCase(base, target, tables), SiteCase(base, base, {}), []
    site_align([case, small], device="cpu", threads=threads, progress=reported.append)
    assert sum(reported) == case.cells
    assert len(reported) > 10 * strands


def columns_of(result) -> list[list[int]]:
    """Return start, end, first and last target column of each exon, read off a CIGAR."""
    exons, column = [], result.target_start
    first, runs = column, list(result.cigar)
    for letter, length in [*runs, ("N", 0)]:
        if letter == "N":
            exons.append([first, column])
            first = column
        elif letter != "D":
            column += length
    pairs = zip(result.chain, exons, strict=True)
    return [[*exon, *own] for exon, own in pairs]


@pytest.mark.parametrize("ends", ["global", "free-target"])
@pytest.mark.parametrize("seed", range(20))
def test_a_chain_of_known_columns_has_the_same_alignment(seed, ends):
    """GPUs find exons and columns; the alignment is made of these."""
    rng = np.random.default_rng(seed)
    base = cases.random_text(rng, 200)
    target, scoring = random_target(rng, base, 60), SplicedScoring(ends=ends)
    table = random_table(rng, 200, introns=(IntronClass(0, 2, 1), IntronClass(1, 3, 0)))
    result = align(base, target, {"+": table}, scoring)
    exons = np.array(columns_of(result), dtype=np.int32)
    codes = (Sequence.from_text("s", text).codes for text in (base, target))
    found = align_chain(*codes, exons, scoring)
    assert found.cigar == result.cigar
    assert found.intervals == list(result.chain)


def pickled(result):
    return pickle.loads(pickle.dumps(result))


@pytest.mark.parametrize("use", [hash, repr, pickled, replace, asdict])
def test_a_cigar_is_made_when_it_is_read(use):
    table = random_table(np.random.default_rng(3), 40, share=0.9)
    question = "ACGT" * 10, "ACGTACGGTACG", {"+": table}, SplicedScoring()
    result, unread = align(*question), align(*question)
    assert "cigar" not in vars(result)
    made = SplicedAlignment(**{field.name: getattr(result, field.name) for field in fields(result)})
    assert (unread.matches, unread.columns) == (made.matches, made.columns)
    assert use(unread) == use(made)
    assert unread == made
