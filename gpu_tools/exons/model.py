"""The model of genes: sites, coding and other sequence, lengths, states; a JSON file each.

The scores of sites and coding sequence are log-odds in bits and multiples of 0.01 bit. Inside they
are integers, hundredths of a bit, so that a candidate's score is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.lattice import N_INTRONS
from gpu_tools.model.exon_set import EXON_TYPES
from gpu_tools.model.json_model import FORBIDDEN, HUNDREDTHS, ModelReader, load_json
from gpu_tools.model.resources import resource_path
from gpu_tools.model.sequences import OTHER, encode
from gpu_tools.splicing.site_matrix import N_BASES, SiteModel, read_site, site_scores

EXON_FORMAT = "gpu-tools exon model"
EXON_VERSION = 2
LARGEST_ORDER = 7
LARGEST_GC_WINDOW = 10_000_000
LONGEST_EXON = 100_000
LONGEST_STAY = 1_000_000_000
SHORTEST_EXON = 3
GC_CLASSES = np.arange(0.25, 0.76, 0.025)
"""Shares of G and C that coding scores are made for; a nucleotide gets the nearest."""


@dataclass(frozen=True)
class CodingModel:
    """Coding against other sequence, by the share of G and C around."""

    order: int  # number of preceding nucleotides that a nucleotide's score depends on
    window: int  # nucleotides, around a nucleotide, whose G and C count
    # shape (classes, 3, 4 ** (order + 1)): hundredths of a bit by class of G+C
    # (`GC_CLASSES`), position in the codon, and the word that ends with the nucleotide, words
    # in base 4, first nucleotide most significant
    scores: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class GeneModel:
    """How genes are built."""

    between: float  # mean number of nucleotides between two genes, and in an intron
    intron: float
    shortest_intron: int  # fewest nucleotides of an intron
    single: float  # share of the genes that have one coding exon
    last: float  # chance that the exon after an intron is the gene's last
    introns: tuple[float, ...]  # shares of the intron states, see `gpu_tools.exons.lattice`


@dataclass(frozen=True)
class ExonModel:
    """What `gpu_tools.exons.predict_exons` needs to know.

    Attributes
    ----------
    name, source : str
        Name of the model, and what it was trained on.
    acceptor, donor, start : SiteModel
        Sites at an exon's first nucleotide, behind its last one, and at the first one of ATG.
    stops : tuple of str
        Stop codons.
    coding : CodingModel
        Scores of the nucleotides.
    lengths : ndarray of float64, shape (5, max_length + 1)
        Logarithm to base 2 of a length's probability by type (`EXON_TYPES`; row 0 is unused);
        -inf under the least length.
    gene : GeneModel
        States and their changes.
    min_length, max_length : int
        Shortest and longest exon.
    min_probability : float
        Default cut-off of a candidate's posterior probability.
    """

    name: str
    source: str
    acceptor: SiteModel
    donor: SiteModel
    start: SiteModel
    stops: tuple[str, ...]
    coding: CodingModel
    lengths: NDArray[np.float64] = field(repr=False)
    gene: GeneModel
    min_length: int
    max_length: int
    min_probability: float

    @property
    def log_min_probability(self) -> float:
        """Logarithm to base 2 of the cut-off; -inf for 0."""
        return float(np.log2(self.min_probability)) if self.min_probability else -np.inf


def load_model(name_or_path: str | PathLike) -> ExonModel:
    """Load a shipped model by name, or one from a JSON file."""
    return load_json(name_or_path, resource_path("models"), "exon model", model_from_dict)


def model_from_dict(content: Any) -> ExonModel:
    """Check the content of a model's JSON file and build the model."""
    reader = ModelReader(content, "")
    reader.literal("format", EXON_FORMAT)
    reader.literal("version", EXON_VERSION)
    reader.literal("units", "bits")
    longest = reader.integer("max_length", SHORTEST_EXON, LONGEST_EXON)
    shortest = reader.integer("min_length", SHORTEST_EXON, longest)
    return ExonModel(
        name=reader.text("name"),
        source=reader.text("source"),
        acceptor=read_site(reader.inner("acceptor"), (2, 0), dependent=True),
        donor=read_site(reader.inner("donor"), (0, 2), dependent=True),
        start=read_site(reader.inner("start"), (0, 3), dependent=True),
        stops=reader.codons("stops"),
        coding=_coding_model(reader.inner("coding")),
        lengths=_length_scores(reader.inner("length"), shortest, longest),
        gene=_gene_model(reader.inner("gene")),
        min_length=shortest,
        max_length=longest,
        min_probability=reader.number("min_probability", 0.0, 1.0),
    )


def _coding_model(reader: ModelReader) -> CodingModel:
    order = reader.integer("order", 0, LARGEST_ORDER)
    words = N_BASES ** (order + 1)
    window = reader.integer("window", 1, LARGEST_GC_WINDOW)
    coding, other = reader.numbers("coding", (3, words)), reader.numbers("other", (1, words))
    shifts, weight = reader.numbers("gc_shifts", (4,)), reader.number("weight", 0.0, 10.0)
    middle = reader.number("gc", 0.01, 0.99)
    by_class = [
        shifted(coding, shifts[:3], middle, share) - shifted(other, shifts[3:], middle, share)
        for share in GC_CLASSES
    ]
    scores = np.rint(HUNDREDTHS * weight * np.array(by_class)).astype(np.int64)
    return CodingModel(order, window, scores)


