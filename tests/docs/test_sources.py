"""What the page of the sources says is right, found anew from definitions."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.sequences import encode_protein
from tests.oracles.local import k_best
from tests.oracles.spliced import chains, global_score, pair_score

PAGE = (Path(__file__).parents[2] / "docs/design/sources.md").read_text("utf-8")
BASE, TARGET, EXONS = "ACCGTATGT", "CCGGT", [(0, 2), (2, 4), (3, 5), (5, 8), (7, 9)]


def score_of(text, target):
    return global_score(text, target, lambda a, b: pair_score(a, b, 1, -1), -2)


def row(exon, i):
    """A row of a matrix: each beginning of the target against all chains up to a position."""
    before = [
        "".join(BASE[a:b] for a, b in chain)
        for chain in [(), *chains(EXONS)]
        if all(a[1] <= b[0] for a, b in pairwise((*chain, exon)))
    ]
    texts = [text + BASE[exon[0] : i] for text in before]
    return [max(score_of(text, TARGET[:j]) for text in texts) for j in range(len(TARGET) + 1)]


def test_matrices_of_the_worked_example():
    printed = re.search(r"```text\n(exon .*?)```", PAGE, re.S)[1]
    lines = [line.split() for line in printed.splitlines()[1:] if line]
    found = {(int(k), int(i)): [int(n) for n in values] for k, i, _, *values in lines}
    assert found == {
        (k, i): row(exon, i)
        for k, exon in enumerate(EXONS, 1)
        for i in range(exon[0] + 1, exon[1] + 1)
    }
    assert found[2, 3][1] == 1
    assert max(found[k, end][-1] for k, (_, end) in enumerate(EXONS, 1)) == 3


def test_local_score_of_two_short_proteins():
    substitution_matrices = pytest.importorskip("Bio.Align.substitution_matrices")
    theirs, shipped = substitution_matrices.load("BLOSUM62"), load_matrix("BLOSUM62").table()
    codes = encode_protein(theirs.alphabet)
    assert shipped[np.ix_(codes, codes)].tolist() == np.array(theirs).tolist()
    pair = lambda a, b: int(theirs[a, b])  # noqa: E731
    score, start, end, _ = next(k_best("SEND", "AND", pair, (10, 10), 1))
    assert (score, start, end) == (12, (2, 1), (4, 3))
    assert "**12**" in PAGE


def test_hash_of_a_window_from_prefix_sums():
    """For every base that the prime does not divide, prime or not."""
    rng, q, n, m = np.random.default_rng(5), 101, 40, 7
    text = rng.integers(1, 5, n).tolist()
    for d in (2, 4, 6, 9, 100, 102):
        sums = [0]
        for i, symbol in enumerate(text):
            sums.append((sums[-1] + pow(d, n - 1 - i, q) * symbol) % q)
        for j in range(n - m + 1):
            hashed = sum(pow(d, m - 1 - k, q) * text[j + k] for k in range(m)) % q
            terms = sums[j + m] - sums[j]
            assert terms * pow(d, (m - n + j) % (q - 1), q) % q == hashed


def test_running_sums_begin_with_the_first_number():
    """With v_0 = u_0 each sum of a segment is a difference of two prefix sums."""
    rng = np.random.default_rng(6)
    u = rng.integers(-9, 10, 12).tolist()
    v = [u[0]]
    for value in u[1:]:
        v.append(v[-1] + value)
    for a in range(len(u)):
        for b in range(a, len(u)):
            assert v[b] - (v[a - 1] if a else 0) == sum(u[a : b + 1])
