"""The public function of site mode, and its cases."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads, on_gpu_or_cpu, resolve
from gpu_tools.model.evidence import SpliceEvidence
from gpu_tools.model.locus import Locus
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import Sequence, reverse_complement
from gpu_tools.model.translation import STOP_CODONS
from gpu_tools.sites.cpu.schedule import align_on_cpu
from gpu_tools.sites.cpu.sweep import sweeps_of, trace
from gpu_tools.sites.model import GeneSites
from gpu_tools.sites.table import SiteTable
from gpu_tools.splicing.best_chains import PairCase, with_further
from gpu_tools.splicing.bounds import device_for
from gpu_tools.splicing.reading import is_reading_frame, translation_of
from gpu_tools.splicing.target_introns import cdna_intron_points
from gpu_tools.splicing.traceback import TracedChain

FLANK = 1000
"""Nucleotides on both sides of a chain that belong to its locus."""


@dataclass(frozen=True)
class SiteCase(PairCase):
    """A base sequence, its sites, and the target of a site-mode alignment.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    target : Sequence
        cDNA of a homologous gene, at least one symbol.
    tables : dict of str to SiteTable
        The sites of each strand to be tried, ``+`` or ``-``, in reading direction of the strand.
    banned : dict of str to BannedPairs, optional
        By strand, pairs of nucleotides that no chain aligns.
    """

    base: Sequence
    target: Sequence
    tables: dict[str, SiteTable]
    symbols: ClassVar[str] = "nucleotides"
    """What the target consists of."""

    @property
    def cells(self) -> int:
        """Nominal cells: base length times target length for each strand tried."""
        return len(self.base) * len(self.target) * len(self.tables)

    @property
    def space(self) -> int:
        """Size of what is searched for the target: nucleotides of the strands tried."""
        return len(self.base) * len(self.tables)

    @property
    def strands(self) -> list[str]:
        """The strands that are tried, ``+`` first."""
        return [strand for strand in "+-" if strand in self.tables]

    def on_strand(self, strand: str) -> Self:
        """Return the case of one strand."""
        banned = {s: pairs for s, pairs in self.banned.items() if s == strand}
        return replace(self, tables={strand: self.tables[strand]}, banned=banned)

    def of_interval(self, low: int, high: int, strand: str) -> tuple[Self, int]:
        """Return the case of an interval of the base on a strand, and how much lies before it.

        What lies before it is counted in reading direction.
        """
        base = replace(self.base, codes=self.base.codes[low:high])
        first = low if strand == "+" else len(self.base) - high
        part = self.on_strand(strand)
        tables = {strand: part.tables[strand].part(first, first + len(base))}
        banned = {s: pairs.part(first, first + len(base)) for s, pairs in part.banned.items()}
        return replace(part, base=base, tables=tables, banned=banned), first

    def check(self) -> None:
        """Raise `InputError` if the target is empty or a table does not fit the base sequence."""
        if not len(self.target):
            raise InputError("empty target", record=self.target.name, expected=self.symbols)
        for strand, table in self.tables.items():
            if strand not in ("+", "-"):
                raise InputError(f"strand {strand!r}", record=self.base.name, expected="+ or -")
            if table.length != len(self.base):
                raise InputError(
                    f"sites of {table.length} bases", record=self.base.name,
                    expected=f"a table of {len(self.base)}",
                )  # fmt: skip
        self.check_banned()

    @property
    def is_limited(self) -> bool:
        """Whether there is a longest intron."""
        return any(table.longest for table in self.tables.values())

    def admits(self, found: SplicedAlignment) -> bool:
        """Return whether a chain's introns cost with the longest intron what they cost without."""
        if not self.is_limited:
            return True
        table = self.tables.get(found.strand)
        return all(
            acceptor - donor <= table.surely_short or table.admits(donor, acceptor)
            for donor, acceptor in self.introns_of(found)
        )

    def introns_of(self, found: SplicedAlignment) -> list[tuple[int, int]]:
        """Return the boundaries of a chain's introns in reading direction, none without a chain."""
        chain = found.chain
        if found.strand == "-":
            chain = [(len(self.base) - end, len(self.base) - start) for start, end in chain]
        return [(before[1], behind[0]) for before, behind in pairwise(chain)]

    def codes(self, strand: str):
        """Return the nucleotides of a strand in reading direction."""
        return self.base.codes if strand == "+" else reverse_complement(self.base.codes)


