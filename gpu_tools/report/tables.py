"""Tables of the page: columns with their kinds, and rows of texts and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from gpu_tools.formats.scores import ScoredRow
from gpu_tools.report.findings import Findings, is_accepted, method_of
from gpu_tools.report.loci import DrawnLocus, rank
from gpu_tools.report.parallelism import SECONDS, Parallelism

MOST_ROWS = 20_000
Value = str | float | int | None


class Column(NamedTuple):
    """A column: its title, whether it holds numbers, and how many decimals of them are shown.

    `unit` is ``%`` for fractions; `decimals` None is for numbers as they are, such as E-values.
    """

    title: str
    numeric: bool = False
    decimals: int | None = 0
    unit: str = ""


class Table(NamedTuple):
    """A table of the page.

    Attributes
    ----------
    columns : sequence of Column
    rows : list of list
        A value a column.
    links : list of str
        Part of the page that each row links to, empty for none.
    total : int
        Rows there are; fewer may be listed.
    """

    columns: Sequence[Column]
    rows: list[list[Value]]
    links: list[str]
    total: int

    @property
    def content(self) -> dict:
        """What the page's script reads."""
        return {
            "columns": [column._asdict() for column in self.columns],
            "rows": self.rows, "links": self.links, "total": self.total,
        }  # fmt: skip


_OF_CHAIN = (
    Column("target"), Column("method"), Column("strand"), Column("start", True),
    Column("end", True), Column("exons", True), Column("score", True),
    Column("identity", True, 1, "%"), Column("coverage", True, 1, "%"),
    Column("E-value", True, None),
)  # fmt: skip
CASE_COLUMNS = (Column("locus"), *_OF_CHAIN, Column("accepted"), Column("chain"))
"""Columns of the table of all cases, and of a locus's chains."""


def _of_chain(row: ScoredRow) -> list[Value]:
    chain = row.alignment.chain
    start = min((s for s, _ in chain), default=None)
    return [
        row.alignment.target, method_of(row), row.alignment.strand,
        None if start is None else start + 1, max((e for _, e in chain), default=None),
        len(chain) or None, row.alignment.score, _number(row.fields.get("identity")),
        _number(row.fields.get("coverage")), row.alignment.evalue,
    ]  # fmt: skip


def _number(text: str | None) -> float | None:
    return None if text in (None, ".") else float(text)


def loci_table(loci: list[DrawnLocus]) -> Table:
    """Return a row a locus and method: its best chain there.

    Parameters
    ----------
    loci : list of DrawnLocus

    Returns
    -------
    Table
        Accepted chains alone.
    """
    found = [
        (locus, min(rows, key=rank), len(rows))
        for locus in loci
        if locus.accepted
        for rows in _by(locus.rows, method_of).values()
    ]
    columns = (Column("locus"), *_OF_CHAIN, Column("targets", True), Column("record"))
    rows = [[locus.name, *_of_chain(row), n, locus.record] for locus, row, n in found]
    return Table(columns, rows, [f"locus/{locus.name}" for locus, *_ in found], len(rows))


