"""Targets of one kind, and how they are aligned: proteins codon by codon, cDNAs by nucleotides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from gpu_tools.annotate.composition import is_biased
from gpu_tools.annotate.ends import LooseEnd, loose_ends
from gpu_tools.annotate.options import Alignment
from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.proteins import translated
from gpu_tools.formats.values.matrices import load_matrix
from gpu_tools.model.calibration import setting_of
from gpu_tools.model.genetic_codes import STANDARD
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.protein_scoring import ProteinScoring
from gpu_tools.model.scoring import GENE_SCORING, AffineScoring, SplicedScoring
from gpu_tools.model.sequences import ProteinSequence, reverse_complement
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import NullModel
from gpu_tools.sites.api import SiteCase, site_align, tables_of
from gpu_tools.sites.model import GeneSites
from gpu_tools.sites.proteins.api import ProteinCase, protein_align, protein_tables_of
from gpu_tools.sites.proteins.ends import unsupported_ends, with_supported_ends
from gpu_tools.sites.proteins.sites import protein_sites
from gpu_tools.sites.stand_ins import null_model_or_stand_in
from gpu_tools.sites.table import SiteTable

PROTEIN, CDNA = "protein", "cDNA"


class TargetSet(Protocol):
    """Targets that are aligned in the same way."""

    kind: str
    sequences: Sequence[Nucleotides]
    null: NullModel
    clearly: int
    genetic_code: int
    finds_loose_ends: bool
    shuffles_codons: bool

    def setting(self) -> dict:
        """Return all that alignments depend on besides base, target and device."""

    def tables(self, base: Nucleotides, strand: str) -> dict[str, SiteTable]:
        """Return the sites of one strand of a base."""

    def case(self, base: Nucleotides, target: Nucleotides, tables) -> SiteCase:
        """Return the question which chain on a base aligns best to a target."""

    def align(
        self, cases: list[SiteCase], least: list[int], device: str, threads: int | None
    ) -> list[Alignment]:
        """Answer questions; a result whose score is below a case's least has no chain."""

    def loose_ends(self, alignment: Alignment) -> tuple[LooseEnd, LooseEnd]:
        """Return what the ends of an alignment could win elsewhere, if `finds_loose_ends`."""

    def has_unsupported_end(self, alignment: Alignment) -> bool:
        """Return whether an end of an alignment is there only since all residues are aligned."""

    def supported(
        self, cases: list[SiteCase], found: list[Alignment], device: str, threads: int | None
    ) -> list[Alignment | None]:
        """Return alignments without their unsupported ends, on their cases' bases."""

    @property
    def turned(self) -> TargetSet | None:
        """The targets' reverse complements if these are to be tried."""

    def is_biased(self, alignment: Alignment) -> bool:
        """Return whether an alignment may be credible by its composition alone."""

    def product(self, alignment: Alignment, record: Nucleotides, first: int) -> Nucleotides:
        """Return what a chain on a sequence makes; `first` is where that begins in its record."""

    @property
    def pairwise(self) -> AffineScoring:
        """The scores of a target's symbols against those of a product."""