def tables_of(
    base: Sequence,
    model: GeneSites,
    strands: str = "+-",
    ends: str = "global",
    reading: str = "any",
    threads: int | None = None,
    coding: bool = False,
    evidence: SpliceEvidence | None = None,
) -> dict[str, SiteTable]:
    """Score the sites of a base sequence by a model.

    A locus has the penalties of its record, and the sites, but for those whose matrices reach
    beyond its ends: nucleotides there are unknown. With a longest intron it must be named
    ``NAME:START-END`` to admit the same introns as its record.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    model : GeneSites
        See `gpu_tools.load_sites`.
    strands : str
        ``+``, ``-`` or both.
    ends : str
        As in the scoring. It counts for coding targets: with ``free`` their chains begin and end
        anywhere for the model's `begin` and `end` points or 0, whichever is more.
    reading : {"any", "complete", "incomplete"}
        Whether chains must translate, see `GeneSites.table`.
    threads : int, optional
        Threads of the CPU, by default all.
    coding : bool
        Whether the targets are coding from end to end, see `is_coding`. Only of these, and of
        chains that translate, are start and stop codons evidence: then the model's points for how
        a chain begins and ends count. Other chains begin and end anywhere at no cost.
    evidence : SpliceEvidence, optional
        Introns that were seen and scores of splice sites, see `gpu_tools.splice_evidence`.

    Returns
    -------
    dict of str to SiteTable
        The tables of a `SiteCase`.
    """
    threads = cpu_threads(threads)
    tables = {
        strand: model.table(
            codes, ends, reading, origin, threads, evidence and evidence.on(base, strand)
        )
        for strand, (codes, origin) in read_strands(base, strands).items()
    }
    return tables if coding else neutral(tables)


def neutral(tables: dict[str, SiteTable]) -> dict[str, SiteTable]:
    """Return tables whose chains begin and end anywhere at no cost, unless they translate."""
    return {strand: table.neutral for strand, table in tables.items()}


def is_coding(target: Sequence, stops: tuple[str, ...] = STOP_CODONS) -> bool:
    """Tell whether a cDNA is one open reading frame from end to end.

    Parameters
    ----------
    target : Sequence
        A cDNA.
    stops : tuple of str
        The stop codons, say `stops` of a site model.

    Returns
    -------
    bool
        Whether the cDNA or its reverse complement begins with ATG, has whole codons, and only the
        last of them is a stop codon. So the chains of both directions have points of one kind.
    """
    return any(
        is_reading_frame(codes, tuple(stops))
        for codes in (target.codes, reverse_complement(target.codes))
    )


def case_of(
    base: Sequence, target: Sequence, tables: dict[str, SiteTable], stops: tuple[str, ...]
) -> SiteCase:
    """Return the case of a target, coding or not, given the base's tables for coding targets."""
    return SiteCase(base, target, tables if is_coding(target, stops) else neutral(tables))


def read_strands(base: Sequence, strands: str) -> dict[str, tuple[NDArray[np.uint8], int]]:
    """Return the nucleotides of strands in reading direction, and the `origin` of a `SiteTable`."""
    locus = Locus.of(base)
    read = {"+": (base.codes, locus.start), "-": (reverse_complement(base.codes), -locus.end)}
    return {strand: read[strand] for strand in strands}


