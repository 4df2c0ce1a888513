"""Exact sequence algorithms on a GPU, or without one, with the same answer."""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "gpu_tools.errors": (
        "DeviceError",
        "GpuToolsError",
        "InputError",
        "OutputError",
        "ScoringError",
    ),
    "gpu_tools.annotate.api": ("annotate_genome",),
    "gpu_tools.annotate.gene_set": (
        "AnnotatedGene",
        "AnnotatedTranscript",
        "GenomeAnnotation",
        "TargetResult",
    ),
    "gpu_tools.annotate.options": ("AnnotationOptions",),
    "gpu_tools.annotate.targets": (
        "cdna_targets",
        "protein_targets",
    ),
    "gpu_tools.estimate.api": (
        "CaseEstimate",
        "estimated_seconds",
        "spliced_estimate",
    ),
    "gpu_tools.estimate.figures": (
        "DeviceFigures",
        "calibrate_device",
        "device_figures",
        "store_figures",
    ),
    "gpu_tools.estimate.model": (
        "Histogram",
        "exon_histograms",
    ),
    "gpu_tools.lift.api": (
        "Lift",
        "lift_genes",
    ),
    "gpu_tools.lift.options": ("LiftOptions",),
    "gpu_tools.model.significance": (
        "Gumbel",
        "NullModel",
        "fit_gumbel",
        "null_laws",
        "null_model",
        "with_evalues",
    ),
    "gpu_tools.formats.junctions": ("splice_evidence",),
    "gpu_tools.model.evidence": (
        "EvidenceWeights",
        "SpliceEvidence",
    ),
    "gpu_tools.model.exon_set": ("ExonSet",),
    "gpu_tools.local": (
        "global_align",
        "local_align",
    ),
    "gpu_tools.matching": (
        "Pattern",
        "PatternSet",
        "match_approximate",
        "match_exact",
        "scan_approximate",
        "scan_exact",
    ),
    "gpu_tools.model.results": (
        "ApproximateMatch",
        "ExactMatches",
        "PairwiseAlignment",
        "ProteinAlignment",
        "Segment",
        "Segments",
        "SplicedAlignment",
        "Submatrix",
    ),
    "gpu_tools.model.scoring": (
        "AffineScoring",
        "EditCosts",
        "ProteinScoring",
        "SplicedScoring",
        "SubstitutionMatrix",
    ),
    "gpu_tools.model.locus": ("SearchWindow",),
    "gpu_tools.search": (
        "SearchOptions",
        "find_windows",
    ),
    "gpu_tools.segments": (
        "max_segment",
        "max_segments",
        "max_submatrices",
        "max_submatrix",
    ),
    "gpu_tools.model.sequences": (
        "ProteinSequence",
        "Sequence",
        "SequenceChunk",
    ),
    "gpu_tools.sites": (
        "SiteCase",
        "is_coding",
        "load_sites",
        "site_align",
        "tables_of",
    ),
    "gpu_tools.sites.confidence": ("with_confidence",),
    "gpu_tools.sites.proteins.api": (
        "ProteinCase",
        "protein_align",
        "protein_sites",
        "protein_tables_of",
    ),
    "gpu_tools.splicing.shuffles": ("shuffled_laws",),
    "gpu_tools.spliced.proteins.api": (
        "ListedProteinCase",
        "protein_spliced_align",
    ),
    "gpu_tools.spliced": (
        "Case",
        "CaseColumns",
        "case_columns",
        "spliced_align",
        "spliced_align_many",
        "spliced_scores",
    ),
}
_MODULES = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted(_MODULES)


def __getattr__(name: str) -> Any:
    """Import a public name on its first use, since most of them import numba's compiler."""
    if name == "__version__":
        from gpu_tools.model.resources import installed_version

        return installed_version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), "__version__", *__all__])
