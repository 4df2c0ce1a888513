"""Training of exon models from annotated sequences."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.exons.lattice import FIRST_OF_PHASE, N_INTRONS
from gpu_tools.exons.model import EXON_FORMAT, EXON_VERSION, GC_CLASSES, gc_classes, words_before
from gpu_tools.model.annotation import AnnotatedSequence, CodingSequence, ReadingStrand, strands_of
from gpu_tools.model.exon_set import EXON_TYPES
from gpu_tools.model.sequences import Sequence, decode, encode, reverse_complement
from gpu_tools.model.translation import STOP_CODONS
from gpu_tools.splicing.site_matrix import Window, dependent_matrix, rounded, site_matrix

_log = logging.getLogger(__name__)
ACCEPTOR, DONOR = Window(20, 3, ("AG",), -2), Window(3, 6, ("GT", "GC"), 0)
START = Window(9, 6, ("ATG",), 0)


@dataclass(frozen=True)
class Design:
    """The choices that training does not estimate."""

    acceptor: Window = ACCEPTOR  # the three kinds of site
    donor: Window = DONOR
    start: Window = START
    site_weight: float = 4.0  # pseudo-observations of the background in each column of a site
    # pseudo-observations, in a column behind each nucleotide, of the column alone; of a
    # start's columns no pairs are formed
    pair_weight: float = 30.0
    site_cutoff: float = -6.0  # smallest score of a site in bits
    order: int = 4  # nucleotides of context of coding and other sequence
    context_weight: float = 400.0  # pseudo-observations of the next shorter context
    usage_weight: float = 3000.0  # pseudo-observations of the codon usage, where there is one
    # factor of the coding scores: neighbouring words, and the nucleotides of one region, are
    # not independent, and the whole sum would outweigh the sites
    coding_weight: float = 0.6
    gc_window: int = 5000  # nucleotides, around a nucleotide, whose G and C count
    # what the logit of the frequency of G or C gains for each unit of the logit of the share
    # of G+C around: at the three positions of a codon, and in other sequence
    gc_shifts: tuple[float, float, float, float] = (0.44, 0.18, 1.67, 1.0)
    # standard deviation, in natural logarithms, that smooths exon lengths
    length_bandwidth: float = 0.3
    # pseudo-observations, for the lengths of each type, of those of all types
    length_weight: float = 20.0
    # pseudo-observations of the usual gene: seven introns, single in one of ten
    state_weight: float = 10.0
    min_length: int = 3  # shortest and longest exon
    max_length: int = 10_000
    shortest_intron: int = 30  # fewest nucleotides of an intron
    min_probability: float = 3e-5  # smallest posterior probability of a candidate


def train(
    records: Collection[AnnotatedSequence],
    name: str,
    source: str,
    design: Design | None = None,
    usage: NDArray[np.float64] | None = None,
) -> dict[str, Any]:
    """Train an exon model; the result is the content of its JSON file."""
    design = design or Design()
    strands = checked_strands(records)
    weights = design.site_weight, design.pair_weight, design.site_cutoff
    return {
        "format": EXON_FORMAT,
        "version": EXON_VERSION,
        "name": name,
        "source": source,
        "units": "bits",
        "acceptor": dependent_matrix(strands, "acceptors", design.acceptor, *weights),
        "donor": dependent_matrix(strands, "donors", design.donor, *weights),
        "start": site_matrix(
            strands, "starts", design.start, design.site_weight, design.site_cutoff
        ),
        "stops": list(STOP_CODONS),
        "coding": coding_scores(strands, design, usage),
        "length": exon_lengths(strands, design),
        "min_length": design.min_length,
        "max_length": design.max_length,
        "gene": gene_states(strands, design),
        "min_probability": design.min_probability,
    }


def checked_strands(records: Collection[AnnotatedSequence]) -> list[ReadingStrand]:
    """Return all strands; raise `InputError` if they lack what a part of a model needs."""
    if not records:
        raise InputError("no records to train on", expected="annotated sequences")
    for record in records:
        if not record.coding:
            raise InputError("no coding sequence", record=record.sequence.name)
    strands = [strand for record in records for strand in strands_of(record)]
    for kind, expected in (
        ("starts", "a coding sequence that begins with ATG"),
        ("introns", "coding sequences of several segments"),
    ):
        if not any(len(getattr(strand, kind)) for strand in strands):
            raise InputError(f"no {kind} to train on", expected=expected)
    return strands


# Coding sequences that can be learned from.


def annotated_sequences(
    sequences: Iterable[Sequence], coding: Mapping[str, tuple[CodingSequence, ...]]
) -> list[AnnotatedSequence]:
    """Join sequences with those of their coding sequences that read through.

    Others, and sequences without any, are left out with a warning that counts them.
    """
    by_name = {sequence.name: sequence for sequence in sequences}
    for name, several in coding.items():
        if name not in by_name:
            raise InputError(
                "annotated, but not among the sequences", record=name, line=several[0].line
            )
    records = [_sound(sequence, coding.get(name, ())) for name, sequence in by_name.items()]
    trainable = [record for record in records if record.coding]
    annotated, sound = sum(map(len, coding.values())), sum(len(r.coding) for r in trainable)
    if not trainable:
        raise InputError(
            f"none of {annotated} coding sequences reads from ATG to a stop codon",
            expected="features CDS of these sequences, the stop codon included",
        )
    _warn(len(by_name) - len(trainable), "sequences have no coding sequence that reads through")
    _warn(annotated - sound, "coding sequences do not read from ATG to a stop codon")
    return trainable


def _warn(count: int, what: str) -> None:
    if count:
        _log.warning("%d %s; left out", count, what)


def _sound(sequence: Sequence, coding: tuple[CodingSequence, ...]) -> AnnotatedSequence:
    for one in coding:
        for segment in one.segments:
            if segment.end > len(sequence):
                raise InputError(
                    f"coding segment {segment.start + 1}-{segment.end} of {one.name} does not lie "
                    "within the sequence",
                    record=sequence.name,
                    line=one.line,
                    expected=f"positions 1 to {len(sequence)}",
                )
    sound = tuple(one for one in coding if reads_through(one, sequence.codes))
    return AnnotatedSequence(sequence, sound)


def reads_through(coding: CodingSequence, codes: NDArray[np.uint8]) -> bool:
    """Return whether a coding sequence has its codons in order, and no stop codon inside."""
    parts = [codes[s.start : s.end] for s in coding.segments]
    if coding.strand == "-":
        parts = [reverse_complement(part) for part in parts]
    first, last = coding.segments[0], coding.segments[-1]
    text = decode(np.concatenate(parts))[first.phase :]
    codons = [text[k : k + 3] for k in range(0, len(text), 3)]
    inner = codons if last.partial else codons[:-1]
    begins = first.partial or (first.phase == 0 and codons[0] == "ATG")
    ends = last.partial or codons[-1] in STOP_CODONS
    sound = bool(codons) and begins and ends and not set(inner) & set(STOP_CODONS)
    return sound and _in_order(coding)


def _in_order(coding: CodingSequence) -> bool:
    """Return whether phases follow from lengths, and segments lie one behind the other."""
    phase, edges = coding.segments[0].phase, []
    for segment in coding.segments:
        if segment.phase != phase:
            return False
        phase = (phase - (segment.end - segment.start)) % 3
        edges += [segment.start, segment.end]
    if coding.strand == "-":
        edges = [edge for start, end in zip(edges[::2], edges[1::2], strict=True) for edge in
                 (-end, -start)]  # fmt: skip
    return edges == sorted(edges)


# Composition of coding and other sequence.

Frequencies = NDArray[np.float64]
RARE = 1e-6
"""Share of a codon that the codon usage does not know."""


def estimate_composition(
    strands: list[ReadingStrand], design: Design, usage: Frequencies | None = None
) -> tuple[Frequencies, Frequencies]:
    """Estimate the frequency of each nucleotide after those before it, where half are G or C.

    Interpolated Markov chains: the frequencies behind a context are smoothed by those behind the
    next shorter one or, where codons say as much, by the codon usage. An observation counts for
    less or more by how likely G+C around makes it, so that records of any G+C can be pooled.
    """
    prepared = [_observations(strand, design) for strand in strands]
    coding, other = np.full((3, 4), 0.25), np.full((1, 4), 0.25)
    for order in range(design.order + 1):
        counts = [_counts(strand, *p, order) for strand, p in zip(strands, prepared, strict=True)]
        seen, background = (sum(several) for several in zip(*counts, strict=True))
        priors, weights = _longer(coding, order), np.full(3, design.context_weight)
        for position in range(3) if usage is not None else ():
            if order <= position:
                priors[position] = _from_usage(usage, position, order)
                weights[position] = design.usage_weight
        coding = _smoothed(seen, priors, weights)
        other = _smoothed(background, _longer(other, order), np.array([design.context_weight]))
    return coding, other


def _observations(strand: ReadingStrand, design: Design) -> tuple[NDArray, NDArray]:
    """Return each nucleotide's position in a codon (3: none), and its weight in the counts.

    A frequency that G+C around multiplies by a factor is divided by it.
    """
    n = len(strand.codes)
    row = np.full(n, 3)
    for start, end, phase in strand.readings:
        row[start:end] = (np.arange(end - start) - phase) % 3
    share = GC_CLASSES[gc_classes(strand.codes, design.gc_window)]
    gain = np.log(share / (1 - share)) * np.array(design.gc_shifts)[row]
    strong = (strand.codes == 1) | (strand.codes == 2)
    return row, np.exp(np.where(strong, -gain, 0.0))


def _counts(strand: ReadingStrand, row, weight, order: int) -> tuple[Frequencies, Frequencies]:
    """Count words by codon position inside readings, and in all the rest of the strand."""
    size = 4 ** (order + 1)
    word, known = words_before(strand.codes, order)
    inside = np.zeros(len(word), dtype=bool)
    for start, end, _ in strand.readings:
        inside[start + order : end] = True
    counts = [
        np.bincount(word[where], weight[where], minlength=size)
        for where in (known & (row == k) & (inside | (k == 3)) for k in range(4))
    ]
    return np.array(counts[:3]), np.array(counts[3:])


def _longer(frequencies: Frequencies, order: int) -> Frequencies:
    """Return frequencies of words of one more nucleotide, the first of which does not matter."""
    return frequencies if order == 0 else np.tile(frequencies, (1, 4))


def _from_usage(usage: Frequencies, position: int, order: int) -> Frequencies:
    """Return the frequency of a nucleotide at a position after `order` others, by codon usage."""
    codons = np.array(usage, dtype=np.float64)
    codons[[encode(stop) @ (16, 4, 1) for stop in STOP_CODONS]] = 0.0
    codons = codons.reshape(4, 4, 4) + RARE * codons.sum()
    before, behind = tuple(range(position - order)), tuple(range(position + 1, 3))
    joint = codons.sum(axis=before + behind)
    return (joint / joint.sum(axis=-1, keepdims=True)).ravel()


def _smoothed(counts: Frequencies, priors: Frequencies, weights: Frequencies) -> Frequencies:
    """Return frequencies given the context, smoothed by `priors` that count for `weights`."""
    rows, words = counts.shape
    by_context, prior = counts.reshape(rows, -1, 4), priors.reshape(rows, -1, 4)
    weight = weights[:, None, None]
    totals = by_context.sum(axis=2, keepdims=True)
    return ((by_context + weight * prior) / (totals + weight)).reshape(rows, words)


# Lengths of exons, and the states between them.

LENGTHS = (1, 3, 6, 10, 15, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 250, 300, 400, 600, 1000,
           2000, 5000, 10_000)  # fmt: skip
"""Lengths at which a model's file has probabilities."""
ANY_LENGTH = 0.03
"""Share of exons of any length at all, evenly by the length's logarithm."""
USUAL_INTRONS, USUAL_SINGLE = 7.0, 0.1


