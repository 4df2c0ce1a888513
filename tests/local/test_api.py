"""Local and global alignment against their naive definitions, and their properties."""

import numpy as np
import pytest

from gpu_tools import (
    AffineScoring,
    InputError,
    ProteinSequence,
    ScoringError,
    Sequence,
    SubstitutionMatrix,
    global_align,
    local_align,
)
from gpu_tools.formats.values.matrices import SHIPPED, load_matrix
from gpu_tools.local import search, tiles, traceback
from gpu_tools.local.cpu import score_pass as cpu
from gpu_tools.local.cpu import vectors
from gpu_tools.local.cpu.window import fill, is_narrow
from gpu_tools.local.forbidden import ForbiddenPairs, aligned_pairs
from gpu_tools.local.problem import make_problem
from tests.local.cases import (
    oracle_pair,
    protein_scoring,
    random_pair,
    random_scoring,
    score_of,
    sequences,
    tile_scores,
)
from tests.oracles import local as oracle_local

PROTEIN = "ARNDCQEGHILKMFPSTWYVBZX*UOJ"


@pytest.fixture(
    params=[(64, 1 << 22, 99), (4, 1 << 22, 0), (8, 20, 99)], ids=["usual", "small", "cut"]
)
def sizes(request, monkeypatch):
    """Tiles and windows so small that short sequences have many, and matrices that are cut."""
    smallest, cells, remembered = request.param
    monkeypatch.setattr(tiles, "SMALLEST_TILE", smallest)
    monkeypatch.setattr(tiles, "_SMALLEST_MARGIN", smallest)
    monkeypatch.setattr(tiles, "_MOST_EXACT", remembered)
    monkeypatch.setattr(traceback, "CELLS_AT_ONCE", cells)


def aligned(pair, scoring, **options):
    (found,) = local_align([pair], scoring, device="cpu", **options)
    return [
        (a.score, (a.query_start, a.subject_start), (a.query_end, a.subject_end), letters(a))
        for a in found
    ]


def letters(alignment):
    return "".join(letter * n for letter, n in alignment.cigar)


def as_letters(symbols):
    """Ambiguity codes are identical to nothing: give each its own letter for the oracle."""
    return [s if s != "N" else ("N", k) for k, s in enumerate(symbols)]


def oracle_texts(query, subject, scoring):
    if scoring.matrix is not None:
        return query, subject
    return as_letters(query), ["other" if s == "N" else s for s in subject]


@pytest.mark.parametrize("seed", range(25))
def test_local_is_what_the_definition_says(seed, sizes):
    rng = np.random.default_rng(seed)
    protein = seed % 3 == 0
    scoring = protein_scoring(rng) if protein else random_scoring(rng)
    texts = random_pair(rng, 24, PROTEIN if protein else "ACGTN")
    query, subject = oracle_texts(*texts, scoring)
    gaps = scoring.gap_open, scoring.gap_extend
    expected = list(oracle_local.k_best(query, subject, oracle_pair(scoring), gaps, 5, 3))
    found = aligned(sequences(*texts, scoring), scoring, k=5, min_score=3)
    assert found == [(s, a, b, letters) for s, a, b, letters in expected]


@pytest.mark.parametrize("seed", range(12))
def test_the_first_of_many_equal_ends(seed, sizes):
    """Two letters and small scores: equal ends in one tile, some of paths from far away."""
    rng = np.random.default_rng(200 + seed)
    scoring = AffineScoring(1, -1, 2, 1)
    texts = random_pair(rng, 36, "AC")
    expected = list(oracle_local.k_best(*texts, oracle_pair(scoring), (2, 1), 8))
    found = aligned(sequences(*texts, scoring), scoring, k=8)
    assert found == [(s, a, b, letters) for s, a, b, letters in expected]


@pytest.mark.parametrize(
    "texts",
    [
        ("GGTCTAGCAGCACTATTAATAATGGAAGCT", "CTCGAAGCCGCCCAAATATAATATTCTGGG"),
        ("CGTTTAGGAAGACCACCCATGCACCAGCTC", "ACGGCAGGCCGAGCACCCCATGCTTCACGT"),
        ("GCAGAGCCGGGACGTTTCCAAAGTCGTGGG", "ACGTCACCGTGCCGATACCCAAAGGGGACA"),
    ],
)
def test_the_first_of_two_equal_ends_comes_from_before_the_window(texts, monkeypatch):
    monkeypatch.setattr(tiles, "SMALLEST_TILE", 8)
    monkeypatch.setattr(tiles, "_SMALLEST_MARGIN", 8)
    scoring = AffineScoring(1, -1, 9, 9)
    expected = list(oracle_local.k_best(*texts, oracle_pair(scoring), (9, 9), 3))
    assert aligned(sequences(*texts, scoring), scoring, k=3) == expected


