"""A gene set: the files that ``gpu-tools annotate`` writes, and how complete it is."""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from gpu_tools.errors import InputError, did_you_mean
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.tables import Location, fields_of
from gpu_tools.model.locus import Locus
from gpu_tools.report.findings import count, fraction, one_of, read_checked
from gpu_tools.report.run_facts import run_of
from gpu_tools.report.transcripts import GeneStructures, GeneTranscript, read_structures

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
    "coverage": fraction, "accepted": one_of("yes", "part", "no"), "frameshifts": count,
    "inner_stops": count, "min_confidence": count, "seen_introns": count,
}  # fmt: skip
_FIGURES = ("gene", "record", "strand", "start", "end", "score", "evalue", "identity", "coverage",
            "accepted", "frameshifts", "inner_stops", "min_confidence", "seen_introns",
            "description")  # fmt: skip
BROKEN = "broken_mrnas", "pseudogenes", "dropped_hits"
"""Figures of the summary, which older ones lack."""
COMPLETE = 0.9
"""Part of a conserved target that is aligned if its gene is complete."""
STATES = ("complete, single", "complete, several", "fragment", "missing")


class GeneSetFindings(NamedTuple):
    """What a report of a gene set shows.

    Genes and targets are rows of their tables, texts by column, None where missing. The summary is
    empty without its file; `conserved` counts the families of a conserved set in each of `STATES`.
    """

    folder: Path
    structures: GeneStructures
    genes: list[dict]
    targets: list[dict]
    summary: dict
    conserved: dict[str, int] | None

    @property
    def found(self) -> list[dict]:
        """The rows of targets that were found."""
        return [row for row in self.targets if row["found"] == "yes"]

    @property
    def best(self) -> list[GeneTranscript]:
        """The best structure of each gene."""
        return [transcripts[0] for transcripts in self.structures.transcripts.values()]

    @property
    def exon_lengths(self) -> list[int]:
        """Lengths of the exons of the best structures."""
        return [end - start for one in self.best for start, end in one.exons]

    @property
    def intron_lengths(self) -> list[int]:
        """Lengths of the introns of the best structures."""
        return [end - start for one in self.best for start, end in one.introns]

    @property
    def searched(self) -> list[Locus]:
        """What was searched: records, or parts of them, as far as the summary says so."""
        lengths = self.structures.record_lengths
        parts = [Locus.parse(name) for name in self.summary.get("parts", ())]
        partial = {part.record for part in parts}
        whole = [Locus.whole(*each) for each in lengths.items() if each[0] not in partial]
        return whole + parts


def is_gene_set(path: str | os.PathLike) -> bool:
    """Return whether a folder, or that of a file `MODELS`, holds a gene set and no scores."""
    folder = _folder(path)
    here = [(folder / name).is_file() for name in (MODELS, TARGETS, "scores.tsv")]
    return here == [True, True, False]


def _folder(path: str | os.PathLike) -> Path:
    return Path(path).parent if Path(path).name == MODELS else Path(path)


def read_gene_set(path: str | os.PathLike, conserved: str | os.PathLike | None = None):
    """Read a gene set."""
    folder, genes = _folder(path), []
    structures = read_structures(folder / MODELS)
    if (folder / GENES).exists():
        genes = _rows(folder / GENES, _GENE_COLUMNS, _GENE_CHECKS)
    targets = _rows(folder / TARGETS, _TARGET_COLUMNS, _TARGET_CHECKS)
    return GeneSetFindings(
        folder, structures, genes, targets, _read_summary(folder / SUMMARY),
        completeness(_read_families(conserved, targets), targets) if conserved else None,
    )  # fmt: skip


def _rows(path: Path, required: tuple[str, ...], checks: dict) -> list[dict]:
    """Return the rows of a table, whose first column differs between them."""
    more = tuple(name for name in _FIGURES if name not in required)
    checked = read_checked(path, required, more, checks | _FIGURE_CHECKS, required[:1])
    return [row for _, row in checked]


def _read_summary(path: Path) -> dict:
    if not path.exists():
        return {}
    try:
        found = json.loads("\n".join(line for _, line in read_lines(path)))
        broken = (found.get(name, 0) for name in (*BROKEN, "searched"))
        counts = found["complete"], *found["introns"].values(), *broken
        parts = map(Locus.parse, found.get("parts", ()))
        if all(type(n) is int and n >= 0 for n in counts) and None not in parts:
            return found | {"run": run_of(found.get("run", {}))}
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

    A family is complete if `COMPLETE` of one of its targets are aligned, and a fragment if less,
    whether that makes a gene or not.
    It has several genes if that target has several loci.
    """
    rows = {row["target"]: row for row in targets}
    states = Counter(dict.fromkeys(STATES, 0))
    for names in families.values():
        states[STATES[min(_state(rows[name]) for name in names)]] += 1
    return dict(states)


def _state(row: dict) -> int:
    if row["found"] != "yes":
        return 2 if row.get("accepted") == "part" else 3
    if float(row["coverage"] or 0) < COMPLETE:
        return 2
    return 0 if row["loci"] == "1" else 1
