"""The public function of site mode for proteins, and its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.device import cpu_threads, on_gpu_or_cpu, resolve, with_enough_work
from gpu_tools.model.evidence import SpliceEvidence, StrandEvidence
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence, Sequence
from gpu_tools.model.translation import stop_codons
from gpu_tools.sites.api import SiteCase, read_strands
from gpu_tools.sites.cpu.schedule import align_on_cpu
from gpu_tools.sites.model import GeneSites, end_scores
from gpu_tools.sites.proteins.cpu.sweep import BestSweep, ProteinSweep, sweeps_of
from gpu_tools.sites.proteins.limits import nothing
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.best_chains import BannedPairs, with_further
from gpu_tools.splicing.bounds import CELLS_A_GPU
from gpu_tools.splicing.proteins import walk
from gpu_tools.splicing.proteins.bans import pairs_of


@dataclass(frozen=True)
class ProteinCase(SiteCase):
    """A base sequence, its sites, and the protein of a site-mode alignment.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    target : ProteinSequence
        Protein of a homologous gene, at least one residue, without a stop at its end.
    tables : dict of str to SiteTable
        The sites of each strand to be tried, ``+`` or ``-``, see `protein_tables_of`.
    banned : dict of str to BannedPairs, optional
        By strand, pairs of a codon's first nucleotide and a residue that no chain aligns.
    """

    target: ProteinSequence
    symbols: ClassVar[str] = "amino acids"

    def of_residues(self, start: int, end: int) -> ProteinCase:
        """Return the case of the residues `start` to ``end - 1``."""
        banned = {strand: pairs.of_symbols(start, end) for strand, pairs in self.banned.items()}
        return replace(self, target=self.target.part(start, end), banned=banned)

    def pairs_of(self, alignment: ProteinAlignment) -> BannedPairs:
        """Return the pairs that a chain aligns: codons' first nucleotides, and residues."""
        return pairs_of(alignment)

    def empty_score(self, scoring: ProteinScoring) -> int:
        """Return the least score of all residues left out, behind a chain without nucleotides."""
        tables = self.tables.values()
        return min(nothing(table, len(self.target), scoring) for table in tables)


def protein_tables_of(
    base: Sequence,
    model: GeneSites,
    scoring: ProteinScoring,
    strands: str = "+-",
    threads: int | None = None,
    evidence: SpliceEvidence | None = None,
) -> dict[str, SiteTable]:
    """Score the sites of a base sequence for proteins.

    A locus has the penalties of its record, and the sites, but for those whose matrices reach
    beyond its ends: nucleotides there are unknown.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    model : GeneSites
        With the weights for proteins, see `protein_sites`.
    scoring : ProteinScoring
        Its ends and genetic code count.
    strands : str
        ``+``, ``-`` or both.
    threads : int, optional
        Threads of the CPU, by default all.
    evidence : SpliceEvidence, optional
        Introns that were seen and scores of splice sites, see `gpu_tools.splice_evidence`.

    Returns
    -------
    dict of str to SiteTable
        The tables of a `ProteinCase`.
    """
    threads = cpu_threads(threads)
    return {
        strand: protein_table(
            model, codes, scoring, threads, evidence and evidence.on(base, strand)
        )
        for strand, (codes, _) in read_strands(base, strands).items()
    }


def protein_align(
    cases: Iterable[ProteinCase],
    scoring: ProteinScoring,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    min_scores: Iterable[int] | None = None,
    best: int = 1,
) -> list[ProteinAlignment]:
    """Align each case's protein to the best chain of all exons that the sites allow.

    A chain is a list of exons of one strand between sites. Its score is the sum of the scores of
    codons against residues, less the costs of gaps, frameshifts and stop codons inside, plus the
    points of its sites, less the penalties of its introns. A codon that an intron splits is scored
    as the codon that its parts form, and is aligned to a residue.

    A chain has the points of the table's first entries, say of a start codon, only if its first
    codon, the first three nucleotides, lies in one exon and is aligned to a residue or left out;
    else, or if that is more, the usual points. Exits have their points always.
    docs/design/proteins.md has all terms and the recurrence.

    Parameters
    ----------
    cases : iterable of ProteinCase
    scoring : ProteinScoring
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads, by default all.
    progress : callable, optional
        Called with the number of cells that are done since its last call.
    min_scores : iterable of int, optional
        For each case, the least score whose chain is wanted; a case occurs once then. Below it a
        result has strand and score alone, which takes less time.
    best : int
        With more than 1 up to so many chains of a case that share no codon with a residue, see
        Notes.

    Returns
    -------
    list of ProteinAlignment
        In the order of the cases; without a chain where none scores more than a chain without
        nucleotides, all residues left out. With `best` a case's further chains follow its first
        one, by `rank`.

    Raises
    ------
    InputError
        If a protein is empty, or tables do not fit.
    ScoringError
        If a score could leave 32 bits.

    Notes
    -----
    Ties: ``+`` goes before ``-``; then the chain that ends first in reading direction, with the
    fewest residues. Then, walking back, the first of these moves: a codon with a residue; a
    frameshift with a residue, of one nucleotide, then of two; a codon left out; a frameshift, of
    one nucleotide, then of two; residues left out, as few as can be; the chain's begin; an intron,
    the shortest, and of these the one that splits the codon behind fewer nucleotides. In front of a
    codon, with a residue or left out, a chain that goes on is taken before one that begins with a
    start codon.

    Chain k of several is the best of all chains that use none of the pairs of chains 1 to k - 1. A
    pair is a residue and the codon that is aligned to it, by the place of the codon's first
    nucleotide, whether an intron splits the codon or not. What is left out and frameshifts make no
    pair; chains on different strands share none. A case's chains end before the first one that has
    no pair, scores no more than all residues left out, or scores less than its `min_scores`; the
    first is always there. The CPU looks for chains without such pairs, whatever the device.
    """
    cases, threads = list(cases), cpu_threads(threads)
    for case in cases:
        case.check()
    least = None if min_scores is None else list(min_scores)
    align = partial(_protein_align, scoring=scoring, device=device, threads=threads)
    firsts = align(cases, progress=progress, min_scores=least)
    return with_further(cases, firsts, best, align, scoring, least)