def coding_scores(strands: list[ReadingStrand], design: Design, usage) -> dict[str, Any]:
    """Return the key ``coding`` of a model's JSON file; see `estimate_composition`."""
    coding, other = estimate_composition(strands, design, usage)
    return {
        "order": design.order,
        "window": design.gc_window,
        "weight": design.coding_weight,
        "gc": 0.5,
        "gc_shifts": list(design.gc_shifts),
        "coding": rounded(np.log2(coding)),
        "other": rounded(np.log2(other)),
    }


def exon_lengths(strands: list[ReadingStrand], design: Design) -> dict[str, list]:
    """Smooth the lengths of the annotated exons."""
    at = np.array([n for n in LENGTHS if n <= design.max_length])
    seen = [[end - start for s in strands for start, end, t in s.exons if t == code] for code in
            range(len(EXON_TYPES))]  # fmt: skip
    every = _density(np.concatenate(seen), at, design)
    lengths: dict[str, list] = {"at": at.tolist()}
    for name, of_type in zip(EXON_TYPES[1:], seen[1:], strict=True):
        weight = len(of_type) / (len(of_type) + design.length_weight)
        density = weight * _density(of_type, at, design) + (1 - weight) * every
        lengths[name] = rounded(np.log2(density))
    return lengths


def _density(lengths, at: NDArray[np.int64], design: Design) -> NDArray[np.float64]:
    """Return the probability of each length `at`, as one of many."""
    total = np.log(design.max_length / design.min_length)
    density = np.full(len(at), 1 / total)
    if len(lengths):
        width = design.length_bandwidth
        distance = np.subtract.outer(np.log(at), np.log(lengths)) / width
        bells = np.exp(-(distance**2) / 2).mean(axis=1) / (width * np.sqrt(2 * np.pi))
        density = (1 - ANY_LENGTH) * bells + ANY_LENGTH * density
    return density / at


