"""Tables of symbols: substitution matrices, scales, codon usage."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import PurePath

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.files import STANDARD_STREAM, read_lines
from gpu_tools.formats.tables import Location, read_table
from gpu_tools.model.resources import resource_path
from gpu_tools.model.scales import DECIMAL_PLACES, LARGEST, Scale, scale_number
from gpu_tools.model.scoring import LIMIT_INT32, SubstitutionMatrix
from gpu_tools.model.sequences import AMINO_ACIDS, OTHER, encode

# Substitution matrices in NCBI's format: a line of letters, then a line of scores a letter.


_NUCLEOTIDES = "ACGTRYSWKMBDHVN"
SHIPPED = ("BLOSUM45", "BLOSUM50", "BLOSUM62", "BLOSUM80", "PAM30", "PAM70", "PAM120", "PAM250")


def load_matrix(name: str | os.PathLike) -> SubstitutionMatrix:
    """Return a shipped matrix by its name, in either case, or read one from a file."""
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
    """Read a matrix in NCBI's format; lines that begin with ``#`` are comments."""
    letters, scores = read_pairs(path)
    return SubstitutionMatrix(PurePath(path).name, "".join(letters), scores)


def read_pairs(
    path: str | os.PathLike, any_symbols: bool = False
) -> tuple[list[str], NDArray[np.int64]]:
    """Read the letters and scores of a matrix in NCBI's format, letters as upper-case ones.

    With `any_symbols` what stands between blanks in the first line are the symbols, as they are.
    """

    def fold(symbol: str) -> str:
        return symbol if any_symbols else symbol.upper()

    lines = (
        (number, line.split())
        for number, line in read_lines(path)
        if line.strip() and not line.startswith("#")
    )
    number, letters = next(lines, (None, []))
    letters = list(map(fold, letters))
    _check_letters(path, number, letters, any_symbols)
    rows: dict[str, list[int]] = {}
    for number, (letter, *scores) in lines:
        if fold(letter) not in letters or fold(letter) in rows or len(scores) != len(letters):
            raise InputError(
                f"row {letter} with {len(scores)} scores", path=path, line=number,
                expected=f"one row for each letter, with {len(letters)} scores",
            )  # fmt: skip
        rows[fold(letter)] = [_score(Location(path, number), text) for text in scores]
    missing = [letter for letter in letters if letter not in rows]
    if missing:
        raise InputError(f"no row for letter {missing[0]}", path=path)
    return letters, np.array([rows[letter] for letter in letters], dtype=np.int64)


def load_nucleotide_scores(name: str | os.PathLike, other: int) -> NDArray[np.int64]:
    """Return the scores of pairs of nucleotides by code, (5, 5), of a file in NCBI's format.

    Every ambiguity code scores as N does, or `other` with all nucleotides if the matrix lacks N.
    """
    matrix = load_matrix(name)
    letters = matrix.letters.replace("U", "T")
    if set(letters) - set(_NUCLEOTIDES) or not all(letters.count(one) == 1 for one in "ACGT"):
        raise InputError(
            f"a matrix of the letters {matrix.letters}", path=name,
            expected="scores of nucleotides: A, C, G and T or U, perhaps N and other IUPAC codes",
        )  # fmt: skip
    known = [letters.index(one) for one in "ACGTN" if one in letters]
    scores = np.full((OTHER + 1, OTHER + 1), other, dtype=np.int64)
    scores[: len(known), : len(known)] = matrix.scores[np.ix_(known, known)]
    return scores


def _check_letters(path, number: int | None, letters: list[str], any_symbols: bool) -> None:
    known = any_symbols or not set(letters) - set(AMINO_ACIDS)
    if not letters or len(set(letters)) != len(letters) or not known:
        symbols = "symbols" if any_symbols else "letters A to Z or *"
        raise InputError(
            "the first line does not name the matrix's letters", path=path, line=number,
            expected=f"different {symbols}, separated by blanks",
        )  # fmt: skip


def _score(location: Location, text: str) -> int:
    score = location.integer(text, "score")
    if abs(score) >= LIMIT_INT32:
        raise location.error(f"score {text!r} is out of range", "an integer, less than 2^30")
    return score


