"""The model of candidate exons: site matrices, coding log-odds, cut-offs; a JSON file each.

Scores are log-odds in bits and multiples of 0.01 bit. Inside they are integers, hundredths of a
bit, so that sums are exact and equal everywhere.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.resources import resource_path

FORMAT = "gpu-tools exon model"
VERSION = 1
HUNDREDTHS = 100
FORBIDDEN = -(2**40)
"""Score, in hundredths of a bit, of a symbol that no site has; no sum with one reaches a cut-off."""

LARGEST_ORDER = 7
LONGEST_EXON = 100_000
STOP_CODONS = ("TAA", "TAG", "TGA")


@dataclass(frozen=True)
class SiteModel:
    """Position weight matrix of one kind of site.

    Attributes
    ----------
    before : int
        Columns before the exon's edge; the first column is this many bases before it.
    scores : ndarray of int64, shape (w, 5)
        Hundredths of a bit by column and code; `FORBIDDEN` where no site has the symbol. An
        ambiguous symbol scores 0, or is forbidden in a column that forbids any.
    cutoff : int
        Smallest score, in hundredths of a bit, of a site.
    """

    before: int
    scores: NDArray[np.int64] = field(repr=False)
    cutoff: int


@dataclass(frozen=True)
class ExonModel:
    """What `gpu_tools.exons.predict_exons` needs to know; all scores in hundredths of a bit.

    Attributes
    ----------
    name, source : str
        Name of the model, and what it was trained on.
    acceptor, donor, start : SiteModel
        Sites at an exon's first base, behind its last base, and at the first base of ATG.
    stops : tuple of str
        Stop codons.
    coding_order : int
        Number of preceding bases that a base's coding score depends on.
    coding : ndarray of int64, shape (3, 4 ** (coding_order + 1))
        Score of a base by its position in the codon and by the word that ends with it, words in
        base 4, first base most significant.
    length_scores : ndarray of int64, shape (max_length + 1,)
        Score by an exon's length; element 0 has no use.
    min_length, max_length : int
        Shortest and longest exon.
    min_score : int
        Default cut-off of a candidate's score.
    """

    name: str
    source: str
    acceptor: SiteModel
    donor: SiteModel
    start: SiteModel
    stops: tuple[str, ...]
    coding_order: int
    coding: NDArray[np.int64] = field(repr=False)
    length_scores: NDArray[np.int64] = field(repr=False)
    min_length: int
    max_length: int
    min_score: int


def load_model(name_or_path: str | PathLike) -> ExonModel:
    """Load a shipped model by name, or one from a JSON file.

    Parameters
    ----------
    name_or_path : str or PathLike
        Name of a shipped model, say ``vertebrate``, or path of a JSON file.

    Returns
    -------
    ExonModel

    Raises
    ------
    InputError
        If there is neither such a model nor such a file, or the file is no exon model; the
        message names the key at fault and what was expected.
    """
    shipped = resource_path("models", f"{name_or_path}.json")
    is_name = Path(name_or_path).name == str(name_or_path)
    path = shipped if is_name and shipped.is_file() else Path(name_or_path)
    try:
        return model_from_dict(json.loads(_text(path)))
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON ({error.msg})", path=path, line=error.lineno, expected="an exon model"
        ) from None
    except InputError as error:
        raise error.located(path=path) from None


def model_to_json(content: dict[str, Any]) -> str:
    """Return a model's content as JSON, one key a line, so that versions can be compared."""
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", path=path, expected="an exon model in JSON") from None
    except OSError as error:
        raise InputError(
            f"no such exon model ({error.strerror or error})",
            path=path,
            expected=f"a JSON file or one of {', '.join(shipped_models())}",
        ) from None


def shipped_models() -> list[str]:
    """Return the names of the models shipped with the project."""
    return sorted(path.stem for path in resource_path("models").glob("*.json"))


