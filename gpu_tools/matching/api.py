"""The public functions: validate, choose the device, find, trace, wrap the result."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import InputError
from gpu_tools.hardware.device import Device, GpuUntilItFails, cpu_threads, resolve
from gpu_tools.hardware.threads import CaseProgress, prefetch
from gpu_tools.matching import approximate, cpu, text_blocks
from gpu_tools.matching.cpu import Finder, Searcher
from gpu_tools.matching.index import PatternSet, Probe, library
from gpu_tools.matching.text_blocks import SYMBOLS_PER_BLOCK, Find, TextBlock
from gpu_tools.model.results import ApproximateMatch, ExactMatches
from gpu_tools.model.scoring import EditCosts
from gpu_tools.model.sequences import Sequence, SequenceChunk

_log = logging.getLogger(__name__)

PREFETCHED_BLOCKS = {"cpu": 2, "cuda": 32}
"""Text blocks that are read ahead of the search: many while a GPU is initialised."""
Texts = Iterable[Sequence | SequenceChunk]
Progress = Callable[[int], None]
REPORTS_PER_BLOCK = 100


def match_exact(
    patterns: PatternSet,
    texts: Texts,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    block_symbols: int = SYMBOLS_PER_BLOCK,
) -> ExactMatches:
    """Find every occurrence of every pattern, overlapping ones included.

    Parameters
    ----------
    patterns : PatternSet
        Patterns of any number and length.
    texts : iterable of Sequence or SequenceChunk
        Encoded in the patterns' alphabet, see `gpu_tools.matching.ALPHABETS`; longer ones than
        fit into memory as chunks.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``; the result does not depend on it.
    threads : int, optional
        Threads of the CPU path, all that the process may use by default.
    progress : callable, optional
        Called with the number of text symbols that are done.
    block_symbols : int
        Symbols of the texts, about, that are in memory as one block and searched at a time.

    Returns
    -------
    ExactMatches
        Sorted by text, start, pattern (texts and patterns in their order), ``+`` before ``-``. A
        pattern that is its own reverse complement occurs on both strands.

    Raises
    ------
    InputError
        If there is no pattern, or an empty one.
    DeviceError
        If the requested device cannot be used.

    See Also
    --------
    scan_exact : Gives the result block by block.

    Examples
    --------
    >>> patterns = PatternSet.from_texts({"a": "ACA", "b": "RY"})
    >>> list(match_exact(patterns, [Sequence.from_text("t", "ACACA")], device="cpu"))
    [('a', 't', 0, 3, '+'), ('b', 't', 0, 2, '+'), ('a', 't', 2, 5, '+'), ('b', 't', 2, 4, '+')]
    """
    names: list[str] = []
    options = {"device": device, "threads": threads, "progress": progress}
    parts = scan_exact(patterns, texts, block_symbols=block_symbols, text_names=names, **options)
    return _concatenate(parts, patterns.names, names)


def scan_exact(
    patterns: PatternSet,
    texts: Texts,
    *,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    block_symbols: int = SYMBOLS_PER_BLOCK,
    text_names: list[str] | None = None,
) -> Iterator[ExactMatches]:
    """Yield the occurrences of every pattern block by block, in bounded memory.

    Parameters
    ----------
    patterns : PatternSet
        Patterns of any number and length.
    texts : iterable of Sequence or SequenceChunk
        As in `match_exact`.
    device : str
    threads : int, optional
    progress : callable, optional
    block_symbols : int
        As in `match_exact`.
    text_names : list of str, optional
        Gets the name of each text as it comes by.

    Yields
    ------
    ExactMatches
        One after the other they are sorted as in `match_exact`.
    """
    probes = patterns.probes()
    names = [] if text_names is None else text_names
    after = max(len(probe.symbols) for probe in probes) - 1
    where = resolve(device)
    made = text_blocks.text_blocks(texts, text_blocks.Context(after=after), names, block_symbols)
    with closing(prefetch(made, PREFETCHED_BLOCKS[where.kind])) as blocks:
        find = _find_on(where, Searcher(library(probes, patterns.matches), cpu_threads(threads)))
        reported = _reported(blocks, progress)
        yield from _occurrences(reported, find, probes, patterns.names, names)


def match_approximate(
    patterns: PatternSet,
    texts: Texts,
    *,
    max_distance: int | None = None,
    costs: EditCosts | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    block_symbols: int = SYMBOLS_PER_BLOCK,
) -> list[ApproximateMatch]:
    """Find where patterns occur with errors.

    A match aligns a whole pattern to a part of a text that is not empty; its distance is the
    least cost of such an alignment. For each end position within `max_distance`, or that reaches
    the pattern's best distance over all texts and strands, one match is reported: the longest
    of the least distance.

    Parameters
    ----------
    patterns : PatternSet
        Patterns of any number and length.
    texts : iterable of Sequence or SequenceChunk
        Encoded in the patterns' alphabet; longer ones than fit into memory as chunks.
    max_distance : int, optional
        Report every end position within this distance; by default, those of the best distance.
    costs : EditCosts, optional
        1 for each insertion, deletion and substitution by default.
    device : str
    threads : int, optional
    progress : callable, optional
    block_symbols : int
        As in `match_exact`.

    Returns
    -------
    list of ApproximateMatch
        Sorted by text, end, pattern (texts and patterns in their order), ``+`` before ``-``.

    Raises
    ------
    InputError
        If there is no pattern or an empty one, or `max_distance` is negative or not below the
        cost of deleting a whole pattern, so that every position would match.
    ScoringError
        If distances could overflow 32-bit integers.
    DeviceError
        If the requested device cannot be used.

    Notes
    -----
    Ties: the longest match of the least distance; within it, from its start on, an aligned pair
    goes before an unaligned text symbol, and that before an unaligned pattern symbol.

    Where few errors are allowed and patterns are many, parts of the patterns are looked up first. A
    match leaves at least one part of its pattern intact.

    A match of m pattern symbols and distance D has at most m + D / insertion text symbols (by
    the cheapest insertion), by which the blocks of a text overlap.

    References
    ----------
    .. [1] G. Myers, "A fast bit-vector algorithm for approximate string matching based on dynamic
       programming", J. ACM 46 (1999) 395-415, doi:10.1145/316542.316550.
    .. [2] E. Ukkonen, "Finding approximate patterns in strings", J. Algorithms 6 (1985) 132-137,
       doi:10.1016/0196-6774(85)90023-9.

    Examples
    --------
    >>> patterns = PatternSet.from_texts({"p": "ACGT"})
    >>> match, = match_approximate(patterns, [Sequence.from_text("t", "TTACTCC")], device="cpu")
    >>> match.start, match.end, match.distance, match.cigar
    (2, 5, 1, (('=', 2), ('I', 1), ('=', 1)))
    """
    options = {"device": device, "threads": threads, "progress": progress}
    limits = {"max_distance": max_distance, "costs": costs, "block_symbols": block_symbols}
    parts = scan_approximate(patterns, texts, **limits, **options)
    return [match for part in parts for match in part]


def scan_approximate(
    patterns: PatternSet,
    texts: Texts,
    *,
    max_distance: int | None = None,
    costs: EditCosts | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Progress | None = None,
    block_symbols: int = SYMBOLS_PER_BLOCK,
) -> Iterator[list[ApproximateMatch]]:
    """Yield the approximate matches of every pattern block by block.

    Parameters
    ----------
    patterns : PatternSet
        Patterns of any number and length.
    texts : iterable of Sequence or SequenceChunk
        As in `match_approximate`.
    max_distance : int, optional
        As in `match_approximate`.
    costs : EditCosts, optional
        As in `match_approximate`.
    device : str
    threads : int, optional
    progress : callable, optional
    block_symbols : int
        As in `match_exact`.

    Yields
    ------
    list of ApproximateMatch
        One after the other they are sorted as in `match_approximate`. With a maximum distance the
        memory is bounded; the best matches come all at the end.
    """
    costs = costs or EditCosts()
    if max_distance is not None and max_distance < 0:
        raise InputError(f"maximum distance {max_distance} is negative", expected="0 or more")
    probes, pattern_names, names = patterns.probes(), patterns.names, []
    tables = approximate.Tables.of(patterns.matches, costs)
    limits = approximate.first_limits(probes, pattern_names, tables, max_distance)
    count, where = cpu_threads(threads), resolve(device)
    before = approximate.context(probes, limits, tables)
    made = text_blocks.text_blocks(texts, text_blocks.Context(before=before), names, block_symbols)
    with closing(prefetch(made, PREFETCHED_BLOCKS[where.kind])) as blocks:
        errors = cpu.most_errors(tables, max_distance)
        finder = Finder(probes, tables, costs.unit, limits, count)
        find = _find(finder, errors, where)
        tracer = approximate.Tracer(probes, pattern_names, names, tables, count)
        reported = _reported(blocks, progress, finder)
        if max_distance is None:
            yield approximate.best(reported, find, tracer)
        else:
            yield from approximate.within(reported, find, tracer)


def _find_on(where: Device, engine: Searcher | Finder) -> Find:
    """Return the function that finds an engine's probes, on GPUs if these are chosen."""

    def on_gpus(ordinals: tuple[int, ...]) -> Find:
        from gpu_tools.matching.gpu import find_on_gpus

        return find_on_gpus(engine, ordinals)

    return GpuUntilItFails(where, on_gpus, engine.find)


