"""Reads the cases of spliced alignment from their files."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

import gpu_tools
from gpu_tools.cli.common.loci import Region, has_loci, names_of, read_loci
from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.tables import read_table
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence

if TYPE_CHECKING:
    from gpu_tools.model.evidence import SpliceEvidence
    from gpu_tools.model.scoring import ProteinScoring
    from gpu_tools.sites.api import SiteCase
    from gpu_tools.sites.model import GeneSites
    from gpu_tools.spliced import Case

_log = logging.getLogger(__name__)


class CaseFiles(NamedTuple):
    """The files that hold the parts of the cases.

    `pairs` is None if every target meets every base, `exons` if there are no candidates. `regions`
    are those of `base` to take, all of it if there is none.
    """

    base: str
    exons: str | None
    targets: str
    pairs: str | None
    exons_format: str
    regions: tuple[Region, ...] = ()


class CaseInputs(NamedTuple):
    """The cases, in the order of the result's rows, and the sequences by name."""

    cases: list[Case] | list[SiteCase]
    bases: dict[str, Sequence]
    targets: dict[str, Sequence]


EvidenceReader = Callable[[Iterable[Sequence]], "SpliceEvidence | None"]
"""Returns the splice evidence on some sequences, None if there is none."""


def no_evidence(bases: Iterable[Sequence]) -> None:
    """Return no splice evidence."""


def read_cases(files: CaseFiles) -> CaseInputs:
    """Read the cases of spliced alignment."""
    return _with_candidates(files, gpu_tools.Case)


def read_site_cases(
    files: CaseFiles,
    model: GeneSites,
    strands: str,
    ends: str,
    reading: str,
    threads: int | None = None,
    read_evidence: EvidenceReader = no_evidence,
    own_genes: str | None = None,
) -> CaseInputs:
    """Read the cases of site mode: as `read_cases`, with the sites that a model gives to a base.

    `strands` is ``+``, ``-`` or both; `ends` is as in `gpu_tools.model.scoring.SplicedScoring`,
    `reading` as in `gpu_tools.sites.GeneSites.table`. `read_evidence` reads the evidence on bases.
    `own_genes` is the annotation of the cDNAs' genes in the genome that they come from.
    """
    # listed candidates do not need this import, which takes time
    from gpu_tools.cli.common.proteins import with_own_introns
    from gpu_tools.sites.api import case_of, tables_of

    bases, targets, pairs = _sequences_and_pairs(files)
    targets = with_own_introns(targets, own_genes)
    evidence, used = read_evidence(bases.values()), dict.fromkeys(b for b, _ in pairs)
    tables = {
        b: tables_of(bases[b], model, strands, ends, reading, threads, True, evidence) for b in used
    }
    cases = [case_of(bases[b], targets[t], tables[b], model.stops) for b, t in pairs]
    return CaseInputs(cases, bases, targets)


def read_protein_cases(
    files: CaseFiles,
    model: GeneSites,
    scoring: ProteinScoring,
    strands: str,
    threads: int | None = None,
    read_evidence: EvidenceReader = no_evidence,
    own_genes: str | None = None,
) -> CaseInputs:
    """Read the cases of proteins in site mode; the files' targets are proteins.

    `own_genes` is the annotation of the proteins' genes in the genome that they come from.
    """
    from gpu_tools.cli.common.proteins import read_proteins, with_own_introns
    from gpu_tools.sites.proteins.api import ProteinCase, protein_tables_of

    bases, targets, pairs = _sequences_and_pairs(files, read_proteins)
    targets = with_own_introns(targets, own_genes)
    evidence, used = read_evidence(bases.values()), dict.fromkeys(b for b, _ in pairs)
    tables = {
        b: protein_tables_of(bases[b], model, scoring, strands, threads, evidence) for b in used
    }
    return CaseInputs([ProteinCase(bases[b], targets[t], tables[b]) for b, t in pairs],
                      bases, targets)  # fmt: skip


