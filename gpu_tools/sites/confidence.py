"""Confidence of the introns and exons of chains: what a chain loses without them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.model.loci import interval_of
from gpu_tools.model.results import ProteinAlignment, SplicedAlignment
from gpu_tools.model.scoring import ProteinScoring, SplicedScoring
from gpu_tools.sites.api import FLANK, SiteCase, site_align
from gpu_tools.sites.proteins.api import protein_align
from gpu_tools.sites.proteins.ends import replace_ends

Alignment = SplicedAlignment | ProteinAlignment
_UNTRACED = 1 << 28
"""A least score that no chain has, so that none is traced."""
_AT_A_TIME = 1 << 26
"""Boundaries of the tables that are made at a time."""


def with_confidence(
    cases: Iterable[SiteCase],
    alignments: Iterable[Alignment],
    scoring: SplicedScoring | ProteinScoring | None = None,
    *,
    flank: int | None = FLANK,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Alignment]:
    """Return alignments that say how many points each intron and each exon is worth.

    The confidence of a splice site is the alignment's score less that of the best chain of the
    locus, on the chain's strand, that does not use the site. The confidence of an intron is the
    smaller one of its two sites'. That of an exon is the score less that of the best chain without
    the intron's site at its begin and the one at its end: the first and the last exon have one such
    site. An exon between no introns has none; its confidence is the score. No confidence is above
    the score, since without a chain there are 0 points, and none is below 0.

    Parameters
    ----------
    cases : iterable of SiteCase or ProteinCase
        The cases that were aligned.
    alignments : iterable of SplicedAlignment or ProteinAlignment
        For each case the best alignment, in the coordinates of the case's base.
    scoring : SplicedScoring or ProteinScoring, optional
        The scoring of the alignments; for proteins it must be given.
    flank : int, optional
        The locus is the chain's span, and so many nucleotides on both sides; None: the whole base.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU, by default all.
    progress : callable, optional
        Called with the number of sweeps' nominal cells that are done since its last call.

    Returns
    -------
    list of SplicedAlignment or ProteinAlignment
        In the order of the cases, with `intron_confidences` and `exon_confidences`; unchanged those
        without a chain.

    Raises
    ------
    InputError
        If a case lists its candidates, or a chain uses a site that its case does not have.

    Notes
    -----
    All numbers are exact. A chain of n exons takes 3 n - 4 sweeps of its locus, scores only: each
    site alone, and both sites of each inner exon. The sweeps of all cases are one batch, shared by
    the threads or the GPUs.

    A chain with a further exon inside an intron uses both of the intron's sites, and is no
    alternative to it in this sense. Residues at an end that a protein's alignment from end to end
    leaves out stay left out.

    Examples
    --------
    >>> found = with_confidence(cases, site_align(cases, scoring), scoring)  # doctest: +SKIP
    >>> found[0].intron_confidences  # doctest: +SKIP
    (231, 187, 54)
    """
    cases, alignments = list(cases), list(alignments)
    align = protein_align if isinstance(scoring, ProteinScoring) else site_align
    chains = [
        _SitesOfChain.of(case, one, scoring, flank)
        for case, one in zip(cases, alignments, strict=True)
    ]
    best: list[dict[tuple, int | None]] = [{} for _ in chains]
    for batch in _batches(chains):
        found = align(
            [chains[k].case_without(*closed) for k, closed in batch], scoring, device=device,
            threads=cpu_threads(threads), progress=progress, min_scores=[_UNTRACED] * len(batch),
        )  # fmt: skip
        for (k, closed), one in zip(batch, found, strict=True):
            best[k][closed] = one.score
    return [chain.judged(own) for chain, own in zip(chains, best, strict=True)]


@dataclass(frozen=True)
class _SitesOfChain:
    """An alignment, its case, and its introns' boundaries in reading direction."""

    case: SiteCase
    alignment: Alignment
    introns: Sequence[tuple[int, int]]

    @classmethod
    def of(cls, case: SiteCase, alignment: Alignment, scoring, flank: int | None) -> _SitesOfChain:
        """Return the sites of a chain in its locus; refuse a chain that its case does not allow."""
        if not isinstance(case, SiteCase):
            raise InputError(
                "confidence among listed candidates", record=alignment.target,
                expected="a case of site mode",
            )  # fmt: skip
        introns = case.introns_of(alignment)
        if not introns:
            return cls(case, alignment, introns)
        if not case.tables[alignment.strand].has_sites(*zip(*introns, strict=True)):
            raise InputError(
                "a chain with a site that the case does not have", record=alignment.target,
                expected="the alignment of the case, in its coordinates",
            )  # fmt: skip
        (low, high), size = interval_of(alignment), len(case.base)
        flank = size if flank is None else flank
        low, high = max(low - flank, 0), min(high + flank, size)
        locus, first = case.of_interval(low, high, alignment.strand)
        if isinstance(scoring, ProteinScoring) and not scoring.free:
            locus = _of_aligned_residues(locus, alignment)
        return cls(locus, alignment, [(d - first, a - first) for d, a in introns])

    @property
    def closed(self) -> list[tuple[int | None, int | None]]:
        """The donors and acceptors that are closed together."""
        donors, acceptors = zip(*self.introns, strict=True) if self.introns else ((), ())
        return [
            *((donor, None) for donor in donors), *((None, acceptor) for acceptor in acceptors),
            *zip(donors[1:], acceptors, strict=False),
        ]  # fmt: skip

    def case_without(self, donor: int | None, acceptor: int | None) -> SiteCase:
        """Return the case of the chain's strand without one or two sites."""
        strand = self.alignment.strand
        table = self.case.tables[strand].without(donor, acceptor)
        return replace(self.case, tables={strand: table})

    def judged(self, best: dict[tuple, int | None]):
        """Return the alignment with confidences, given the best score without closed sites."""
        score = self.alignment.score

        def loss(donor: int | None = None, acceptor: int | None = None) -> int:
            return max(score - max(best[donor, acceptor] or 0, 0), 0)

        if not self.alignment.chain:
            return self.alignment
        if not self.introns:
            return self.alignment.changed(intron_confidences=(), exon_confidences=(max(score, 0),))
        inner = (loss(next_donor, acceptor)
                 for (_, acceptor), (next_donor, _) in pairwise(self.introns))  # fmt: skip
        return self.alignment.changed(
            intron_confidences=tuple(min(loss(d), loss(acceptor=a)) for d, a in self.introns),
            exon_confidences=(
                loss(self.introns[0][0]), *inner, loss(acceptor=self.introns[-1][1])
            ),
        )  # fmt: skip


def _of_aligned_residues(case: SiteCase, alignment: ProteinAlignment) -> SiteCase:
    """Return a case without the residues at the ends that an alignment leaves out."""
    start, end = alignment.target_start, alignment.target_end
    before, behind = start > 0, end < alignment.target_length
    if not (before or behind):
        return case
    tables = {name: replace_ends(own, before, behind) for name, own in case.tables.items()}
    return replace(case.of_residues(start, end), tables=tables)


def _batches(chains: Iterable[_SitesOfChain]) -> Iterator[list[tuple[int, tuple]]]:
    """Yield numbers of chains and what of them is closed, about so many boundaries at a time."""
    batch, size = [], 0
    for k, chain in enumerate(chains):
        for closed in chain.closed:
            batch.append((k, closed))
            size += len(chain.case.base)
            if size >= _AT_A_TIME:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch
