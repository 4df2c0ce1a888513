"""How well site models fit introns that were found: warnings, and the choice of a model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.model.json_model import HUNDREDTHS
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.sequences import OTHER, Sequence, encode, reverse_complement
from gpu_tools.sites.model import GeneSites, SiteBits, load_sites, shipped_sites
from gpu_tools.splicing.site_matrix import SiteModel

REACH = 1000
"""Nucleotides on both sides of chains that show what is chance there."""
SITE_FLANK = 40
"""Nucleotides on both sides of an edge that matrices look at."""
MOST_CHANCE = 20_000
"""Words GT and AG of the sequences that are looked at."""
LEAST_INTRONS = 20
"""Introns below which nothing is said."""
GENERIC = "generic"
"""The shipped model of no species: the mean of others."""
Introns = Iterable[tuple[NDArray[np.uint8], Iterable[tuple[int, int]]]]


class FoundSites(NamedTuple):
    """Windows around sites of introns from GT to AG, and around other words GT and AG nearby."""

    donors: NDArray[np.uint8]
    acceptors: NDArray[np.uint8]
    chance_donors: NDArray[np.uint8]
    chance_acceptors: NDArray[np.uint8]

    @property
    def number(self) -> int:
        """Introns."""
        return len(self.donors)


def strand_with_introns(
    record: NDArray[np.uint8], strand: str, chains: Iterable[Iterable[tuple[int, int]]]
) -> tuple[NDArray[np.uint8], list[tuple[int, int]]]:
    """Return a strand around some chains in reading direction, and their introns, each once."""
    ordered = [sorted(chain) for chain in chains]
    low = max(min(chain[0][0] for chain in ordered) - REACH, 0)
    codes = record[low : max(chain[-1][1] for chain in ordered) + REACH]
    introns = {(a[1] - low, b[0] - low) for chain in ordered for a, b in pairwise(chain)}
    if strand == "-":
        codes = reverse_complement(codes)
        introns = {(len(codes) - end, len(codes) - start) for start, end in introns}
    return codes, sorted(introns)


def sites_of_alignments(
    bases: Mapping[str, Sequence], results: Iterable[SplicedAlignment]
) -> FoundSites:
    """Return the sites of the introns of chains on some bases."""
    chains = defaultdict(list)
    for result in results:
        if result.chain:
            chains[result.base, result.strand].append(result.chain)
    return found_sites(
        strand_with_introns(bases[base].codes, strand, own)
        for (base, strand), own in chains.items()
    )


def found_sites(introns: Introns) -> FoundSites:
    """Cut the sites of introns out of strands in reading direction."""
    parts: list[list[tuple]] = [[], [], [], []]
    for codes, pairs in introns:
        padded = np.pad(codes, SITE_FLANK, constant_values=OTHER)
        begins_gt, ends_ag = (_edges(codes, word, to) for word, to in (("GT", 0), ("AG", 2)))
        own = np.array([*pairs], dtype=np.int64).reshape(-1, 2)
        usual = own[begins_gt[own[:, 0]] & ends_ag[own[:, 1]]]
        begins_gt[usual[:, 0]] = ends_ag[usual[:, 1]] = False
        chance = np.flatnonzero(begins_gt), np.flatnonzero(ends_ag)
        for found, edges in zip(parts, (usual[:, 0], usual[:, 1], *chance), strict=True):
            found.append((padded, edges))
    donors, acceptors, *chance = parts
    every = (sum(len(edges) for _, edges in found) // MOST_CHANCE + 1 for found in chance)
    return FoundSites(_cut(donors), _cut(acceptors), *map(_cut, chance, every))


def _cut(found: Iterable[tuple], every: int = 1) -> NDArray[np.uint8]:
    """Return the windows of each edge, or of one in so many, of padded strands."""
    windows, first = [np.empty((0, 2 * SITE_FLANK), np.uint8)], 0
    for padded, edges in found:
        own = edges[-first % every :: every]
        windows.append(padded[own[:, None] + np.arange(2 * SITE_FLANK)])
        first += len(edges)
    return np.concatenate(windows)


def _edges(codes: NDArray[np.uint8], word: str, to: int) -> NDArray[np.bool_]:
    """Return which edges lie so many nucleotides behind the first one of a word of two."""
    one, two = encode(word)
    found = np.zeros(len(codes) + 1, np.bool_)
    found[to : to + len(codes) - 1] = (codes[:-1] == one) & (codes[1:] == two)
    return found


def mean_bits(model: GeneSites, found: FoundSites) -> SiteBits:
    """Return the mean scores of the sites by the model's usual kind of intron."""
    usual = model.introns[0]
    pairs = (usual.donor, found.donors), (usual.acceptor, found.acceptors)
    return SiteBits(*(float(_bits(*pair).mean()) for pair in pairs))