def read_listed_protein_cases(files: CaseFiles) -> CaseInputs:
    """Read the cases of proteins in list mode, as `read_cases`; the files' targets are proteins."""
    from gpu_tools.cli.common.proteins import read_proteins
    from gpu_tools.spliced.proteins.api import ListedProteinCase

    return _with_candidates(files, ListedProteinCase, read_proteins)


def read_cdnas(path: str) -> dict[str, Sequence]:
    """Read cDNAs by name; an error about a letter says where proteins go."""
    try:
        return {sequence.name: sequence for sequence in read_fasta(path)}
    except InputError as error:
        raise error.hinted("proteins go to --proteins") from None


def _with_candidates(files: CaseFiles, kind: type[Case], read_targets=read_cdnas) -> CaseInputs:
    bases, targets, pairs = _sequences_and_pairs(files, read_targets)
    exons = _exons_by_base(files, bases)
    known = {base: exons.get(base, ExonSet.empty()) for base in bases}
    return CaseInputs([kind(bases[b], targets[t], known[b]) for b, t in pairs], bases, targets)


def _sequences_and_pairs(files: CaseFiles, read_targets=read_cdnas):
    if [files.base, files.exons, files.targets, files.pairs].count("-") > 1:
        raise InputError("more than one input is standard input", path="-")
    bases = {sequence.name: sequence for sequence in read_loci(files.base, files.regions)}
    targets = read_targets(files.targets)
    return bases, targets, _pairs(files, bases, targets)


def _exons_by_base(files: CaseFiles, bases: dict[str, Sequence]) -> dict[str, ExonSet]:
    """Return the exons of each base: those on its name, or those of its record inside the locus."""
    if files.exons is None:
        return {}
    only, named = next(iter(bases)) if len(bases) == 1 else None, names_of(bases.values())
    exons = read_exons(files.exons, files.exons_format, only, named)
    _check_known(files, exons, bases, named)
    parts: dict[str, list[ExonSet]] = {name: [] for name in bases}
    for name, found in exons.items():
        for base in named.get(name, ()):
            parts[base].append(_exons_of(files, name, found, bases[base]))
    return {name: ExonSet.concatenate(found) for name, found in parts.items()}


def _check_known(files: CaseFiles, exons: dict[str, ExonSet], bases, named) -> None:
    """Refuse exons on unknown names; beside loci some may lie on other records of the genome."""
    unknown = [name for name in exons if name not in named]
    if not unknown:
        return
    if len(unknown) == len(exons) or not has_loci(bases.values()):
        raise InputError(
            f"exons on an unknown sequence {unknown[0]!r}{did_you_mean(unknown[0], named)}",
            path=files.exons,
            expected=f"names of the records in {files.base}",
        )
    _log.info("%s: exons on %d other sequences left out", files.exons, len(unknown))


def _exons_of(files: CaseFiles, name: str, exons: ExonSet, base: Sequence) -> ExonSet:
    """Return exons on a name, which is a base's or its record's, in the base's coordinates."""
    locus = Locus.of(base)
    if name == locus.record and not locus.is_all_of(base.name):
        return locus.exons_within(exons)
    try:
        exons.check_within(len(base), name)
    except InputError as error:
        raise error.located(path=files.exons) from None
    return exons


def _pairs(files: CaseFiles, bases, targets) -> list[tuple[str, str]]:
    if files.pairs is None:
        return [(base, target) for base in bases for target in targets]
    named = {"base": names_of(bases.values()), "target": {name: [name] for name in targets}}
    sources = {"base": files.base, "target": files.targets}
    pairs = []
    for line, row in read_table(files.pairs, tuple(named)):
        for column, known in named.items():
            if row[column] not in known:
                raise InputError(
                    f"unknown {column} {row[column]!r}{did_you_mean(row[column], known)}",
                    path=files.pairs, line=line,
                    expected=f"names of the records in {sources[column]}",
                )  # fmt: skip
        pairs += [(base, row["target"]) for base in named["base"][row["base"]]]
    if not pairs:
        raise InputError(
            "no pair", path=files.pairs, expected="at least one row of base and target"
        )
    return pairs
