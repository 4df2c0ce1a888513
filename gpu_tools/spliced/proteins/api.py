"""The public function of list mode for proteins, and its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.hardware.device import cpu_threads, resolve
from gpu_tools.hardware.threads import CaseProgress, map_on_threads
from gpu_tools.model.results import ProteinAlignment
from gpu_tools.model.scoring import ProteinScoring
from gpu_tools.model.sequences import ProteinSequence, reverse_complement
from gpu_tools.spliced.case import Case
from gpu_tools.spliced.proteins.cpu import (
    Candidates,
    CandidateSweep,
    candidates_of,
    may_begin,
    trace,
)
from gpu_tools.splicing.best_chains import NO_PAIRS, BannedPairs, with_further
from gpu_tools.splicing.proteins.bans import pairs_of
from gpu_tools.splicing.proteins.walk import (
    StrandAndProtein,
    align_largest_first,
    chain_fields,
    swept_strands,
    without_chain,
)


@dataclass(frozen=True)
class ListedProteinCase(Case):
    """A base sequence, its candidate exons and the protein that a chain of them is aligned with.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    target : ProteinSequence
        Protein of a homologous gene, at least one residue, without a stop at its end.
    exons : ExonSet
        Candidate exons of `base`; equal intervals of a strand and phase count once, with the best
        score.
    banned : dict of str to BannedPairs, optional
        By strand, pairs of a codon's first nucleotide and a residue that no chain aligns.
    """

    target: ProteinSequence

    def check(self) -> None:
        """Raise `InputError` if the target is empty or an exon does not lie within the base."""
        if not len(self.target):
            raise InputError("empty target", record=self.target.name, expected="amino acids")
        self.exons.check_within(len(self.base), self.base.name)
        self.check_banned()

    def pairs_of(self, alignment: ProteinAlignment) -> BannedPairs:
        """Return the pairs that a chain aligns: codons' first nucleotides, and residues."""
        return pairs_of(alignment)

    def empty_score(self, scoring: ProteinScoring) -> int:
        """Return the score of all residues left out."""
        return -scoring.all_left_out(len(self.target))


def protein_spliced_align(
    cases: Iterable[ListedProteinCase],
    scoring: ProteinScoring,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    best: int = 1,
) -> list[ProteinAlignment]:
    """Align each case's protein to the best chain of its candidate exons.

    A chain is a non-empty list of candidates of one strand, between which lies at least one
    nucleotide. Its score is the sum of the scores of codons against residues, less the costs of
    gaps, frameshifts and stop codons inside, plus the candidates' weighted scores, less the intron
    penalties. A codon that an intron splits is scored as the codon that its parts form, and is
    aligned to a residue. A stop codon at the end of the chain's last exon costs nothing and is
    aligned to no residue. A candidate that is listed with a phase follows introns of this phase
    alone, and is a chain's first with phase 0 alone.

    Parameters
    ----------
    cases : iterable of ListedProteinCase
    scoring : ProteinScoring
        Its ends are ``global`` or ``free-target``.
    device : str
        ``auto``, ``cpu`` or ``cuda``; proteins are aligned on the CPU, whatever the device.
    threads : int, optional
        Threads, by default all.
    progress : callable, optional
        Called with the number of nominal cells that are done since its last call.
    best : int
        With more than 1 up to so many chains of a case that share no codon with a residue, see
        `gpu_tools.protein_align`.

    Returns
    -------
    list of ProteinAlignment
        In the order of the cases; without a chain where there is no candidate that may be a
        chain's first. With `best` a case's further chains follow its first one, by `rank`.

    Raises
    ------
    InputError
        If a protein is empty, or an exon does not lie within its base.
    ScoringError
        If a score could leave 32 bits, or the chain's ends are free.

    Notes
    -----
    Ties: ``+`` goes before ``-``; then the chain whose last candidate ends first, in front of its
    stop codon, with the fewest residues; then, walking back, the shortest candidate with that end,
    without predecessor if that is as good, else with the nearest one. The order of moves in a
    candidate is that of `gpu_tools.protein_align`.

    Memory: four rows of the protein's length for each distinct end of candidates, and three for
    each distinct start and phase.

    References
    ----------
    .. [1] M. S. Gelfand, A. A. Mironov, P. A. Pevzner, "Gene recognition via spliced sequence
       alignment", PNAS 93 (1996) 9061-9066, doi:10.1073/pnas.93.17.9061.
    """
    cases = list(cases)
    for case in cases:
        case.check()
    if scoring.ends == "free":
        raise ScoringError("listed candidates of proteins with free ends; expected whole ones")
    resolve(device)
    align = partial(_spliced_align, scoring=scoring, threads=cpu_threads(threads))
    return with_further(cases, align(cases, progress=progress), best, align, scoring)


def _spliced_align(
    cases: list[ListedProteinCase], scoring: ProteinScoring, threads: int,
    progress: Callable[[int], None] | None = None,
) -> list[ProteinAlignment]:  # fmt: skip
    """Align each case's protein to the best chain, see `protein_spliced_align`."""
    # what cases have in common is laid out once
    distinct = {_key(case): case for case in cases}
    strands_of = partial(_strands_of, scoring=scoring)
    known = dict(zip(distinct, map_on_threads(threads, strands_of, distinct.values()), strict=True))

    def align(case: ListedProteinCase, own_threads: int, tally: CaseProgress) -> ProteinAlignment:
        return _aligned(case, known[_key(case)], scoring, own_threads, tally)

    return align_largest_first(cases, align, threads, progress or (lambda cells: None))


def _key(case: ListedProteinCase) -> tuple[int, int]:
    return id(case.base), id(case.exons)


def _strands_of(case: ListedProteinCase, scoring: ProteinScoring) -> dict[str, Candidates]:
    """Return the candidates of the strands on which a chain may begin."""
    found = {}
    for strand in case.strands:
        exons, reverse = case.exons.on_strand(strand), strand == "-"
        codes = reverse_complement(case.base.codes) if reverse else case.base.codes
        candidates = candidates_of(codes, exons, scoring, reverse)
        if may_begin(candidates.tracks).any():
            found[strand] = candidates
    return found


def _aligned(
    case: ListedProteinCase, strands: dict[str, Candidates], scoring: ProteinScoring, threads: int,
    tally: CaseProgress,
) -> ProteinAlignment:  # fmt: skip
    cells = case.cells // max(len(strands), 1)

    def swept(strand: str) -> CandidateSweep:
        return CandidateSweep(
            strands[strand],
            case.target.codes,
            scoring,
            lambda part: tally.add(int(part * cells)),
            case.banned.get(strand, NO_PAIRS),
        )

    sweeps = swept_strands(list(strands), swept, threads)
    # the first of equals: + before -
    best = max(sweeps, key=lambda strand: sweeps[strand].best.score, default=None)
    result = without_chain(case)
    return result if best is None else result.changed(**_found(best, sweeps[best]))


def _found(strand: str, sweep: CandidateSweep) -> dict:
    candidates, (traced, exons, stop) = sweep.candidates, trace(sweep)
    question = StrandAndProtein(candidates.codes, sweep.target, sweep.scoring)
    return chain_fields(strand, traced, question, stop) | {
        "score": sweep.best.score, "n_exons": candidates.count,
        "exon_scores": tuple(float(candidates.scores[k]) for k in exons),
    }  # fmt: skip
