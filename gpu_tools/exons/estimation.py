"""Estimation of an exon model's scores from annotated sequences."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.exons.annotation import AnnotatedSequence, CodingSegment, CodingSequence
from gpu_tools.exons.model import FORMAT, STOP_CODONS, VERSION, ExonModel, model_from_dict
from gpu_tools.exons.predict import predict_exons, words_before
from gpu_tools.sequences import OTHER, decode, encode, reverse_complement

KEEP_ALL = -1e6
DIGITS = 2
UNNAMED = "unnamed"


@dataclass(frozen=True)
class Window:
    """Where a site's matrix lies and which words it must hold.

    Attributes
    ----------
    before, after : int
        Columns before the exon's edge and from it on.
    words : tuple of str
        Words that a site may have, all of one length.
    offset : int
        Position of the words' first base, counted from the edge.
    """

    before: int
    after: int
    words: tuple[str, ...]
    offset: int


@dataclass(frozen=True)
class Design:
    """The choices that training does not estimate.

    Attributes
    ----------
    acceptor, donor, start : Window
        The three kinds of site.
    site_weight : float
        Pseudo-observations of the background in each column of a site.
    site_cutoff : float
        Smallest score of a site in bits.
    coding_order : int
        Bases of context of the coding scores.
    coding_weight : float
        Pseudo-observations of the next shorter context.
    coding_share : float
        Factor of the coding scores: neighbouring words, and the bases of one region, are not
        independent, and the whole sum would outweigh the sites.
    length_classes : tuple of int
        First length of each class of exon lengths.
    length_weight : float
        Pseudo-observations of the candidates' lengths.
    min_length, max_length : int
        Shortest and longest exon.
    loss : float
        Fraction of the annotated segments that the cut-off may lose when their record is held out.
    """

    acceptor: Window = Window(20, 3, ("AG",), -2)
    donor: Window = Window(3, 6, ("GT", "GC"), 0)
    start: Window = Window(9, 6, ("ATG",), 0)
    site_weight: float = 4.0
    site_cutoff: float = -3.0
    coding_order: int = 4
    coding_weight: float = 200.0
    coding_share: float = 0.3
    length_classes: tuple[int, ...] = (1, 15, 30, 45, 60, 80, 100, 140, 200, 300, 500)
    length_weight: float = 4.0
    min_length: int = 3
    max_length: int = 10_000
    loss: float = 0.06


@dataclass(frozen=True)
class ReadingStrand:
    """One strand in reading direction: its distinct sites and the intervals of whole codons."""

    codes: NDArray[np.uint8]
    acceptors: NDArray[np.int64]
    donors: NDArray[np.int64]
    starts: NDArray[np.int64]
    readings: tuple[tuple[int, int, int], ...]
    lengths: NDArray[np.int64]


def strands_of(record: AnnotatedSequence) -> list[ReadingStrand]:
    """Return the forward strand and the reverse one, each in reading direction.

    Parameters
    ----------
    record : AnnotatedSequence
        Sequence with its coding sequences.

    Returns
    -------
    list of ReadingStrand
    """
    codes = record.sequence.codes
    mirrored = reverse_complement(codes)
    forward = [coding for coding in record.coding if coding.strand == "+"]
    reverse = [_mirrored(coding, len(codes)) for coding in record.coding if coding.strand == "-"]
    return [_strand(codes, forward), _strand(mirrored, reverse)]


def _mirrored(coding: CodingSequence, n: int) -> CodingSequence:
    segments = (replace(s, start=n - s.end, end=n - s.start) for s in coding.segments)
    return replace(coding, strand="+", segments=tuple(segments))


def _strand(codes: NDArray[np.uint8], coding: list[CodingSequence]) -> ReadingStrand:
    inner = [(c.segments[:-1], c.segments[1:]) for c in coding]
    first = [c.segments[0] for c in coding if not c.segments[0].partial]
    complete = {(s.start, s.end) for c in coding for s in c.segments if not s.partial}
    return ReadingStrand(
        codes,
        _distinct(s.start for _, following in inner for s in following),
        _distinct(s.end for preceding, _ in inner for s in preceding),
        _distinct(s.start for s in first if decode(codes[s.start : s.start + 3]) == "ATG"),
        tuple(sorted({_reading(s, c) for c in coding for s in c.segments})),
        np.array([end - start for start, end in sorted(complete)], dtype=np.int64),
    )


def _distinct(positions: Iterable[int]) -> NDArray[np.int64]:
    return np.array(sorted(set(positions)), dtype=np.int64)


def _reading(segment: CodingSegment, coding: CodingSequence) -> tuple[int, int, int]:
    """Return start, end without the stop codon, and phase."""
    ends = segment is coding.segments[-1] and not segment.partial
    end = max(segment.end - 3, segment.start) if ends else segment.end
    return segment.start, end, segment.phase


def estimate(records: Iterable[AnnotatedSequence], design: Design) -> dict[str, Any]:
    """Estimate all scores; the names and the cut-off of a candidate's score are left open.

    Parameters
    ----------
    records : iterable of AnnotatedSequence
        What to train on.
    design : Design
        Choices that are not estimated.

    Returns
    -------
    dict
        Content of a model's JSON file.
    """
    strands = [strand for record in records for strand in strands_of(record)]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "name": UNNAMED,
        "source": UNNAMED,
        "units": "bits",
        "acceptor": site_matrix(strands, "acceptors", design.acceptor, design),
        "donor": site_matrix(strands, "donors", design.donor, design),
        "start": site_matrix(strands, "starts", design.start, design),
        "stops": list(STOP_CODONS),
        "coding_order": design.coding_order,
        "coding": _rounded(design.coding_share * coding_log_odds(strands, design)),
        "length": {"from": [1], "scores": [0.0]},
        "min_length": design.min_length,
        "max_length": design.max_length,
        "min_score": KEEP_ALL,
    }
    return content | {"length": _lengths(strands, model_from_dict(content), design)}


def _rounded(scores: NDArray[np.float64]) -> list:
    """Return nested lists with two decimals; null for a score of minus infinity."""
    rounded = np.round(scores, DIGITS) + 0.0  # + 0.0 makes -0.0 plain
    return [
        _rounded(row) if np.ndim(row) else (None if np.isneginf(row) else float(row))
        for row in rounded
    ]


def site_matrix(
    strands: list[ReadingStrand], kind: str, window: Window, design: Design
) -> dict[str, Any]:
    """Compare each column at the annotated sites with all places that hold one of the words.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `strands_of`.
    kind : {"acceptors", "donors", "starts"}
        Which of the strands' edges.
    window : Window
        Columns and words.
    design : Design
        Gives the pseudo-observations and the cut-off.

    Returns
    -------
    dict
        The site as a model's JSON file holds it.
    """
    width = window.before + window.after
    seen, background = np.zeros((width, 4)), np.zeros((width, 4))
    for strand in strands:
        seen += _columns(
            strand.codes, _with_word(strand.codes, getattr(strand, kind), window), window
        )
        everywhere = np.arange(len(strand.codes) + 1)
        background += _columns(strand.codes, _with_word(strand.codes, everywhere, window), window)
    chance = background / background.sum(axis=1, keepdims=True)
    weighted = seen + design.site_weight * chance
    observed = weighted / weighted.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(background > 0, np.log2(observed / chance), -np.inf)
    return {"before": window.before, "scores": _rounded(scores), "cutoff": design.site_cutoff}


def _with_word(
    codes: NDArray[np.uint8], edges: NDArray[np.int64], window: Window
) -> NDArray[np.int64]:
    """Return the edges that have the window inside the sequence and one of its words."""
    edges = edges[(edges >= window.before) & (edges <= len(codes) - window.after)]
    matches = [
        np.all([codes[edges + window.offset + k] == c for k, c in enumerate(encode(w))], axis=0)
        for w in window.words
    ]
    return edges[np.any(matches, axis=0)]


def _columns(
    codes: NDArray[np.uint8], edges: NDArray[np.int64], window: Window
) -> NDArray[np.int64]:
    """Count the four bases in each column."""
    columns = range(-window.before, window.after)
    return np.array([np.bincount(codes[edges + k], minlength=OTHER + 1)[:4] for k in columns])


def coding_log_odds(strands: list[ReadingStrand], design: Design) -> NDArray[np.float64]:
    """Return log-odds of a base given its context, in coding against other sequence.

    Parameters
    ----------
    strands : list of ReadingStrand
        See `strands_of`.
    design : Design
        Gives the order and the weight of shorter contexts.

    Returns
    -------
    ndarray of float64, shape (3, 4 ** (order + 1))
        By position in the codon and word. Each context's frequencies are smoothed by those of
        the next shorter one.
    """
    coding, other = np.full((3, 4), 0.25), np.full((1, 4), 0.25)
    for order in range(design.coding_order + 1):
        seen, background = (
            sum(counts)
            for counts in zip(*(_word_counts(strand, order) for strand in strands), strict=True)
        )
        coding = _smoothed(seen, coding, design.coding_weight)
        other = _smoothed(background, other, design.coding_weight)
    return np.log2(coding / other)


def _smoothed(
    counts: NDArray[np.int64], shorter: NDArray[np.float64], weight: float
) -> NDArray[np.float64]:
    """Return P(base | context) of words, `shorter` being that of words without their first base."""
    rows, words = counts.shape
    by_context = counts.reshape(rows, -1, 4)
    prior = np.tile(shorter, (1, words // shorter.shape[1])).reshape(by_context.shape)
    totals = by_context.sum(axis=2, keepdims=True)
    return ((by_context + weight * prior) / (totals + weight)).reshape(rows, words)


def _word_counts(strand: ReadingStrand, order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count words by codon position inside readings, and in all the rest of the strand."""
    n, size = len(strand.codes), 4 ** (order + 1)
    word, known = words_before(strand.codes, order)
    coding = np.zeros((3, n), dtype=bool)
    outside = known.copy()
    for start, end, phase in strand.readings:
        outside[start:end] = False
        positions = np.arange(start + order, end)
        coding[(positions - start - phase) % 3, positions] = True
    seen = np.array([np.bincount(word[row & known], minlength=size) for row in coding])
    return seen, np.bincount(word[outside], minlength=size)[None]


def _lengths(strands: list[ReadingStrand], model: ExonModel, design: Design) -> dict[str, Any]:
    """Compare the lengths of annotated segments with those of all candidates."""
    classes = np.array(design.length_classes)
    annotated = _class_counts(np.concatenate([s.lengths for s in strands]), classes)
    candidates = [predict_exons(s.codes, model).on_strand("+") for s in strands]
    lengths = np.concatenate([c.ends - c.starts for c in candidates])
    chance = _class_counts(lengths, classes) + 1.0
    chance /= chance.sum()
    observed = annotated + design.length_weight * chance
    scores = np.log2(observed / observed.sum() / chance)
    return {"from": classes.tolist(), "scores": _rounded(scores)}


def _class_counts(lengths: NDArray[np.int64], classes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(classes, lengths, side="right") - 1, minlength=len(classes))