def likelihood(model: GeneSites, found: FoundSites) -> float:
    """Return the bits an intron by which a model tells its sites from words GT and AG nearby.

    It is the mean log-odds of the sites, less the logarithm of the mean odds of those words: models
    are made on genomes of other compositions, and this is what they say here.
    """
    usual, chance = model.introns[0], (found.chance_donors, found.chance_acceptors)
    odds = (
        np.log2(np.exp2(_bits(site, windows)).mean())
        for site, windows in zip((usual.donor, usual.acceptor), chance, strict=True)
    )
    return sum(mean_bits(model, found)) - sum(odds)


def _bits(site: SiteModel, windows: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return the scores of sites, of the columns that lie in the windows."""
    total, shift = np.zeros(len(windows), np.int64), SITE_FLANK - site.before
    for column in range(max(-shift, 0), min(len(site.scores), 2 * SITE_FLANK - shift)):
        total += site.scores[column].take(windows[:, shift + column])
    return total / HUNDREDTHS


def best_shipped(found: FoundSites) -> tuple[GeneSites, float]:
    """Return the shipped model that fits best, and its likelihood; of equals the first by name."""
    models = [load_sites(name) for name in shipped_sites()]
    values = [likelihood(model, found) for model in models]
    best = int(np.argmax(values))
    return models[best], values[best]


BETTER_BITS = 1.0
"""Bits an intron by which another model must fit better to be named."""
LACKING_BITS = 2.0
"""Bits an intron that sites lack where a model fits badly."""


def bad_fit(model: GeneSites, found: FoundSites) -> str | None:
    """Say that a model does not fit introns that were found, and which one fits better."""
    if found.number < LEAST_INTRONS:
        return None
    best, value = best_shipped(found)
    is_better = value - likelihood(model, found) >= BETTER_BITS
    bits, expected = mean_bits(model, found), model.mean_bits
    lacks = expected is not None and sum(expected) - sum(bits) >= LACKING_BITS
    if not (is_better or lacks):
        return None
    told = f", where the site model {model.name} expects" if expected else " in the site model "
    told += " {:.1f} and {:.1f}".format(*expected) if expected else model.name
    other = (
        f"the model {best.name} fits better" if is_better
        else "gpu-tools sites train makes another one"
    )  # fmt: skip
    return (
        f"donors and acceptors of {found.number:,} introns found have {bits.donor:.1f} and "
        f"{bits.acceptor:.1f} bits{told}: {other}"
    )


FIRST_PASS = 50
"""Targets by which a model is chosen."""
USUAL_PROTEIN, USUAL_CDNA = 1000, 3000
"""Symbols of a target; longer ones take long, and are tried only where there are few others."""


def first_pass(lengths: list[int], is_protein: bool) -> list[int]:
    """Return which targets tell most of a genome's introns soon: the longest of a usual length."""
    most = USUAL_PROTEIN if is_protein else USUAL_CDNA

    def order(k: int) -> tuple[bool, int]:
        return lengths[k] > most, lengths[k] if lengths[k] > most else -lengths[k]

    return sorted(sorted(range(len(lengths)), key=order)[:FIRST_PASS])


def chosen_model(
    found: FoundSites, source: str = "a first pass", verb: str = "found"
) -> tuple[GeneSites, str]:
    """Return the shipped model that fits a source's introns best, and why.

    For few introns it is `GENERIC`.
    """
    if found.number < LEAST_INTRONS:
        return load_sites(GENERIC), (
            f"{source} {verb} {found.number} introns, which are too few to choose by"
        )
    best, value = best_shipped(found)
    return best, (
        f"it fits {found.number:,} introns of {source} best, by {value:.1f} bits an intron"
    )
