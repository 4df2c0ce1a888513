"""The model of sites for site mode: matrices of donors and acceptors, introns, codons; JSON.

Matrices are log-odds in bits. A table's scores are points of the alignment's scoring: integers,
`points_per_bit` times a site's bits, rounded, halves to even. So the optimum is exact on every
device.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.compiled import njit
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.evidence import StrandEvidence
from gpu_tools.model.json_model import HUNDREDTHS, ModelReader, load_json, shipped_in
from gpu_tools.model.resources import resource_path
from gpu_tools.sites.evidence import with_evidence
from gpu_tools.sites.marks import NO_MARKS, Marks, marks_of
from gpu_tools.sites.table import (
    CLOSED,
    BoundaryScores,
    IntronClass,
    SiteTable,
    are_lines,
    boundary_type,
    checked_scores,
)
from gpu_tools.splicing.reading import stop_words
from gpu_tools.splicing.site_matrix import SiteMatrices, SiteModel, read_site, sites_between

SITE_FORMAT = "gpu-tools site model"
SITE_VERSION = 1
LARGEST_PENALTY = 1_000_000
LONGEST_INTRON = 10_000_000
BEYOND = 64
"""Nucleotides by which a longest intron exceeds where a class of lengths begins, at least."""
MOST_KINDS = 8
MOST_LINES, LARGEST_EXTRA, LEAST_EVERY = 4, 1000, 64
_RISING = (
    f"at most {MOST_LINES} pairs of extra points and nucleotides a point, the first extra 0, "
    f"extras rising to at most {LARGEST_EXTRA}, nucleotides rising from {LEAST_EVERY} to "
    f"{LONGEST_INTRON}"
)
START_CODON = "ATG"
PART = 1 << 18
"""Boundaries whose sites are scored together."""


class SitesPerKb(NamedTuple):
    """Donors and acceptors that pass their cut-off, in 1,000 known nucleotides of a strand."""

    donors: float
    acceptors: float


class SiteBits(NamedTuple):
    """Mean bits of the true donors and acceptors of the usual kind of intron."""

    donor: float
    acceptor: float


@dataclass(frozen=True)
class IntronModel:
    """One kind of intron: its two sites, and penalties by least length.

    Attributes
    ----------
    donor, acceptor : SiteModel
        Matrices, in hundredths of a bit.
    penalties : tuple of (int, int)
        Least length and penalty in points, lengths rising, penalties falling.
    rising : tuple of (int, int)
        How the penalties grow with the length, see `gpu_tools.sites.table.IntronClass`.
    """

    donor: SiteModel
    acceptor: SiteModel
    penalties: tuple[tuple[int, int], ...]
    rising: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class GeneSites:
    """A model of sites: where exons of a chain may begin and end, and what that scores.

    Attributes
    ----------
    name, source : str
        Name of the model, and what it was trained on.
    points_per_bit : float
        Weight of the introns' sites.
    introns : tuple of IntronModel
        Kinds of intron.
    start, stop : int
        Points for beginning with a start codon, ATG, and for ending with a stop codon.
    begin, end : int
        Points for beginning and for ending anywhere; they count at codons, too, if they are more.
    stops : tuple of str
        Stop codons.
    sites_per_kb : SitesPerKb, optional
        Sites of the genome that the model was trained on.
    introns_per_kb : float, optional
        Introns in 1,000 coding nucleotides of that genome.
    mean_bits : SiteBits, optional
        What its true sites score.
    longest_intron : int
        Length of the longest intron, 0 if there is no limit, see `with_longest_intron`.
    """

    name: str
    source: str
    points_per_bit: float
    introns: tuple[IntronModel, ...]
    start: int
    stop: int
    begin: int
    end: int
    stops: tuple[str, ...]
    sites_per_kb: SitesPerKb | None = None
    introns_per_kb: float | None = None
    mean_bits: SiteBits | None = None
    longest_intron: int = 0

    @property
    def shortest_intron(self) -> int:
        """Least length of an intron of any kind."""
        return min(intron.penalties[0][0] for intron in self.introns)

    @property
    def fingerprint(self) -> str:
        """Digest of all that scores depend on, so not of name and source.

        Nor of the longest intron: it only lowers scores, most those of unrelated targets.
        """
        content = asdict(replace(self, name="", source=""))
        for name in ("longest_intron", "introns_per_kb", "mean_bits"):
            del content[name]
        text = json.dumps(content, sort_keys=True, default=lambda array: array.tolist())
        return sha256(text.encode()).hexdigest()[:16]

    def with_penalty(self, penalty: int) -> GeneSites:
        """Return the model with one penalty for short introns; it rises from there as before.

        Rarer kinds of intron cost as much more than the first one as before.
        """
        if abs(penalty) > LARGEST_PENALTY:
            raise ScoringError(
                f"an intron penalty of {penalty} is too large; expected at most {LARGEST_PENALTY}"
            )
        usual = self.introns[0].penalties[-1][1]
        introns = (
            replace(i, penalties=((i.penalties[0][0], penalty + i.penalties[-1][1] - usual),))
            for i in self.introns
        )
        return replace(self, introns=tuple(introns))

    def with_shortest_intron(self, length: int) -> GeneSites:
        """Return the model with another least length of introns."""
        introns = (replace(i, penalties=_cut(i.penalties, length)) for i in self.introns)
        return replace(self, introns=tuple(introns))

    def with_longest_intron(self, length: int) -> GeneSites:
        """Return the model with introns of at most `length` nucleotides.

        All introns are admitted that are shorter by a sixteenth of `length`, or by some 2,000
        nucleotides if that is less; which of the others are depends on where they lie, see
        `gpu_tools.sites.table.SiteTable.is_short`. Where the longest is not longer than the usual
        lengths by `BEYOND`, shorter ones are usual.
        """
        least = max(intron.penalties[0][0] for intron in self.introns) + BEYOND
        if not least <= length <= LONGEST_INTRON:
            raise ScoringError(
                f"a longest intron of {length}; expected {least} to {LONGEST_INTRON} nucleotides"
            )
        introns = (
            replace(i, penalties=_joined(i.penalties, length - BEYOND)) for i in self.introns
        )
        return replace(self, introns=tuple(introns), longest_intron=length)

    def table(
        self, codes: NDArray[np.uint8], ends: str = "global", reading: str = "any",
        origin: int = 0, threads: int = 1, evidence: StrandEvidence | None = None,
        last: BoundaryScores | None = None,
    ) -> SiteTable:  # fmt: skip
        """Score the boundaries of a strand, of which there may be splice evidence.

        `last` are the scores of last exits if they are not those of the model's stop codons.
        """
        begin, end = (max(0, n) if ends == "free" else n for n in (self.begin, self.end))
        if reading == "complete" and ends != "free":
            begin = end = CLOSED
        first = end_scores(codes, begin, (START_CODON,), self.start, 0)
        if last is None:
            last = end_scores(codes, end, self.stops, self.stop, len(START_CODON))
        classes = tuple(
            IntronClass(k, *least_and_penalty, intron.rising)
            for k, intron in enumerate(self.introns)
            for least_and_penalty in intron.penalties
        )
        table = SiteTable(
            first, self._best_sites(codes, self._acceptors, threads),
            self._best_sites(codes, self._donors, threads), last, classes,
            stops=None if reading == "any" else stop_words(self.stops),
            marks=self._marks(codes, threads), longest=self.longest_intron, origin=origin,
        )  # fmt: skip
        return table if evidence is None else with_evidence(table, evidence, self.points_per_bit)

    def _marks(self, codes, threads: int) -> Marks:
        """Return the marks of a strand at which some penalty rises."""
        levels = [every for intron in self.introns for _, every in intron.rising]
        if not levels:
            return NO_MARKS
        parts = _parts(len(codes) + 1)
        return marks_of(codes, min(levels), parts, partial(map_on_threads, threads))

    @cached_property
    def _acceptors(self) -> SiteMatrices:
        return SiteMatrices.of([intron.acceptor for intron in self.introns])

    @cached_property
    def _donors(self) -> SiteMatrices:
        return SiteMatrices.of([intron.donor for intron in self.introns])

    def _best_sites(self, codes, sites: SiteMatrices, threads: int) -> BoundaryScores:
        """Return points and kind of each site, which is one of its best kind."""
        bounds = _parts(len(codes) + 1)
        parts = map_on_threads(threads, lambda part: self._part(codes, sites, *part), bounds)
        lists = (np.concatenate(each) for each in zip(*parts, strict=True))
        return BoundaryScores.from_lists(len(codes) + 1, CLOSED, *lists)

    def _part(self, codes, sites: SiteMatrices, low: int, high: int):
        """Return the sites in [low, high): boundaries, points and kinds."""
        edges, bits, kinds = sites_between(codes, sites, low, high)
        points = np.rint(self.points_per_bit * bits / HUNDREDTHS)
        return edges.astype(boundary_type(len(codes) + 1)), checked_scores(points), kinds


def _cut(penalties: tuple[tuple[int, int], ...], length: int) -> tuple[tuple[int, int], ...]:
    """Return the penalties of introns of at least `length` nucleotides."""
    at_length = [p for least, p in penalties if least <= length] or [penalties[0][1]]
    return ((length, at_length[-1]), *(pair for pair in penalties if pair[0] > length))


def _joined(penalties: tuple[tuple[int, int], ...], last: int) -> tuple[tuple[int, int], ...]:
    """Return penalties without lengths that begin beyond `last`; those before cost as much."""
    kept = [pair for pair in penalties if pair[0] <= last]
    return (*kept[:-1], (kept[-1][0], penalties[-1][1]))


def _parts(length: int) -> list[tuple[int, int]]:
    """Cut boundaries into parts: what is made of a part on the way takes little memory."""
    return [(low, min(low + PART, length)) for low in range(0, length, PART)]


def end_scores(
    codes, anywhere: int, words: tuple[str, ...], points: int, shift: int
) -> BoundaryScores:
    """Return scores of first entries or last exits.

    It is `points` `shift` behind the beginning of one of some words, if that is more than what
    there is `anywhere`.
    """
    length, best = len(codes) + 1, max(anywhere, points)
    listed = _holding(codes, words if best != anywhere else ()) + shift
    none = np.zeros(len(listed), dtype=np.uint8)
    return BoundaryScores.from_lists(length, anywhere, listed, np.full(len(listed), best), none)


def _holding(codes: NDArray[np.uint8], words: tuple[str, ...]) -> NDArray:
    """Return where one of some words of three letters begins."""
    is_word, found = stop_words(words), [np.empty(0, dtype=boundary_type(len(codes) + 1))]
    for low, high in _parts(max(len(codes) - 2, 0)) if words else ():
        begins = np.empty(high - low, found[0].dtype)
        found.append(begins[: _find_words(codes, low, is_word, begins)])
    return np.concatenate(found)


@njit(cache=True, nogil=True, makes_arrays=False)
def _find_words(codes, low, is_word, begins):
    """Write where words begin from `low` on, among as many places; return how many there are."""
    n = 0
    for place in range(low, low + len(begins)):
        if is_word[codes[place], codes[place + 1], codes[place + 2]]:
            begins[n] = place
            n += 1
    return n


def load_sites(name_or_path: str | PathLike) -> GeneSites:
    """Load a shipped model by name, or one from a JSON file.

    Parameters
    ----------
    name_or_path : str or PathLike
        Name of a shipped model, say ``vertebrate``, or path of a JSON file.

    Returns
    -------
    GeneSites

    Raises
    ------
    InputError
        If there is neither such a model nor such a file, or the file is no site model; the
        message names the key at fault and what was expected.
    """
    return load_json(name_or_path, _shipped_folder(), "site model", sites_from_dict)


def shipped_sites() -> list[str]:
    """Return the names of the shipped models, sorted."""
    return shipped_in(_shipped_folder())


def _shipped_folder() -> Path:
    return resource_path("models", "sites")


def sites_from_dict(content: Any) -> GeneSites:
    """Check the content of a model's JSON file and build the model."""
    reader = ModelReader(content, "")
    for key, value in (("format", SITE_FORMAT), ("version", SITE_VERSION), ("units", "bits")):
        reader.literal(key, value)
    kinds = reader.value("introns")
    if not isinstance(kinds, list) or not 1 <= len(kinds) <= MOST_KINDS:
        raise reader.wrong("introns", f"a list of 1 to {MOST_KINDS} kinds of intron")
    points = (
        reader.integer(key, -LARGEST_PENALTY, LARGEST_PENALTY)
        for key in ("start", "stop", "begin", "end")
    )
    return GeneSites(
        reader.text("name"),
        reader.text("source"),
        reader.score("points_per_bit") / HUNDREDTHS,
        tuple(_intron(ModelReader(kind, f"introns[{k}].")) for k, kind in enumerate(kinds)),
        *points,
        reader.codons("stops"),
        _figures(reader, "sites_per_kb", SitesPerKb, 0, 1000),
        reader.number("introns_per_kb", 0, 1000) if "introns_per_kb" in content else None,
        _figures(reader, "mean_bits", SiteBits, -1000, 1000),
    )


