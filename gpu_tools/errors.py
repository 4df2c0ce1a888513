"""The exceptions that gpu_tools raises on purpose.

Everything derives from `GpuToolsError`; its text is one line that a person can
act on: what is wrong, where, and what was expected.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from os import PathLike

_MOST_NAMES = 5_000
"""Names that are compared letter by letter: more would take a second."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that stands behind an unknown name, or nothing if no name is alike."""
    known = list(dict.fromkeys(names))
    same = [other for other in known if _bare(other) == _bare(name)]
    begun = [other for other in known if name and other.startswith(name)]
    alike = same[:2] or begun[:2] or get_close_matches(name, known[:_MOST_NAMES], n=2)
    return f" (did you mean {' or '.join(map(repr, alike))}?)" if alike else ""


def _bare(name: str) -> str:
    """Return a name in small letters, without ``chr`` before and a version behind."""
    stem, dot, version = name.lower().removeprefix("chr").rpartition(".")
    return stem if dot and version.isdigit() else name.lower().removeprefix("chr")


def printable(text: str) -> str:
    """Return a text in one line: what a terminal would not show, or obey, stands as its code."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class GpuToolsError(Exception):
    """Base of all deliberate errors; the command line turns it into exit code 1."""


class InputError(GpuToolsError):
    """Bad input data.

    Parameters
    ----------
    problem : str
        What is wrong, without a trailing full stop.
    path : str or PathLike, optional
        File at fault; ``-`` is shown as standard input.
    record : str, optional
        Name of the sequence, exon or case at fault.
    line : int, optional
        1-based line number in `path`.
    position : int, optional
        1-based position in the record.
    expected : str, optional
        What a correct input holds.
    """

    def __init__(
        self,
        problem: str,
        *,
        path: str | PathLike | None = None,
        record: str | None = None,
        line: int | None = None,
        position: int | None = None,
        expected: str | None = None,
    ):
        self.problem = problem
        self.path = None if path is None else str(path)
        self.record = record
        self.line = line
        self.position = position
        self.expected = expected
        super().__init__(self._text())

    def _text(self) -> str:
        where = [
            None if self.path is None else ("standard input" if self.path == "-" else self.path),
            None if self.line is None else f"line {self.line}",
            None if self.record is None else f"record {self.record}",
            None if self.position is None else f"position {self.position}",
        ]
        location = ", ".join(part for part in where if part)
        text = f"{location}: {self.problem}" if location else self.problem
        return f"{text}; expected {self.expected}" if self.expected else text

    def located(self, **where) -> InputError:
        """Return the same error with the missing parts of its location filled in from `where`."""
        known = {
            key: getattr(self, key) for key in ("path", "record", "line", "position", "expected")
        }
        filled = {key: where.get(key) if value is None else value for key, value in known.items()}
        return InputError(self.problem, **filled)

    def hinted(self, hint: str) -> InputError:
        """Return the same error, with a hint behind what was expected if it is about a symbol."""
        if self.position is None:
            return self
        where = {key: getattr(self, key) for key in ("path", "record", "line", "position")}
        expected = "; ".join(part for part in (self.expected, hint) if part)
        return InputError(self.problem, **where, expected=expected)


class OutputError(GpuToolsError):
    """A result cannot be written."""


class DeviceError(GpuToolsError):
    """The requested device cannot be used."""


class ScoringError(GpuToolsError, ValueError):
    """Scoring parameters that have no meaning or could overflow."""


class FetchError(GpuToolsError):
    """A source could not be fetched, or its answer is not what it should be."""


class ProgramError(GpuToolsError):
    """Another program cannot be run, or failed."""


def counted(n: int, one: str, many: str = "") -> str:
    """Return a number of things in words."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
