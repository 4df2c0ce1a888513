"""Patterns, and what is searched for: each pattern on one strand or on both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.model.alphabets import ALPHABETS


@dataclass(frozen=True)
class Pattern:
    """A named pattern.

    Parameters
    ----------
    name : str
        Identifier.
    symbols : ndarray of uint8, shape (m,)
        Pattern symbols of an alphabet.
    """

    name: str
    symbols: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def from_text(cls, name: str, letters: str | bytes, alphabet: str = "dna") -> Pattern:
        """Encode `letters`; an illegal one raises `InputError` with this pattern's name.

        Parameters
        ----------
        name : str
            Identifier.
        letters : str or bytes
            Letters, or any bytes.
        alphabet : {"dna", "protein", "bytes"}
            What they are written in.

        Returns
        -------
        Pattern
        """
        try:
            return cls(name, ALPHABETS[alphabet].encode_pattern(letters))
        except InputError as error:
            raise error.located(record=name) from None

    def __len__(self) -> int:
        return len(self.symbols)


@dataclass(frozen=True)
class PatternSet:
    """Patterns that are searched together.

    Parameters
    ----------
    patterns : sequence of Pattern
        At least one, none of them empty.
    alphabet : {"dna", "protein", "bytes"}
        What patterns and texts are written in. A pattern may hold classes (IUPAC codes; B, J, X
        and Z in proteins); the same letters in a text match nothing.
    both_strands : bool
        Also search the reverse complements; only for ``dna``.
    """

    patterns: Sequence[Pattern]
    alphabet: str = "dna"
    both_strands: bool = False

    @classmethod
    def from_texts(
        cls, texts: Mapping[str, str | bytes], alphabet: str = "dna", both_strands: bool = False
    ) -> PatternSet:
        """Return a set of patterns from their letters by name.

        Parameters
        ----------
        texts : mapping of str to str or bytes
            Letters by the pattern's name.
        alphabet : {"dna", "protein", "bytes"}
            As in the class.
        both_strands : bool
            As in the class.

        Returns
        -------
        PatternSet
        """
        patterns = [Pattern.from_text(name, text, alphabet) for name, text in texts.items()]
        return cls(patterns, alphabet, both_strands)

    @property
    def names(self) -> list[str]:
        """Names of the patterns."""
        return [pattern.name for pattern in self.patterns]

    @property
    def matches(self) -> NDArray[np.bool_]:
        """The alphabet's table of matches."""
        return ALPHABETS[self.alphabet].matches

    def probes(self) -> list[Probe]:
        """Return what to search for, pattern by pattern, ``+`` before ``-``.

        Raises
        ------
        InputError
            If there is no pattern, for an empty one, or for both strands of something that has
            only one.
        """
        complement = ALPHABETS[self.alphabet].complement
        if self.both_strands and complement is None:
            raise InputError(f"the alphabet {self.alphabet} has no reverse strand", expected="dna")
        if not self.patterns:
            raise InputError("no pattern", expected="at least one")
        found = []
        for number, pattern in enumerate(self.patterns):
            if not len(pattern):
                raise InputError("empty pattern", record=pattern.name)
            found.append(Probe(number, False, pattern.symbols))
            if self.both_strands:
                found.append(Probe(number, True, complement[pattern.symbols[::-1]]))
        return found


class Probe(NamedTuple):
    """A pattern as it is searched on the forward text: number, strand, symbols."""

    pattern: int
    reverse: bool
    symbols: NDArray[np.uint8]
