"""Odd items of inputs: left out with one warning, or errors where every input has to be sound."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from gpu_tools.errors import InputError

_log = logging.getLogger(__name__)


class _Settings:
    """A command's choice, which holds for all readers, those of other threads too."""

    strict: bool = False
    warnings: set[str] | None = None


@contextmanager
def odd_items(strict: bool) -> Iterator[None]:
    """Within the block, log each warning about odd items once, or raise them as errors."""
    before = _Settings.strict, _Settings.warnings
    _Settings.strict, _Settings.warnings = strict, set()
    try:
        yield
    finally:
        _Settings.strict, _Settings.warnings = before


class OddItems:
    """Items of a kind in one file that are left out, or read otherwise, and counted.

    `what` says what they are and what is done with them: ``records without symbols, left out``.
    """

    def __init__(self, what: str):
        self._what, self._count = what, 0
        self.first: InputError | None = None

    def add(self, problem: InputError) -> None:
        """Count an item; if inputs have to be sound, raise what is wrong with it."""
        if _Settings.strict:
            raise problem
        self._count += 1
        self.first = self.first or problem

    def warn(self) -> None:
        """Warn of the items, if there are any."""
        if self.first is None:
            return
        text = f"{self._what}: {self._count}; the first: {self.first}"
        if _Settings.warnings is None or text not in _Settings.warnings:
            _log.warning("%s", text)
        if _Settings.warnings is not None:
            _Settings.warnings.add(text)