def test_a_used_pair_just_left_of_an_alignment(sizes):
    """It is in the same row as one inside, which must not be used again."""
    text, scoring = "ACACAAACCCACAAACCAAC", AffineScoring(4, -1, 3, 0)
    expected = list(oracle_local.k_best(text, text, oracle_pair(scoring), (3, 0), 18))
    found = aligned(sequences(text, text, scoring), scoring, k=18)
    assert found == [(s, a, b, letters) for s, a, b, letters in expected]


@pytest.mark.parametrize("extend", [0, 1])
def test_gaps_longer_than_tiles(extend, sizes):
    """Tiles that a path crosses in a gap have no higher scores than in it."""
    left, right, between = "ACGGTCAATGCAAGTC", "GGATCCATTACGCAGT", "N" * 23
    scoring = AffineScoring(5, -4, 9, extend)
    for texts in ((left + right, left + between + right), (left + between + right, left + right)):
        expected = list(oracle_local.k_best(*texts, oracle_pair(scoring), (9, extend), 3))
        assert expected[0][0] == 5 * 32 - 9 - 22 * extend
        found = aligned(sequences(*texts, scoring), scoring, k=3)
        assert found == [(s, a, b, letters) for s, a, b, letters in expected]


@pytest.mark.parametrize("seed", range(15))
def test_global_is_what_the_definition_says(seed, sizes):
    rng = np.random.default_rng(100 + seed)
    protein = seed % 3 == 0
    scoring = protein_scoring(rng) if protein else random_scoring(rng)
    texts = random_pair(rng, 30, PROTEIN if protein else "ACGTN")
    query, subject = oracle_texts(*texts, scoring)
    gaps = scoring.gap_open, scoring.gap_extend
    score, text = oracle_local.trace(query, subject, oracle_pair(scoring), gaps)
    (found,) = global_align([sequences(*texts, scoring)], scoring, device="cpu")
    assert (found.score, letters(found)) == (score, text)


def whole_window(problem, side, used):
    """Return the largest score of each tile, and the first cell that has the last one's."""
    rows, columns = problem.shape
    window, border = (0, rows, 0, columns), (np.zeros(columns + 1, int), np.zeros(rows, int))
    dtype = np.int16 if is_narrow(problem, window, border) else np.int32
    costs = vectors.costs_of(problem, np.dtype(dtype))
    return fill(problem, window, (side, 1), border, used.pairs, costs)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("worth", [1, 40, 9000], ids=["8-bit", "16-bit", "32-bit"])
def test_score_pass_bounds_every_tile_and_finds_the_best(seed, worth):
    """Only padding may raise a bound, and never over the best score."""
    rng = np.random.default_rng(seed)
    if seed % 3 == 0:
        query, subject = sequences(*random_pair(rng, 300, PROTEIN), scoring := protein_scoring(rng))
    else:
        scoring = AffineScoring(2 * worth, -worth if seed % 3 == 1 else 0, 3 * worth, worth)
        query, subject = sequences(*random_pair(rng, 300), scoring)
    problem = make_problem(query.codes, subject.codes, scoring)
    gaps = problem.gap_open, problem.gap_extend
    exact = tile_scores(problem.query, problem.subject, problem.table, gaps, 32)
    assert (whole_window(problem, 32, ForbiddenPairs())[0] == exact).all()
    found = cpu.score_pass(problem, 32)
    assert found.max() == exact.max()
    assert (found >= exact).all()
    assert (found[:-1, :-1] == exact[:-1, :-1]).all()


def filled(problem, used):
    """Return the scores of all cells, the pairs of `used` left out."""
    barred, (rows, columns) = set(zip(*(u.tolist() for u in used), strict=True)), problem.shape
    cells = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    falling = np.full(columns + 1, -(10**6))
    for i in range(rows):
        running = -(10**6)
        for j in range(columns):
            falling[j] = max(cells[i, j + 1] - problem.gap_open, falling[j] - problem.gap_extend)
            running = max(cells[i + 1, j] - problem.gap_open, running - problem.gap_extend)
            pair = cells[i, j] + problem.table[problem.query[i], problem.subject[j]]
            pair = 0 if (i, j) in barred else pair
            cells[i + 1, j + 1] = max(0, pair, falling[j], running)
    return cells[1:, 1:]


