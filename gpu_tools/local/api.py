"""The public functions: validate the input, choose the device, search each pair of sequences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from gpu_tools.errors import InputError, ScoringError
from gpu_tools.hardware.device import cpu_threads, resolve
from gpu_tools.local import schedule
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
        Called with the number of cells that are done since its last call: once a group of small
        pairs, and on a CPU also within a large one.

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
    scoring.check_length(max((min(len(q), len(s)) for q, s in pairs), default=0))
    search = schedule.LocalSearch(scoring, k, min_score, "+-" if both_strands else "+")
    return schedule.search_pairs(
        pairs, search, resolve(device), cpu_threads(threads), progress or _ignore
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
        Called with the number of cells that are done since its last call.

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
    return schedule.align_pairs(pairs, scoring, cpu_threads(threads), progress or _ignore)


def _ignore(cells: int) -> None:
    """Report no progress."""


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


# Bit scores and E-values of local alignments, for scorings whose parameters are known.
#
# Scores of the best gapped alignments of unrelated sequences follow an extreme value distribution.
# Its two parameters are simulated for each scoring. Those here are NCBI BLAST's, for sequences of
# usual composition.


class KarlinAltschul(NamedTuple):
    """Parameters lambda and K of the best scores of unrelated sequences."""

    scale: float
    k: float

    def bits(self, score: int) -> float:
        """Return the bit score, (lambda * score - ln K) / ln 2."""
        return (self.scale * score - math.log(self.k)) / math.log(2)

    def evalue(self, score: int, cells: int) -> float:
        """Return the number of alignments of that score expected by chance, K m n e^(-lambda S).

        `cells` is query length times subject length, for all pairs and strands searched. Edge
        effects are not corrected: for short sequences the value is too large.
        """
        return self.k * cells * math.exp(-self.scale * score)


# by matrix or by match and mismatch: penalty of a gap before its first symbol, penalty of each
# symbol, lambda, K
_KNOWN = {
    "BLOSUM62": (
        (11, 2, 0.297, 0.082), (10, 2, 0.291, 0.075), (9, 2, 0.279, 0.058), (8, 2, 0.264, 0.045),
        (7, 2, 0.239, 0.027), (6, 2, 0.201, 0.012), (13, 1, 0.292, 0.071), (12, 1, 0.283, 0.059),
        (11, 1, 0.267, 0.041), (10, 1, 0.243, 0.024), (9, 1, 0.206, 0.010),
    ),
    "BLOSUM80": (
        (25, 2, 0.342, 0.17), (13, 2, 0.336, 0.15), (9, 2, 0.319, 0.11), (8, 2, 0.308, 0.090),
        (7, 2, 0.293, 0.070), (6, 2, 0.268, 0.045), (11, 1, 0.314, 0.095), (10, 1, 0.299, 0.071),
        (9, 1, 0.279, 0.048),
    ),
    "PAM30": ((7, 2, 0.305, 0.15), (6, 2, 0.287, 0.11), (5, 2, 0.264, 0.079), (10, 1, 0.309, 0.15)),
    "5/-4": ((10, 6, 0.163, 0.068), (8, 6, 0.146, 0.039)),
}  # fmt: skip
_USUAL = {"BLOSUM62": (11, 1), "BLOSUM80": (10, 1), "PAM30": (10, 1), "5/-4": (10, 6)}
"""Default penalties: those of BLAST, or the nearest known ones to ours."""


def statistics_of(scoring: AffineScoring) -> KarlinAltschul | None:
    """Return the parameters of a scoring, None if they are not known.

    .. [1] S. Karlin, S. F. Altschul, "Methods for assessing the statistical significance of
       molecular sequence features by using general scoring schemes", PNAS 87 (1990) 2264-2268,
       doi:10.1073/pnas.87.6.2264.
    .. [2] S. F. Altschul, W. Gish, "Local alignment statistics", Methods Enzymol. 266 (1996)
       460-480, doi:10.1016/S0076-6879(96)66029-7.
    """
    gaps = scoring.gap_open - scoring.gap_extend, scoring.gap_extend
    for existence, extension, scale, k in _KNOWN.get(_name(scoring), ()):
        if (existence, extension) == gaps:
            return KarlinAltschul(scale, k)
    return None


def known_penalties(scoring: AffineScoring) -> list[tuple[int, int]]:
    """Return the penalties, opening and extending, for which the scores' parameters are known."""
    return [(e + x, x) for e, x, _, _ in _KNOWN.get(_name(scoring), ())]


def usual_penalties(scoring: AffineScoring) -> tuple[int, int] | None:
    """Return default penalties whose parameters are known, None if there are none."""
    usual = _USUAL.get(_name(scoring))
    return usual and (sum(usual), usual[1])


def _name(scoring: AffineScoring) -> str:
    if scoring.matrix is not None:
        return scoring.matrix.name
    return f"{scoring.match}/{scoring.mismatch}"