# Scales as tables with the columns ``symbol`` and ``score``.


SUFFIX = ".tsv"


def known_scales() -> list[str]:
    """Return the names of the shipped scales."""
    return sorted(path.stem for path in resource_path("scales").glob(f"*{SUFFIX}"))


def load_scale(name: str | os.PathLike) -> Scale:
    """Return a shipped scale by its name, or read one from a table with columns symbol and score.

    The symbols are single letters, or all of them pairs.
    """
    if str(name) in known_scales():
        return read_scale(resource_path("scales", f"{name}{SUFFIX}"), str(name))
    if not os.path.exists(name):  # noqa: PTH110  (no text is an error to it)
        raise InputError(
            f"unknown scale {str(name)!r}{did_you_mean(str(name), known_scales())}",
            expected=f"{', '.join(known_scales())} or a TSV file",
        )
    return read_scale(name, str(name))


def read_scale(path: str | os.PathLike, name: str) -> Scale:
    """Read a scale from a table; see `load_scale`."""
    scores: dict[str, Decimal] = {}
    for line, row in read_table(path, ("symbol", "score")):
        location, symbol = Location(path, line), row["symbol"].upper()
        if not symbol.isascii() or len(symbol) not in (1, 2):
            raise location.error(f"symbol {symbol!r}", "a letter or a pair of letters")
        if scores and len(symbol) != len(next(iter(scores))):
            raise location.error(f"symbol {symbol!r}", "either letters or pairs, not both")
        if symbol in scores:
            raise location.error(f"symbol {symbol!r} occurs twice")
        scores[symbol] = _symbol_score(location, row["score"])
    if not scores:
        raise InputError("no symbol", path=path, expected="at least one row of symbol and score")
    return Scale(name, scores)


def _symbol_score(location: Location, text: str) -> Decimal:
    location.number(text, "score")
    score = scale_number(text)
    if score is None:
        raise location.error(
            f"score {text} is out of range",
            f"-{LARGEST} to {LARGEST} with at most {DECIMAL_PLACES} decimal places",
        )
    return score


# Costs by symbol as a table with the columns ``symbol`` and ``cost``.


def read_costs(path: str | os.PathLike) -> dict[str, int]:
    """Read the costs of inserting or deleting symbols: whole numbers from 1."""
    costs: dict[str, int] = {}
    for line, row in read_table(path, ("symbol", "cost")):
        location, symbol = Location(path, line), row["symbol"]
        if symbol in costs:
            raise location.error(f"symbol {symbol!r} occurs twice")
        costs[symbol] = location.integer(row["cost"], "cost")
        if not 1 <= costs[symbol] < LIMIT_INT32:
            raise location.error(f"cost {row['cost']} is out of range", "1 to 2^30 - 1")
    if not costs:
        raise InputError("no symbol", path=path, expected="at least one row of symbol and cost")
    return costs


# Codon usage as a table with the columns ``codon`` and ``frequency``.


N_CODONS = 64


def read_codon_usage(path: str | os.PathLike) -> NDArray[np.float64]:
    """Read how often codons are used."""
    usage = np.full(N_CODONS, np.nan)
    for line, row in read_table(path, ("codon", "frequency")):
        location = Location(path, line)
        codon = _codon(location, row["codon"].strip())
        if not np.isnan(usage[codon]):
            raise location.error(f"codon {row['codon'].strip()!r} occurs twice")
        usage[codon] = location.number(row["frequency"].strip(), "frequency")
        if usage[codon] < 0:
            raise location.error(f"frequency {row['frequency'].strip()!r} is negative", "0 or more")
    usage = np.nan_to_num(usage, nan=0.0)
    if not usage.any():
        raise InputError("no codon of a frequency above 0", path=path, expected="a codon usage")
    return usage


def _codon(location: Location, text: str) -> int:
    try:
        codes = encode(text)
    except InputError:
        codes = np.full(1, OTHER)
    if len(codes) != 3 or OTHER in codes:
        raise location.error(f"{text!r} is no codon", "three of the letters A, C, G, T or U")
    return int(codes @ (16, 4, 1))