def _by(rows: Iterable[ScoredRow], key: Callable) -> dict[str, list[ScoredRow]]:
    groups: dict[str, list[ScoredRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def targets_table(findings: Findings, link: Callable[[ScoredRow], str]) -> Table:
    """Return a row a target: at how many loci it was accepted, and its best chain.

    Parameters
    ----------
    findings : Findings
    link : callable
        Names the part of the page for a row of scores.

    Returns
    -------
    Table
        In the order of the table of scores.
    """
    columns = (
        Column("target"), Column("length", True), Column("tried on", True),
        Column("accepted", True), Column("best locus"), *_OF_CHAIN[1:],
    )  # fmt: skip
    rows, links = [], []
    for target, found in _by(findings.rows, lambda row: row.alignment.target).items():
        chains = [row for row in found if row.alignment.chain]
        best = min(chains or found, key=lambda row: (not is_accepted(row), *rank(row)))
        bases = {row.fields["base"] for row in found}
        accepted = {row.fields["base"] for row in found if is_accepted(row)}
        rows.append([target, best.alignment.target_length, len(bases), len(accepted),
                     best.fields["base"], *_of_chain(best)[1:]])  # fmt: skip
        links.append(link(best))
    return Table(columns, rows[:MOST_ROWS], links[:MOST_ROWS], len(rows))


def cases_table(findings: Findings, link: Callable[[ScoredRow], str]) -> Table:
    """Return a row a case and method, as the table of scores has them.

    Parameters
    ----------
    findings : Findings
    link : callable
        Names the part of the page for a row of scores.

    Returns
    -------
    Table
        Of more than `MOST_ROWS` rows those of accepted chains, then others.
    """
    rows = findings.rows
    if len(rows) > MOST_ROWS:
        rows = sorted(rows, key=lambda row: not is_accepted(row))[:MOST_ROWS]
    values = [
        [row.fields["base"], *_of_chain(row), row.fields["accepted"],
         row.fields["chain"].replace(",", ", ")]
        for row in rows
    ]  # fmt: skip
    return Table(CASE_COLUMNS, values, [link(row) for row in rows], len(findings.rows))


def accuracy_table(findings: Findings) -> Table:
    """Return the table of accuracy, all loci together first.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    Table
    """
    columns = (
        Column("locus"), Column("method"), Column("exons"), Column("level"),
        Column("annotated", True), Column("predicted", True), Column("true", True),
        Column("sensitivity", True, 1, "%"), Column("precision", True, 1, "%"),
        Column("F1", True, 1, "%"),
    )  # fmt: skip
    ordered = sorted(findings.accuracy, key=lambda row: row["base"] is not None)
    counts, ratios = ("annotated", "predicted", "true"), ("sensitivity", "precision", "f1")
    rows = [
        [row["base"] or "all", row["method"], row["exons"], row["level"],
         *(int(row[name]) for name in counts), *(_number(row[name]) for name in ratios)]
        for row in ordered
    ]  # fmt: skip
    return Table(columns, rows, [""] * len(rows), len(rows))


def jobs_table(findings: Findings) -> Table:
    """Return a row an alignment job of the workflow.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    Table
    """
    columns = (
        Column("rule"), Column("batch"), Column("device"), Column("cases", True),
        Column("billion cells", True, 2),
        Column("seconds", True, 1), Column("billion cells a second", True, 2),
        Column("estimated (s)", True, 2), Column("memory (MiB)", True),
    )  # fmt: skip
    rows = [
        [job.rule, job.batch, job.device, job.cases, job.cells / 1e9, job.seconds,
         job.cells / 1e9 / job.seconds if job.seconds else None, job.estimated, job.mebibytes]
        for job in findings.jobs
    ]  # fmt: skip
    return Table(columns, rows, [""] * len(rows), len(rows))


def parallelism_table(found: Parallelism) -> Table:
    """Return a row a case: its candidates, what can run side by side, and how long it takes.

    Parameters
    ----------
    found : Parallelism

    Returns
    -------
    Table
    """
    columns = (
        Column("locus"), Column("target"), Column("candidates", True),
        Column("million cells", True, 2), Column("computed", True, 0, "%"), Column("groups", True),
        Column("largest group", True), Column("longest chain", True),
        Column("million cells, sites", True, 2),
        *(Column(f"{mode}, {kind} (ms)", True, 2)
          for mode in ("candidates", "sites") for kind in ("CPU", "GPU")),
    )  # fmt: skip
    rows = [
        [case.base, case.target, *_numbers_of(case.numbers)] for case in found.cases[:MOST_ROWS]
    ]
    return Table(columns, rows, [""] * len(rows), len(found.cases))


def _numbers_of(own: dict[str, float]) -> list[float | None]:
    cells = own["cells"]
    return [
        own["n_exons"], cells / 1e6, own["computed_cells"] / cells if cells else None,
        own["groups"], own["largest_group"], own["longest_chain"], own["site_cells"] / 1e6,
        *(1e3 * own[name] if name.startswith("site") or cells else None for name in SECONDS),
    ]  # fmt: skip
