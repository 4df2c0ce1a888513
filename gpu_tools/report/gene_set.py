"""The report of a gene set: the files that ``gpu-tools annotate`` writes, charts, and the page."""

from __future__ import annotations

import json
import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import altair as alt

from gpu_tools.errors import InputError, counted, did_you_mean
from gpu_tools.formats.batch import GFF3_VERSION, sequence_region
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.files import open_output, read_lines
from gpu_tools.formats.tables import Location, fields_of
from gpu_tools.report.charts import WHOLE, configured, source
from gpu_tools.report.files import address
from gpu_tools.report.findings import count, fraction, one_of, read_checked
from gpu_tools.report.models import COLOURS, GREY, RULE, WRONG
from gpu_tools.report.page import MOST_ROWS, Card, Column, Table, page_data, page_template

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
    "coverage": fraction, "accepted": one_of("yes", "part", "no"), "min_confidence": count,
}  # fmt: skip
_FIGURES = ("gene", "record", "strand", "start", "end", "score", "evalue", "identity", "coverage",
            "accepted", "min_confidence")  # fmt: skip
_BROKEN = "broken_mrnas", "pseudogenes", "dropped_hits"
"""Figures of the summary, which older ones lack."""
COMPLETE = 0.9
"""Part of a conserved target that is aligned if its gene is complete."""
STATES = ("complete, single", "complete, several", "fragment", "missing")


class GeneSetFindings(NamedTuple):
    """What a report of a gene set shows.

    Genes and targets are rows of their tables, texts by column, None where missing. Lengths of
    exons and introns are those of the best structure of each gene. The summary is empty without
    its file; `conserved` counts the families of a conserved set in each of `STATES`.
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
    """Return whether a folder, or that of a file `MODELS`, holds a gene set and no scores."""
    folder = _folder(path)
    here = [(folder / name).is_file() for name in (MODELS, TARGETS, "scores.tsv")]
    return here == [True, True, False]


def _folder(path: str | os.PathLike) -> Path:
    return Path(path).parent if Path(path).name == MODELS else Path(path)


def read_gene_set(path: str | os.PathLike, conserved: str | os.PathLike | None = None):
    """Read a gene set."""
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
        broken = (found.get(name, 0) for name in _BROKEN)
        counts = found["complete"], *found["introns"].values(), *broken
        if all(type(n) is int and n >= 0 for n in counts):
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


# Charts


MOST_RECORDS = 40
"""Records that are drawn, the longest ones."""
MOST_GENES = 20_000
MOST_SITES = 12
"""Pairs of dinucleotides that are drawn, the most frequent ones."""
_WIDTH, _BIN, _BINS_OF_TEN = 700, 5, 8
_STRANDS = {"+": COLOURS["candidates"], "-": COLOURS["sites"]}


def charts_of(findings: GeneSetFindings) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw."""
    return configured({
        "genes": _genes(findings), "targets_by_identity": _targets(findings),
        "intron_sites": _introns(findings.summary.get("introns", {})),
        "lengths": _lengths(findings), "conserved": _conserved(findings.conserved),
    })  # fmt: skip


def _genes(findings: GeneSetFindings) -> alt.LayerChart | None:
    """Draw a line a record, and a tick a gene above or below it by strand."""
    longest = sorted(findings.record_lengths, key=lambda r: -findings.record_lengths[r])
    shown = {record: k for k, record in enumerate(longest[:MOST_RECORDS])}
    genes = [
        {
            "record": row["record"], "strand": row["strand"], "gene": row["gene"],
            "at": (int(row["start"]) + int(row["end"])) / 2e6, "target": row["best_target"],
        }
        for row in findings.genes[:MOST_GENES] if row["record"] in shown
    ]  # fmt: skip
    if not genes:
        return None
    lines = [{"record": r, "from": 0, "to": findings.record_lengths[r] / 1e6} for r in shown]
    y = alt.Y("record:N", sort=list(shown), title=None, scale=alt.Scale(padding=0.4))
    axis = alt.X("at:Q", title="position (Mb)", scale=alt.Scale(nice=False))
    record = source(lines).mark_rule(color=RULE, strokeWidth=2)
    ticks = source(genes).mark_tick(thickness=1, size=9, opacity=0.7).encode(
        axis, y, tooltip=["gene:N", "target:N", "strand:N"],
        yOffset=alt.YOffset("strand:N", sort=["+", "-"]),
        color=alt.Color(
            "strand:N", title="strand",
            scale=alt.Scale(domain=list(_STRANDS), range=list(_STRANDS.values())),
        ),
    )  # fmt: skip
    whole = record.encode(alt.X("from:Q", title="position (Mb)"), y, x2="to:Q")
    return alt.layer(whole, ticks).properties(width=_WIDTH, height=28 * len(shown))