def site_align(
    cases: Iterable[SiteCase],
    scoring: SplicedScoring | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    min_scores: Iterable[int] | None = None,
    best: int = 1,
) -> list[SplicedAlignment]:
    """Align each case's target to the best chain of all exons that the sites allow.

    A chain is a non-empty list of intervals of one strand. The first begins at a first entry, the
    others at an inner one; the last ends at a last exit, the others at an inner one; between two
    intervals lies an intron that one of the table's classes admits. Its score is that of the best
    alignment of the intervals' concatenation with the target (linear gaps), plus the scores of
    all its sites, less its introns' penalties. The chain is a best one of all chains, exactly.

    Parameters
    ----------
    cases : iterable of SiteCase
        Cases; base sequences, targets and tables may repeat.
    scoring : SplicedScoring, optional
        Match 1, mismatch -1, gap -2 by default; its exon weight and intron penalty are not used.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU, all that the process may use by default.
    progress : callable, optional
        Called with the number of nominal cells that are done since its last call: once a case, and
        on a CPU also within a large one.
    min_scores : iterable of int, optional
        For each case, the least score whose chain is wanted; a case occurs once then. Below it a
        result has strand and score alone, which takes less time.
    best : int
        With more than 1 up to so many chains of a case that share no aligned pair of nucleotides,
        see Notes.

    Returns
    -------
    list of SplicedAlignment
        One for each case, in order; without strand, score and chain where there is no chain.
        `n_exons` is None, for no candidate is listed. With `best` a case's further chains follow
        its first one, by `rank`.

    Raises
    ------
    InputError
        If a target is empty, or a table does not fit its base sequence.
    ScoringError
        If scores could overflow 32-bit integers.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: ``+`` before ``-``; then the chain whose last exon ends first, at the smallest target
    position; then, walking back, the shortest exon with that end, entered at the smallest target
    position, with no predecessor if that is as good, else the nearest one. Within an exon an
    aligned pair goes before an unaligned nucleotide, and that before an unaligned target symbol.
    These are the rules of `gpu_tools.spliced_align`, so that both give the same chain where the
    candidates are the same.

    Chain k of several is the best of all chains that use none of the aligned pairs of chains 1 to
    k - 1; chains on different strands share none. A case's chains end before the first one that
    aligns no pair, or scores no more than a target that is not aligned, or less than its
    `min_scores`; the first is always there. The CPU looks for chains without such pairs, whatever
    the device.

    A GPU looks for the best chain of all. If an intron of it is too long, the CPU aligns the case.

    Time is base length times target length for each strand. On a CPU memory is some bytes a
    nucleotide of each strand, and some ten thousand rows of target length. A GPU holds a row of
    target length for each inner site, two bytes a cell, of long bases only in a window before the
    best end; what its memory or its 16-bit cells cannot hold is aligned on the CPU.

    References
    ----------
    .. [1] M. S. Gelfand, A. A. Mironov, P. A. Pevzner, "Gene recognition via spliced sequence
       alignment", PNAS 93 (1996) 9061-9066, doi:10.1073/pnas.93.17.9061.
    """
    cases = list(cases)
    for case in cases:
        case.check()
    scoring = scoring or SplicedScoring()
    threads = cpu_threads(threads)
    least = None if min_scores is None else list(min_scores)
    align = partial(_site_align, scoring=scoring, device=device, threads=threads)
    firsts = align(cases, progress=progress, min_scores=least)
    return with_further(cases, firsts, best, align, scoring, least)