def _figures(reader: ModelReader, name: str, of: type, low: int, high: int):
    """Return figures of donors and acceptors, None if the model does not say."""
    if name not in reader.content:
        return None
    inner = reader.inner(name)
    return of(*(inner.number(key, low, high) for key in of._fields))


def _intron(reader: ModelReader) -> IntronModel:
    lengths = reader.value("from")
    if not isinstance(lengths, list) or not lengths or type(lengths[0]) is not int:
        raise reader.wrong("from", "a list of rising integers")
    if not 0 <= lengths[0] <= LONGEST_INTRON:
        raise reader.wrong("from", f"integers from 0 to {LONGEST_INTRON}")
    rising = reader.rising_integers("from", lengths[0], LONGEST_INTRON).tolist()
    penalties = reader.value("penalties")
    known = isinstance(penalties, list) and all(type(p) is int for p in penalties)
    if not known or len(penalties) != len(rising) or penalties != sorted(penalties, reverse=True):
        raise reader.wrong("penalties", "an integer a length, none above the one before")
    if max(map(abs, penalties)) > LARGEST_PENALTY:
        raise reader.wrong("penalties", f"integers of at most {LARGEST_PENALTY}")
    return IntronModel(
        read_site(reader.inner("donor"), at_least=(0, 2)),
        read_site(reader.inner("acceptor"), at_least=(2, 0)),
        tuple(zip(rising, penalties, strict=True)),
        _lines(reader),
    )


def _lines(reader: ModelReader) -> tuple[tuple[int, int], ...]:
    """Return how penalties rise, nothing if the model does not say."""
    lines = reader.content.get("rising", [])
    if not (isinstance(lines, list) and len(lines) <= MOST_LINES and all(map(_is_line, lines))):
        raise reader.wrong("rising", _RISING)
    if not are_lines(lines):
        raise reader.wrong("rising", _RISING)
    return tuple((extra, every) for extra, every in lines)


def _is_line(line: Any) -> bool:
    if not isinstance(line, list) or [type(number) for number in line] != [int, int]:
        return False
    return 0 <= line[0] <= LARGEST_EXTRA and LEAST_EVERY <= line[1] <= LONGEST_INTRON
