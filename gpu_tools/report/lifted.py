"""The page of an annotation on another genome: where genes lie, what changed, what is lost."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import altair as alt

from gpu_tools.errors import InputError, counted
from gpu_tools.formats.files import open_output, read_lines
from gpu_tools.report.charts import configured, identity_bars, source, whole_axis
from gpu_tools.report.files import address
from gpu_tools.report.findings import count, fraction, one_of, read_checked
from gpu_tools.report.models import COLOURS, GREY, RULE, WRONG, shown
from gpu_tools.report.models import length as size
from gpu_tools.report.page import MOST_ROWS, Card, Column, Table, page_data, page_template
from gpu_tools.report.run_facts import run_facts, run_of

MODELS, TRANSCRIPTS, UNMAPPED, SUMMARY = (
    "lifted.gff3", "lifted.tsv", "unmapped.tsv", "summary.json",
)  # fmt: skip
"""Files in the folder of a lift; the second one must be there."""
INTACT, ODD = "intact", "odd in the annotation"
_OF_LINE = re.compile(r"line [0-9]+ of the annotation: ")
MOST_GENES = 20_000
"""Genes that are drawn."""
_PLACE = ("record", "start", "end", "strand")
_COLUMNS = (
    "gene", "transcript", "copy", *_PLACE, *(f"reference_{name}" for name in _PLACE),
    "coverage", "identity", "status",
)  # fmt: skip
_UNMAPPED_COLUMNS = ("gene", "transcript", *_PLACE, "reason")
_STRAND = one_of("+", "-")
_CHECKS = {
    "copy": count, "start": count, "end": count, "strand": _STRAND, "reference_start": count,
    "reference_end": count, "reference_strand": _STRAND, "coverage": fraction,
    "identity": fraction, "protein_identity": fraction,
}  # fmt: skip
_FILES = ("*.gff3", "*.gtf", "*.tsv", "*.fa", "*.json")
_WIDTH, _TICKS = 700, 12


class LiftedRow(NamedTuple):
    """A gene's place on the new genome: what its transcripts' rows say together."""

    gene: str
    copy: int
    record: str
    start: int  # 1-based
    end: int
    strand: str
    reference_record: str
    reference_start: int
    reference_end: int
    reference_strand: str
    transcripts: int
    coverage: float  # means of the transcripts
    identity: float
    protein_identity: float | None  # least of the transcripts
    status: str  # all that happened to one of them


class LiftFindings(NamedTuple):
    """What a report of a lift shows. Rows are those of tables, the summary may be empty."""

    folder: Path
    genes: list[LiftedRow]
    transcripts: list[dict]
    unmapped: list[dict]
    summary: dict

    @property
    def statuses(self) -> Counter[str]:
        """How many transcripts, copies aside, each thing happened to."""
        own = (row for row in self.transcripts if row["copy"] == "0")
        return Counter(status for row in own for status in _statuses(row))

    @property
    def lost(self) -> set[str]:
        """Genes of which nothing was carried over."""
        return {row["gene"] for row in self.unmapped} - {gene.gene for gene in self.genes}


def is_lift(path: str | os.PathLike) -> bool:
    """Return whether a folder, or that of a file `TRANSCRIPTS`, holds a lift."""
    return (_folder(path) / TRANSCRIPTS).is_file()


def _folder(path: str | os.PathLike) -> Path:
    return Path(path).parent if Path(path).name in (TRANSCRIPTS, MODELS) else Path(path)


def _statuses(row: dict) -> list[str]:
    return [one.strip() for one in (row["status"] or "").split(",") if one.strip()]


def read_lift(path: str | os.PathLike) -> LiftFindings:
    """Read the files of a lift."""
    folder = _folder(path)
    rows = [
        row
        for _, row in read_checked(folder / TRANSCRIPTS, _COLUMNS, ("protein_identity",), _CHECKS)
    ]
    unmapped = []
    if (folder / UNMAPPED).exists():
        unmapped = [row for _, row in read_checked(folder / UNMAPPED, _UNMAPPED_COLUMNS)]
    by_gene: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in rows:
        by_gene[row["gene"], row["copy"]].append(row)
    genes = [_gene(several) for several in by_gene.values()]
    return LiftFindings(folder, genes, rows, unmapped, _summary(folder / SUMMARY))


def _gene(rows: list[dict]) -> LiftedRow:
    first, ends = rows[0], {}
    for prefix in ("", "reference_"):
        ends[prefix] = (
            min(int(row[f"{prefix}start"]) for row in rows),
            max(int(row[f"{prefix}end"]) for row in rows),
        )
    proteins = [float(row["protein_identity"]) for row in rows if row["protein_identity"]]
    happened = dict.fromkeys(status for row in rows for status in _statuses(row))
    changed = [status for status in happened if status != INTACT]
    return LiftedRow(
        first["gene"], int(first["copy"]), first["record"], *ends[""], first["strand"],
        first["reference_record"], *ends["reference_"], first["reference_strand"], len(rows),
        mean(float(row["coverage"]) for row in rows), mean(float(row["identity"]) for row in rows),
        min(proteins) if proteins else None, ", ".join(changed or happened),
    )  # fmt: skip


def _summary(path: Path) -> dict:
    if not path.exists():
        return {}
    try:
        found = json.loads("\n".join(line for _, line in read_lines(path)))
        return found | {"run": run_of(found.get("run", {}))}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            "no summary of a lift", path=path, line=getattr(error, "lineno", None),
            expected="JSON of gpu-tools lift",
        ) from None  # fmt: skip


# Charts


def charts_of_lift(findings: LiftFindings) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw."""
    own = [row for row in findings.transcripts if row["copy"] == "0"]
    lost = findings.lost
    reasons = Counter(_reason(row) for row in findings.unmapped if row["gene"] in lost)
    return configured({
        "synteny": _synteny(findings.genes), "identities": _identities(own),
        "statuses": _bars(findings.statuses, "transcripts"),
        "lost": _bars(reasons, "genes"),
    })  # fmt: skip