def gene_states(strands: list[ReadingStrand], design: Design) -> dict[str, Any]:
    """Estimate how genes are built."""
    types = [t for s in strands for *_, t in s.exons]
    single, first = (types.count(EXON_TYPES.index(name)) for name in ("Sngl", "Init"))
    introns = [intron for s in strands for intron in s.introns]
    weight = design.state_weight
    n_genes, n_introns = first + weight, len(introns) + weight * USUAL_INTRONS
    lengths = [end - start for start, end, _ in introns]
    nucleotides = sum(len(s.codes) for s in strands) / 2
    return {
        "between": round(max(nucleotides / (first + single + 1), 2.0), 1),
        "intron": round(max(float(np.median(lengths) / np.log(2)), 2.0), 1),
        "shortest_intron": min(design.shortest_intron, *lengths),
        "single": round((single + weight * USUAL_SINGLE) / (single + first + weight), 4),
        "last": round(min(n_genes / n_introns, 0.9), 4),
        "introns": [round(float(share), 4) for share in _intron_shares(strands)],
    }


def _intron_shares(strands: list[ReadingStrand]) -> NDArray[np.float64]:
    """Return the shares of the intron states, one observation added to each."""
    counts = np.ones(N_INTRONS)
    for strand in strands:
        for start, _, phase in strand.introns:
            taken = (3 - phase) % 3
            left = strand.codes[start - taken : start].tolist()
            split = {(3,): 1, (3, 0): 1, (3, 2): 2}.get(tuple(left), 0)
            counts[FIRST_OF_PHASE[taken] + split] += 1
    return counts / counts.sum()
