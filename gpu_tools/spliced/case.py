"""One case of spliced alignment: from its inputs to exon graphs, and from sweeps to a result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from gpu_tools.errors import InputError
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import Sequence
from gpu_tools.spliced.cpu.traceback import Chain
from gpu_tools.spliced.exon_graph import ExonGraph, build_exon_graph


@dataclass(frozen=True)
class Case:
    """A base sequence, its candidate exons and the target that a chain of them is aligned with.

    Parameters
    ----------
    base : Sequence
        Genomic sequence.
    target : Sequence
        cDNA of a homologous gene, at least one symbol.
    exons : ExonSet
        Candidate exons of `base`; equal intervals of a strand count once, with the best score.
    """

    base: Sequence
    target: Sequence
    exons: ExonSet

    @property
    def cells(self) -> int:
        """Nominal cells of both strands: sum of distinct exons' lengths times target length."""
        return self.exons.unique().nucleotides * len(self.target)

    @property
    def space(self) -> int:
        """Size of what is searched for the target: distinct candidates of both strands."""
        return len(self.exons.unique())

    def check(self) -> None:
        """Raise `InputError` if the target is empty or an exon does not lie within the base."""
        if not len(self.target):
            raise InputError("empty target", record=self.target.name, expected="nucleotides")
        self.exons.check_within(len(self.base), self.base.name)


def check_cases(cases: list[Case]) -> None:
    """Raise the `InputError` of the first wrong case; what cases share is checked once."""
    seen: set[tuple[int, int, bool]] = set()
    for case in cases:
        key = id(case.base), id(case.exons), len(case.target) > 0
        if key not in seen:
            case.check()
            seen.add(key)


@dataclass(frozen=True)
class PreparedCase:
    """A case and the exon graphs of its strands that have candidates, ``+`` first."""

    case: Case
    cells: int
    graphs: tuple[ExonGraph, ...]


BASES_STORED = 64
"""Base sequences whose graphs are stored: most targets of a base sequence follow each other."""


class Preparation:
    """Makes the exon graphs of checked cases, once for all targets of a base sequence.

    Parameters
    ----------
    scoring : SplicedScoring
    """

    def __init__(self, scoring: SplicedScoring):
        self.scoring = scoring
        self._graphs: dict[tuple[int, int], tuple[ExonGraph, ...]] = {}

    def __call__(self, case: Case) -> PreparedCase:
        """Return the case with the exon graphs of its strands."""
        # two threads may make the same graphs; objects of a case live on, so identities are unique
        key = id(case.base), id(case.exons)
        graphs = self._graphs.get(key)
        if graphs is None:
            graphs = tuple(self._compile(case))
            if len(self._graphs) >= BASES_STORED:
                self._graphs.clear()
            self._graphs[key] = graphs
        return PreparedCase(case, case.cells, graphs)

    def _compile(self, case: Case) -> Iterator[ExonGraph]:
        unique = case.exons.unique()
        for strand in "+-":
            exons = unique.on_strand(strand)
            if len(exons):
                yield build_exon_graph(case.base.codes, exons, self.scoring, strand == "-")


class Outcome(Protocol):
    """The result of a sweep."""

    score: int

    def chain(self) -> Chain:
        """Return the best chain; not called where the case has a better one."""


def finish(prepared: PreparedCase, outcomes: list[Outcome]) -> SplicedAlignment:
    """Return the result of a case from the outcomes of its graphs, in their order."""
    if not outcomes:
        return result_of(prepared)
    # the first of equals: + before -
    winner = max(range(len(outcomes)), key=lambda k: outcomes[k].score)
    graph, chain = prepared.graphs[winner], outcomes[winner].chain()
    return result_of(
        prepared,
        strand="-" if graph.reverse else "+",
        score=outcomes[winner].score,
        n_exons=graph.n_exons,
        chain=tuple(graph.exon(k) for k in chain.exons),
        target_start=chain.columns[0],
        target_end=chain.columns[1],
        cigar=chain.cigar,
        exon_scores=tuple(float(graph.exon_scores[k]) for k in chain.exons),
    )


def result_of(prepared: PreparedCase, **found) -> SplicedAlignment:
    """Return the result of a case, without strand and chain unless `found` has them."""
    case = prepared.case
    return SplicedAlignment(
        base=case.base.name,
        target=case.target.name,
        base_length=len(case.base),
        target_length=len(case.target),
        cells=prepared.cells,
        **found,
    )
