"""What a report of a gene set is made of: the files that ``gpu-tools annotate`` writes."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.fields import Location, fields_of
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.merge import GFF3_VERSION, sequence_region
from gpu_tools.report.checked import count, fraction, one_of, read_checked

MODELS, GENES, TARGETS, SUMMARY = "genes.gff3", "genes.tsv", "targets.tsv", "summary.json"
"""Files in the folder of a gene set; the first and the third one must be there."""
_GENE_COLUMNS = ("gene", "record", "strand", "start", "end", "mrnas", "exons", "best_target")
_TARGET_COLUMNS = ("target", "kind", "length", "found", "loci")
_GENE_CHECKS = {
    "strand": one_of("+", "-"), "start": count, "end": count, "mrnas": count, "exons": count,
}  # fmt: skip
_TARGET_CHECKS = {"length": count, "found": one_of("yes", "no"), "loci": count}
_FIGURE_CHECKS = {
    "score": Location.integer, "evalue": Location.number, "identity": fraction,
    "coverage": fraction,
}  # fmt: skip
_FIGURES = ("gene", "record", "strand", "start", "end", "score", "evalue", "identity", "coverage")
COMPLETE = 0.9
"""Part of a conserved target that is aligned if its gene is complete."""
STATES = ("complete, single", "complete, several", "fragment", "missing")


class GeneSetFindings(NamedTuple):
    """What a report of a gene set shows.

    Attributes
    ----------
    folder : Path
    record_lengths : dict of str to int
        Nucleotides of each record.
    genes, targets : list of dict
        Rows of the tables of genes and of targets, texts by column, None where missing.
    exon_lengths, intron_lengths : list of int
        Of the best structure of each gene.
    summary : dict
        Figures of the gene set, empty without that file.
    conserved : dict of str to int, or None
        How many families of a conserved set are in each of `STATES`.
    """

    folder: Path
    record_lengths: dict[str, int]
    genes: list[dict]
    targets: list[dict]
    exon_lengths: list[int]
    intron_lengths: list[int]
    summary: dict
    conserved: dict[str, int] | None

    @property
    def found(self) -> list[dict]:
        """The rows of targets that were found."""
        return [row for row in self.targets if row["found"] == "yes"]


def is_gene_set(path: str | os.PathLike) -> bool:
    """Tell whether a folder, or that of a file `MODELS`, holds a gene set and no scores."""
    folder = _folder(path)
    here = [(folder / name).is_file() for name in (MODELS, TARGETS, "scores.tsv")]
    return here == [True, True, False]


def _folder(path: str | os.PathLike) -> Path:
    return Path(path).parent if Path(path).name == MODELS else Path(path)


def read_gene_set(path: str | os.PathLike, conserved: str | os.PathLike | None = None):
    """Read a gene set.

    Parameters
    ----------
    path : path-like
        Folder of the files, under the names `MODELS`, `GENES`, `TARGETS` and `SUMMARY`; or the
        first of them.
    conserved : path-like, optional
        Names of targets, one a line, or families and targets, separated by a tab.

    Returns
    -------
    GeneSetFindings

    Raises
    ------
    InputError
        If a file is no such file, or a name of the conserved set is no target.
    """
    folder = _folder(path)
    lengths, exons = _read_models(folder / MODELS)
    genes = []
    if (folder / GENES).exists():
        genes = _rows(folder / GENES, _GENE_COLUMNS, _GENE_CHECKS)
    targets = _rows(folder / TARGETS, _TARGET_COLUMNS, _TARGET_CHECKS)
    introns = [b[0] - a[1] for chain in exons for a, b in pairwise(chain)]
    return GeneSetFindings(
        folder, lengths, genes, targets, [end - start for chain in exons for start, end in chain],
        introns, _read_summary(folder / SUMMARY),
        completeness(_read_families(conserved, targets), targets) if conserved else None,
    )  # fmt: skip


def _rows(path: Path, required: tuple[str, ...], checks: dict) -> list[dict]:
    """Return the rows of a table, whose first column differs between them."""
    more = tuple(name for name in _FIGURES if name not in required)
    checked = read_checked(path, required, more, checks | _FIGURE_CHECKS, required[:1])
    return [row for _, row in checked]


def _read_models(path: Path) -> tuple[dict[str, int], list[list[tuple[int, int]]]]:
    """Return the lengths of records, and the exons of each gene's best structure by position."""
    lines = list(read_lines(path))
    if not lines or lines[0][1].split() != GFF3_VERSION.split():
        raise InputError("no GFF3", path=path, line=1, expected=repr(GFF3_VERSION))
    regions = [
        sequence_region(path, number, line)
        for number, line in lines if line.startswith("##sequence-region")
    ]  # fmt: skip
    lengths = {unquote(name): end for name, end in regions}
    exons = defaultdict(list)
    for feature in features(path, lines):
        parent = feature.attribute("Parent") or ""
        if feature.type == "exon" and parent.endswith(".1"):
            exons[parent].append(feature.interval)
    return lengths, [sorted(chain) for chain in exons.values()]


def _read_summary(path: Path) -> dict:
    if not path.exists():
        return {}
    try:
        found = json.loads("\n".join(line for _, line in read_lines(path)))
        if all(type(n) is int and n >= 0 for n in (found["complete"], *found["introns"].values())):
            return found
        line = None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
    raise InputError(
        "no summary of a gene set", path=path, line=line,
        expected="JSON of annotate, with counts complete and introns",
    )  # fmt: skip


def _read_families(path: str | os.PathLike, targets: list[dict]) -> dict[str, list[str]]:
    """Return names of targets by family; a name alone is a family of its own."""
    families, known = defaultdict(list), {row["target"] for row in targets}
    for number, line in read_lines(path):
        words = fields_of(line, 1)
        if len(words) > 2:
            raise InputError(
                f"{len(words)} fields", path=path, line=number, expected="a target, or its family "
                "and the target",
            )  # fmt: skip
        if not line.strip() or line.startswith("#"):
            continue
        if words[-1] not in known:
            raise InputError(
                f"{words[-1]} is no target{did_you_mean(words[-1], known)}", path=path,
                line=number, expected=f"names in {TARGETS}",
            )  # fmt: skip
        families[words[0]].append(words[-1])
    if not families:
        raise InputError("no name of a target", path=path, expected=f"names in {TARGETS}")
    return families


def completeness(families: dict[str, list[str]], targets: list[dict]) -> dict[str, int]:
    """Return how many families of a conserved set are in each of `STATES`.

    A family is complete if `COMPLETE` of one of its targets are aligned, and a fragment if less.
    It has several genes if that target has several loci.

    Parameters
    ----------
    families : dict of str to list of str
        Names of targets by family.
    targets : list of dict
        Rows of the table of targets.
    """
    rows = {row["target"]: row for row in targets}
    states = Counter(dict.fromkeys(STATES, 0))
    for names in families.values():
        states[STATES[min(_state(rows[name]) for name in names)]] += 1
    return dict(states)


def _state(row: dict) -> int:
    if row["found"] != "yes":
        return 3
    if float(row["coverage"] or 0) < COMPLETE:
        return 2
    return 0 if row["loci"] == "1" else 1
