"""Options of splice evidence: introns that were seen, and scores of splice sites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from gpu_tools.cli.common.options import NumberRange, added, option
from gpu_tools.formats.files import STANDARD_STREAM

if TYPE_CHECKING:
    from gpu_tools.model.evidence import SpliceEvidence
    from gpu_tools.model.sequences import Sequence

NAMES = ("junctions", "junction_weight", "splice_scores", "splice_weight", "splice_only")
"""The options' names."""

evidence_options = added(
    option(
        "--junctions FILE", multiple=True,
        help="Introns that were seen, say by RNA-seq: BED (of 12 columns the gaps between blocks), "
        "GFF3, GTF, STAR's SJ.out.tab, SAM, BAM or CRAM. A structure gains points for each that it "
        "has. Repeatable.",
    ),
    option(
        "--junction-weight W", type=NumberRange(min=0, max=1000),
        help="With --junctions: an intron that was seen n times gains round(W * log2(1 + n)) "
        "points.  [default: the site model's points of a bit]",
    ),
    option(
        "--splice-scores TSV",
        "Scores of splice sites as minisplice writes them: contig, offset, strand, D or A, and 2 "
        "log2 of the odds.",
    ),
    option(
        "--splice-weight W", type=NumberRange(min=0, max=1000),
        help="With --splice-scores: weight of one bit of these, relative to one bit of the site "
        "model.  [default: 1]",
    ),
    option(
        "--splice-only",
        "With --splice-scores: they replace the site model's own scores, instead of being added.",
    ),
)  # fmt: skip
"""Adds the options of splice evidence to a command; `read_evidence` takes them."""


def taken(values: dict) -> dict:
    """Take the options of evidence out of a command's, None for each that is not given."""
    check_usage(values)
    own = {name: values.pop(name) for name in NAMES}
    return {name: None if value is False or value == () else value for name, value in own.items()}


def check_usage(values: dict) -> None:
    """Refuse weights of evidence that is not given, and standard input, which sequences may be."""
    if STANDARD_STREAM in (*(values["junctions"] or ()), values["splice_scores"]):
        raise click.UsageError("--junctions and --splice-scores are files, not -")
    if values["junction_weight"] is not None and not values["junctions"]:
        raise click.UsageError("--junction-weight needs --junctions")
    for name in ("splice_weight", "splice_only"):
        # a weight of 0 equals False and is given all the same
        if not (values[name] is None or values[name] is False or values["splice_scores"]):
            raise click.UsageError(f"--{name.replace('_', '-')} needs --splice-scores")


def is_given(values: dict) -> bool:
    """Return whether there is evidence among options."""
    return bool(values["junctions"] or values["splice_scores"])


def read_evidence(
    values: dict, records: Iterable[Sequence], elsewhere: Mapping[str, int | None] | None = None
) -> SpliceEvidence | None:
    """Read the evidence on a genome, None without any."""
    if not is_given(values):
        return None
    from gpu_tools.formats.junctions import splice_evidence
    from gpu_tools.model.evidence import EvidenceWeights

    splice = 1.0 if values["splice_weight"] is None else values["splice_weight"]
    weights = EvidenceWeights(values["junction_weight"], splice, bool(values["splice_only"]))
    files = values["junctions"] or (), values["splice_scores"]
    return splice_evidence(records, *files, weights, elsewhere)
