"""How well site models fit introns: what is told, and which model is chosen."""

import numpy as np
import pytest

from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import Sequence, decode, encode, reverse_complement
from gpu_tools.sites.fit import (
    GENERIC,
    LEAST_INTRONS,
    bad_fit,
    chosen_model,
    first_pass,
    found_sites,
    likelihood,
    mean_bits,
    sites_of_alignments,
)
from gpu_tools.sites.model import load_sites

LENGTH = 200


def drawn(rng, site, n):
    """Return windows whose columns follow a matrix on random sequence, letter by letter."""
    odds = np.exp2(np.where(site.scores[:, :4] < -1e6, -np.inf, site.scores[:, :4] / 100))
    shares = odds / odds.sum(axis=1, keepdims=True)
    return np.stack([rng.choice(4, n, p=column) for column in shares], axis=1).astype(np.uint8)


def strand_of(name, n, seed=1):
    """Return a random strand with introns that follow a model, and the introns."""
    rng, usual = np.random.default_rng(seed), load_sites(name).introns[0]
    codes, introns = rng.integers(0, 4, 2 * LENGTH * n + LENGTH).astype(np.uint8), []
    donors, acceptors = drawn(rng, usual.donor, n), drawn(rng, usual.acceptor, n)
    for k in range(n):
        start = LENGTH + 2 * LENGTH * k
        for edge, site, words in (
            (start, usual.donor, donors), (start + LENGTH, usual.acceptor, acceptors)
        ):  # fmt: skip
            first = edge - site.before
            codes[first : first + words.shape[1]] = words[k]
        introns.append((start, start + LENGTH))
    return codes, introns


@pytest.mark.parametrize("name", ["worm", "yeast", "fly", "human", "rice"])
def test_the_model_that_made_the_introns_is_chosen(name):
    found = found_sites([strand_of(name, 200)])
    # GC donors are left out
    assert 190 <= found.number <= 200
    sites, why = chosen_model(found)
    assert sites.name == name
    assert why.startswith(f"it fits {found.number} introns of a first pass best, by ")
    assert bad_fit(load_sites(name), found) is None


def test_a_model_that_fits_badly_is_told():
    found = found_sites([strand_of("worm", 200)])
    text = bad_fit(load_sites("human"), found)
    donor, acceptor = mean_bits(load_sites("human"), found)
    assert text == (
        f"donors and acceptors of {found.number} introns found have {donor:.1f} and "
        f"{acceptor:.1f} bits, where the site model human expects 4.9 and 5.3: the model worm fits "
        "better"
    )


def test_introns_of_no_genome_make_a_bad_fit():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, 100_000).astype(np.uint8)
    text = decode(codes)
    introns = [
        (start, text.index("AG", start + 60) + 2)
        for start in range(500, 99_000) if text.startswith("GT", start)
    ][:300]  # fmt: skip
    told = bad_fit(load_sites("human"), found_sites([(codes, introns)]))
    assert "introns found have" in told
    assert likelihood(load_sites("human"), found_sites([(codes, introns)])) < 0


def test_few_introns_choose_nothing():
    found = found_sites([strand_of("worm", LEAST_INTRONS - 1)])
    sites, why = chosen_model(found)
    assert sites.name == GENERIC
    assert f"found {found.number} introns, which are too few" in why
    assert bad_fit(load_sites("human"), found) is None
    assert chosen_model(found_sites([]))[0].name == GENERIC


def test_sites_of_alignments_are_the_same_on_both_strands():
    codes, introns = strand_of("worm", 30)
    edges = [0, *(edge for intron in introns for edge in intron), len(codes)]
    exons = [*zip(edges[::2], edges[1::2], strict=True)]
    mirrored = [(len(codes) - end, len(codes) - start) for start, end in exons]
    bases = {"a": Sequence("a", codes), "b": Sequence("b", reverse_complement(codes))}

    def result(base, strand, chain):
        return SplicedAlignment(base, "t", 9, 9, strand, 5, 9, 9, tuple(chain))

    own = sites_of_alignments(bases, [result("a", "+", exons), result("a", "+", exons[:3])])
    other = sites_of_alignments(bases, [result("b", "-", mirrored), result("b", "+", [])])
    assert own.number == found_sites([(codes, introns)]).number
    assert np.array_equal(own.donors, other.donors)
    assert np.array_equal(own.acceptors, other.acceptors)
    assert np.all(own.donors[:, 40:42] == encode("GT"))
    assert np.all(own.acceptors[:, 38:40] == encode("AG"))


def test_the_first_pass_takes_the_longest_of_a_usual_length():
    lengths = [5000, 1000, 30, 1001, *[500] * 48]
    assert first_pass(lengths, True) == [1, 2, *range(4, 52)]
    assert first_pass([5000, 1200, 7], True) == [0, 1, 2]
    assert first_pass([4000] + [100] * 49 + [2000] * 50, False) == list(range(50, 100))