def _targets(findings: GeneSetFindings) -> alt.Chart | None:
    """Draw how many targets were found by the identity of their best hits."""
    counts = Counter(
        min(int(100 * float(row["identity"])) // _BIN * _BIN, 100 - _BIN)
        for row in findings.found if row["identity"]
    )  # fmt: skip
    if not counts:
        return None
    rows = [
        {"from": low, "to": low + _BIN, "targets": n, "identity": f"{low} to {low + _BIN} %"}
        for low, n in sorted(counts.items())
    ]
    percent = alt.X(
        "from:Q", bin="binned", title="identity of the best hit (%)", axis=WHOLE,
        scale=alt.Scale(domain=[0, 100]),
    )  # fmt: skip
    return source(rows).mark_bar(color=COLOURS["proteins"]).encode(
        percent, alt.X2("to:Q"), alt.Y("targets:Q", title="targets found", axis=WHOLE),
        tooltip=["identity:N", "targets:Q"],
    ).properties(width=_WIDTH, height=180)  # fmt: skip


def _introns(counts: dict[str, int]) -> alt.LayerChart | None:
    """Draw how many introns begin and end with which dinucleotides, the rarest ones as one."""
    if not counts:
        return None
    shown = dict(list(counts.items())[:MOST_SITES])
    if rest := sum(counts.values()) - sum(shown.values()):
        shown[f"{len(counts) - MOST_SITES} others"] = rest
    total = sum(counts.values())
    rows = [
        {"sites": sites, "introns": n, "text": f"{n:,} ({100 * n / total:.3g} %)"}
        for sites, n in shown.items()
    ]
    y = alt.Y("sites:N", title="donor and acceptor", sort=list(shown))
    bars = source(rows).mark_bar(color=COLOURS["candidates"]).encode(
        alt.X("introns:Q", title="introns", axis=WHOLE), y, tooltip=["sites:N", "introns:Q"]
    )  # fmt: skip
    texts = source(rows).mark_text(align="left", dx=4).encode(
        alt.X("introns:Q"), y, text="text:N"
    )  # fmt: skip
    return alt.layer(bars, texts).properties(width=_WIDTH - 100, height=alt.Step(20))


def _lengths(findings: GeneSetFindings) -> alt.Chart | None:
    """Draw how long exons and introns are, in bins of equal ratios."""
    groups = {"exons": findings.exon_lengths, "introns": findings.intron_lengths}
    rows = [row for kind, lengths in groups.items() for row in _outline(kind, lengths)]
    if not rows:
        return None
    colours = [COLOURS["candidates"], GREY]
    return source(rows).mark_line(strokeWidth=2).encode(
        alt.X("length:Q", title="length (nt, logarithmic axis)",
              scale=alt.Scale(type="log", nice=False)),
        alt.Y("number:Q", title="number of exons, introns", axis=WHOLE),
        order="order:Q",
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=[*groups], range=colours)),
        tooltip=["kind:N", "lengths:N", "number:Q"],
    ).properties(width=_WIDTH, height=180)  # fmt: skip


def _outline(kind: str, lengths: Iterable[int]) -> list[dict]:
    """Return the corners of a histogram of lengths, from its foot at the left to the right one."""
    counts = Counter(math.floor(_BINS_OF_TEN * math.log10(max(n, 1))) for n in lengths)
    if not counts:
        return []
    bins, corners = range(min(counts), max(counts) + 1), []
    for k in bins:
        low, high = (10 ** (edge / _BINS_OF_TEN) for edge in (k, k + 1))
        text = f"{math.ceil(low):,} to {math.ceil(high) - 1:,}"
        corners += [(low, counts[k], text), (high, counts[k], text)]
    (first, _, begin), (last, _, end) = corners[0], corners[-1]
    corners = [(first, 0, begin), *corners, (last, 0, end)]
    return [
        {"kind": kind, "length": round(length, 1), "number": n, "lengths": text, "order": order}
        for order, (length, n, text) in enumerate(corners)
    ]


