"""Annotation of a genome: in one process, or in parts that several processes compute.

The genes of the hits of all parts are those of `annotate_genome`, to the byte.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, groupby
from os import PathLike
from typing import NamedTuple

from gpu_tools.annotate import gene_set
from gpu_tools.annotate.batches import BatchStore, Found, key_of, read_found, write_found
from gpu_tools.annotate.choice import (
    credible_or_best,
    in_one_direction,
    outdone_by,
    results_of,
)
from gpu_tools.annotate.confidence import of_confidence, with_confidences
from gpu_tools.annotate.explanation import Explanation
from gpu_tools.annotate.genome import (
    GenomeRecords,
    GenomeSummary,
    GenomeTile,
    genome_tiles,
    summarized,
)
from gpu_tools.annotate.hits import HitSearch
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.annotate.windows import Windows, of_reverse_complements, windows_by
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import iterate_fasta
from gpu_tools.hardware.device import cpu_threads, resolve
from gpu_tools.hardware.processes import map_on_processes, most_processes
from gpu_tools.hardware.threads import map_on_threads
from gpu_tools.model.acceptance import YES
from gpu_tools.model.locus import SearchWindow
from gpu_tools.model.results import DROP, faults_of, with_frameshifts
from gpu_tools.model.sequences import Sequence as Nucleotides
from gpu_tools.model.significance import Composition, Gumbel, genome_circumstances, laws_by


def annotate_genome(
    genome: Iterable[Nucleotides] | GenomeRecords,
    targets: Sequence[TargetSet],
    options: AnnotationOptions | None = None,
    *,
    work: str | PathLike | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> gene_set.GenomeAnnotation:
    """Find genes in a genome by the proteins or cDNAs of related genes.

    Each target is aligned, exactly, to windows of the genome. Hits are chains whose E-value, with
    both strands of the whole genome as the search space, is small enough. Hits that cover enough of
    their targets and share coding nucleotides on one strand make a gene. Its structure is that of
    the best hit; structures that explain their own targets better are isoforms if these are the
    gene's own, or targets of two sources agree on them.

    Parameters
    ----------
    genome : iterable of Sequence or GenomeRecords
        The records, or loci of records that do not overlap.
    targets : sequence of TargetSet
        See `protein_targets` and `cdna_targets`; names of targets differ.
    options : AnnotationOptions, optional
        Search, limits of hits, isoforms.
    work : path-like, optional
        Folder that keeps the results of each batch of targets: a run with the same genome, targets
        and options goes on where another one ended.
    device : str
        ``auto``, ``cpu``, ``cuda``, ``cuda:0`` or ``cuda:0,1``.
    threads : int, optional
        Threads of the CPU, by default all.
    progress : callable, optional
        Called with the number of targets that are done since its last call.

    Returns
    -------
    GenomeAnnotation
        The same for any device, number of threads and size of batches.

    Raises
    ------
    InputError
        If there is no record or no target, two targets have one name, or a target is empty.
    ScoringError
        If the law of E-values is not known for the scores.
    """
    options, threads = options or AnnotationOptions(), cpu_threads(threads)
    genome = genome if isinstance(genome, GenomeRecords) else GenomeRecords(genome)
    check_targets(targets)
    whole = PartOfGenome(genome, None, genome.summary)
    run = PartRun(work, device, threads, progress or (lambda number: None))
    found = hits_of_part(whole, targets, options, Share(), run)
    return annotation_of(genome, targets, options, found, threads, device)


def check_targets(targets: Sequence[TargetSet]) -> None:
    """Refuse no target, and two of one name."""
    seen: set[str] = set()
    for sequence in (sequence for some in targets for sequence in some.sequences):
        if sequence.name in seen:
            raise InputError(
                "two targets of one name", record=sequence.name, expected="names that differ"
            )
        seen.add(sequence.name)
    if not seen:
        raise InputError("no target", expected="at least one protein or cDNA")


def annotation_of(
    genome: GenomeRecords, targets: Sequence[TargetSet], options: AnnotationOptions, found: Found,
    threads: int, device: str = "auto",
) -> gene_set.GenomeAnnotation:  # fmt: skip
    """Make genes of the chains of all targets."""
    laws = laws_of(genome.summary.composition, targets)
    found = results_of(in_one_direction(found, laws, options.is_hit), options.is_hit)
    found = [
        (number, with_frameshifts(genome.with_cut_ends(one), options.frameshifts))
        for number, one in found
    ]
    accepted = [pair for pair in found if options.acceptance.verdict(pair[1]) == YES]
    hits = gene_set.hits_of(accepted, laws, sources_of(targets))
    kept = [hit for hit in hits if options.frameshifts != DROP or not faults_of(hit.alignment)]
    clusters, chimeras = gene_set.cluster_hits(kept)
    explanation = Explanation(genome, targets)
    choose = partial(gene_set.structures_of, isoforms=options.isoforms, gain=explanation.gain)
    every = [(some.kind, sequence) for some in targets for sequence in some.sequences]
    names = gene_set.TargetNames(
        tuple(one.name for _, one in every), tuple(kind for kind, _ in every),
        tuple(len(one) for _, one in every), tuple(one.description for _, one in every),
    )  # fmt: skip
    structures = map_on_threads(threads, choose, clusters)
    if options.confidence or options.min_confidence:
        judged = with_confidences(structures, genome, targets, device, threads)
        structures = [of_confidence(several, options.min_confidence) for several in judged]
    evidence = targets[0].evidence  # that of all
    genes = gene_set.genes_of(clusters, names, genome.record_lengths, structures, evidence)
    results = gene_set.target_results(found, hits, genes, names, options.acceptance)
    return gene_set.GenomeAnnotation(
        tuple(gene for gene, _ in genes), tuple(results), genome.record_lengths, len(chimeras),
        len(hits) - len(kept),
    )  # fmt: skip


# Search for hits, batch by batch of the targets.


def laws_of(composition: Composition, targets: Sequence[TargetSet]) -> list[Gumbel]:
    """Return the law of an unrelated target's best score in a genome, for each target."""
    return [
        law for some in targets
        for law in laws_by(some.nulls, genome_circumstances(composition, some.sequences))
    ]  # fmt: skip


