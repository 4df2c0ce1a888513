"""The public functions of the search for windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.sequences import ProteinSequence, Sequence
from gpu_tools.search.windows import searches
from gpu_tools.search.words import SearchOptions

__all__ = ["SearchOptions", "find_windows"]


def find_windows(
    records: Iterable[Sequence],
    targets: Iterable[Sequence],
    options: SearchOptions | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[SearchWindow]:
    """Find the windows in which targets may have genes.

    Proteins are looked for by words of amino acid classes in the six translated frames, where a
    stop codon or an ambiguity code breaks a word; cDNAs by words of nucleotides.

    Parameters
    ----------
    records : iterable of Sequence
        The genome, at most 2^32 nucleotides.
    targets : iterable of ProteinSequence or of Sequence
        Proteins, or cDNAs.
    options : SearchOptions, optional
        Words and limits.
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
        If the genome is empty or too large, or targets are of two kinds.
    ScoringError
        If there are too many words of a shape.
    """
    targets, progress = list(targets), progress or (lambda targets: None)
    is_protein = {isinstance(target, ProteinSequence) for target in targets}
    if len(is_protein) > 1:
        first = next(one for one in targets if not isinstance(one, ProteinSequence))
        raise InputError(
            "nucleotides among proteins", record=first.name, expected="targets of one kind"
        )
    kind, threads = "protein" if True in is_protein else "cdna", cpu_threads(threads)
    found: list[SearchWindow] = []
    options = options or SearchOptions()
    for first, search in searches(list(records), targets, kind, options, threads):
        numbers = range(len(search.targets))
        for windows in map_on_threads(threads, search.windows, numbers):
            found += [replace(window, target=first + window.target) for window in windows]
        progress(len(numbers))
    return found