def _conserved(counts: dict[str, int] | None) -> alt.Chart | None:
    """Draw what part of a conserved set is complete, in fragments, or missing."""
    if not counts or not sum(counts.values()):
        return None
    rows = [
        {"state": state, "families": counts[state], "order": k} for k, state in enumerate(STATES)
    ]
    colours = [COLOURS["proteins"], COLOURS["candidates"], COLOURS["sites"], WRONG]
    return source(rows).mark_bar().encode(
        alt.X("families:Q", title="families", stack="zero", axis=WHOLE),
        alt.Order("order:Q"),
        color=alt.Color("state:N", title=None, scale=alt.Scale(domain=[*STATES], range=colours)),
        tooltip=["state:N", "families:Q"],
    ).properties(width=_WIDTH, height=40)  # fmt: skip


# The page


_NUMBERS = {
    "length": 0, "loci": 0, "start": 0, "end": 0, "mrnas": 0, "exons": 0, "score": 0,
    "evalue": None, "identity": 1, "coverage": 1, "min_confidence": 0,
}  # fmt: skip
"""Decimals of the columns that hold numbers."""
_FRACTIONS = ("identity", "coverage")
_FILES = ("*.gff3", "*.tsv", "*.fa", "*.json")


def write_gene_page(path: str | Path, title: str, findings: GeneSetFindings) -> None:
    """Write the page of a gene set."""
    text = page_template("gene_set.html").render(_content(Path(path), title, findings))
    with open_output(path) as stream:
        stream.write(text)


def _content(path: Path, title: str, findings: GeneSetFindings) -> dict:
    tables = {"genes": _table(findings.genes), "targets": _table(findings.targets)}
    files = sorted(file for kind in _FILES for file in findings.folder.glob(kind))
    return page_data(charts_of(findings), tables) | {
        "title": title, "cards": gene_cards(findings), "source": findings.folder,
        "files": [(file.name, address(file, path)) for file in files],
    }  # fmt: skip


def gene_cards(findings: GeneSetFindings) -> list[Card]:
    """Return the numbers of the first page."""
    summary, introns = findings.summary, len(findings.intron_lengths)
    usual = summary.get("introns", {}).get("GT-AG", 0)
    nucleotides = sum(findings.record_lengths.values())
    part = sum(row.get("accepted") == "part" for row in findings.targets)
    cards = [
        Card(f"{len(findings.genes):,}", "genes", f"in {nucleotides / 1e6:,.1f} Mb"),
        Card(
            f"{len(findings.found):,} of {len(findings.targets):,}",
            "targets have a gene",
            f"and {part:,} a part of one" if part else "",
        ),
        Card(f"{len(findings.exon_lengths):,}", "exons", f"and {counted(introns, 'intron')}"),
    ]
    if introns and usual:
        cards.append(Card(f"{100 * usual / introns:.1f} %", "of introns are GT-AG"))
    if "complete" in summary:
        cards.append(Card(f"{summary['complete']:,}", "genes from start to stop codon"))
    broken, pseudogenes, dropped = (summary.get(name, 0) for name in _BROKEN)
    if broken or dropped:
        notes = [counted(pseudogenes, "pseudogene")] if pseudogenes else []
        notes += [f"{counted(dropped, 'hit')} with such left out"] if dropped else []
        cards.append(
            Card(f"{broken:,}", "mRNAs with frameshifts or stop codons inside", ", ".join(notes))
        )
    if findings.conserved:
        total = sum(findings.conserved.values())
        complete = sum(findings.conserved[state] for state in STATES[:2])
        cards.append(Card(f"{complete:,} of {total:,}", "conserved families are complete"))
    return cards


def _table(rows: list[dict]) -> Table:
    """Return rows of texts as a table of the page, without columns that are empty."""
    names = [name for name in (rows[0] if rows else ()) if any(row[name] for row in rows)]
    columns = [
        Column(name, name in _NUMBERS, _NUMBERS.get(name, 0), "%" if name in _FRACTIONS else "")
        for name in names
    ]
    values = [[_value(name, row[name]) for name in names] for row in rows[:MOST_ROWS]]
    return Table(columns, values, [""] * len(values), len(rows))


def _value(name: str, text: str | None) -> str | float | None:
    return float(text) if text is not None and name in _NUMBERS else text
