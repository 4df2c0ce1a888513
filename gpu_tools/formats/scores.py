"""The table of spliced alignments, scores.tsv, as rows and as alignments without their columns."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.files import open_output, read_lines
from gpu_tools.formats.tables import MISSING
from gpu_tools.model.results import SplicedAlignment

_NEEDED = {"base", "target", "strand", "score", "base_length", "target_length", "chain",
           "evalue", "accepted"}  # fmt: skip
_ATTRIBUTES, _FIELDS = 8, 9


class ScoredRow(NamedTuple):
    """A row of the table.

    Attributes
    ----------
    fields : dict of str to str
        Texts by column.
    alignment : SplicedAlignment
        Names, lengths, strand, score, chain and E-value of it; no CIGAR.
    """

    fields: dict[str, str]
    alignment: SplicedAlignment


def read_scores(path: str | os.PathLike) -> tuple[list[str], list[ScoredRow]]:
    """Read a table of scores.

    Parameters
    ----------
    path : str or PathLike
        A table of ``spliced-align``, or of the workflow with its column ``method``.

    Returns
    -------
    (list of str, list of ScoredRow)
        Columns and rows, in the file's order.

    Raises
    ------
    InputError
        If a column is missing or a row is broken.
    """
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
    names = fields["base"], fields["target"]
    lengths = int(fields["base_length"]), int(fields["target_length"])
    if fields["chain"] == MISSING:
        return SplicedAlignment(*names, *lengths)
    pairs = (exon.split("-") for exon in fields["chain"].split(","))
    chain = tuple((int(start) - 1, int(end)) for start, end in pairs)
    evalue = None if fields["evalue"] == MISSING else float(fields["evalue"])
    score = int(fields["score"])
    return SplicedAlignment(*names, *lengths, fields["strand"], score, chain=chain, evalue=evalue)


def select_models(
    path: str | os.PathLike, output: str | os.PathLike, chosen: Callable[[str, str], bool]
) -> None:
    """Write the gene models of a GFF3 file that are chosen, with their parts and all directives.

    Parameters
    ----------
    path, output : str or PathLike
        A file that ``spliced-align`` or the workflow wrote, and the one to write.
    chosen : callable
        Receives the names of base sequence and target of a feature ``mRNA``.
    """
    lines = [line for _, line in read_lines(path)]
    features = [(line, line.split("\t")) for line in lines]
    models, genes = set(), set()
    for _, fields in features:
        if len(fields) == _FIELDS and fields[2] == "mRNA":
            values = _attributes(fields)
            if chosen(unquote(fields[0]), unquote(values.get("Name", ""))):
                models.add(values.get("ID"))
                genes.add(values.get("Parent"))
    with open_output(output) as stream:
        for line, fields in features:
            values = _attributes(fields) if len(fields) == _FIELDS else {}
            own, parent = values.get("ID", ""), values.get("Parent", "")
            if not values or own in models | genes or parent in models:
                stream.write(f"{line}\n")


def _attributes(fields: list[str]) -> dict[str, str]:
    parts = (attribute.partition("=") for attribute in fields[_ATTRIBUTES].split(";"))
    return {key: value for key, _, value in parts}
