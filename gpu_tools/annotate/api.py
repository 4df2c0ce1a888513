"""The public function of annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike

from gpu_tools.annotate.batches import BatchStore, Found
from gpu_tools.annotate.directions import in_one_direction
from gpu_tools.annotate.explained import Explanation
from gpu_tools.annotate.gene_set import GenomeAnnotation, TargetNames, gene_set, target_results
from gpu_tools.annotate.genes import cluster_hits, hits_of
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.hits import HitSearch, results_of
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.runs import found_in_batches, laws_of, numbered
from gpu_tools.annotate.structures import structures_of
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.annotate.windows import windows_by
from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.model.sequences import Sequence as Nucleotides


def annotate_genome(
    genome: Iterable[Nucleotides] | GenomeRecords,
    targets: Sequence[TargetSet],
    options: AnnotationOptions | None = None,
    *,
    index: str | PathLike | None = None,
    work: str | PathLike | None = None,
    device: str = "auto",
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> GenomeAnnotation:
    """Find genes in a genome by the proteins or cDNAs of related genes.

    Each target is aligned, exactly, to windows of the genome. Hits are chains whose E-value, with
    both strands of the whole genome as the search space, is small enough. Hits that share coding
    nucleotides on one strand make a gene. Its structure is that of the best hit; structures that
    explain their own targets clearly better are isoforms.

    Parameters
    ----------
    genome : iterable of Sequence or GenomeRecords
        The records, or loci of records that do not overlap.
    targets : sequence of TargetSet
        See `protein_targets` and `cdna_targets`; names of targets differ.
    options : AnnotationOptions, optional
        Search, limits of hits, isoforms.
    index : path-like, optional
        Folder that keeps the index of the seeded search.
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
    laws = laws_of(genome.summary.composition, targets)
    store, done = BatchStore(work), progress or (lambda number: None)
    found: Found = []
    for first, some in numbered(targets):
        search = HitSearch(genome, some, laws[first:], options, device, threads)
        windows = windows_by(genome, some, options, index, threads)
        for number, alignment in found_in_batches(search, windows, store, done):
            found.append((first + number, alignment))
    return annotation_of(genome, targets, options, found, threads)


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
    threads: int,
) -> GenomeAnnotation:  # fmt: skip
    """Make genes of the chains of all targets.

    Parameters
    ----------
    genome : GenomeRecords
    targets : sequence of TargetSet
    options : AnnotationOptions
    found : list of (int, alignment)
        Credible or best chains of all targets, in any order, by the targets' numbers.
    threads : int

    Returns
    -------
    GenomeAnnotation
    """
    laws = laws_of(genome.summary.composition, targets)
    found = results_of(in_one_direction(found, laws, options.accepts), options.accepts)
    hits = hits_of([pair for pair in found if options.accepts(pair[1])], laws)
    clusters, chimeras = cluster_hits(hits)
    explanation = Explanation(genome, targets)
    choose = partial(structures_of, isoforms=options.isoforms, gain=explanation.gain)
    every = [(some.kind, sequence) for some in targets for sequence in some.sequences]
    names = TargetNames(
        tuple(one.name for _, one in every), tuple(kind for kind, _ in every),
        tuple(len(one) for _, one in every),
    )  # fmt: skip
    genes = gene_set(clusters, names, genome.record_lengths, choose, threads)
    return GenomeAnnotation(
        tuple(gene for gene, _ in genes), tuple(target_results(found, hits, genes, names)),
        genome.record_lengths, len(chimeras),
    )  # fmt: skip
