"""One case of spliced alignment: from its inputs to exon graphs, and from sweeps to a result."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_tools.errors import InputError
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.results import SplicedAlignment
from gpu_tools.model.scoring import SplicedScoring
from gpu_tools.model.sequences import Sequence
from gpu_tools.spliced.cpu.traceback import Swept
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


def prepare_case(case: Case, scoring: SplicedScoring) -> PreparedCase:
    """Build the exon graphs of a checked case."""
    unique, graphs = case.exons.unique(), []
    for strand in "+-":
        exons = unique.on_strand(strand)
        if len(exons):
            graphs.append(build_exon_graph(case.base.codes, exons, scoring, strand == "-"))
    return PreparedCase(case, case.cells, tuple(graphs))


def finish(prepared: PreparedCase, sweeps: list[Swept]) -> SplicedAlignment:
    """Return the result of a case from the sweeps of its graphs, in their order."""
    if not sweeps:
        return result_of(prepared)
    best = max(sweeps, key=lambda swept: swept.best.score)  # the first of equals: + before -
    return result_of(prepared, **best.result_fields())


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
