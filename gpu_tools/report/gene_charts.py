"""Charts of a gene set: genes on records, targets, introns, lengths, and conserved families."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

import altair as alt

from gpu_tools.model.locus import Locus
from gpu_tools.report.charts import configured, identity_bars, source, whole_axis
from gpu_tools.report.gene_set import STATES, GeneSetFindings
from gpu_tools.report.models import COLOURS, GREY, RULE, WRONG, shown

MOST_RECORDS = 40
"""Records, or parts of them, that are drawn, the longest ones."""
MOST_GENES = 20_000
MOST_SITES = 12
"""Pairs of dinucleotides that are drawn, the most frequent ones."""
_WIDTH, _BINS_OF_TEN = 700, 8
_STRANDS = {"+": COLOURS["candidates"], "-": COLOURS["sites"]}


def charts_of(
    findings: GeneSetFindings, link: Callable[[str], str] = lambda gene: ""
) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw.

    `link` gives the part of the page that shows a gene, empty if none does.
    """
    return configured({
        "genes": _genes(findings, link), "targets_by_identity": _targets(findings),
        "intron_sites": _introns(findings.summary.get("introns", {})),
        "lengths": _lengths(findings), "conserved": _conserved(findings.conserved),
    })  # fmt: skip


def _genes(findings: GeneSetFindings, link: Callable[[str], str]) -> alt.LayerChart | None:
    """Draw a line for what was searched of each record, and a tick a gene beside it by strand."""
    longest = sorted(findings.searched, key=lambda part: part.start - part.end)[:MOST_RECORDS]
    parts = [part for part in findings.searched if part in longest]
    most = max((part.end - part.start for part in parts), default=0)
    unit, name = (1e6, "Mb") if most >= 1e6 else (1e3, "kb")
    ticks = _ticks(findings, parts, unit, link)
    if not ticks:
        return None
    lines = [
        {"part": _label(part, findings), "from": 0, "to": (part.end - part.start) / unit}
        for part in parts
    ]
    partial = any(_label(part, findings) != part.record for part in parts)
    title = f"position in the {'part searched' if partial else 'record'} ({name})"
    y = alt.Y("part:N", sort=[line["part"] for line in lines], title=None,
              scale=alt.Scale(padding=0.4), axis=alt.Axis(labelLimit=220))  # fmt: skip
    drawn = source(ticks).mark_tick(
        thickness=1, size=9, opacity=0.7, cursor="pointer"
    ).encode(
        alt.X("at:Q", title=title, scale=alt.Scale(nice=False)), y,
        tooltip=["gene:N", "place:N", "target:N", "strand:N"],
        yOffset=alt.YOffset("strand:N", sort=["+", "-"]),
        color=alt.Color(
            "strand:N", title="strand",
            scale=alt.Scale(domain=list(_STRANDS), range=list(_STRANDS.values())),
        ),
    )  # fmt: skip
    record = source(lines).mark_rule(color=RULE, strokeWidth=2)
    whole = record.encode(alt.X("from:Q", title=title), y, x2="to:Q")
    return alt.layer(whole, drawn).properties(width=_WIDTH, height=28 * len(lines))


def _label(part: Locus, findings: GeneSetFindings) -> str:
    """Return the name of a record, or the place of a part of one."""
    whole = (0, findings.structures.record_lengths.get(part.record))
    return part.record if part.bounds == whole else f"{part.record}:{shown(*part.bounds)}"


def _ticks(findings: GeneSetFindings, parts: Iterable[Locus], unit: float, link) -> list[dict]:
    by_record = defaultdict(list)
    for part in parts:
        by_record[part.record].append(part)
    return [
        {
            "part": _label(part, findings), "strand": row["strand"], "gene": row["gene"],
            "at": (int(row["start"]) - 1 + int(row["end"]) - 2 * part.start) / 2 / unit,
            "place": shown(int(row["start"]) - 1, int(row["end"])), "target": row["best_target"],
            "link": link(row["gene"]),
        }
        for row in findings.genes[:MOST_GENES]
        for part in by_record[row["record"]]
        if part.start <= int(row["start"]) - 1 < part.end
    ]  # fmt: skip


def _targets(findings: GeneSetFindings) -> alt.Chart | None:
    """Draw how many targets were found by the identity of their best hits."""
    kinds = {"nucleotides": "cDNA", "amino acids": "protein"}
    values = {
        name: [float(row["identity"]) for row in findings.found
               if row["kind"] == kind and row["identity"]]
        for name, kind in kinds.items()
    }  # fmt: skip
    return identity_bars(values, "targets found")


def _introns(counts: dict[str, int]) -> alt.LayerChart | None:
    """Draw how many introns begin and end with which dinucleotides, the rarest ones as one."""
    if not counts:
        return None
    drawn = dict(list(counts.items())[:MOST_SITES])
    if rest := sum(counts.values()) - sum(drawn.values()):
        drawn[f"{len(counts) - MOST_SITES} others"] = rest
    total = sum(counts.values())
    rows = [
        {"sites": sites, "introns": n, "text": f"{n:,} ({100 * n / total:.3g} %)"}
        for sites, n in drawn.items()
    ]
    y = alt.Y("sites:N", title=None, sort=list(drawn))
    bars = source(rows).mark_bar(color=COLOURS["candidates"]).encode(
        alt.X("introns:Q", title="introns", axis=whole_axis(max(drawn.values()))), y,
        tooltip=["sites:N", "introns:Q"],
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
    colours, axis = [COLOURS["candidates"], GREY], whole_axis(max(row["number"] for row in rows))
    return source(rows).mark_line(strokeWidth=2).encode(
        alt.X("length:Q", title="length (nt, logarithmic axis)",
              scale=alt.Scale(type="log", nice=False)),
        alt.Y("number:Q", title="number of exons, introns", axis=axis),
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
        alt.X("families:Q", title="families", stack="zero", axis=whole_axis(sum(counts.values()))),
        alt.Order("order:Q"),
        color=alt.Color("state:N", title=None, scale=alt.Scale(domain=[*STATES], range=colours)),
        tooltip=["state:N", "families:Q"],
    ).properties(width=_WIDTH, height=40)  # fmt: skip
