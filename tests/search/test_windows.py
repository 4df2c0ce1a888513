"""Windows of targets: genes of both strands, copies, borders, options, threads."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gpu_tools.errors import InputError
from gpu_tools.model.sequences import Sequence
from gpu_tools.search import windows as searched
from gpu_tools.search.api import SearchOptions, find_windows
from gpu_tools.search.hits import SHORT
from tests.search.cases import coding, dna, gene, planted, protein, record, target, turned

OPTIONS = SearchOptions(shapes="1011,1101", max_intron=1_000)


def found_in(texts, residues, options=OPTIONS, **arguments):
    records = [record(text, str(k)) for k, text in enumerate(texts)]
    return find_windows(records, [target(residues)], options, **arguments)


@pytest.mark.parametrize("strand", "+-")
def test_a_gene_lies_in_the_best_window(strand):
    text, residues, (start, end) = planted(11, strand=strand)
    best, *others = found_in(["ACGT", text], residues)
    assert (best.target, best.record, best.strand) == (0, 1, strand)
    assert best.start <= start
    assert end <= best.end
    assert len(best) < end - start + 2 * (1_000 + 3 * 40 + 400)
    assert all(other.score < best.score / 2 for other in others)


def test_a_window_has_room_for_exons_that_no_word_finds():
    rng = np.random.default_rng(12)
    residues = protein(rng, 100)
    exon = coding(rng, residues)
    text = dna(rng, 3_000) + exon[:9] + dna(rng, 700) + exon[9:] + dna(rng, 3_000)
    best = found_in([text], residues)[0]
    assert best.start <= 3_000
    assert best.start > 3_000 - 1_000


def test_windows_end_with_their_record():
    rng = np.random.default_rng(13)
    residues = protein(rng, 80)
    whole = coding(rng, residues)
    for text in (whole[60:], whole[:-60]):
        best = found_in([dna(rng, 500), text, dna(rng, 500)], residues)[0]
        assert (best.record, best.start, best.end) == (1, 0, len(text))


@pytest.mark.parametrize("strand", "+-")
def test_tandem_copies_have_a_window_each(strand):
    rng = np.random.default_rng(14)
    residues = protein(rng, 120)
    copies = [gene(rng, residues, 100), gene(rng, residues, 100)]
    text = dna(rng, 500) + copies[0] + dna(rng, 400) + copies[1] + dna(rng, 500)
    spans = [(500, 500 + len(copies[0])), (900 + len(copies[0]), 900 + sum(map(len, copies)))]
    if strand == "-":
        text = turned(text)
        spans = [(len(text) - b, len(text) - a) for a, b in spans[::-1]]
    windows = found_in([text], residues, replace(OPTIONS, min_score=200))
    windows.sort(key=lambda w: w.start)
    assert len(windows) == 2
    for window, (start, end) in zip(windows, spans, strict=True):
        assert window.start <= start < end <= window.end
    assert windows[0].end <= windows[1].start


def test_ambiguity_codes_end_hits_and_not_chains():
    text, residues, (start, end) = planted(15)
    broken = text[: start + 30] + "N" * 30 + text[start + 60 :]
    (plain, *_), (best, *_) = (found_in([t], residues) for t in (text, broken))
    assert best.start <= start < end <= best.end
    assert best.score < plain.score


def test_a_genetic_code_is_read():
    rng = np.random.default_rng(16)
    residues = "M" + "QKQEQWQRQ" * 10
    text = dna(rng, 900) + coding(rng, residues, 6).replace("CAA", "TAA") + dna(rng, 900)
    options = replace(OPTIONS, genetic_code=6)
    other = found_in([text], residues)
    best = found_in([text], residues, options)[0]
    assert best.start <= 900 < len(text) - 900 <= best.end
    assert not other or other[0].score < best.score / 2


def test_cdnas_are_found_on_both_strands():
    rng = np.random.default_rng(17)
    exons = dna(rng, 300)
    text = dna(rng, 2_000) + turned(exons[:150] + dna(rng, 200) + exons[150:]) + dna(rng, 2_000)
    options = SearchOptions(shapes="1101101", max_intron=1_000)
    best = find_windows([record(text)], [Sequence.from_text("cdna", exons)], options)[0]
    assert best.strand == "-"
    assert best.start <= 2_000 < 2_500 <= best.end


def test_any_number_of_threads_finds_the_same_windows():
    text, residues, _ = planted(18)
    records = [record(text)]
    options = replace(OPTIONS, min_score=30)
    targets = [target(residues[k:], str(k)) for k in range(12)] + [target("MK"), target("")]
    done = []
    one = find_windows(records, targets, options, threads=1)
    four = find_windows(records, targets, options, threads=4, progress=done.append)
    assert one == four
    assert sum(done) == len(targets)
    assert [w.target for w in one] == sorted(w.target for w in one)
    assert {w.target for w in one} == set(range(12))


def test_the_best_windows_are_left_and_weak_ones_not():
    text, residues, _ = planted(19)
    records = [record(text)]
    every = find_windows(records, [target(residues)], replace(OPTIONS, min_score=30))
    assert len(every) > 2
    assert [w.score for w in every] == sorted((w.score for w in every), reverse=True)
    few = find_windows(records, [target(residues)], replace(OPTIONS, min_score=30, max_windows=2))
    # weak chains, of which there are fewer here, move the borders
    assert [(w.strand, w.score) for w in few] == [(w.strand, w.score) for w in every[:2]]
    least = every[1].score
    some = find_windows(records, [target(residues)], replace(OPTIONS, min_score=least))
    assert min(w.score for w in some) == least


@pytest.mark.parametrize(("length", "is_found"), [(SHORT, True), (SHORT + 1, False)])
def test_words_of_plain_stretches_count_in_short_proteins(length, is_found):
    rng = np.random.default_rng(19)
    plain = "EKEEKKKEKE" * 4
    text = dna(rng, 3_000) + coding(rng, plain) + dna(rng, 3_000)
    residues = protein(rng, 60) + plain + protein(rng, length - 100)
    windows = found_in([text], residues, replace(OPTIONS, min_score=100))
    assert any(w.start <= 3_000 and w.end >= 3_120 for w in windows) == is_found


def test_repeats_are_not_looked_up():
    text, residues, _ = planted(20)
    records = [record(text)]
    assert not find_windows(records, [target(residues)], replace(OPTIONS, repeats=1e-9))


def test_targets_of_two_kinds_are_errors():
    with pytest.raises(InputError, match="record t: nucleotides among proteins; expected"):
        find_windows([record("ACGT" * 9)], [target("MK"), Sequence.from_text("t", "ACGT")])


def test_targets_beyond_a_limit_are_searched_apart(monkeypatch):
    text, residues, _ = planted(22)
    several = [target(residues[k:], str(k)) for k in range(5)]
    together = find_windows([record(text)], several, OPTIONS)
    monkeypatch.setattr(searched, "_MOST_PAIRS", 1)
    assert find_windows([record(text)], several, OPTIONS) == together


def span(first, last, start, end, score, around=500):
    chains = ((start, end),)
    low, high = max(start - around, 0), end + around
    return searched.ChainSpan(first, last, start, end, low, high, score, chains)


def resolved(*spans):
    return searched.without_overlaps(spans, 3, 100)


def covered(spans):
    return {place for s in spans for place in range(s.low, s.high)}


def test_no_windows_of_a_strand_overlap():
    rng = np.random.default_rng(21)
    for _ in range(60):
        spans = []
        for start in rng.integers(0, 20_000, 12).tolist():
            first, length = int(rng.integers(0, 50)), int(rng.integers(10, 50))
            score, around = int(rng.integers(50, 400)), int(rng.integers(1, 2_000))
            spans.append(span(first, first + length, start, start + 3 * length, score, around))
        left = resolved(*spans)
        assert all(a.high <= b.low for a, b in pairwise(left))
        assert covered(left) == covered(spans)
        assert all(w.low <= w.start < w.end <= w.high for w in left)
        best = max(spans, key=lambda s: s.score)
        assert any(w.low <= best.start and best.end <= w.high for w in left)
