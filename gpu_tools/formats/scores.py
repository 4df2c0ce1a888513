"""The table of spliced alignments, scores.tsv, as rows and as alignments without their columns."""

from __future__ import annotations

import os
from typing import NamedTuple

from gpu_tools.errors import InputError
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.tables import MISSING
from gpu_tools.model.locus import Locus
from gpu_tools.model.results import SplicedAlignment

_NEEDED = {"base", "target", "strand", "score", "base_length", "target_length", "chain",
           "evalue", "accepted"}  # fmt: skip


class ScoredRow(NamedTuple):
    """A row of the table: its texts by column, and its alignment without CIGAR.

    The alignment's base is the record that positions are of, which a sheet of cases may call by
    another name.
    """

    fields: dict[str, str]
    alignment: SplicedAlignment


def read_scores(path: str | os.PathLike) -> tuple[list[str], list[ScoredRow]]:
    """Read a table of scores."""
    lines = read_lines(path)
    columns = next((line.split("\t") for _, line in lines), [])
    if not set(columns) >= _NEEDED:
        raise InputError(
            "no table of scores", path=path, line=1,
            expected=f"columns {', '.join(sorted(_NEEDED))}",
        )  # fmt: skip
    rows = []
    for number, line in lines:
        try:
            fields = dict(zip(columns, line.split("\t"), strict=True))
            rows.append(ScoredRow(fields, _alignment_of(fields)))
        except ValueError:
            raise InputError(
                "a broken row", path=path, line=number, expected="a row of spliced-align"
            ) from None
    return columns, rows


def _alignment_of(fields: dict[str, str]) -> SplicedAlignment:
    names = _record_of(fields), fields["target"]
    lengths = int(fields["base_length"]), int(fields["target_length"])
    if fields["chain"] == MISSING:
        return SplicedAlignment(*names, *lengths)
    evalue = None if fields["evalue"] == MISSING else float(fields["evalue"])
    score, strand = int(fields["score"]), fields["strand"]
    if strand not in ("+", "-") or (evalue is not None and not evalue >= 0):
        raise ValueError(f"strand {strand}, E-value {evalue}")
    chain = _chain_of(fields["chain"], lengths[0])
    return SplicedAlignment(*names, *lengths, strand, score, chain=chain, evalue=evalue)


def _chain_of(text: str, base_length: int) -> tuple[tuple[int, int], ...]:
    """Return the exons as 0-based half-open intervals."""
    pairs = (exon.split("-") for exon in text.split(","))
    chain = tuple((int(start) - 1, int(end)) for start, end in pairs)
    if not all(0 <= start < end <= base_length for start, end in chain):
        raise ValueError(f"not within {base_length} nucleotides: {text}")
    return chain


def _record_of(fields: dict[str, str]) -> str:
    """Return the record's name: that of the column ``locus`` of the workflow, or the base's."""
    if "locus" not in fields:
        return fields["base"]
    locus = Locus.parse(fields["locus"])
    if locus is None:
        raise ValueError(f"no locus: {fields['locus']}")
    return locus.record
