"""Parts of an annotation, which several processes compute: shares of the targets and of the tiles.

The genes of all parts' hits are those of `gpu_tools.annotate_genome`, to the byte.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from os import PathLike
from typing import NamedTuple

from gpu_tools.annotate.batches import BatchStore, Found, read_found, write_found
from gpu_tools.annotate.genome import GenomeRecords, GenomeSummary, summarized
from gpu_tools.annotate.hits import HitSearch
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.runs import found_in_batches, key_of_hits, laws_of, numbered
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.annotate.tiles import GenomeTile, genome_tiles, tile_windows
from gpu_tools.annotate.windows import Windows, windows_by
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import iterate_fasta
from gpu_tools.model.sequences import Sequence as Nucleotides


class Share(NamedTuple):
    """One of several contiguous shares of a list, by its number from 1."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def bounds(self, weights: Iterable[int]) -> tuple[int, int]:
        """Return the first item of the share and the one behind its last.

        The shares of a list are disjoint, hold all of it, and weigh about the same. Weights are
        above 0.
        """
        weights = list(weights)
        total = sum(weights)
        middles = (
            2 * end - weight for end, weight in zip(accumulate(weights), weights, strict=True)
        )
        numbers = [middle * self.of // (2 * total) for middle in middles]
        return bisect_left(numbers, self.number - 1), bisect_left(numbers, self.number)


class AnnotationPart(NamedTuple):
    """A share of the targets in a share of the genome's tiles.

    Attributes
    ----------
    targets, tiles : Share
    """

    targets: Share = Share()
    tiles: Share = Share()

    def __str__(self) -> str:
        return f"targets {self.targets}, tiles {self.tiles}"


class PartOfGenome(NamedTuple):
    """What a process searches of a genome, and what it must know of all of it.

    Attributes
    ----------
    genome : GenomeRecords
        At least the nucleotides of the tiles.
    tiles : list of GenomeTile or None
        In `genome`; None for all of it.
    whole : GenomeSummary
    """

    genome: GenomeRecords
    tiles: list[GenomeTile] | None
    whole: GenomeSummary


class PartRun(NamedTuple):
    """How a part is searched; the fields are arguments of `gpu_tools.annotate_genome`."""

    index: str | PathLike | None = None
    work: str | PathLike | None = None
    device: str = "auto"
    threads: int = 1
    progress: Callable[[int], None] = lambda number: None


def read_part(path: str | PathLike, share: Share, options: AnnotationOptions) -> PartOfGenome:
    """Read a share of the tiles of a genome; the rest passes by record by record.

    Parameters
    ----------
    path : path-like
        FASTA.
    share : Share
        Of the tiles; all of the genome for the only one.
    options : AnnotationOptions

    Returns
    -------
    PartOfGenome
        Without a nucleotide if the share has no tile.
    """
    if share.of == 1:
        try:
            genome = GenomeRecords(iterate_fasta(path))
        except InputError as error:
            raise error.located(path=path) from None
        return PartOfGenome(genome, None, genome.summary)
    whole = summarized(iterate_fasta(path))
    lengths = [locus.end - locus.start for locus in whole.loci]
    every = genome_tiles(lengths, options.longest_gene)
    first, last = share.bounds(tile.end - tile.start for tile in every)
    wanted = {
        record: list(group) for record, group in groupby(every[first:last], lambda t: t.record)
    }
    if not wanted:
        return PartOfGenome(GenomeRecords([next(iter(iterate_fasta(path)))]), [], whole)
    stretches, tiles = [], []
    for number, record in enumerate(iterate_fasta(path)):
        for tile in wanted.get(number, ()):
            low = wanted[number][0].start
            tiles.append(GenomeTile(len(stretches), tile.start - low, tile.end - low))
        if number in wanted:
            bounds = wanted[number][0].start, wanted[number][-1].end
            stretches.append(_stretch(record, whole, number, bounds))
    return PartOfGenome(GenomeRecords(stretches), tiles, whole)


def _stretch(record: Nucleotides, whole: GenomeSummary, number: int, bounds: tuple[int, int]):
    locus = whole.loci[number].part(*bounds)
    codes = record.codes[slice(*bounds)].copy()  # the rest of the record may go
    return Nucleotides(locus.name, codes, locus.header(locus.name))


def hits_of_part(
    searched: PartOfGenome,
    targets: Sequence[TargetSet],
    options: AnnotationOptions,
    share: Share,
    run: PartRun,
) -> Found:
    """Return credible or best chains of a share of the targets in a part of a genome.

    Parameters
    ----------
    searched : PartOfGenome
        All of it for a seeded search, whose windows depend on the whole genome.
    targets : sequence of TargetSet
        All targets.
    options : AnnotationOptions
    share : Share
        Of the targets, by their lengths.
    run : PartRun

    Returns
    -------
    list of (int, alignment)
        Numbers of targets among all, and alignments.
    """
    laws, store = laws_of(searched.whole.composition, targets), BatchStore(run.work)
    low, high = share.bounds(len(one) for some in targets for one in some.sequences)
    found: Found = []
    for first, some in numbered(targets):
        a, b = (min(max(bound - first, 0), len(some.sequences)) for bound in (low, high))
        if a == b or searched.tiles == []:
            continue
        own = laws[first : first + len(some.sequences)]
        space = 2 * searched.whole.composition.length
        search = HitSearch(searched.genome, some, own, options, run.device, run.threads, space)
        search = search.of_part(a, b)
        windows = _windows(searched, search.targets, options, run)
        for number, alignment in found_in_batches(search, windows, store, run.progress):
            found.append((first + a + number, alignment))
    return found


def _windows(
    searched: PartOfGenome, targets: TargetSet, options: AnnotationOptions, run: PartRun
) -> Windows:
    if searched.tiles is None:
        return windows_by(searched.genome, targets, options, run.index, run.threads)
    return lambda some: tile_windows(searched.tiles, len(some))


def write_hits(path, searched: PartOfGenome, targets, options, part: AnnotationPart, found: Found):
    """Write the hits of a part, so that `read_hits` reads them back."""
    write_found(path, key_of_hits(searched.whole, targets, options), found, str(part))


def read_hits(
    paths: Sequence[str | PathLike], genome: GenomeRecords, targets: Sequence[TargetSet],
    options: AnnotationOptions, parts: Iterable[AnnotationPart],
) -> Found:  # fmt: skip
    """Read the hits of all parts of an annotation.

    Parameters
    ----------
    paths : sequence of path-like
        Files of `write_hits`, in any order.
    genome : GenomeRecords
    targets : sequence of TargetSet
    options : AnnotationOptions
    parts : iterable of AnnotationPart
        Those that there must be, each once.

    Returns
    -------
    list of (int, alignment)

    Raises
    ------
    InputError
        If a file is no file of hits, or of another genome, other targets or options; if a part is
        missing or there twice.
    """
    key, missing, found = key_of_hits(genome.summary, targets, options), {*map(str, parts)}, []
    for path in paths:
        known, part, own = read_found(path)
        if known != key:
            raise InputError(
                "hits of another genome, other targets or options", path=path,
                expected="those of one annotation",
            )  # fmt: skip
        if part not in missing:
            raise InputError(f"hits of {part}", path=path, expected="each part once")
        missing.remove(part)
        found += own
    if missing:
        raise InputError(f"no hits of {min(missing)}", expected="each part once")
    return found