def sources_of(targets: Sequence[TargetSet]) -> list[int]:
    """Return the number of each target's source among all."""
    pairs = [(k, source) for k, some in enumerate(targets) for source in some.sources_by_target]
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    return [numbers[pair] for pair in pairs]


def numbered(targets: Sequence[TargetSet]) -> Iterator[tuple[int, TargetSet]]:
    """Yield each set of targets, and the number of its first one among all."""
    first = 0
    for some in targets:
        yield first, some
        first += len(some.sequences)


def found_in_batches(
    search: HitSearch, windows: Windows, store: BatchStore, done: Callable[[int], None]
) -> Iterator[tuple[int, object]]:
    """Yield credible or best chains of the targets of a search, batch by batch.

    On a CPU several processes have a batch each, with their share of the threads.
    """
    sequences = search.targets.sequences
    size = search.options.batch_on(search.device, search.threads, len(sequences))
    firsts = range(0, len(sequences), size)
    on_cpu = resolve(search.device).kind == "cpu"
    processes = min(most_processes(search.threads), len(firsts)) if on_cpu else 1
    own = replace(search, threads=search.threads // processes)

    def found(first: int) -> Found:
        numbers = range(len(sequences))[first : first + size]
        part = own.of_part(first, first + size)
        return store.result(_key(part), partial(_batch, part, windows, numbers))

    several = map_on_processes(processes, found, firsts)
    for first, own_found in zip(firsts, several, strict=True):
        yield from ((first + number, alignment) for number, alignment in own_found)
        done(min(size, len(sequences) - first))


def _batch(search: HitSearch, windows: Windows, numbers: Sequence[int]) -> Found:
    """Return the hits of a batch, and behind them those of reverse complements.

    The seeded search finds the same windows for these, on the other strand.
    """
    is_hit, targets, own = search.options.is_hit, search.targets, windows(numbers, search.threads)
    is_seeded = search.options.search == "seeded"

    def turned(numbers: list[int]) -> Iterable[SearchWindow]:
        if not is_seeded:
            return windows(numbers, search.threads)
        return of_reverse_complements(own, numbers, [targets.sequences[k] for k in numbers])

    found = credible_or_best(search.alignments(own), is_hit)
    if targets.turned is None:
        return found
    wanted = outdone_by(found, search.laws)
    numbers = [k for k, score in enumerate(wanted) if targets.perfect_score(k) >= score]
    again = search.of_reversed(numbers)
    if is_seeded:
        scored = again.may_score(turned(numbers), [wanted[k] for k in numbers])
        numbers = [numbers[k] for k in scored]
        again = search.of_reversed(numbers)
    others = credible_or_best(again.alignments(turned(numbers)), is_hit)
    return found + [(numbers[k], one.with_target_reversed()) for k, one in others]


def _key(search: HitSearch) -> str:
    laws = [list(law) for law in search.laws]
    contents = [(target.name, target.letters()) for target in search.targets.sequences]
    return key_of(
        search.genome.summary.digest, search.targets.setting(), search.options.of_hits(), laws,
        contents,
    )  # fmt: skip


def key_of_hits(
    genome: GenomeSummary, targets: Sequence[TargetSet], options: AnnotationOptions
) -> str:
    """Return a text that differs where the hits of all targets in a genome may differ."""
    contents = [
        (some.setting(), [(target.name, target.letters()) for target in some.sequences])
        for some in targets
    ]
    return key_of(genome.digest, options.of_hits(), contents)


# Shares of the targets and of the tiles of a genome, each for a process.


class Share(NamedTuple):
    """One of several contiguous shares of a list, by its number from 1."""

    number: int = 1
    of: int = 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def bounds(self, weights: Iterable[int]) -> tuple[int, int]:
        """Return the first item of the share and the one behind its last.

        The shares of a list are disjoint, hold all of it, and weigh about the same; weights of
        several shares are above 0.
        """
        weights = list(weights)
        if self.of == 1:
            return 0, len(weights)
        total = sum(weights)
        middles = (
            2 * end - weight for end, weight in zip(accumulate(weights), weights, strict=True)
        )
        numbers = [middle * self.of // (2 * total) for middle in middles]
        return bisect_left(numbers, self.number - 1), bisect_left(numbers, self.number)


class AnnotationPart(NamedTuple):
    """A share of the targets in a share of the genome's tiles."""

    targets: Share = Share()
    tiles: Share = Share()

    def __str__(self) -> str:
        return f"targets {self.targets}, tiles {self.tiles}"


class PartOfGenome(NamedTuple):
    """What a process searches of a genome, and what it must know of all of it."""

    genome: GenomeRecords  # at least the nucleotides of the tiles
    tiles: list[GenomeTile] | None  # in `genome`; None for all of it
    whole: GenomeSummary


class PartRun(NamedTuple):
    """How a part is searched; the fields are arguments of `gpu_tools.annotate_genome`."""

    work: str | PathLike | None = None
    device: str = "auto"
    threads: int = 1
    progress: Callable[[int], None] = lambda number: None


def read_part(path: str | PathLike, share: Share, options: AnnotationOptions) -> PartOfGenome:
    """Read a share of the tiles of a genome; the rest passes by record by record."""
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
    """Return credible or best chains of a share of the targets in a part of a genome."""
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
        several = windows_by(searched.genome, searched.tiles, search.targets, options, run.threads)
        for c, d, windows in several:
            part = search.of_part(c, d)
            for number, alignment in found_in_batches(part, windows, store, run.progress):
                found.append((first + a + c + number, alignment))
    return found


def write_hits(path, searched: PartOfGenome, targets, options, part: AnnotationPart, found: Found):
    """Write the hits of a part, so that `read_hits` reads them back."""
    write_found(path, key_of_hits(searched.whole, targets, options), found, str(part))


def read_hits(
    paths: Sequence[str | PathLike], genome: GenomeRecords, targets: Sequence[TargetSet],
    options: AnnotationOptions, parts: Iterable[AnnotationPart],
) -> Found:  # fmt: skip
    """Read the hits of all parts of an annotation."""
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