def _reason(row: dict) -> str:
    """Return a reason without the place in the annotation that it names, if it does."""
    return ODD if _OF_LINE.match(row["reason"]) else row["reason"]


class _Axis(NamedTuple):
    """Records one after the other: where each begins, and what all are long."""

    begins: dict[str, int]
    length: int

    @classmethod
    def of(cls, ends: Iterable[tuple[str, int]]) -> _Axis:
        """Return records in their order, each as long as its last gene's end."""
        longest: dict[str, int] = {}
        for record, end in ends:
            longest[record] = max(longest.get(record, 0), end)
        begins, at = {}, 0
        for record, length in longest.items():
            begins[record] = at
            at += length
        return cls(begins, at)

    def labels(self, align: str) -> alt.Axis:
        """Return an axis with the names of the longest records at their beginnings."""
        at = [*self.begins.values(), self.length]
        sizes = {name: at[k + 1] - at[k] for k, name in enumerate(self.begins)}
        named = sorted(sizes, key=lambda name: -sizes[name])[:_TICKS]
        names = json.dumps({str(self.begins[name]): name for name in named})
        return alt.Axis(
            values=sorted(self.begins[name] for name in named), labelLimit=120, grid=True,
            labelExpr=f"{names}[datum.value]", labelAlign=align, labelFlush=False,
        )  # fmt: skip


def _synteny(genes: list[LiftedRow]) -> alt.Chart | None:
    """Draw a point a gene: its place in the reference, and on the new genome."""
    if not genes:
        return None
    drawn = genes[:MOST_GENES]
    across = _Axis.of((gene.reference_record, gene.reference_end) for gene in drawn)
    # records of the same names in the same order
    ordered = sorted(drawn, key=lambda gene: [*across.begins, gene.record].index(gene.record))
    up = _Axis.of((gene.record, gene.end) for gene in ordered)
    kinds = {"same strand": COLOURS["candidates"], "other strand": WRONG, "copy": GREY}
    rows = [
        {
            "x": across.begins[gene.reference_record]
            + (gene.reference_start + gene.reference_end) / 2,
            "y": up.begins[gene.record] + (gene.start + gene.end) / 2, "gene": gene.gene,
            "from": _place(gene.reference_record, gene.reference_start, gene.reference_end),
            "to": _place(gene.record, gene.start, gene.end), "kind": _kind(gene),
        }
        for gene in drawn
    ]  # fmt: skip
    return source(rows).mark_circle(size=22, opacity=0.7).encode(
        alt.X("x:Q", title=f"place in the reference ({size(across.length)})",
              axis=across.labels("left"), scale=alt.Scale(domain=[0, across.length], nice=False)),
        alt.Y("y:Q", title=f"place in the new genome ({size(up.length)})", axis=up.labels("right"),
              scale=alt.Scale(domain=[0, up.length], nice=False)),
        color=alt.Color("kind:N", title=None,
                        scale=alt.Scale(domain=[*kinds], range=[*kinds.values()])),
        tooltip=["gene:N", "from:N", "to:N", "kind:N"],
    ).properties(width=_WIDTH - 200, height=_WIDTH - 200)  # fmt: skip


def _place(record: str, start: int, end: int) -> str:
    return f"{record}:{shown(start - 1, end)}"


def _kind(gene: LiftedRow) -> str:
    if gene.copy:
        return "copy"
    return "same strand" if gene.strand == gene.reference_strand else "other strand"