@dataclass(frozen=True)
class ProteinTargets:
    """Proteins and how they are aligned; see `protein_targets`."""

    sequences: tuple[ProteinSequence, ...]
    sites: GeneSites
    scoring: ProteinScoring
    keeps_ends: bool = False
    kind: ClassVar[str] = PROTEIN
    finds_loose_ends: ClassVar[bool] = True
    shuffles_codons: ClassVar[bool] = False
    clearly: ClassVar[int] = 15
    """Points by which an isoform explains its target better than other structures."""

    @property
    def genetic_code(self) -> int:
        """NCBI's number of the code."""
        return self.scoring.genetic_code

    @cached_property
    def null(self) -> NullModel:
        """The law of unrelated proteins' best scores."""
        return null_model_or_stand_in(self.scoring, sites=self.sites)

    def setting(self) -> dict:
        """Return all that alignments depend on."""
        own = {"stop": self.scoring.stop, "keeps_ends": self.keeps_ends}
        return setting_of(self.scoring, sites=self.sites.fingerprint) | own

    def tables(self, base: Nucleotides, strand: str) -> dict[str, SiteTable]:
        """Return the sites of one strand of a base."""
        return protein_tables_of(base, self.sites, self.scoring, strand, 1)

    def case(self, base: Nucleotides, target: ProteinSequence, tables) -> ProteinCase:
        """Return the question which chain on a base aligns best to a protein."""
        return ProteinCase(base, target, tables)

    def align(self, cases: list[ProteinCase], least: list[int], device: str, threads: int | None):
        """Align proteins."""
        return protein_align(cases, self.scoring, device=device, threads=threads, min_scores=least)

    def loose_ends(self, alignment: Alignment) -> tuple[LooseEnd, LooseEnd]:
        """Return what the ends of an alignment could win elsewhere."""
        sites = self.sites
        codons = sites.start - sites.begin, sites.stop - sites.end
        return loose_ends(alignment, self.scoring, codons)

    def has_unsupported_end(self, alignment: Alignment) -> bool:
        """Return whether residues at an end have nothing that they are alike."""
        return not self.keeps_ends and any(unsupported_ends(alignment, self.scoring))

    def supported(
        self, cases: list[ProteinCase], found: list[Alignment], device: str, threads: int | None
    ):
        """Return alignments without their unsupported ends."""

        def align(cases: list[ProteinCase]) -> list[ProteinAlignment]:
            return protein_align(cases, self.scoring, device=device, threads=threads)

        return with_supported_ends(cases, found, self.scoring, align)

    @property
    def turned(self) -> None:
        """None: a protein has one direction."""
        return None

    def is_biased(self, alignment: Alignment) -> bool:
        """Return whether residues in any order would score well."""
        return is_biased(alignment, self.scoring)

    def product(self, alignment, record: Nucleotides, first: int) -> ProteinSequence:
        """Return the protein of a chain."""
        return translated(alignment)

    @property
    def pairwise(self) -> AffineScoring:
        """The scores of residues against residues."""
        scoring = self.scoring
        open = scoring.gap_open + scoring.gap_extend
        return AffineScoring(gap_open=open, gap_extend=scoring.gap_extend, matrix=scoring.matrix)


@dataclass(frozen=True)
class CdnaTargets:
    """cDNAs and how they are aligned; see `cdna_targets`."""

    sequences: tuple[Nucleotides, ...]
    sites: GeneSites
    scoring: SplicedScoring
    reading: str = "any"
    stranded: bool = False
    kind: ClassVar[str] = CDNA
    finds_loose_ends: ClassVar[bool] = False
    genetic_code: ClassVar[int] = STANDARD
    clearly: ClassVar[int] = 20
    """Points by which an isoform explains its target better than other structures."""

    @property
    def shuffles_codons(self) -> bool:
        """Whether unrelated targets are made of whole codons in random order."""
        return self.reading != "any"

    @cached_property
    def null(self) -> NullModel:
        """The law of unrelated cDNAs' best scores."""
        return null_model_or_stand_in(self.scoring, self.reading, self.sites)

    def setting(self) -> dict:
        """Return all that alignments depend on."""
        own = {"stranded": self.stranded}
        return setting_of(self.scoring, self.reading, self.sites.fingerprint) | own

    def tables(self, base: Nucleotides, strand: str) -> dict[str, SiteTable]:
        """Return the sites of one strand of a base."""
        return tables_of(base, self.sites, strand, self.scoring.ends, self.reading, 1)

    def case(self, base: Nucleotides, target: Nucleotides, tables) -> SiteCase:
        """Return the question which chain on a base aligns best to a cDNA."""
        return SiteCase(base, target, tables)

    def align(self, cases: list[SiteCase], least: list[int], device: str, threads: int | None):
        """Align cDNAs."""
        return site_align(cases, self.scoring, device=device, threads=threads, min_scores=least)

    def has_unsupported_end(self, alignment: Alignment) -> bool:
        """Return False: the ends of cDNAs stay unaligned where that scores more."""
        return False

    def supported(self, cases: list[SiteCase], found: list, device: str, threads: int | None):
        """Return None for each alignment."""
        return [None] * len(found)

    @property
    def turned(self) -> CdnaTargets | None:
        """The reverse complements, None if cDNAs are as they are given."""
        if self.stranded:
            return None
        turned = (replace(one, codes=reverse_complement(one.codes)) for one in self.sequences)
        return replace(self, sequences=tuple(turned), stranded=True)

    def is_biased(self, alignment: Alignment) -> bool:
        """Return False: the law of cDNAs counts how often their nucleotides agree."""
        return False

    def product(self, alignment, record: Nucleotides, first: int) -> Nucleotides:
        """Return the spliced sequence of a chain."""
        return spliced(alignment, record, first)

    @property
    def pairwise(self) -> AffineScoring:
        """The scores of nucleotides against nucleotides."""
        scoring = self.scoring
        return AffineScoring(scoring.match, scoring.mismatch, -scoring.gap, -scoring.gap)


