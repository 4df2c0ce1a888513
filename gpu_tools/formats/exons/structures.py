"""Where introns lie in targets, by an annotation of the genome that the targets come from."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.annotation import coding_of
from gpu_tools.formats.files import read_lines
from gpu_tools.model.annotation import CodingSequence
from gpu_tools.model.sequences import ProteinSequence

_NAMES = ("ID", "Name", "transcript_id", "protein_id")
_PREFIX = re.compile(r"^(?:[A-Za-z]+:|rna-|cds-)")
"""What annotations write before names: ``transcript:``, ``CDS:``, or as NCBI ``rna-``, ``cds-``."""
_VERSION = re.compile(r"\.\d+$")
_CODON = 3


class CodingStructure(NamedTuple):
    """A coding sequence: its nucleotides from the first codon on, and those before each intron."""

    length: int
    introns: tuple[int, ...]

    @classmethod
    def of(cls, coding: CodingSequence) -> CodingStructure:
        """Return the structure of an annotated coding sequence."""
        lengths = [segment.end - segment.start for segment in coding.segments]
        *before, length = (end - coding.segments[0].phase for end in accumulate(lengths))
        return cls(length, tuple(before))

    def fits(self, protein: ProteinSequence) -> bool:
        """Return whether it has the protein's length, with a stop codon or without."""
        return len(protein) in (self.length // _CODON, self.length // _CODON - 1)


class WithIntrons(NamedTuple):
    """Proteins, and the names of those without a structure: none, or one of another length."""

    proteins: list[ProteinSequence]
    without: list[str]


def with_introns(proteins: Iterable[ProteinSequence], path: str | os.PathLike) -> WithIntrons:
    """Return proteins with the introns of their own genes.

    Parameters
    ----------
    proteins : iterable of ProteinSequence
    path : path
        GFF3 or GTF with the coding sequences of the proteins in the genome that they come from.

    Returns
    -------
    WithIntrons
        In the same order. A protein has the introns of the coding sequence with its name and
        length. The name is the ``ID``, ``Name``, ``transcript_id`` or ``protein_id`` of the
        transcript or of its CDS, without a prefix like ``transcript:``; if there is none, a
        version at the name's end, as in ``NP_000509.1``, is left out. A name of coding sequences
        that differ is none.

    Raises
    ------
    InputError
        If no protein has a structure, or the file is wrong.
    """
    structures, made, without = _structures(path), [], []
    for one in proteins:
        own = structures.get(one.name) or structures.get(_VERSION.sub("", one.name))
        if own and own.fits(one):
            made.append(replace(one, introns=own.introns))
        else:
            made.append(one)
            without.append(one.name)
    if len(without) == len(made):
        raise InputError(
            "no coding sequence with a target's name and length", path=path,
            expected="the targets' own genes, in the genome that they come from",
        )  # fmt: skip
    return WithIntrons(made, without)


def _structures(path: str | os.PathLike) -> dict[str, CodingStructure]:
    """Return the structures of coding sequences by each of their names."""
    lines = list(read_lines(path))
    names = _names(path, lines)
    found: dict[str, set[CodingStructure]] = defaultdict(set)
    for several in coding_of(path, lines).values():
        for coding in several:
            for name in names[coding.name]:
                found[name].add(CodingStructure.of(coding))
    return {name: own.pop() for name, own in found.items() if len(own) == 1}


def _names(path, lines: Sequence[tuple[int, str]]) -> dict[str, set[str]]:
    """Return the names of coding sequences, by that of what `read_coding` says they belong to."""
    names: dict[str, set[str]] = defaultdict(set)
    for feature in gff.features(path, lines):
        if feature.kind == gff.CODING:
            owners = feature.parents
        else:
            owners = [unquote(own) for own in [feature.attribute("ID")] if own]
        for owner in owners:
            names[owner].update(_without_prefix([owner, *_attributes(feature)]))
    return names


def _attributes(feature: gff.Feature) -> Iterator[str]:
    for key in _NAMES:
        if value := feature.attribute(key):
            yield unquote(value) if feature.in_gff3 else value


def _without_prefix(names: Iterable[str]) -> Iterator[str]:
    """Yield names, and those with a prefix without it, too."""
    for name in names:
        yield name
        yield _PREFIX.sub("", name)