@pytest.mark.parametrize("seed", range(16))
def test_a_window_is_what_a_plain_fill_says(seed):
    """Odd and even numbers of rows, forbidden pairs, many equal scores."""
    rng = np.random.default_rng(300 + seed)
    query, subject = (rng.integers(0, 2, int(rng.integers(17, 90))).astype(np.uint8) for _ in "qs")
    problem, side = make_problem(query, subject, AffineScoring(1, -1, 2, 1)), 16
    rows, columns = problem.shape
    pairs = np.unique(rng.integers(0, (rows, columns), (400, 2)), axis=0)
    used = ForbiddenPairs()
    used.rows = np.concatenate([used.rows[:1], pairs[:, 0], used.rows[1:]])
    used.columns = np.concatenate([used.columns[:1], pairs[:, 1], used.columns[1:]])
    cells = filled(problem, (pairs[:, 0], pairs[:, 1]))
    largest, end = whole_window(problem, side, used)
    for (down, across), most in np.ndenumerate(largest):
        tile = cells[down * side : (down + 1) * side, across * side : (across + 1) * side]
        assert most == tile.max()
    row, column = np.argwhere(tile == tile.max())[0] + (down * side, across * side)
    assert end == (row * columns + column if tile.max() else -1)


def test_a_window_has_no_row_behind_its_last():
    """Behind an odd number of rows there is a place for one, where a mismatch would cost less."""
    query, subject = random_codes(np.random.default_rng(0), 17) % 4, np.full(20, 4, dtype=np.uint8)
    subject[:16] = query[1:]
    problem = make_problem(query, subject, AffineScoring(1, -1, 2, 1))
    largest, end = whole_window(problem, 16, ForbiddenPairs())
    assert largest.tolist() == [[15, 12], [16, 14]]
    assert end == 16 * 20 + 16


def bounded(problem):
    side = tiles.tile_side(*problem.shape, 1 << 20)
    return tiles.Tiles(problem, side, cpu.score_pass(problem, side))


def random_codes(rng, length):
    return rng.integers(0, 5, length).astype(np.uint8)