def shifted(
    logarithms: NDArray[np.float64], shifts: NDArray[np.float64], middle: float, share: float
) -> NDArray[np.float64]:
    """Move the frequencies of nucleotides from one share of G+C around to another."""
    distance = np.log2(share / (1 - share)) - np.log2(middle / (1 - middle))
    gains = np.multiply.outer(shifts * distance, [0.0, 1.0, 1.0, 0.0])
    by_context = logarithms.reshape(len(logarithms), -1, N_BASES) + gains[:, None, :]
    total = np.log2(np.exp2(by_context).sum(axis=2, keepdims=True))
    return (by_context - total).reshape(logarithms.shape)


def _length_scores(reader: ModelReader, shortest: int, longest: int) -> NDArray[np.float64]:
    """Spread the logarithms at some lengths over all; for each type the probabilities sum to 1."""
    at = reader.rising_integers("at", 1, LONGEST_EXON)
    lengths = np.log(np.arange(shortest, longest + 1))
    table = np.full((len(EXON_TYPES), longest + 1), -np.inf)
    for code, name in enumerate(EXON_TYPES):
        if name:
            row = np.interp(lengths, np.log(at), reader.numbers(name, (len(at),)))
            row -= row.max()
            table[code, shortest:] = row - np.log2(np.exp2(row).sum())
    return table


def _gene_model(reader: ModelReader) -> GeneModel:
    introns = reader.numbers("introns", (N_INTRONS,))
    if not (introns > 0).all() or abs(introns.sum() - 1) > 0.01:
        raise reader.wrong("introns", f"{N_INTRONS} positive numbers that add up to 1")
    return GeneModel(
        between=reader.number("between", 2.0, LONGEST_STAY),
        intron=reader.number("intron", 2.0, LONGEST_STAY),
        shortest_intron=reader.integer("shortest_intron", 1, LARGEST_GC_WINDOW),
        single=reader.number("single", 0.0001, 0.9999),
        last=reader.number("last", 0.0001, 0.9999),
        introns=tuple((introns / introns.sum()).tolist()),
    )


# What a model says of the positions of a sequence: sites, coding scores, stop codons.


def sites_over(codes: NDArray[np.uint8], site: SiteModel) -> tuple[NDArray, NDArray]:
    """Return the rising positions of a sequence's sites and their scores, both int64."""
    scores = site_scores(codes, site)
    positions = np.flatnonzero(scores >= max(site.cutoff, FORBIDDEN // 2))
    return positions, scores[positions]


def coding_sums(codes: NDArray[np.uint8], model: CodingModel) -> NDArray[np.int64]:
    """Return running sums of the coding scores in the three frames."""
    word, known = words_before(codes, model.order)
    classes, position = gc_classes(codes, model.window), np.arange(len(codes))
    sums = np.zeros((3, len(codes) + 1), dtype=np.int64)
    for frame in range(3):
        scores = model.scores[classes, (position - frame) % 3, word]
        np.cumsum(np.where(known, scores, 0), out=sums[frame, 1:])
    return sums


def gc_classes(codes: NDArray[np.uint8], window: int) -> NDArray[np.int64]:
    """Return for each nucleotide the class of the share of G and C around it."""
    strong = np.concatenate([[0], np.cumsum((codes == 1) | (codes == 2))])
    known = np.concatenate([[0], np.cumsum(codes != OTHER)])
    n = len(codes)
    size = min(window // 2 * 2 + 1, n)
    low = np.clip(np.arange(n) - window // 2, 0, n - size)
    share = (strong[low + size] - strong[low] + 1) / (known[low + size] - known[low] + 2)
    nearest = np.floor((share - GC_CLASSES[0]) / (GC_CLASSES[1] - GC_CLASSES[0]) + 0.5)
    return np.clip(nearest, 0, len(GC_CLASSES) - 1).astype(np.int64)


def words_before(
    codes: NDArray[np.uint8], order: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return for each nucleotide the word of it and the `order` nucleotides before it."""
    n = len(codes)
    word = np.zeros(n, dtype=np.int64)
    known = np.ones(n, dtype=bool)
    known[:order] = False
    for back in range(min(order, n - 1) + 1):
        word[back:] += (codes[: n - back].astype(np.int64) & 3) << (2 * back)
        known[back:] &= codes[: n - back] != OTHER
    return word, known


def next_stops(codes: NDArray[np.uint8], stops: tuple[str, ...]) -> NDArray[np.int64]:
    """Return for each position the first stop codon at or after it in the same frame."""
    n = len(codes)
    is_stop = np.zeros(n + 3, dtype=bool)
    word, known = words_before(codes, 2)
    wanted = [encode(stop) @ (16, 4, 1) for stop in stops]
    is_stop[: max(n - 2, 0)] = (known & np.isin(word, wanted))[2:]
    following = np.where(is_stop, np.arange(n + 3), n)
    for frame in range(3):
        in_frame = following[frame::3]
        in_frame[:] = np.minimum.accumulate(in_frame[::-1])[::-1]
    return following
