"""The public functions of list mode: they validate the cases and choose the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ScoringError
from gpu_tools.hardware.device import cpu_threads, on_gpu_or_cpu, resolve
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.spliced.alignments import NO_CHAIN
from gpu_tools.spliced.case import Case, CaseColumns, case_columns
from gpu_tools.spliced.cpu import schedule
from gpu_tools.spliced.cpu.row_by_row import align_row_by_row
from gpu_tools.splicing.best_chains import with_further
from gpu_tools.splicing.bounds import device_for
from gpu_tools.splicing.reading import READINGS


def spliced_align(
    cases: Iterable[Case],
    scoring: SplicedScoring | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    reading: str = "any",
    best: int = 1,
) -> list[SplicedAlignment]:
    """Align each case's target to the best chain of its candidate exons.

    A chain is a non-empty list of candidate exons of one strand, each ending before the next one
    starts. Its score is that of the best alignment of the exons' concatenation with the target
    (global, linear gaps), plus the exons' weighted scores, less the intron penalties. The
    returned chain is a best one of all chains, exactly.

    Parameters
    ----------
    cases : iterable of Case
        Cases; bases and targets may repeat.
    scoring : SplicedScoring, optional
        Match 1, mismatch -1, gap -2, nothing else by default.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
        Of several GPUs as many are used as have enough to do, which the log tells; what they
        cannot take, such as large scores, the CPU aligns meanwhile.
    threads : int, optional
        Threads of the CPU path, all that the process may use by default.
    progress : callable, optional
        Called with the number of nominal cells that are done since its last call: of one or more
        cases, and on a CPU also within a large one.
    reading : {"any", "complete", "incomplete"}
        ``complete`` admits only chains that translate: ATG, whole codons, no stop codon but the
        last one. ``incomplete``: they may also begin and end with any other codon. The first and
        the last codon lie in one exon each, and no codon lies in three.
    best : int
        With more than 1 up to so many chains of a case that share no aligned pair of nucleotides,
        see Notes.

    Returns
    -------
    list of SplicedAlignment
        One for each case, in order; without strand, score and chain where there is no candidate,
        or no chain of them that translates. With `best` a case's further chains follow its first
        one, by `rank`.

    Raises
    ------
    InputError
        If a target is empty or an exon does not lie within its base.
    ScoringError
        If scores could overflow 32-bit integers, or a reading is unknown or combined with free
        ends.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: ``+`` before ``-``; then the chain whose last exon ends first, at the smallest target
    position; then, walking back, the shortest exon with that end, entered at the smallest target
    position, with no predecessor if that is as good, else the nearest one. Within an exon an
    aligned pair goes before an unaligned base symbol, and that before an unaligned target symbol.
    With ``free`` ends the chain's last exon is the one whose candidate starts first, left as early
    and at as small a target position as possible; an exon that is entered or left inside its
    candidate is reported as that part, and counts the best score of the candidates that it may
    be part of.

    Chain k of several is the best of all chains that use none of the aligned pairs of chains 1 to
    k - 1; chains on different strands share none. A case's chains end before the first one that
    aligns no pair, or scores no more than a target that is not aligned; the first is always there.
    The CPU looks for chains without such pairs, whatever the device.

    References
    ----------
    .. [1] M. S. Gelfand, A. A. Mironov, P. A. Pevzner, "Gene recognition via spliced sequence
       alignment", PNAS 93 (1996) 9061-9066, doi:10.1073/pnas.93.17.9061.

    Examples
    --------
    >>> case = Case(Sequence.from_text("s", "ACCGTATGT"), Sequence.from_text("t", "CCGGT"),
    ...             ExonSet.from_intervals([(0, 2), (2, 4), (3, 5), (5, 8), (7, 9)]))
    >>> result, = spliced_align([case], device="cpu")
    >>> result.score, result.chain
    (3, ((0, 2), (2, 4), (7, 9)))
    """
    cases, scoring = list(cases), _of_list_mode(scoring)
    options = {"device": device, "threads": threads, "reading": reading}
    align = partial(spliced_align_many, scoring=scoring, **options)
    return with_further(cases, align(cases, progress=progress), best, align, scoring)


def spliced_align_many(
    cases: Iterable[Case] | CaseColumns,
    scoring: SplicedScoring | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    reading: str = "any",
) -> Sequence[SplicedAlignment]:
    """Align very many cases as `spliced_align` does, with results in arrays.

    Chains and alignments of all cases are computed, but they stay in arrays; a result is made of
    them on each request.

    Parameters
    ----------
    cases : iterable of Case or CaseColumns
        Call `case_columns` before, if the same cases are aligned more than once.
    scoring : SplicedScoring, optional
    device : str
    threads : int, optional
    progress : callable, optional
    reading : {"any", "complete", "incomplete"}
        As `spliced_align` has them.

    Returns
    -------
    sequence of SplicedAlignment
        One for each case, in order.

    Raises
    ------
    InputError, ScoringError, DeviceError
        As `spliced_align` does.
    """
    columns = cases if isinstance(cases, CaseColumns) else case_columns(cases)
    scoring, threads = _of_list_mode(scoring), cpu_threads(threads)
    where, reporting = resolve(device), Lock()

    def done(cells: int) -> None:
        with reporting:  # of several threads
            if progress:
                progress(cells)

    if scoring.ends == "free" or reading != "any":
        return _in_rows(columns.cases, scoring, reading, threads, done)

    where = device_for(where, "list", len(columns.cases), int(columns.cells.sum()), threads)

    def on_gpus(ordinals: tuple[int, ...]) -> Sequence[SplicedAlignment]:
        from gpu_tools.spliced.gpu.schedule import align_on_gpus

        return align_on_gpus(columns, scoring, ordinals, threads, done)

    on_cpu = partial(schedule.align_on_cpu, columns, scoring, threads, done)
    return on_gpu_or_cpu(where, on_gpus, on_cpu)


def spliced_scores(
    cases: Iterable[Case] | CaseColumns,
    scoring: SplicedScoring | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
) -> np.ma.MaskedArray:
    """Return the scores of the best chains alone, as `spliced_align` gives them.

    Parameters
    ----------
    cases : iterable of Case or CaseColumns
        As `spliced_align_many` has them.
    scoring : SplicedScoring, optional
    device : str
    threads : int, optional
        As `spliced_align` has them.

    Returns
    -------
    masked array of int64, shape (C,)
        The score of each case, masked where it has no candidate.

    Raises
    ------
    InputError, ScoringError, DeviceError
        As `spliced_align` does.
    """
    columns = cases if isinstance(cases, CaseColumns) else case_columns(cases)
    scoring, threads = _of_list_mode(scoring), cpu_threads(threads)
    where = resolve(device)
    if scoring.ends == "free":
        found = spliced_align_many(columns, scoring, device=device, threads=threads)
        scores = [result.score for result in found]
        return np.ma.array([s or 0 for s in scores], np.int64, mask=[s is None for s in scores])

    where = device_for(where, "list", len(columns.cases), int(columns.cells.sum()), threads)

    def on_gpus(ordinals: tuple[int, ...]) -> NDArray[np.int64]:
        from gpu_tools.spliced.gpu.schedule import score_on_gpus

        return score_on_gpus(columns, scoring, ordinals, threads)

    on_cpu = partial(schedule.scores_on_cpu, columns, scoring, threads)
    scores = on_gpu_or_cpu(where, on_gpus, on_cpu)
    return np.ma.array(scores, mask=scores == NO_CHAIN, copy=False)


def _of_list_mode(scoring: SplicedScoring | None) -> SplicedScoring:
    """Return a scoring, `SplicedScoring` by default; raise `ScoringError` for an end cost."""
    scoring = scoring or SplicedScoring()
    if scoring.end_cost:
        raise ScoringError(f"end cost {scoring.end_cost} in list mode; expected 0")
    return scoring


def _in_rows(cases, scoring, reading, threads, done) -> list[SplicedAlignment]:
    """Align cases with free ends or a reading: row by row, on the CPU whatever the device."""
    if reading not in READINGS:
        raise ScoringError(f"unknown reading {reading!r}; expected one of {', '.join(READINGS)}")
    if reading != "any" and scoring.ends == "free":
        raise ScoringError("candidates that translate with free ends; expected whole candidates")

    def align(case: Case) -> SplicedAlignment:
        case.check_banned()
        result = align_row_by_row(case, scoring, reading)
        done(result.cells)
        return result

    return map_on_threads(threads, align, cases)
