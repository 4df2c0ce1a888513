"""Near parts of windows: what is tried first, and when the rest of a window follows."""

from dataclasses import replace

import numpy as np
import pytest

from gpu_tools.annotate.ends import LooseEnd
from gpu_tools.annotate.targets import ProteinTargets
from gpu_tools.annotate.trials import Core, Trial
from gpu_tools.model.locus import SearchWindow, SeedChain
from gpu_tools.model.results import ProteinAlignment, SplicedAlignment
from gpu_tools.search.windows import CONTEXT
from gpu_tools.splicing.proteins.scored import SURE
from tests.annotate.genomes import (
    INTRON,
    annotate,
    cdnas,
    gene,
    genome,
    places,
    proteins,
    random_text,
)

RNG = np.random.default_rng(60)
PROTEIN = "M" + "".join(RNG.choice([*"ARNDCQEGHILKFPSTWYV"], 99))
TARGETS = proteins(a=PROTEIN)
SELF = TARGETS.scoring.matrix.table()
WHOLE = ProteinAlignment(
    "chr1", "a", 5000, 100, "+", 500, 0, ((3000, 3303),), 0, 100, (("M", 100),), PROTEIN, PROTEIN,
    100, (0,), True, True,
)  # fmt: skip


def own(letters: str) -> int:
    return sum(int(SELF[code, code]) for code in proteins(a=letters).sequences[0].codes)


def test_an_alignment_from_start_to_stop_codon_has_no_loose_end():
    assert [end[:2] for end in TARGETS.loose_ends(WHOLE)] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("count", [1, 12])
def test_residues_left_out_could_win_their_share_and_the_gap(count):
    missing = replace(WHOLE, translation="-" * count + PROTEIN[count:], start_codon=False)
    before, behind = TARGETS.loose_ends(missing)
    rate = (own(PROTEIN[count:]) - 11 - count) / own(PROTEIN)
    start = TARGETS.sites.start - TARGETS.sites.begin
    expected = rate * own(PROTEIN[:count]) + 11 + count + start
    assert before[:2] == (pytest.approx(expected), 3 * count)
    own_scores = np.cumsum([own(letter) for letter in PROTEIN[count:]])
    assert before.symbols == count + np.searchsorted(own_scores, SURE) + 1
    assert behind.points == 0
    turned = replace(missing, translation=missing.translation[::-1], residues=PROTEIN[::-1],
                     start_codon=True, stop_codon=False)  # fmt: skip
    stop = TARGETS.sites.stop - TARGETS.sites.end
    assert TARGETS.loose_ends(turned)[1].points == pytest.approx(expected - start + stop)


def test_ends_of_a_cdna_lack_what_the_rest_of_it_has():
    """Two points of the search for a match, -2 for a mismatch, -4 for a symbol in a gap."""
    targets = cdnas(a="ACGT" * 30)
    cigar = (("X", 3), ("=", 2), ("N", 100), ("=", 100), ("D", 1))
    found = SplicedAlignment("chr1", "a", 5000, 120, "+", 90, None, 0, ((50, 55), (155, 256)), 10,
                             115, cigar)  # fmt: skip
    rate = 2 * (102 - 3 - 2) / (2 * 105)
    before, behind = targets.loose_ends(found)
    assert before == (pytest.approx(3 * (2 * rate + 2) + 2 * rate * 10), 3 + 10, 10 + 3 + 15)
    assert behind == (pytest.approx(4 + 2 * rate * 5), 1 + 5, 5 + 1 + 15)


def test_a_window_is_widened_as_far_as_asked():
    near = (SeedChain(3000, 3300, 500, 1700, 4600), SeedChain(9000, 9100, 80, 8000, 9500))
    window = SearchWindow(0, 0, "-", 0, 100_000, 500, near)
    trial = replace(Trial.near(window), alignment=WHOLE)
    assert trial.part == window.part(1700, 4600)
    assert trial.widened(1300, 1297) is None
    assert trial.widened(100, 50_000).part == window.part(1700, 53_303)
    assert trial.widened(5000, 100).part == window.part(0, 4600)
    moved = replace(WHOLE, chain=((13_000, 13_303),))
    assert replace(trial, offset=10_000, alignment=moved).interval == (3000, 3303)


@pytest.mark.parametrize("strand", "+-")
def test_ends_are_aligned_in_the_part_and_in_what_is_wider_beside_it(strand):
    window = SearchWindow(0, 0, strand, 0, 100_000, 500)
    trial = Trial(window, window.part(3000, 4000))
    below, above = window.part(1000, 4000), window.part(3000, 5000)
    first, last = (below, above) if strand == "+" else (above, below)
    expected = [(Core(trial.part, 0, 9), Core(first, 0, 9)),
                (Core(trial.part, 92, 100), Core(last, 92, 100))]  # fmt: skip
    assert trial.ends_beside(window.part(1000, 5000), (9, 8), 100) == expected
    only = expected[strand == "-"]
    assert trial.ends_beside(window.part(1000, 4000), (9, 8), 100) == [only]


def test_a_loose_end_reaches_as_far_as_introns_of_its_points():
    lines = (0, 256), (8, 2048)
    assert LooseEnd(2.5, 30, 20).reach(lines, 50_000) == 30 + 6 * 256 + CONTEXT
    assert LooseEnd(10, 30, 20).reach(lines, 50_000) == 30 + 6 * 2048 + CONTEXT
    assert LooseEnd(100, 30, 20).reach(lines, 50_000) == 30 + 50_000 + CONTEXT


@pytest.mark.parametrize("far", [0, 6000])
def test_the_rest_of_a_window_is_aligned_where_an_exon_may_lie_there(monkeypatch, far):
    """The first exon has five residues, which no word finds."""
    rng, lengths, align = np.random.default_rng(61), [], ProteinTargets.align

    def measured(self, cases, *more):
        lengths.extend(len(case.base) for case in cases)
        return align(self, cases, *more)

    monkeypatch.setattr(ProteinTargets, "align", measured)
    first = gene(rng, PROTEIN[:5], 0).removesuffix("TAA")
    text = first + INTRON.format(random_text(rng, 50 + far)) + gene(rng, PROTEIN[5:], 1)
    record = genome(random_text(rng, 12_000), text, random_text(rng, 3000))
    found = annotate([record], TARGETS, search="seeded")
    assert places(found) == [("chr1", "+", 12_000, 12_000 + len(text))]
    assert found.targets[0].best.chain[0] == (12_000, 12_015)
    assert (max(lengths) > 8000) == bool(far)
