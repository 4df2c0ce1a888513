"""The model of candidate exons: site matrices, coding log-odds, cut-offs; a JSON file each.

Scores are log-odds in bits and multiples of 0.01 bit. Inside they are integers, hundredths of a
bit, so that sums are exact and equal everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.resources import resource_path

Built = TypeVar("Built")

FORMAT = "gpu-tools exon model"
VERSION = 1
HUNDREDTHS = 100
FORBIDDEN = -(2**40)
"""Hundredths of a bit for a symbol that no site has; no sum with one reaches a cut-off."""

LARGEST_ORDER = 7
LARGEST_WINDOW = 1_000
LARGEST_SCORE = 1_000_000
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
    return load_json(name_or_path, resource_path("models"), "exon model", model_from_dict)


def load_json(
    name_or_path: str | PathLike, folder: Path, kind: str, build: Callable[[Any], Built]
) -> Built:
    """Load a model of some kind from JSON.

    Parameters
    ----------
    name_or_path : str or PathLike
        Name of a model in `folder`, or path of a JSON file.
    folder : Path
        Where the shipped models of the kind are.
    kind : str
        What such a model is called in messages.
    build : callable
        Makes the model of the file's content; raises `InputError`.

    Returns
    -------
    object
        What `build` returns.

    Raises
    ------
    InputError
        If there is no such file, it is no JSON, or `build` refuses it.
    """
    shipped = folder / f"{name_or_path}.json"
    is_name = Path(name_or_path).name == str(name_or_path)
    path = shipped if is_name and shipped.is_file() else Path(name_or_path)
    try:
        text = _text(path, kind, shipped_in(folder))
        return build(json.loads(text, parse_constant=_refuse_constant))
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON ({error.msg})", path=path, line=error.lineno, expected=_a(kind)
        ) from None
    except InputError as error:
        raise error.located(path=path) from None


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _refuse_constant(name: str) -> None:
    raise InputError(f"{name} is no number", expected="finite numbers")


def model_to_json(content: dict[str, Any]) -> str:
    """Write a model's content as JSON, one key a line, so that versions can be compared.

    Parameters
    ----------
    content : dict
        As `model_from_dict` takes it.

    Returns
    -------
    str
        The file's text.
    """
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _text(path: Path, kind: str, shipped: list[str]) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", path=path, expected=f"{_a(kind)} in JSON") from None
    except OSError as error:
        raise InputError(
            f"no such {kind} ({error.strerror or error})",
            path=path,
            expected=f"a JSON file or one of {', '.join(shipped)}",
        ) from None


def shipped_models() -> list[str]:
    """Return the names of the models shipped with the project."""
    return shipped_in(resource_path("models"))


def shipped_in(folder: Path) -> list[str]:
    """Return the names of the models in a folder."""
    return sorted(path.stem for path in folder.glob("*.json"))


def model_from_dict(content: Any) -> ExonModel:
    """Check the content of a model's JSON file and build the model.

    Parameters
    ----------
    content : object
        What the file holds; docs/exons.md lists the keys.

    Returns
    -------
    ExonModel

    Raises
    ------
    InputError
        Naming the first key at fault.
    """
    reader = ModelReader(content, "")
    reader.literal("format", FORMAT)
    reader.literal("version", VERSION)
    reader.literal("units", "bits")
    order = reader.integer("coding_order", 0, LARGEST_ORDER)
    longest = reader.integer("max_length", 1, LONGEST_EXON)
    return ExonModel(
        name=reader.text("name"),
        source=reader.text("source"),
        acceptor=read_site(reader.inner("acceptor"), at_least=(2, 0)),
        donor=read_site(reader.inner("donor"), at_least=(0, 2)),
        start=read_site(reader.inner("start"), at_least=(0, 3)),
        stops=reader.codons("stops"),
        coding_order=order,
        coding=reader.scores("coding", (3, 4 ** (order + 1))),
        length_scores=_length_scores(reader.inner("length"), longest),
        min_length=reader.integer("min_length", 1, longest),
        max_length=longest,
        min_score=reader.score("min_score"),
    )


def read_site(reader: ModelReader, at_least: tuple[int, int]) -> SiteModel:
    """Read a site's matrix from its JSON object.

    Parameters
    ----------
    reader : ModelReader
        Of the object with the keys ``before``, ``scores`` and ``cutoff``.
    at_least : tuple of (int, int)
        Columns that the matrix must have before the exon's edge and from it on.

    Returns
    -------
    SiteModel

    Raises
    ------
    InputError
        Naming the first key at fault.
    """
    before = reader.integer("before", at_least[0], LARGEST_WINDOW)
    columns = reader.scores("scores", (None, 4), holes=True)
    if not before + at_least[1] <= len(columns) <= LARGEST_WINDOW:
        raise reader.wrong("scores", f"{before + at_least[1]} to {LARGEST_WINDOW} columns")
    unknown = np.where((columns == FORBIDDEN).any(axis=1), FORBIDDEN, 0)
    return SiteModel(before, np.column_stack([columns, unknown]), reader.score("cutoff"))


def _length_scores(reader: ModelReader, longest: int) -> NDArray[np.int64]:
    """Spread scores by length class over all lengths; class k begins at ``from[k]`` bases."""
    first = reader.rising_integers("from", 1, LONGEST_EXON)
    scores = reader.scores("scores", (len(first),))
    lengths = np.maximum(np.arange(longest + 1), 1)
    return scores[np.searchsorted(first, lengths, side="right") - 1]


class ModelReader:
    """Takes checked values out of a JSON object; errors name the key.

    Parameters
    ----------
    content : object
        The parsed JSON.
    place : str
        What goes before the keys in messages.
    """

    def __init__(self, content: Any, place: str):
        if not isinstance(content, dict):
            raise InputError(f"{place.rstrip('.') or 'the file'} is no JSON object")
        self.content = content
        self.place = place

    def wrong(self, key: str, expected: str) -> InputError:
        """Return the error of a key whose value is not what it must be."""
        return InputError(f"wrong value of {self.place}{key}", expected=expected)

    def value(self, key: str) -> Any:
        """Return any value of a key that must be there."""
        if key not in self.content:
            raise InputError(f"no key {self.place}{key}", expected="a complete model")
        return self.content[key]

    def inner(self, key: str) -> ModelReader:
        """Return a reader of the object under a key."""
        return ModelReader(self.value(key), f"{self.place}{key}.")

    def literal(self, key: str, expected: str | int) -> None:
        """Demand one value."""
        if self.value(key) != expected:
            raise self.wrong(key, json.dumps(expected))

    def text(self, key: str) -> str:
        """Return a text that is not empty."""
        value = self.value(key)
        if not isinstance(value, str) or not value:
            raise self.wrong(key, "a text")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """Return an integer of a range, both ends included."""
        value = self.value(key)
        if type(value) is not int or not low <= value <= high:
            raise self.wrong(key, f"an integer from {low} to {high}")
        return value

    def rising_integers(self, key: str, low: int, high: int) -> NDArray[np.int64]:
        """Return integers of which the first is `low`."""
        value = self.value(key)
        known = isinstance(value, list) and value and all(type(n) is int for n in value)
        if not known or value[0] != low or value[-1] > high or value != sorted(set(value)):
            raise self.wrong(key, f"rising integers from {low} to at most {high}")
        return np.array(value, dtype=np.int64)

    def codons(self, key: str) -> tuple[str, ...]:
        """Return stop codons."""
        value = self.value(key)
        if not isinstance(value, list) or not value or not all(c in STOP_CODONS for c in value):
            raise self.wrong(key, f"a list of some of {', '.join(STOP_CODONS)}")
        return tuple(value)

    def score(self, key: str) -> int:
        """Return one number as hundredths."""
        return int(self.scores(key, ()))

    def scores(
        self, key: str, shape: tuple[int | None, ...], holes: bool = False
    ) -> NDArray[np.int64]:
        """Return numbers as hundredths; `holes` admits null, which becomes `FORBIDDEN`."""
        numbers = _numbers(self.value(key), holes)
        if numbers is None or not _has_shape(numbers, shape):
            size = " x ".join("any number of" if n is None else str(n) for n in shape)
            kinds = f"numbers of at most {LARGEST_SCORE}{' or nulls' if holes else ''}"
            raise self.wrong(key, f"{size or 'one of the'} {kinds}")
        missing = np.isnan(numbers)
        hundredths = np.rint(np.where(missing, 0.0, numbers) * HUNDREDTHS).astype(np.int64)
        return np.where(missing, FORBIDDEN, hundredths)


def _numbers(value: Any, holes: bool) -> NDArray[np.float64] | None:
    """Return nested lists of JSON numbers as an array, or None if they are anything else."""
    try:
        items = np.array(value, dtype=object)
        kinds = {type(item) for item in items.ravel().tolist()}
        numbers = items.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    allowed = {int, float} | ({type(None)} if holes else set())
    sound = kinds <= allowed and not (np.abs(numbers) > LARGEST_SCORE).any()
    return numbers if sound else None


def _has_shape(numbers: NDArray[np.float64], shape: tuple[int | None, ...]) -> bool:
    return numbers.ndim == len(shape) and all(
        n in (None, m) for n, m in zip(shape, numbers.shape, strict=True)
    )
