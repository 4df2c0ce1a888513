"""Targets of one kind, and how they are aligned: proteins codon by codon, cDNAs by nucleotides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from gpu_tools.annotate.ends import LooseEnd, loose_ends
from gpu_tools.annotate.options import Alignment
from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.proteins import translated
from gpu_tools.formats.alignments.walk import coding_parts
from gpu_tools.formats.scales import load_matrix
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import SITE_SCORING, AffineScoring, ProteinScoring, SplicedScoring
from gpu_tools.model.sequences import ProteinSequence, reverse_complement, reversed_complement
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import NullModel, setting_of
from gpu_tools.model.translation import STANDARD
from gpu_tools.search.words import INTRON_COSTS
from gpu_tools.sites.api import SiteCase, case_of, is_coding, site_align, tables_of
from gpu_tools.sites.model import GeneSites
from gpu_tools.sites.proteins.api import (
    EXTRA,
    ProteinCase,
    protein_align,
    protein_sites,
    protein_tables_of,
)
from gpu_tools.sites.proteins.ends import unsupported_ends, with_supported_ends
from gpu_tools.sites.suitability import null_model_or_stand_in, null_models_or_stand_ins
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.proteins.scored import aligned_codes, column_scores
from gpu_tools.splicing.reading import FRAMES
from gpu_tools.splicing.rows import kept_symbols

if TYPE_CHECKING:
    from gpu_tools.model.evidence import SpliceEvidence

# Hits of few amino acids: the law of a genome holds for loci of usual composition, but a stretch of
# few amino acids scores high with any target that is made of the same ones, in whatever order.

BIASED = -0.4
"""Mean score of random pairs of an alignment's residues from which on its composition is biased.
Genes have -0.9, 98 of 100 of them less than -0.65."""


def is_biased(alignment: ProteinAlignment, scoring: ProteinScoring) -> bool:
    """Return whether residues of an alignment, paired at random, score too well."""
    table = scoring.matrix.table()
    acids, residues = (
        np.bincount(codes, minlength=len(table)) for codes in aligned_codes(alignment)
    )
    pairs = acids.sum() * residues.sum()
    return pairs > 0 and bool(acids @ table @ residues >= BIASED * pairs)


PROTEIN, CDNA = "protein", "cDNA"
SEARCH_POINTS = 2
"""Points of the search for a match of a cDNA, half bits as those of proteins."""


def _of_evidence(evidence: SpliceEvidence | None) -> dict:
    """Return what settings say of evidence, nothing if there is none."""
    return {} if evidence is None else {"evidence": evidence.digest}


def _of_introns(sequences: Iterable[Nucleotides]) -> dict:
    """Return what settings say of the introns of targets' own genes, nothing if there are none."""
    introns = [one.introns for one in sequences]
    return {"introns": sha256(repr(introns).encode()).hexdigest()[:16]} if any(introns) else {}


_GENEROUS = 2
"""Times the nucleotides that a point pays for in a site model, which it pays for in the search, if
these are fewer than usual: introns of a fly's first exons are longer than its model expects."""


