"""Where introns lie in targets, by an annotation of the genome that the targets come from."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Sequence as List
from dataclasses import replace
from itertools import accumulate, chain
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.exons import gff
from gpu_tools.formats.exons.annotation import coding_of
from gpu_tools.formats.files import read_lines
from gpu_tools.model.annotation import CodingSequence
from gpu_tools.model.sequences import ProteinSequence, Sequence

_NAMES = ("ID", "Name", "transcript_id", "protein_id")
_PREFIX = re.compile(r"^(?:[A-Za-z]+:|rna-|cds-)")
"""What annotations write before names: ``transcript:``, ``CDS:``, or as NCBI ``rna-``, ``cds-``."""
_VERSION = re.compile(r"\.\d+$")
_CODON = 3


class TargetStructure(NamedTuple):
    """A coding sequence from the first codon on, or a transcript, and where its introns are.

    Its nucleotides, and those before each intron.
    """

    length: int
    introns: tuple[int, ...]

    @classmethod
    def of(cls, coding: CodingSequence) -> TargetStructure:
        """Return the structure of an annotated coding sequence."""
        lengths = [segment.end - segment.start for segment in coding.segments]
        *before, length = (end - coding.segments[0].phase for end in accumulate(lengths))
        return cls(length, tuple(before))

    def fits(self, target: Sequence) -> bool:
        """Return whether it has the target's length, that of a protein with a stop or without."""
        if isinstance(target, ProteinSequence):
            return len(target) in (self.length // _CODON, self.length // _CODON - 1)
        return len(target) == self.length


class WithIntrons(NamedTuple):
    """Targets, and the names of those without a structure: none, or one of another length."""

    targets: list[Sequence]
    without: list[str]


def with_introns(targets: Iterable[Sequence], path: str | os.PathLike) -> WithIntrons:
    """Return proteins or cDNAs with the introns of their own genes.

    Parameters
    ----------
    targets : iterable of ProteinSequence, or of Sequence
    path : path
        GFF3 or GTF with the targets' coding sequences or, of cDNAs, transcripts in the genome that
        they come from.

    Returns
    -------
    WithIntrons
        In the same order. A protein has the introns of the coding sequence with its name and
        length, a cDNA those of the transcript or coding sequence. The name is the ``ID``, ``Name``,
        ``transcript_id`` or ``protein_id`` of the transcript or of its parts, without a prefix like
        ``transcript:``; if there is none, a version at the name's end, as in ``NP_000509.1``, is
        left out. A name of several that differ is none.

    Raises
    ------
    InputError
        If no target has a structure, or the file is wrong.
    """
    targets, made, without = list(targets), [], []
    are_proteins = all(isinstance(one, ProteinSequence) for one in targets)
    structures = _structures(path, are_proteins)
    for one in targets:
        own = structures.get(one.name) or structures.get(_VERSION.sub("", one.name)) or ()
        fitting = [each for each in own if each.fits(one)]
        if len(fitting) == 1:
            made.append(replace(one, introns=fitting[0].introns))
        else:
            made.append(one)
            without.append(one.name)
    if len(without) == len(made):
        what = "coding sequence" if are_proteins else "transcript"
        raise InputError(
            f"no {what} with a target's name and length", path=path,
            expected="the targets' own genes, in the genome that they come from",
        )  # fmt: skip
    return WithIntrons(made, without)


def _structures(path: str | os.PathLike, of_proteins: bool) -> dict[str, set[TargetStructure]]:
    """Return the structures of coding sequences, or of transcripts as well, by their names.

    A name that stands for several coding sequences has none, nor one for several transcripts.
    """
    lines, found = list(read_lines(path)), defaultdict(set)
    kinds = []
    if of_proteins or any(feature.kind == gff.CODING for feature in gff.features(path, lines)):
        coding = chain.from_iterable(coding_of(path, lines).values())
        kinds.append((gff.CODING, ((one.name, TargetStructure.of(one)) for one in coding)))
    if not of_proteins:
        kinds.append((gff.EXON, _transcripts(path, lines)))
    for kind, structures in kinds:
        names, own = _names(path, lines, kind), defaultdict(set)
        for owner, structure in structures:
            for name in names[owner]:
                own[name].add(structure)
        for name, several in own.items():
            found[name] |= several if len(several) == 1 else set()
    return found


def _transcripts(path, lines: List[tuple[int, str]]) -> Iterator[tuple[str, TargetStructure]]:
    """Yield the owners of exons and their structures."""
    exons: dict[str, list] = defaultdict(list)
    for feature in gff.features(path, lines):
        if feature.kind == gff.EXON:
            for owner in feature.parents:
                exons[owner].append((feature.interval, feature.strand))
    for owner, own in exons.items():
        ordered = sorted({interval for interval, _ in own}, reverse=own[0][1] == "-")
        *before, length = accumulate(end - start for start, end in ordered)
        yield owner, TargetStructure(length, tuple(before))


def _names(path, lines: List[tuple[int, str]], kind: str) -> dict[str, set[str]]:
    """Return the names of what lines of a kind belong to, by that of their owner."""
    names: dict[str, set[str]] = defaultdict(set)
    for feature in gff.features(path, lines):
        if feature.kind == kind:
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