def _site_align(
    cases: list[SiteCase], scoring: SplicedScoring, device: str, threads: int,
    progress: Callable[[int], None] | None = None, min_scores: list[int] | None = None,
) -> list[SplicedAlignment]:  # fmt: skip
    """Align each case's target to the best chain, see `site_align`."""
    done = progress or (lambda cells: None)
    cells = sum(case.cells for case in cases)
    where = device_for(resolve(device), "site", len(cases), cells, threads)
    least = {} if min_scores is None else dict(zip(map(id, cases), min_scores, strict=True))

    def on_cpu(cases: list[SiteCase], done: Callable = done) -> list[SplicedAlignment]:
        finish = partial(_finished, scoring=scoring, trace=trace, least=least)
        return align_on_cpu(cases, sweeps_of(scoring, finish), threads, done)

    def on_gpus(ordinals: tuple[int, ...]) -> list[SplicedAlignment]:
        from gpu_tools.sites.gpu import traces
        from gpu_tools.sites.gpu.batches import GpuCall
        from gpu_tools.sites.gpu.schedule import align_on_gpus

        at_once = [k for k, case in enumerate(cases) if not case.banned and not case.target.introns]
        free = without_longest([cases[k] for k in at_once])

        def finish(case: SiteCase, strand: str | None, found) -> SplicedAlignment:
            result = _finished(case, strand, found, scoring, traces.trace, least)
            done(case.cells)
            return result

        def is_traced(case: SiteCase, score: int) -> bool:
            return score >= least.get(id(case), score)

        call = GpuCall(free, scoring, threads, finish, is_traced, on_cpu)
        aligned = align_on_gpus(call, ordinals)
        found = dict(zip(at_once, aligned, strict=True))
        # a best chain of all that has no longer intron is a best one of those without
        again = [k for k, case in enumerate(cases) if not (k in found and case.admits(found[k]))]
        aligned = on_cpu([cases[k] for k in again], lambda cells: None)
        found |= zip(again, aligned, strict=True)
        return [found[k] for k in range(len(cases))]

    if least and any(case.is_limited for case in cases):
        return on_cpu(cases)
    return on_gpu_or_cpu(where, on_gpus, partial(on_cpu, cases))


def without_longest(cases: list[SiteCase]) -> list[SiteCase]:
    """Return cases without a longest intron; what has none, and equal tables, stay the same."""
    tables = {id(t): t.unlimited for case in cases for t in case.tables.values()}
    return [
        replace(case, tables={s: tables[id(t)] for s, t in case.tables.items()})
        if case.is_limited else case
        for case in cases
    ]  # fmt: skip


def _finished(
    case: SiteCase, strand: str | None, found, scoring: SplicedScoring, trace: Callable,
    least: dict[int, int] | None = None,
) -> SplicedAlignment:  # fmt: skip
    """Return the result of a case from the strand of its best chain and what `trace` reads.

    `least` has scores, by a case's identity, below which no chain is traced.
    """
    more, runs = {}, None
    if strand is not None:
        more = {"strand": strand, "score": found.score}
    if strand is not None and not (least and found.score < least.get(id(case), found.score)):
        traced = trace(found, case.tables[strand], found.codes, case.target.codes, scoring)
        more, runs = more | _fields_of(case, strand, found, traced), traced.runs
    result = SplicedAlignment(
        base=case.base.name,
        target=case.target.name,
        base_length=len(case.base),
        target_length=len(case.target),
        cells=case.cells,
        n_exons=None,
        **more,
    )
    return result if runs is None else result.with_runs(runs)


def _intron_points(target: Sequence, traced: TracedChain) -> int:
    """Return the points of a chain's introns that lie where the target's gene has one."""
    points = cdna_intron_points(target.introns, len(target))
    return int(points[list(traced.entries)].sum()) if len(points) else 0


def _fields_of(case: SiteCase, strand: str, found, traced: TracedChain) -> dict:
    """Return what a result says of a traced chain, but for the CIGAR."""
    table, length, forward = case.tables[strand], len(case.base), strand == "+"
    return {
        "chain": tuple(
            (s, e) if forward else (length - e, length - s) for s, e in traced.intervals
        ),
        "target_start": traced.first_column,
        "target_end": found.column,
        "evidence_points": _intron_points(case.target, traced),
        **({} if table.stops is None else translation_of(found.codes, traced.intervals)),
    }