def _intron_costs(sites: GeneSites, less: int) -> tuple[tuple[int, int], ...]:
    """Return the usual costs of introns in the search, higher if the site model's rise sooner.

    Proteins pay for `less` times fewer nucleotides than the model's introns have a point.
    """
    usual = INTRON_COSTS[0][1]
    firsts = [kind.rising[0][1] for kind in sites.introns if kind.rising]
    every = min(_GENEROUS * max(firsts, default=less * usual) // less, usual)
    return tuple((extra, max(each * every // usual, 1)) for extra, each in INTRON_COSTS)


@dataclass(frozen=True)
class ProteinTargets:
    """Proteins and how they are aligned; see `protein_targets`."""

    sequences: tuple[ProteinSequence, ...]
    sites: GeneSites
    scoring: ProteinScoring
    keeps_ends: bool = False
    sources: tuple[int, ...] = ()
    evidence: SpliceEvidence | None = None
    kind: ClassVar[str] = PROTEIN
    has_cores: ClassVar[bool] = True
    points: ClassVar[float] = 1
    """Points of the search for one of an alignment."""
    shuffles_codons: ClassVar[bool] = False
    clearly: ClassVar[int] = 15
    """Points by which an isoform explains its target better than other structures."""

    @property
    def sources_by_target(self) -> tuple[int, ...]:
        """The number of each target's source, 0 if none is given."""
        return self.sources or (0,) * len(self.sequences)

    @property
    def genetic_code(self) -> int:
        """NCBI's number of the code."""
        return self.scoring.genetic_code

    @property
    def intron_costs(self) -> tuple[tuple[int, int], ...]:
        """What introns cost in the search."""
        return _intron_costs(self.sites, 1)

    @cached_property
    def costs_beside(self) -> tuple[tuple[int, int], ...]:
        """What introns cost beside an alignment: twice as many points as in the search.

        They cost what they cost there where nothing rises in the site model, or evidence or introns
        of the proteins' own genes pay for them.
        """
        is_paid = self.evidence is not None or any(one.introns for one in self.sequences)
        rises = any(kind.rising for kind in self.sites.introns)
        twice = 1 if is_paid or not rises else 2
        return tuple((twice * extra, every) for extra, every in self.intron_costs)

    @cached_property
    def nulls(self) -> list[NullModel]:
        """The law of unrelated proteins' best scores, for each target."""
        return [null_model_or_stand_in(self.scoring, sites=self.sites)] * len(self.sequences)

    def with_sites(self, sites: GeneSites) -> ProteinTargets:
        """Return the same proteins with another site model, which gets the weights for proteins."""
        return replace(self, sites=protein_sites(sites))

    def setting(self) -> dict:
        """Return all that alignments depend on."""
        own = {"stop": self.scoring.stop, "keeps_ends": self.keeps_ends}
        own |= _of_evidence(self.evidence) | _of_introns(self.sequences)
        return setting_of(self.scoring, sites=self.sites.fingerprint) | own

    def tables(self, base: Nucleotides, strand: str) -> dict[str, SiteTable]:
        """Return the sites of one strand of a base."""
        return protein_tables_of(base, self.sites, self.scoring, strand, 1, self.evidence)

    def case(self, base: Nucleotides, target: ProteinSequence, tables) -> ProteinCase:
        """Return the case of a base and a protein."""
        return ProteinCase(base, target, tables)

    def align(self, cases: list[ProteinCase], least: list[int], device: str, threads: int | None):
        """Align proteins; a result whose score is below its case's least has no chain."""
        return protein_align(cases, self.scoring, device=device, threads=threads, min_scores=least)

    def loose_ends(self, alignment: Alignment) -> tuple[LooseEnd, LooseEnd]:
        """Return what the ends of an alignment could win elsewhere."""
        sites, scores = self.sites, column_scores(alignment, self.scoring)
        codons = (
            0 if alignment.start_codon else sites.start - sites.begin,
            0 if alignment.stop_codon else sites.stop - sites.end,
        )
        return loose_ends(alignment, *scores, codons, FRAMES)

    def has_unsupported_end(self, alignment: Alignment) -> bool:
        """Return whether no similarity supports the residues at an end."""
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
        first = scoring.gap_open + scoring.gap_extend
        return AffineScoring(gap_open=first, gap_extend=scoring.gap_extend, matrix=scoring.matrix)


@dataclass(frozen=True)
class CdnaTargets:
    """cDNAs and how they are aligned; see `cdna_targets`."""

    sequences: tuple[Nucleotides, ...]
    sites: GeneSites
    scoring: SplicedScoring
    reading: str = "any"
    stranded: bool = False
    sources: tuple[int, ...] = ()
    evidence: SpliceEvidence | None = None
    kind: ClassVar[str] = CDNA
    has_cores: ClassVar[bool] = False
    genetic_code: ClassVar[int] = STANDARD
    clearly: ClassVar[int] = 20
    """Points by which an isoform explains its target better than other structures."""

    @property
    def sources_by_target(self) -> tuple[int, ...]:
        """The number of each target's source, 0 if none is given."""
        return self.sources or (0,) * len(self.sequences)

    @property
    def points(self) -> float:
        """Points of the search for one of an alignment."""
        return SEARCH_POINTS / self.scoring.match

    @property
    def shuffles_codons(self) -> bool:
        """Whether unrelated targets are made of whole codons in random order."""
        return self.reading != "any"

    @property
    def intron_costs(self) -> tuple[tuple[int, int], ...]:
        """What introns cost in the search: what they cost there for proteins."""
        return _intron_costs(self.sites, EXTRA)

    @property
    def costs_beside(self) -> tuple[tuple[int, int], ...]:
        """What introns cost beside an alignment: what they cost in the search."""
        return self.intron_costs

    @cached_property
    def nulls(self) -> list[NullModel]:
        """The law of unrelated cDNAs' best scores, for each target."""
        coding = [is_coding(one, self.sites.stops) for one in self.sequences]
        return null_models_or_stand_ins(self.scoring, self.reading, self.sites, False, coding)

    def with_sites(self, sites: GeneSites) -> CdnaTargets:
        """Return the same cDNAs with another site model."""
        return replace(self, sites=sites)

    def setting(self) -> dict:
        """Return all that alignments depend on."""
        own = {"stranded": self.stranded} | _of_evidence(self.evidence)
        return setting_of(self.scoring, self.reading, self.sites.fingerprint) | own

    def tables(self, base: Nucleotides, strand: str) -> dict[str, SiteTable]:
        """Return the sites of one strand of a base."""
        options = strand, self.scoring.ends, self.reading, 1, True, self.evidence
        return tables_of(base, self.sites, *options)

    def case(self, base: Nucleotides, target: Nucleotides, tables) -> SiteCase:
        """Return the case of a base and a cDNA."""
        return case_of(base, target, tables, self.sites.stops)

    def align(self, cases: list[SiteCase], least: list[int], device: str, threads: int | None):
        """Align cDNAs; a result whose score is below its case's least has no chain."""
        return site_align(cases, self.scoring, device=device, threads=threads, min_scores=least)

    def loose_ends(self, alignment: Alignment) -> tuple[LooseEnd, LooseEnd]:
        """Return what the ends of an alignment could win elsewhere."""
        scores = nucleotide_scores(alignment, self.scoring)
        return loose_ends(alignment, *scores, (0, 0), 1)

    def has_unsupported_end(self, alignment: Alignment) -> bool:
        """Return False: the ends of cDNAs stay unaligned where that scores more."""
        return False

    def supported(self, cases: list[SiteCase], found: list, device: str, threads: int | None):
        """Return None for each alignment."""
        return [None] * len(found)

    def perfect_score(self, number: int) -> int:
        """Return the score of a target each of whose symbols matches, but for its poly-A tail."""
        return self.scoring.match * kept_symbols(self.sequences[number].codes)

    @property
    def turned(self) -> CdnaTargets | None:
        """The reverse complements, None if all cDNAs are in reading direction."""
        if self.stranded:
            return None
        turned = map(reversed_complement, self.sequences)
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


def nucleotide_scores(
    alignment: Alignment, scoring: SplicedScoring
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the score of each column of a cDNA's alignment, and of its symbol with itself.

    They are in points of the search, of which a match has as many as in `gpu_tools.search`.
    """
    match = scoring.match
    of = {"=": (match, match), "X": (scoring.mismatch, match), "I": (scoring.gap, match),
          "D": (scoring.gap, 0)}  # fmt: skip
    runs = [(*of[letter], n) for letter, n in alignment.cigar if letter in of]
    scores, own, counts = np.array(runs, np.int64).reshape(-1, 3).T
    return tuple(SEARCH_POINTS * np.repeat(each, counts) // match for each in (scores, own))


TargetSet = ProteinTargets | CdnaTargets
"""Targets that are aligned in the same way."""


def spliced(alignment: Alignment, record: Nucleotides, first: int = 0) -> Nucleotides:
    """Return the nucleotides of a chain; `first` is the record's coordinate of its first symbol."""
    intervals = [interval for interval, _ in coding_parts(alignment)] or alignment.chain
    parts = [record.codes[start - first : end - first] for start, end in sorted(intervals)]
    codes = np.concatenate(parts)
    codes = codes if alignment.strand == "+" else reverse_complement(codes)
    return Nucleotides(alignment.target, codes)


def protein_targets(
    sequences: Iterable[ProteinSequence],
    sites: GeneSites,
    scoring: ProteinScoring | None = None,
    keeps_ends: bool = False,
    sources: Iterable[int] = (),
    evidence: SpliceEvidence | None = None,
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
    sources : iterable of int, optional
        For each target a number of the collection that it is of, say a species: a distant
        relative's isoform needs another collection that agrees. All are of one by default.
    evidence : SpliceEvidence, optional
        Introns that were seen and scores of splice sites, see `gpu_tools.splice_evidence`.

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
    sites, sources = protein_sites(sites), tuple(sources)
    return ProteinTargets(sequences, sites, scoring, keeps_ends, sources, evidence)


def cdna_targets(
    sequences: Iterable[Nucleotides],
    sites: GeneSites,
    scoring: SplicedScoring | None = None,
    reading: str = "any",
    stranded: bool = False,
    sources: Iterable[int] = (),
    evidence: SpliceEvidence | None = None,
) -> CdnaTargets:
    """Return cDNAs as targets of `annotate_genome`.

    Parameters
    ----------
    sequences : iterable of Sequence
        cDNAs of related genes.
    sites : GeneSites
        See `load_sites`.
    scoring : SplicedScoring, optional
        That of `spliced-align` in site mode by default: match 1, mismatch -1, gap -2, and 5 points
        for each end of the target that is left out.
    reading : {"any", "complete", "incomplete"}
        Whether genes must translate, see `tables_of`; without that they have no CDS.
    stranded : bool
        Whether all cDNAs are in reading direction; else both directions of each are tried.
    sources : iterable of int, optional
        For each target a number of the collection that it is of, say a species: a distant
        relative's isoform needs another collection that agrees. All are of one by default.
    evidence : SpliceEvidence, optional
        Introns that were seen and scores of splice sites, see `gpu_tools.splice_evidence`.

    Returns
    -------
    CdnaTargets
        The targets.

    Raises
    ------
    InputError
        If one of them is a protein.
    """
    scoring = scoring or SITE_SCORING
    sequences = tuple(sequences)
    for one in sequences:
        if isinstance(one, ProteinSequence):
            raise InputError("a protein", record=one.name, expected="a Sequence of nucleotides")
    return CdnaTargets(sequences, sites, scoring, reading, stranded, tuple(sources), evidence)
