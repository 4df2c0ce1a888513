"""The public functions: validate the input, choose the device, search each pair of sequences."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import numpy as np

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.hardware.device import resolve
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.local import schedule
from gpu_tools.local.search.tiles import global_alignment
from gpu_tools.model.results import PairwiseAlignment
from gpu_tools.model.scoring import AffineScoring
from gpu_tools.model.sequences import AMINO_ACIDS, ProteinSequence, Sequence, decode_protein

_LIKE_DNA = frozenset("ACGTUN")
_LEAST_LETTERS = 50


def local_align(
    pairs: Iterable[tuple[Sequence, Sequence]],
    scoring: AffineScoring | None = None,
    *,
    k: int = 1,
    min_score: int = 1,
    both_strands: bool = False,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[list[PairwiseAlignment]]:
    """Find the k best non-intersecting local alignments of each pair of sequences.

    The first is the best local alignment; each next one is the best of those that use no aligned
    pair of symbols of an earlier one. Exact; memory grows with the lengths, not their product.

    Parameters
    ----------
    pairs : iterable of (Sequence, Sequence)
        Query and subject; `ProteinSequence` if the scoring has a matrix.
    scoring : AffineScoring, optional
        Match 5, mismatch -4, gaps 16 and 4 by default.
    k : int
        Most alignments of a pair, at least 1.
    min_score : int
        Smallest score of an alignment, at least 1.
    both_strands : bool
        Also align the reverse complement of the query; the k best of both strands are returned.
        Alignments of different strands share no pair.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Pairs that are searched at once, all cores that the process may use by default.
    progress : callable, optional
        Called with the number of cells that are done since its last call: once a pair, and on a
        CPU also within a large one.

    Returns
    -------
    list of list of PairwiseAlignment
        By pair, by rank; empty where no alignment reaches `min_score`.

    Raises
    ------
    InputError
        If a sequence is empty, is of the wrong kind for the scoring, or has a symbol that the
        matrix lacks.
    ScoringError
        If scores could overflow 32-bit integers, or both strands of proteins are requested.
    ValueError
        If `k` or `min_score` is less than 1.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: of equal scores the alignment whose end comes first, by query, then subject position;
    of these the one whose start comes last, by query, then subject position; of these the one
    that a walk back from the end takes, a pair before a subject symbol alone, that before a query
    symbol alone, a gap as short as possible. With both strands ``+`` comes before ``-``, and
    positions of ``-`` count along the reverse complement.

    References
    ----------
    .. [1] M. S. Waterman, M. Eggert, "A new algorithm for best subsequence alignments with
       application to tRNA-rRNA comparisons", J. Mol. Biol. 197 (1987) 723-728,
       doi:10.1016/0022-2836(87)90478-5.
    .. [2] X. Huang, W. Miller, "A time-efficient, linear-space local similarity algorithm",
       Adv. Appl. Math. 12 (1991) 337-357, doi:10.1016/0196-8858(91)90017-D.

    Examples
    --------
    >>> query, subject = (Sequence.from_text(n, t) for n, t in (("q", "TTACGT"), ("s", "ACGTCC")))
    >>> [[best]] = local_align([(query, subject)], device="cpu")
    >>> best.score, best.query_start, best.query_end, best.cigar
    (20, 2, 6, (('=', 4),))
    """
    if k < 1 or min_score < 1:
        raise ValueError(f"k {k} and min_score {min_score}; expected at least 1")
    pairs, scoring = list(pairs), scoring or AffineScoring()
    _check(pairs, scoring)
    if both_strands and scoring.matrix is not None:
        raise ScoringError("proteins have no second strand")
    for query, subject in pairs:
        scoring.check_length(min(len(query), len(subject)))
    search = schedule.LocalSearch(scoring, k, min_score, "+-" if both_strands else "+")
    return schedule.search_pairs(
        pairs, search, resolve(device), _threads(threads), progress or _ignore
    )


def global_align(
    pairs: Iterable[tuple[Sequence, Sequence]],
    scoring: AffineScoring | None = None,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[PairwiseAlignment]:
    """Align the whole of each query with the whole of its subject.

    Exact; memory grows with the lengths, not their product.

    Parameters
    ----------
    pairs : iterable of (Sequence, Sequence)
        Query and subject; `ProteinSequence` if the scoring has a matrix.
    scoring : AffineScoring, optional
        Match 5, mismatch -4, gaps 16 and 4 by default.
    device : str
        As in `local_align`; checked, but the CPU does the work on every device.
    threads : int, optional
        Pairs that are aligned at once, all cores that the process may use by default.
    progress : callable, optional
        Called with the number of cells of each pair that is done.

    Returns
    -------
    list of PairwiseAlignment
        One for each pair, in order; rank 1.

    Raises
    ------
    InputError
        If a sequence is empty, is of the wrong kind for the scoring, or has a symbol that the
        matrix lacks.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: the alignment that a walk back from the end takes, a pair before a subject symbol alone,
    that before a query symbol alone, a gap as short as possible.

    References
    ----------
    .. [1] E. W. Myers, W. Miller, "Optimal alignments in linear space", CABIOS 4 (1988) 11-17,
       doi:10.1093/bioinformatics/4.1.11.

    Examples
    --------
    >>> query, subject = (Sequence.from_text(n, t) for n, t in (("q", "ACGGT"), ("s", "ACGT")))
    >>> best, = global_align([(query, subject)])
    >>> best.score, best.cigar
    (4, (('=', 2), ('I', 1), ('=', 2)))
    """
    pairs, scoring = list(pairs), scoring or AffineScoring()
    _check(pairs, scoring)
    resolve(device)
    done = progress or _ignore

    def align(pair: schedule.SequencePair) -> PairwiseAlignment:
        result = schedule.as_result(pair, global_alignment(pair.problems[0]), 1, "+")
        done(pair.cells)
        return result

    made = [schedule.make_pair(query, subject, scoring) for query, subject in pairs]
    return map_on_threads(_threads(threads), align, made)


def _ignore(cells: int) -> None:
    """Report no progress."""


def _threads(threads: int | None) -> int:
    return threads or len(os.sched_getaffinity(0))


def _check(pairs, scoring: AffineScoring) -> None:
    """Raise `InputError` for a sequence that cannot be scored."""
    for sequence in {id(s): s for pair in pairs for s in pair}.values():
        if not len(sequence):
            raise InputError("empty sequence", record=sequence.name, expected="symbols")
        if isinstance(sequence, ProteinSequence) != (scoring.matrix is not None):
            problem = "a matrix scores proteins, match and mismatch score nucleotides"
            expected = "sequences of the kind that is scored"
            raise InputError(problem, record=sequence.name, expected=expected)
        if scoring.matrix is not None:
            _check_letters(sequence, scoring)


def _check_letters(sequence: ProteinSequence, scoring: AffineScoring) -> None:
    unknown = np.flatnonzero(~scoring.matrix.known[sequence.codes])
    if unknown.size:
        letter = AMINO_ACIDS[sequence.codes[unknown[0]]]
        raise InputError(
            f"the matrix {scoring.matrix.name} has no scores for {letter!r}",
            record=sequence.name,
            position=int(unknown[0]) + 1,
            expected=f"symbols of {scoring.matrix.letters}",
        )
    letters = {AMINO_ACIDS[code] for code in np.unique(sequence.codes)}
    proteins = set(scoring.matrix.letters) > set("ACDEFGHIKLMNPQRSTVWY")
    if proteins and letters <= _LIKE_DNA and len(sequence) >= _LEAST_LETTERS:
        problem = (
            f"{decode_protein(sequence.codes[:10])}... looks like nucleotides, "
            f"the matrix {scoring.matrix.name} scores proteins"
        )
        raise InputError(problem, record=sequence.name, expected="a protein")
