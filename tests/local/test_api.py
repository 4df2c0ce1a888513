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
from gpu_tools.formats.scales import SHIPPED, load_matrix
from gpu_tools.hardware.device import MOST_CPU_THREADS
from gpu_tools.local import cpu, schedule
from tests.local.cases import PROTEIN, letters_of, random_pair, sequences


def aligned(pair, scoring, **options):
    (found,) = local_align([pair], scoring, device="cpu", **options)
    return [
        (a.score, (a.query_start, a.subject_start), (a.query_end, a.subject_end), letters_of(a))
        for a in found
    ]


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
    assert sum(done) == 16 + 64 + 144


def test_threads_are_limited(monkeypatch):
    started = []
    monkeypatch.setattr(
        schedule, "map_on_threads", lambda threads, *work: started.append(threads) or []
    )
    assert global_align([], threads=MOST_CPU_THREADS + 1) == []
    assert started == [MOST_CPU_THREADS]


def test_progress_moves_within_a_large_pair(monkeypatch):
    monkeypatch.setattr(cpu, "CELLS_PER_REPORT", 1)
    monkeypatch.setattr(cpu, "watched", lambda call, done: (call(counter), done(1000))[0])
    counter, done, scoring = np.zeros(1, np.int64), [], AffineScoring()
    pair = sequences("ACGTTGCAAC" * 40, "ACGTTGCAAC" * 50, scoring)
    local_align([pair], scoring, device="cpu", progress=done.append)
    assert counter[0] == sum(done) == 400 * 500


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


@pytest.mark.parametrize("both_strands", [False, True])
def test_any_number_of_threads(both_strands):
    rng = np.random.default_rng(11)
    pairs = [
        tuple(Sequence(name, rng.integers(0, 4, 1500).astype(np.uint8)) for name in "qs")
        for _ in range(3)
    ]
    one, *more = (
        local_align(pairs, k=9, both_strands=both_strands, device="cpu", threads=n)
        for n in (1, 2, 7)
    )
    assert [len(found) for found in one] == [9, 9, 9]
    assert more == [one, one]
