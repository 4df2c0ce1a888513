"""The public functions of the search for windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike

from gpu_tools.model.sequences import Sequence
from gpu_tools.model.windows import SearchWindow
from gpu_tools.search.index import GenomeIndex
from gpu_tools.search.options import SearchOptions

__all__ = ["GenomeIndex", "SearchOptions", "build_index", "find_windows", "load_index"]

DEFAULTS = SearchOptions()


def build_index(
    records: Iterable[Sequence],
    *,
    kind: str = "protein",
    options: SearchOptions = DEFAULTS,
    threads: int | None = None,
) -> GenomeIndex:
    """Index the words of a genome.

    Parameters
    ----------
    records : iterable of Sequence
        The genome, at most 2^32 nucleotides.
    kind : {"protein", "cdna"}
        ``protein``: words of amino acid classes in the six translated frames; a stop codon or an
        ambiguity code breaks a word. ``cdna``: words of nucleotides.
    options : SearchOptions
        Its genetic code, word and sample count.
    threads : int, optional
        Threads, by default all. The index is the same for any number.

    Returns
    -------
    GenomeIndex

    Raises
    ------
    InputError
        If the genome is empty or too large.
    ScoringError
        If the kind is unknown, or words of that shape are too many.
    """
    raise NotImplementedError


def load_index(
    folder: str | PathLike,
    records: Iterable[Sequence],
    *,
    options: SearchOptions = DEFAULTS,
) -> GenomeIndex:
    """Open an index that `GenomeIndex.save` wrote; its arrays are mapped from their files.

    Parameters
    ----------
    folder : path
    records : iterable of Sequence
        The genome that the index must belong to: the same names, lengths and nucleotides.
    options : SearchOptions
        The index must have been made with its genetic code, word and sample.

    Returns
    -------
    GenomeIndex

    Raises
    ------
    InputError
        If there is no index, it is damaged or cut short, or it belongs to another genome or to
        other options; it names the file and what was expected.
    """
    raise NotImplementedError


def find_windows(
    index: GenomeIndex,
    targets: Iterable[Sequence],
    options: SearchOptions = DEFAULTS,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[SearchWindow]:
    """Find the windows in which targets may have genes.

    Parameters
    ----------
    index : GenomeIndex
    targets : iterable of ProteinSequence or of Sequence
        Proteins for an index of kind ``protein``, nucleotides for one of kind ``cdna``.
    options : SearchOptions
        `max_intron`, `max_windows`, `min_score` and `repeats` count.
    threads : int, optional
        Threads, by default all. The windows are the same for any number.
    progress : callable, optional
        Called with the number of targets that are done since its last call.

    Returns
    -------
    list of SearchWindow
        By target, then by falling score, record, start and strand. Windows of one target and
        strand overlap only where they would join two copies of a gene, and then not: the border
        lies between the copies.

    Raises
    ------
    InputError
        If targets are not of the index's kind.
    """
    raise NotImplementedError
