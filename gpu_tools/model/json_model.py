"""Models as JSON files: loading, writing, and checked access to their values."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Callable
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.model.translation import STOP_CODONS

Built = TypeVar("Built")

HUNDREDTHS = 100
FORBIDDEN = -(2**40)
"""Hundredths of a bit for a symbol that no site has; no sum with one reaches a cut-off."""

LARGEST_SCORE = 1_000_000
_GZIP = b"\x1f\x8b"
_MOST_MIB = 64
"""Of a model's file; a device such as /dev/zero has no end."""


def load_json(
    name_or_path: str | PathLike, folder: Path, kind: str, build: Callable[[Any], Built]
) -> Built:
    """Load a model from JSON: `name_or_path` is a model shipped in `folder`, or a file."""
    shipped = folder / f"{name_or_path}.json"
    is_name = Path(name_or_path).name == str(name_or_path)
    path = shipped if is_name and os.path.isfile(shipped) else Path(name_or_path)  # noqa: PTH113
    try:
        return build(parse_json(_text(path, kind, shipped_in(folder)), _a(kind)))
    except InputError as error:
        raise error.located(path=path) from None


def parse_json(text: str, expected: str | None = None) -> Any:
    """Return what a text in JSON holds."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON ({error.msg})", line=error.lineno, expected=expected) from None
    except RecursionError:
        raise InputError("JSON that is nested too deeply", expected=expected) from None
    except ValueError:
        raise InputError("an integer of too many digits", expected=expected) from None


def _a(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _refuse_constant(name: str) -> None:
    raise InputError(f"{name} is no number", expected="finite numbers")


def model_to_json(content: dict[str, Any]) -> str:
    """Return a model's values by key as JSON, one key a line, so that versions can be compared."""
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _text(path: Path, kind: str, shipped: list[str]) -> str:
    try:
        with path.open("rb") as raw:
            stream = gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == _GZIP else raw
            parts = islice(iter(partial(stream.read, 1 << 20), b""), _MOST_MIB + 1)
            content = b"".join(parts)
        if len(content) > _MOST_MIB << 20:
            raise InputError(
                f"more than {_MOST_MIB} MiB", path=path, expected=f"{_a(kind)} in JSON"
            )
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", path=path, expected=f"{_a(kind)} in JSON") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"broken compression ({error})", path=path, expected="a complete gzip or bgzip file"
        ) from None
    except OSError as error:
        why = did_you_mean(str(path), shipped) or f" ({error.strerror or error})"
        raise InputError(
            f"no such {kind}{why}",
            path=path,
            expected=f"a JSON file or one of {', '.join(shipped)}",
        ) from None


def shipped_in(folder: Path) -> list[str]:
    """Return the names of the models in a folder."""
    return sorted(path.stem for path in folder.glob("*.json"))


class ModelReader:
    """Takes checked values out of a JSON object; errors name the key.

    Parameters
    ----------
    content : object
        The parsed JSON.
    prefix : str
        Text before the keys in messages.
    """

    def __init__(self, content: Any, prefix: str):
        if not isinstance(content, dict):
            raise InputError(f"{prefix.rstrip('.') or 'the file'} is no JSON object")
        self.content = content
        self.prefix = prefix

    def wrong(self, key: str, expected: str) -> InputError:
        """Return the error of a key whose value is not what it must be."""
        return InputError(f"wrong value of {self.prefix}{key}", expected=expected)

    def value(self, key: str) -> Any:
        """Return any value of a key that must be there."""
        if key not in self.content:
            raise InputError(f"no key {self.prefix}{key}", expected="a complete model")
        return self.content[key]

    def inner(self, key: str) -> ModelReader:
        """Return a reader of the object under a key."""
        return ModelReader(self.value(key), f"{self.prefix}{key}.")

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
        self, key: str, *shapes: tuple[int | None, ...], holes: bool = False
    ) -> NDArray[np.int64]:
        """Return numbers as hundredths; `holes` admits null, which becomes `FORBIDDEN`."""
        numbers = self._numbers(key, shapes, holes)
        missing = np.isnan(numbers)
        hundredths = np.rint(np.where(missing, 0.0, numbers) * HUNDREDTHS).astype(np.int64)
        return np.where(missing, FORBIDDEN, hundredths)

    def numbers(self, key: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
        """Return numbers as they are."""
        return self._numbers(key, (shape,), holes=False)

    def number(self, key: str, low: float, high: float) -> float:
        """Return one number of a range, both ends included."""
        value = float(self._numbers(key, ((),), holes=False))
        if not low <= value <= high:
            raise self.wrong(key, f"a number from {low:g} to {high:g}")
        return value

    def _numbers(self, key: str, shapes, holes: bool) -> NDArray[np.float64]:
        numbers = _numbers(self.value(key), holes)
        if numbers is None or not any(_has_shape(numbers, shape) for shape in shapes):
            size = " or ".join(" x ".join(_size(n) for n in shape) for shape in shapes)
            kinds = f"numbers of at most {LARGEST_SCORE}{' or nulls' if holes else ''}"
            raise self.wrong(key, f"{size or 'one of the'} {kinds}")
        return numbers


def _size(n: int | None) -> str:
    return "any number of" if n is None else str(n)


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