def related(rng, codes, changes):
    """Return codes with substitutions and some stretches left out."""
    copy = codes.copy()
    copy[rng.integers(0, len(copy), changes)] = 2
    return np.delete(copy, rng.integers(0, len(copy) - 1, changes // 8))


@pytest.mark.parametrize("seed", range(4))
def test_properties_of_larger_ones(seed):
    """No pair is shared, scores fall, each alignment scores what its CIGAR says."""
    rng = np.random.default_rng(seed)
    query = random_codes(rng, 1500)
    subject = related(rng, query[200:1300], 300) if seed % 2 else random_codes(rng, 1200)
    problem = make_problem(query, subject, AffineScoring())
    found = list(search.best_alignments(bounded(problem), 1, 12))
    assert len(found) == 12
    assert sorted((f.score for f in found), reverse=True) == [f.score for f in found]
    used = set()
    for f in found:
        rows, columns = aligned_pairs(f.start, f.cigar)
        pairs = set(zip(rows.tolist(), columns.tolist(), strict=True))
        assert len(pairs) == len(rows)
        assert not pairs & used
        used |= pairs
        assert score_of(problem, f.start, f.cigar) == f.score
        assert f.start[0] + sum(n for o, n in f.cigar if o != "D") == f.end[0]
        assert f.start[1] + sum(n for o, n in f.cigar if o != "I") == f.end[1]


@pytest.mark.parametrize("seed", range(4))
def test_scores_equal_those_of_filling_everything_again(seed):
    """The next score is that of the whole matrix without the pairs so far."""
    rng = np.random.default_rng(50 + seed)
    query = random_codes(rng, 700)
    subject = np.concatenate([related(rng, query[100:600], 60), related(rng, query[:400], 40)])
    problem = make_problem(query, subject, AffineScoring())
    used = ForbiddenPairs()
    for f in search.best_alignments(bounded(problem), 1, 8):
        largest, end = whole_window(problem, 1 << 20, used)
        assert f.score == largest[0, 0]
        assert (f.end[0] - 1) * problem.shape[1] + f.end[1] - 1 == end
        used.add(f.start, f.cigar)


@pytest.mark.parametrize("seed", range(5))
def test_swapped_sequences_have_the_same_best_score(seed):
    rng = np.random.default_rng(seed)
    scoring = random_scoring(rng)
    query, subject = sequences(*random_pair(rng, 200), scoring)
    ((best, *_),), ((swapped, *_),) = (
        local_align([pair], scoring, device="cpu") for pair in ((query, subject), (subject, query))
    )
    assert best.score == swapped.score


@pytest.mark.parametrize(
    ("query", "subject", "expected"),
    [
        ("A", "A", [(5, (0, 0), (1, 1), "=")]),
        ("A", "C", []),
        ("NNNN", "NNNN", []),
        ("ACGT", "ACGT", [(20, (0, 0), (4, 4), "====")]),
        # ties: the first end by query, then by subject
        ("ACC", "CCA", [
            (10, (1, 0), (3, 2), "=="), (5, (0, 2), (1, 3), "="), (5, (1, 1), (2, 2), "="),
            (5, (2, 0), (3, 1), "="),
        ]),
    ],
)  # fmt: skip
def test_edges(query, subject, expected):
    scoring = AffineScoring()
    assert aligned(sequences(query, subject, scoring), scoring, k=9) == expected


def test_of_equal_alignments_the_last_start():
    # T and ACG are worth as much as nothing in front of the rest
    scoring = AffineScoring(1, -1, 9, 9)
    ((best,),) = local_align([sequences("ATGG", "ACGG", scoring)], scoring, device="cpu")
    assert (best.score, best.query_start) == (2, 2)


def test_both_strands():
    scoring = AffineScoring()
    pair = sequences("AAACCC", "TTGGGTTTAAACC", scoring)
    (found,) = local_align([pair], scoring, k=2, both_strands=True, device="cpu")
    places = [(a.strand, a.score, a.query_start, a.query_end, a.subject_start) for a in found]
    assert places == [("-", 30, 0, 6, 2), ("+", 25, 0, 5, 8)]


def test_many_pairs_keep_their_order():
    scoring = AffineScoring()
    pairs = [sequences("ACGT" * n, "ACGT" * n, scoring) for n in (3, 1, 2)]
    done = []
    found = local_align(pairs, scoring, device="cpu", threads=2, progress=done.append)
    assert [best.score for (best,) in found] == [60, 20, 40]
    assert sorted(done) == [16, 64, 144]


@pytest.mark.parametrize("name", [name for name in SHIPPED if name != "PAM120"])
def test_shipped_matrices(name):
    theirs = pytest.importorskip("Bio.Align.substitution_matrices").load(name)
    ours = load_matrix(name)
    for a, row in zip(ours.letters, ours.scores, strict=True):
        assert row.tolist() == [theirs[a, b] for b in ours.letters], a


def test_pam120_is_symmetric_and_best_on_its_diagonal():
    scores = load_matrix("pam120").scores
    assert (scores == scores.T).all()
    assert (np.diag(scores)[:20] == scores[:20, :20].max(axis=1)).all()


def test_scores_are_those_of_biopython():
    align = pytest.importorskip("Bio.Align")
    rng = np.random.default_rng(5)
    theirs = align.PairwiseAligner(mode="local", open_gap_score=-11, extend_gap_score=-1)
    theirs.substitution_matrix = align.substitution_matrices.load("BLOSUM62")
    scoring = AffineScoring(gap_open=11, gap_extend=1, matrix=load_matrix("BLOSUM62"))
    for _ in range(10):
        texts = random_pair(rng, 150, PROTEIN[:20])
        ((best, *_),) = local_align([sequences(*texts, scoring)], scoring, device="cpu")
        assert best.score == theirs.score(*texts)
        theirs.mode = "global"
        (whole,) = global_align([sequences(*texts, scoring)], scoring, device="cpu")
        assert whole.score == theirs.score(*texts)
        theirs.mode = "local"


@pytest.mark.parametrize(
    "wrong",
    [
        {"gap_open": -1, "gap_extend": -1},
        {"gap_extend": -1},
        {"gap_open": 2, "gap_extend": 3},
        {"match": 2**30},
    ],
)
def test_scorings_without_meaning(wrong):
    with pytest.raises(ScoringError):
        AffineScoring(**wrong)


def test_inputs_that_cannot_be_scored():
    blosum = AffineScoring(matrix=load_matrix("BLOSUM62"))
    dna, protein = Sequence.from_text("d", "ACGT"), ProteinSequence.from_text("p", "MKV")
    with pytest.raises(InputError, match="record d: a matrix scores proteins"):
        local_align([(dna, protein)], blosum, device="cpu")
    with pytest.raises(InputError, match="record p: a matrix scores proteins"):
        global_align([(dna, protein)], AffineScoring(), device="cpu")
    like_dna = ProteinSequence.from_text("x", "ACGTACGTAC" * 5)
    with pytest.raises(InputError, match="record x: ACGTACGTAC... looks like nucleotides"):
        local_align([(protein, like_dna)], blosum, device="cpu")
    small = AffineScoring(matrix=SubstitutionMatrix("tiny", "MK", np.eye(2, dtype=np.int64)))
    with pytest.raises(InputError, match=r"record p, position 3: .*no scores for 'V'"):
        local_align([(protein, protein)], small, device="cpu")
    with pytest.raises(ScoringError, match="no second strand"):
        local_align([(protein, protein)], blosum, both_strands=True, device="cpu")
    with pytest.raises(ScoringError, match="could arise"):
        local_align([(dna, dna)], AffineScoring(match=2**29), device="cpu")
    with pytest.raises(ValueError, match="at least 1"):
        local_align([(dna, dna)], k=0, device="cpu")
    with pytest.raises(InputError, match="empty"):
        local_align([(dna, Sequence.from_text("e", ""))], device="cpu")