def _protein_align(
    cases: list[ProteinCase], scoring: ProteinScoring, device: str, threads: int,
    progress: Callable[[int], None] | None = None, min_scores: list[int] | None = None,
) -> list[ProteinAlignment]:  # fmt: skip
    """Align each case's protein to the best chain, see `protein_align`."""
    done, cells = progress or (lambda cells: None), sum(case.cells for case in cases)
    where = with_enough_work(resolve(device), cells, CELLS_A_GPU["proteins"])
    least = {} if min_scores is None else dict(zip(map(id, cases), min_scores, strict=True))

    def result(case: ProteinCase, strand: str | None, found) -> ProteinAlignment:
        return _result(case, scoring, strand, found, least.get(id(case)))

    def on_cpu(cases: list[ProteinCase]) -> list[ProteinAlignment]:
        return align_on_cpu(cases, sweeps_of(scoring, result), threads, done)

    def on_gpus(ordinals: tuple[int, ...]) -> list[ProteinAlignment]:
        from gpu_tools.sites.gpu.batches import GpuCall
        from gpu_tools.sites.proteins.gpu.schedule import align_on_gpus

        def finish(case: ProteinCase, strand: str | None, found) -> ProteinAlignment:
            done(case.cells)
            return result(case, strand, found)

        def is_traced(case: ProteinCase, score: int) -> bool:
            return score >= least.get(id(case), score)

        return align_on_gpus(GpuCall(cases, scoring, threads, finish, is_traced, on_cpu), ordinals)

    return on_gpu_or_cpu(where, on_gpus, lambda: on_cpu(cases))


def _result(
    case: ProteinCase, scoring: ProteinScoring, strand: str | None,
    found: BestSweep | ProteinSweep | None, least: int | None = None,
) -> ProteinAlignment:  # fmt: skip
    """Return the result of a case; `least` is the score from which on its chain is wanted."""
    result = walk.without_chain(case)
    if found is None:
        return result
    if least is not None and found.score < least:
        return result.changed(strand=strand, score=found.score)
    traced, question = found.trace(), walk.StrandAndProtein(found.codes, case.target.codes, scoring)
    stop = walk.stop_behind(found.codes, traced.intervals[-1][1], scoring)
    fields = walk.chain_fields(strand, traced, question, stop)
    points = walk.points_of_introns(traced, case.target)
    return result.changed(score=found.score, evidence_points=points, **fields)


POINTS_PER_BIT = 1.7
"""Weight of the introns' sites, in points of BLOSUM62, half bits."""
PENALTY_FACTOR = 2
"""Points of an intron for each that it costs against cDNAs: a bit weighs twice as much."""
START, STOP, BEGIN, END = 12, 10, -8, -8
EXTRA = 4
"""How much faster penalties rise with an intron's length than against cDNAs."""


def protein_sites(model: GeneSites) -> GeneSites:
    """Return a site model with weights for proteins in place of those for cDNAs.

    Parameters
    ----------
    model : GeneSites
        See `gpu_tools.load_sites`.

    Returns
    -------
    GeneSites
        With the same sites, at 1.7 points a bit, points being those of BLOSUM62, half bits. An
        intron costs twice the points of the model, and its penalty rises along the model's lines
        with four times the extra points and a fourth of the nucleotides a point. A chain has 12
        points for a start codon, 10 for a stop codon, and -8 for another begin or end.
    """
    introns = tuple(
        replace(
            intron, penalties=tuple((n, PENALTY_FACTOR * cost) for n, cost in intron.penalties),
            rising=tuple((EXTRA * extra, max(every // EXTRA, 1)) for extra, every in intron.rising),
        )
        for intron in model.introns
    )  # fmt: skip
    return replace(
        model, points_per_bit=POINTS_PER_BIT, introns=introns, start=START, stop=STOP, begin=BEGIN,
        end=END,
    )  # fmt: skip


def protein_table(
    model: GeneSites, codes: NDArray[np.uint8], scoring: ProteinScoring, threads: int = 1,
    evidence: StrandEvidence | None = None,
) -> SiteTable:  # fmt: skip
    """Score the boundaries of a strand; `threads` of the CPU share the work.

    A chain ends in front of its stop codon: the codon is not aligned.
    """
    if model.longest_intron:
        raise ScoringError("a longest intron is not for proteins; expected a model without one")
    end = max(0, model.end) if scoring.ends == "free" else model.end
    last = end_scores(codes, end, stop_codons(scoring.genetic_code), model.stop, 0)
    return model.table(codes, scoring.ends, threads=threads, evidence=evidence, last=last)
