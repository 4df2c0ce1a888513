"""Substitution matrices in NCBI's format: a line of letters, then a line of scores a letter."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePath

import numpy as np

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.fields import Location
from gpu_tools.formats.files import STANDARD_STREAM, read_lines
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scoring import LIMIT_INT32, SubstitutionMatrix
from gpu_tools.model.sequences import AMINO_ACIDS

SHIPPED = (
    "BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "PAM30", "PAM70", "PAM120", "PAM250",
)  # fmt: skip


def load_matrix(name: str | os.PathLike) -> SubstitutionMatrix:
    """Return a shipped matrix by its name, in either case, or read one from a file.

    Parameters
    ----------
    name : str or PathLike
        One of `SHIPPED`, or a file in NCBI's format.

    Raises
    ------
    InputError
        If the file cannot be read or is no matrix.
    """
    known = str(name).upper()
    if known not in SHIPPED:
        if str(name) != STANDARD_STREAM and not os.path.exists(name):  # noqa: PTH110  (any text)
            raise InputError(
                f"no such matrix{did_you_mean(known, SHIPPED)}", path=name,
                expected=f"a file in NCBI's format or one of {', '.join(SHIPPED)}",
            )  # fmt: skip
        return read_matrix(name)
    return replace(read_matrix(resource_path("matrices", f"{known}.txt")), name=known)


def read_matrix(path: str | os.PathLike) -> SubstitutionMatrix:
    """Read a matrix in NCBI's format; lines that begin with ``#`` are comments.

    Raises
    ------
    InputError
        If the file cannot be read, a letter is unknown or stands twice, a row is missing or has
        another number of scores than the first line has letters, or a score is no integer.
    """
    lines = (
        (number, line.split())
        for number, line in read_lines(path)
        if line.strip() and not line.startswith("#")
    )
    number, letters = next(lines, (None, []))
    _check_letters(path, number, letters)
    rows: dict[str, list[int]] = {}
    for number, (letter, *scores) in lines:
        if letter.upper() not in letters or letter.upper() in rows or len(scores) != len(letters):
            raise InputError(
                f"row {letter} with {len(scores)} scores", path=path, line=number,
                expected=f"one row for each letter, with {len(letters)} scores",
            )  # fmt: skip
        rows[letter.upper()] = [_score(Location(path, number), text) for text in scores]
    missing = [letter for letter in letters if letter not in rows]
    if missing:
        raise InputError(f"no row for letter {missing[0]}", path=path)
    scores = np.array([rows[letter] for letter in letters], dtype=np.int64)
    return SubstitutionMatrix(PurePath(path).name, "".join(letters), scores)


def _check_letters(path, number: int | None, letters: list[str]) -> None:
    letters[:] = [letter.upper() for letter in letters]
    if not letters or len(set(letters)) != len(letters) or set(letters) - set(AMINO_ACIDS):
        raise InputError(
            "the first line does not name the matrix's letters", path=path, line=number,
            expected="different letters A to Z or *, separated by blanks",
        )  # fmt: skip


def _score(location: Location, text: str) -> int:
    score = location.integer(text, "score")
    if abs(score) >= LIMIT_INT32:
        raise location.error(f"score {text!r} is out of range", "an integer, less than 2^30")
    return score
