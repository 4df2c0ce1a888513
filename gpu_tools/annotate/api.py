"""The public function of annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from os import PathLike

from gpu_tools.annotate.batches import BatchStore, Found
from gpu_tools.annotate.gene_set import GenomeAnnotation, TargetNames, gene_set, target_results
from gpu_tools.annotate.genes import Hit, cluster_hits
from gpu_tools.annotate.genome import GenomeRecords
from gpu_tools.annotate.hits import HitSearch, results_of
from gpu_tools.annotate.options import AnnotationOptions
from gpu_tools.annotate.runs import found_in_batches, laws_of, numbered
from gpu_tools.annotate.structures import structures_of
from gpu_tools.annotate.targets import TargetSet
from gpu_tools.annotate.windows import windows_by
from gpu_tools.errors import InputError
from gpu_tools.hardware.device import cpu_threads
from gpu_tools.local.schedule import make_pair
from gpu_tools.local.search.k_best import global_alignment
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
    found = results_of(found, options.accepts)
    every, laws = _by_number(targets), laws_of(genome.summary.composition, targets)
    hits = [
        Hit(number, own, (own.score - laws[number].location) / laws[number].scale)
        for number, own in found if options.accepts(own)
    ]  # fmt: skip
    clusters, chimeras = cluster_hits(hits)
    explained = _Explained(genome, every)
    choose = partial(structures_of, isoforms=options.isoforms, gain=explained.gain)
    names = TargetNames(
        tuple(one.name for _, one in every), tuple(some.kind for some, _ in every),
        tuple(len(one) for _, one in every),
    )  # fmt: skip
    genes = gene_set(clusters, names, genome.record_lengths, choose, threads)
    return GenomeAnnotation(
        tuple(gene for gene, _ in genes), tuple(target_results(found, hits, genes, names)),
        genome.record_lengths, len(chimeras),
    )  # fmt: skip


def _by_number(targets: Sequence[TargetSet]) -> list[tuple[TargetSet, Nucleotides]]:
    return [(some, sequence) for some in targets for sequence in some.sequences]


class _Explained:
    """How well structures explain targets: scores of global alignments, each computed once.

    Parameters
    ----------
    genome : GenomeRecords
    targets : list of (TargetSet, Sequence)
    """

    def __init__(self, genome: GenomeRecords, targets: list[tuple[TargetSet, Nucleotides]]):
        self._genome, self._targets = genome, targets
        self._scores: dict[tuple, int] = {}

    def gain(self, hit: Hit, other: Hit) -> float:
        """Return how much better a hit's structure explains its target than another's does.

        It is the difference of the scores of the target, as far as it is aligned, against what
        either chain makes, in units of what is clearly better. A protein is compared with a
        protein, a cDNA with a spliced sequence. Targets of two kinds are not compared.
        """
        own, _ = self._targets[hit.target]
        if self._targets[other.target][0].kind != own.kind:
            return 0.0
        one, two = (self._product(own, each) for each in (hit, other))
        if one.letters() == two.letters():
            return 0.0
        return (self._against(hit, one) - self._against(hit, two)) / own.clearly

    def _product(self, own: TargetSet, hit: Hit) -> Nucleotides:
        record, first = self._genome.sequence_at(hit.alignment.base, hit.exons[0][0])
        return own.product(hit.alignment, record, first)

    def _against(self, hit: Hit, product: Nucleotides) -> int:
        """Return the score of a hit's target against a product."""
        low, high = hit.alignment.target_start, hit.alignment.target_end
        key = hit.target, low, high, product.letters()
        if key not in self._scores:
            own, target = self._targets[hit.target]
            aligned = type(target)(target.name, target.codes[low:high])
            problem = make_pair(product, aligned, own.pairwise).problems[0]
            self._scores[key] = global_alignment(problem).score
        return self._scores[key]