def spliced(alignment: Alignment, record: Nucleotides, first: int = 0) -> Nucleotides:
    """Return the nucleotides of a chain; `first` is the record's coordinate of its first symbol."""
    parts = [record.codes[start - first : end - first] for start, end in sorted(alignment.chain)]
    codes = np.concatenate(parts)
    codes = codes if alignment.strand == "+" else reverse_complement(codes)
    return Nucleotides(alignment.target, codes)


def protein_targets(
    sequences: Iterable[ProteinSequence],
    sites: GeneSites,
    scoring: ProteinScoring | None = None,
    keeps_ends: bool = False,
) -> ProteinTargets:
    """Return proteins as targets of `annotate_genome`.

    Parameters
    ----------
    sequences : iterable of ProteinSequence
        Proteins of related genes, each of at least one residue.
    sites : GeneSites
        See `load_sites`; it gets the weights for proteins.
    scoring : ProteinScoring, optional
        BLOSUM62 and the default costs by default.
    keeps_ends : bool
        Whether all residues are aligned, though those at an end are like nothing that is there.

    Returns
    -------
    ProteinTargets
        The targets.

    Raises
    ------
    InputError
        If one of them is no `ProteinSequence`.
    """
    scoring = scoring or ProteinScoring(load_matrix("BLOSUM62"))
    sequences = tuple(sequences)
    for one in sequences:
        if not isinstance(one, ProteinSequence):
            raise InputError("nucleotides", record=one.name, expected="a ProteinSequence")
    return ProteinTargets(sequences, protein_sites(sites), scoring, keeps_ends)


def cdna_targets(
    sequences: Iterable[Nucleotides],
    sites: GeneSites,
    scoring: SplicedScoring | None = None,
    reading: str = "any",
    stranded: bool = False,
) -> CdnaTargets:
    """Return cDNAs as targets of `annotate_genome`.

    Parameters
    ----------
    sequences : iterable of Sequence
        cDNAs of related genes.
    sites : GeneSites
        See `load_sites`.
    scoring : SplicedScoring, optional
        Match 1, mismatch -1, gap -2 and free ends of the target by default.
    reading : {"any", "complete", "incomplete"}
        Whether genes must translate, see `tables_of`; without that they have no CDS.
    stranded : bool
        Whether all cDNAs are in reading direction; else both directions of each are tried.

    Returns
    -------
    CdnaTargets
        The targets.

    Raises
    ------
    InputError
        If one of them is a protein.
    """
    scoring = scoring or SplicedScoring(ends=GENE_SCORING.ends)
    sequences = tuple(sequences)
    for one in sequences:
        if isinstance(one, ProteinSequence):
            raise InputError("a protein", record=one.name, expected="a Sequence of nucleotides")
    return CdnaTargets(sequences, sites, scoring, reading, stranded)
