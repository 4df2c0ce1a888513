"""The public functions of the search for windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from os import PathLike
from pathlib import Path

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.sequences import ProteinSequence, Sequence
from gpu_tools.search.index import Genome, GenomeIndex, indexed, read_index
from gpu_tools.search.windows import TargetSearch
from gpu_tools.search.words import SearchOptions, WordScheme

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
        Its genetic code, shapes and sample count.
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
        If the kind is unknown, or there are too many words of a shape.
    """
    records = list(records)
    words = WordScheme.chosen(kind, sum(map(len, records)), options)
    return indexed(Genome.of(records, words.reach), words, cpu_threads(threads))


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
        The index must have been made with its genetic code, shapes and sample.

    Returns
    -------
    GenomeIndex

    Raises
    ------
    InputError
        If there is no index, it is damaged or cut short, or it belongs to another genome or to
        other options; it names the file and what was expected.
    """
    return read_index(Path(folder), list(records), options)


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
        Called, from any thread, with the number of targets that are done since its last call.

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
    targets, search = list(targets), TargetSearch(index, options)
    for target in targets:
        _check_kind(index, target)
    progress = progress or (lambda targets: None)

    def windows_of(number: int) -> list[SearchWindow]:
        windows = search.windows(number, targets[number].codes)
        progress(1)
        return windows

    found = map_on_threads(cpu_threads(threads), windows_of, range(len(targets)))
    return list(chain.from_iterable(found))


def _check_kind(index: GenomeIndex, target: Sequence) -> None:
    if isinstance(target, ProteinSequence) != (index.kind == "protein"):
        found = "a protein" if index.kind == "cdna" else "nucleotides"
        expected = "proteins" if index.kind == "protein" else "nucleotides"
        raise InputError(found, record=target.name, expected=f"{expected}, as the index is of them")