def _find(finder: Finder, errors: int | None, where: Device) -> Find:
    """Return the function that finds all probes, by seeds where these are faster."""
    matches = finder.tables.matches
    chosen = cpu.choose(finder.probes, matches, errors, cpu.SCAN_TIMES[where.kind])
    finder.numbers = chosen.others
    text = "of %d patterns and strands %d are looked up by parts, the others searched by recurrence"
    _log.info(text, len(finder.probes), len(finder.probes) - len(chosen.others))
    find = _find_on(where, finder) if chosen.others else _find_nothing
    if not chosen.probes:
        return find
    searcher = Searcher(library(chosen.probes, matches), finder.threads)
    return cpu.SeedFinder(finder, chosen, _find_on(where, searcher), find).find


def _find_nothing(text_block: TextBlock) -> NDArray[np.int64]:
    return text_blocks.NO_HITS


def _occurrences(
    blocks: Iterable[TextBlock],
    find: Find,
    probes: list[Probe],
    pattern_names: list[str],
    text_names: list[str],
) -> Iterator[ExactMatches]:
    """Yield the occurrences of each text block, sorted by text, start, pattern, strand."""
    patterns = np.array([probe.pattern for probe in probes])
    reverse = np.array([probe.reverse for probe in probes])
    lengths = np.array([len(probe.symbols) for probe in probes])
    for text_block in blocks:
        rows = find(text_block)
        starts, numbers = rows[np.lexsort((rows[:, 1], rows[:, 0]))].T
        ranges = text_block.ranges_of(starts)
        starts = starts + ranges.offset - ranges.start
        columns = (
            patterns[numbers],
            ranges.text,
            starts,
            starts + lengths[numbers],
            reverse[numbers],
        )
        yield ExactMatches(pattern_names, text_names, *columns)


def _concatenate(
    parts: Iterable[ExactMatches], pattern_names: list[str], text_names: list[str]
) -> ExactMatches:
    """Return the occurrences of all blocks as one."""
    empty = [np.empty(0, np.int64)] * 4 + [np.empty(0, np.bool_)]
    columns = [[p.patterns, p.texts, p.starts, p.ends, p.reverse] for p in parts]
    joined = [np.concatenate(column) for column in zip(empty, *columns, strict=True)]
    return ExactMatches(pattern_names, text_names, *joined)


def _reported(
    blocks: Iterable[TextBlock], progress: Progress | None, finder: Finder | None = None
) -> Iterator[TextBlock]:
    """Yield text blocks and report progress: a block is done when the next one is requested.

    With a finder progress is also reported within a block.
    """
    for text_block in blocks:
        size = sum(part.end - part.begin for part in text_block.ranges)
        tally = CaseProgress(size, progress or _ignore, size // REPORTS_PER_BLOCK)
        if finder:
            finder.done = tally.add
        yield text_block
        tally.finish()


def _ignore(symbols: int) -> None:
    """Report no progress."""