def model_from_dict(content: Any) -> ExonModel:
    """Check the content of a model's JSON file and build the model.

    Raises
    ------
    InputError
        Naming the first key at fault.
    """
    reader = _Reader(content, "")
    reader.literal("format", FORMAT)
    reader.literal("version", VERSION)
    reader.literal("units", "bits")
    order = reader.integer("coding_order", 0, LARGEST_ORDER)
    longest = reader.integer("max_length", 1, LONGEST_EXON)
    return ExonModel(
        name=reader.text("name"),
        source=reader.text("source"),
        acceptor=_site(reader.inner("acceptor"), edge_after=2),
        donor=_site(reader.inner("donor"), edge_before=2),
        start=_site(reader.inner("start"), edge_before=3),
        stops=reader.codons("stops"),
        coding_order=order,
        coding=reader.scores("coding", (3, 4 ** (order + 1))),
        length_scores=_length_scores(reader.inner("length"), longest),
        min_length=reader.integer("min_length", 1, longest),
        max_length=longest,
        min_score=reader.score("min_score"),
    )


def _site(reader: _Reader, edge_after: int = 0, edge_before: int = 0) -> SiteModel:
    """Read a matrix that has at least `edge_after` columns before the edge, `edge_before` after."""
    before = reader.integer("before", edge_after, 1000)
    columns = reader.scores("scores", (None, 4), holes=True)
    if len(columns) < before + edge_before:
        raise reader.wrong("scores", f"at least {before + edge_before} columns")
    unknown = np.where((columns == FORBIDDEN).any(axis=1), FORBIDDEN, 0)
    return SiteModel(before, np.column_stack([columns, unknown]), reader.score("cutoff"))


def _length_scores(reader: _Reader, longest: int) -> NDArray[np.int64]:
    """Spread scores by length class over all lengths; class k begins at ``from[k]`` bases."""
    first = reader.scores("from", (None,)) // HUNDREDTHS
    scores = reader.scores("scores", (len(first),))
    if not len(first) or first[0] != 1 or (np.diff(first) <= 0).any():
        raise reader.wrong("from", "rising lengths, the first of them 1")
    lengths = np.maximum(np.arange(longest + 1), 1)
    return scores[np.searchsorted(first, lengths, side="right") - 1]


class _Reader:
    """Takes checked values out of a JSON object."""

    def __init__(self, content: Any, place: str):
        self.content = content
        self.place = place
        if not isinstance(content, dict):
            raise InputError(f"{place or 'the file'} is no JSON object", expected="an exon model")

    def wrong(self, key: str, expected: str) -> InputError:
        return InputError(f"wrong value of {self.place}{key}", expected=expected)

    def value(self, key: str) -> Any:
        if key not in self.content:
            raise InputError(f"no key {self.place}{key}", expected="a complete exon model")
        return self.content[key]

    def inner(self, key: str) -> _Reader:
        return _Reader(self.value(key), f"{self.place}{key}.")

    def literal(self, key: str, expected: Any) -> None:
        if self.value(key) != expected:
            raise self.wrong(key, json.dumps(expected))

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "a text")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        value = self.value(key)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(key, f"an integer from {low} to {high}")
        return value

    def score(self, key: str) -> int:
        return int(self.scores(key, ()))

    def codons(self, key: str) -> tuple[str, ...]:
        value = self.value(key)
        known = isinstance(value, list) and value and set(map(str, value)) <= set(STOP_CODONS)
        if not known:
            raise self.wrong(key, f"a list of some of {', '.join(STOP_CODONS)}")
        return tuple(value)

    def scores(
        self, key: str, shape: tuple[int | None, ...], holes: bool = False
    ) -> NDArray[np.int64]:
        """Return numbers as hundredths; `holes` admits null, which becomes `FORBIDDEN`."""
        size = " x ".join("any number" if n is None else str(n) for n in shape) or "one"
        expected = f"{size} finite numbers{' or nulls' if holes else ''}"
        try:
            bits = np.array(self.value(key), dtype=np.float64)
        except (TypeError, ValueError):
            raise self.wrong(key, expected) from None
        missing = np.isnan(bits)
        fits = bits.ndim == len(shape) and all(
            n in (None, m) for n, m in zip(shape, bits.shape, strict=True)
        )
        if not fits or np.isinf(bits).any() or (missing.any() and not holes):
            raise self.wrong(key, expected)
        hundredths = np.rint(np.where(missing, 0.0, bits) * HUNDREDTHS).astype(np.int64)
        return np.where(missing, FORBIDDEN, hundredths)