def _identities(rows: list[dict]) -> alt.Chart | None:
    """Draw how many transcripts, and proteins, have which identity."""
    columns = {"nucleotides": "identity", "amino acids": "protein_identity"}
    values = {kind: [float(row[name]) for row in rows if row[name]]
              for kind, name in columns.items()}  # fmt: skip
    return identity_bars(values, "transcripts")


def _bars(counts: Counter[str], what: str) -> alt.LayerChart | None:
    """Draw a bar for each word."""
    if not counts:
        return None
    rows = [{"word": word, "number": n, "text": f"{n:,}"} for word, n in counts.most_common()]
    y = alt.Y("word:N", title=None, sort=[row["word"] for row in rows],
              axis=alt.Axis(labelLimit=360))  # fmt: skip
    x = alt.X("number:Q", title=what, axis=whole_axis(max(counts.values())))
    colour = alt.condition(f"datum.word == '{INTACT}'", alt.value(COLOURS["proteins"]),
                           alt.value(COLOURS["sites"]))  # fmt: skip
    bars = source(rows).mark_bar(stroke=RULE).encode(x, y, color=colour,
                                                     tooltip=["word:N", "number:Q"])  # fmt: skip
    texts = source(rows).mark_text(align="left", dx=4).encode(x, y, text="text:N")
    return alt.layer(bars, texts).properties(width=_WIDTH - 200, height=alt.Step(20))


# The page


_GENE_COLUMNS = (
    Column("gene"), Column("copy", True, optional=True), Column("record"), Column("start", True),
    Column("end", True), Column("strand"), Column("transcripts", True),
    Column("coverage", True, 1, "%"), Column("identity of nucleotides", True, 1, "%"),
    Column("least identity of amino acids", True, 1, "%", optional=True),
    Column("what happened to it"), Column("record in the reference"), Column("start there", True),
    Column("end there", True), Column("strand there"),
)  # fmt: skip
_LOST_COLUMNS = (
    Column("gene"), Column("transcript", optional=True), Column("record", optional=True),
    Column("start", True, optional=True), Column("end", True, optional=True),
    Column("strand", optional=True), Column("reason"),
)  # fmt: skip


def gene_table(findings: LiftFindings) -> Table:
    """Return a row a gene and copy."""
    rows = [
        [gene.gene, gene.copy or None, *gene[2:6], *gene[10:], *gene[6:10]]
        for gene in findings.genes[:MOST_ROWS]
    ]
    return Table(_GENE_COLUMNS, rows, [""] * len(rows), len(findings.genes))


def unmapped_table(findings: LiftFindings) -> Table:
    """Return a row for each gene or transcript that was not carried over."""
    rows = [
        [row["gene"], row["transcript"], row["record"],
         *(int(row[name]) if row[name] else None for name in ("start", "end")),
         row["strand"], row["reason"]]
        for row in (_filled(row) for row in findings.unmapped[:MOST_ROWS])
    ]  # fmt: skip
    return Table(_LOST_COLUMNS, rows, [""] * len(rows), len(findings.unmapped))


def _filled(row: dict) -> dict:
    return {name: None if value == "." else value for name, value in row.items()}


def lift_cards(findings: LiftFindings) -> list[Card]:
    """Return the numbers of the first page."""
    own = [gene for gene in findings.genes if not gene.copy]
    rows = [row for row in findings.transcripts if row["copy"] == "0"]
    copies = len(findings.genes) - len(own)
    cards = [
        Card(f"{len(own):,} of {len(own) + len(findings.lost):,}", "genes carried over",
             f"and {counted(copies, 'further copy', 'further copies')}" if copies else ""),
        Card(f"{findings.statuses[INTACT]:,} of {len(rows):,}", "transcripts are intact"),
    ]  # fmt: skip
    for name, what in (("identity", "of nucleotides"), ("protein_identity", "of amino acids")):
        values = [float(row[name]) for row in rows if row[name]]
        if values:
            cards.append(Card(f"{100 * median(values):.1f} %", "median identity", what))
    turned = sum(gene.strand != gene.reference_strand for gene in own)
    if turned:
        cards.append(Card(f"{turned:,}", "genes lie on the other strand"))
    return cards


def write_lift_page(path: str | Path, title: str, findings: LiftFindings) -> None:
    """Write the page of a lift."""
    tables = {"genes": gene_table(findings), "unmapped": unmapped_table(findings)}
    files = sorted(file for kind in _FILES for file in findings.folder.glob(kind))
    content = page_data(charts_of_lift(findings), tables) | {
        "title": title, "cards": lift_cards(findings), "source": findings.folder,
        "run": run_facts(findings.folder / TRANSCRIPTS, findings.summary),
        "n_lost": len(findings.lost),
        "files": [(file.name, address(file, Path(path))) for file in files],
    }  # fmt: skip
    text = page_template("lifted.html").render(content)
    with open_output(path) as stream:
        stream.write(text)
