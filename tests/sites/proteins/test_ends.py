"""Ends of proteins whose exons are not there stay unaligned; ends that are there stay aligned."""

import numpy as np
import pytest

from gpu_tools import ProteinSequence, Sequence, protein_targets
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.sites.proteins.api import protein_align
from gpu_tools.sites.proteins.ends import unsupported_ends, with_supported_ends
from gpu_tools.splicing.best_chains import best_chains
from tests.annotate.genomes import (
    CODONS,
    INTRON,
    SITES,
    mutated,
    random_protein,
    random_text,
    reversed_text,
)
from tests.sites.proteins.test_api import BLOSUM62
from tests.sites.proteins.test_best import pairs_of

SCORING = ProteinScoring(BLOSUM62)
FLANK = 600


def aligned(base, protein, scoring=SCORING):
    """Return the best chain from end to end, and the one without unsupported ends or None."""
    targets = protein_targets([ProteinSequence.from_text("p", protein)], SITES, scoring)
    sequence = Sequence.from_text("b", base)
    tables = {strand: table for s in "+-" for strand, table in targets.tables(sequence, s).items()}
    cases = [targets.case(sequence, targets.sequences[0], tables)]

    def align(cases):
        return protein_align(cases, scoring, device="cpu", threads=2)

    (found,) = align(cases)
    return found, *with_supported_ends(cases, [found], scoring, align)


def coding(residues):
    return "".join(CODONS[letter] for letter in residues)


def gene_of(rng, *parts):
    """Return a base with a gene whose exons code for parts of a protein, and the exons' places."""
    base, places = random_text(rng, FLANK), []
    for k, part in enumerate(parts):
        base += INTRON.format(random_text(rng, 80)) if k else ""
        places.append((len(base), len(base) + 3 * len(part) + 3 * (k == len(parts) - 1)))
        base += coding(part)
    return base + "TAA" + random_text(rng, FLANK), places


def nucleotides(chain):
    return {place for start, end in chain for place in range(start, end)}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", ["begin", "end"])
@pytest.mark.parametrize("strand", ["+", "-"])
def test_exons_that_are_not_there_are_not_invented(seed, missing, strand):
    rng = np.random.default_rng([seed, 1])
    text = random_protein(rng, 240)
    parts = text[:80], text[80:160], text[160:]
    base, places = gene_of(rng, *parts)
    if missing == "begin":
        shift = places[0][1] + 20 - 300
        base, target = random_text(rng, 300) + base[shift + 300 :], (80, 240)
        kept = [(start - shift, end - shift) for start, end in places[1:]]
    else:
        base, kept, target = base[: places[2][0] - 40], places[:2], (0, 160)
        base += random_text(rng, 300)
    if strand == "-":
        base, length = reversed_text(base), len(base)
        kept = [(length - e, length - s) for s, e in kept]
    forced, found = aligned(base, text)
    assert (forced.target_start, forced.target_end) == (0, 240)
    assert found is not None
    forced_outside, outside = (
        nucleotides(one.chain) - nucleotides(kept) for one in (forced, found)
    )
    assert len(forced_outside) >= 45
    assert len(outside) <= 30
    assert len(nucleotides(kept) - nucleotides(found.chain)) <= 3
    assert abs(found.target_start - target[0]) <= 11
    assert abs(found.target_end - target[1]) <= 11
    assert (found.target_length, found.cells) == (240, forced.cells)
    assert found.coverage == pytest.approx(2 / 3, abs=0.05)
    assert found.score > forced.score
    assert unsupported_ends(found, SCORING) == (0, 0)


def test_a_further_chain_shares_no_pair_without_its_unsupported_end():
    rng = np.random.default_rng(13)
    text = random_protein(rng, 160)
    base, places = gene_of(rng, text[:80], text[80:])
    sequence = Sequence.from_text("b", base + base[places[0][1] + 20 :])
    targets = protein_targets([ProteinSequence.from_text("p", text)], SITES, SCORING)
    case = targets.case(sequence, targets.sequences[0], targets.tables(sequence, "+"))

    def align(cases):
        return protein_align(cases, SCORING, device="cpu", threads=2)

    ((first, second, *_),) = best_chains([case], align([case]), 2, align, SCORING)
    (found,) = with_supported_ends([second.case], [second.alignment], SCORING, align)
    assert (found.rank, found.target_end) == (2, 160)
    assert 70 <= found.target_start <= 80
    assert not pairs_of(found) & pairs_of(first.alignment)
    again = second.case.of_residues(60, 150)
    rows, columns = second.case.banned["+"]
    chosen = (columns >= 60) & (columns < 150)
    expected = (rows[chosen].tolist(), (columns[chosen] - 60).tolist())
    assert tuple(each.tolist() for each in again.banned["+"]) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rate", [0, 0.4])
def test_true_ends_stay(seed, rate):
    """Short first and last exons, and ends of exons that are like nothing."""
    rng = np.random.default_rng([seed, 2])
    text = random_protein(rng, 200)
    first, last = int(rng.integers(1, 7)), int(rng.integers(1, 7))
    base, places = gene_of(rng, text[:first], text[first:-last], text[-last:])
    found, shorter = aligned(base, mutated(rng, text, rate))
    assert shorter is None
    if not rate:
        assert found.chain == tuple(places)


@pytest.mark.parametrize("seed", range(6))
def test_an_open_frame_up_to_its_codons_stays_though_it_is_like_nothing(seed):
    rng = np.random.default_rng([seed, 4])
    text = random_protein(rng, 200)
    base, places = gene_of(rng, text[:100], text[100:])
    other = "M" + random_protein(rng, 12)[1:] + text[12:-12] + random_protein(rng, 12)
    found, shorter = aligned(base, other)
    assert (found.chain, shorter) == (tuple(places), None)


def test_free_ends_and_unlike_proteins_are_left_alone():
    rng = np.random.default_rng(3)
    text = random_protein(rng, 160)
    base, places = gene_of(rng, text[:80], text[80:])
    cut = base[places[0][1] + 20 :]
    assert aligned(cut, text)[1] is not None
    assert aligned(cut, text, ProteinScoring(BLOSUM62, ends="free-target"))[1] is None
    assert aligned(random_text(rng, 900), text)[1] is None
