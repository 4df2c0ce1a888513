"""Charts of a gene set: genes on records, targets by identity, introns, lengths, completeness."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import altair as alt

from gpu_tools.report.gene_set import STATES, GeneSetFindings
from gpu_tools.report.theme import COLOURS, CONFIG, GREY, RULE, WRONG

MOST_RECORDS = 40
"""Records that are drawn, the longest ones."""
MOST_GENES = 20_000
_WIDTH, _BIN, _BINS_OF_TEN = 700, 5, 8
_STRANDS = {"+": COLOURS["candidates"], "-": COLOURS["sites"]}


def charts_of(findings: GeneSetFindings) -> dict[str, dict]:
    """Return Vega-Lite by name, of what there is to draw.

    Parameters
    ----------
    findings : GeneSetFindings

    Returns
    -------
    dict of str to dict
    """
    found = {
        "genes": _genes(findings), "targets_by_identity": _targets(findings),
        "intron_sites": _introns(findings.summary.get("introns", {})),
        "lengths": _lengths(findings), "conserved": _conserved(findings.conserved),
    }  # fmt: skip
    return {
        name: chart.configure(**CONFIG).to_dict() for name, chart in found.items() if chart
    }  # fmt: skip


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
    record = alt.Chart(alt.Data(values=lines)).mark_rule(color=RULE, strokeWidth=2)
    ticks = alt.Chart(alt.Data(values=genes)).mark_tick(thickness=1, size=9, opacity=0.7).encode(
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
    rows = [{"from": low, "to": low + _BIN, "targets": n} for low, n in sorted(counts.items())]
    return alt.Chart(alt.Data(values=rows)).mark_bar(color=COLOURS["proteins"]).encode(
        alt.X("from:Q", title="identity of the best hit (%)", scale=alt.Scale(domain=[0, 100])),
        alt.Y("targets:Q", title="targets found"), x2="to:Q",
        tooltip=["from:Q", "to:Q", "targets:Q"],
    ).properties(width=_WIDTH, height=180)  # fmt: skip


def _introns(counts: dict[str, int]) -> alt.Chart | None:
    """Draw how many introns begin and end with which dinucleotides."""
    if not counts:
        return None
    rows = [{"sites": sites, "introns": n} for sites, n in counts.items()]
    return alt.Chart(alt.Data(values=rows)).mark_bar(color=COLOURS["candidates"]).encode(
        alt.X("introns:Q", title="introns", scale=alt.Scale(type="symlog")),
        alt.Y("sites:N", title="donor and acceptor", sort=list(counts)),
        tooltip=["sites:N", "introns:Q"],
    ).properties(width=_WIDTH, height=alt.Step(18))  # fmt: skip


def _lengths(findings: GeneSetFindings) -> alt.Chart | None:
    """Draw how long exons and introns are, in bins of equal ratios."""
    groups = {"exons": findings.exon_lengths, "introns": findings.intron_lengths}
    rows = [row for kind, lengths in groups.items() for row in _binned(kind, lengths)]
    if not rows:
        return None
    colours = [COLOURS["candidates"], GREY]
    return alt.Chart(alt.Data(values=rows)).mark_line(
        interpolate="step", strokeWidth=2
    ).encode(
        alt.X("length:Q", title="length (nucleotides)", scale=alt.Scale(type="log")),
        alt.Y("number:Q", title="exons, introns"),
        color=alt.Color("kind:N", title=None, scale=alt.Scale(domain=[*groups], range=colours)),
        tooltip=["kind:N", "length:Q", "number:Q"],
    ).properties(width=_WIDTH, height=180)  # fmt: skip


def _binned(kind: str, lengths: Iterable[int]) -> list[dict]:
    """Return the number of lengths in each bin, empty ones between others included."""
    counts = Counter(math.floor(_BINS_OF_TEN * math.log10(max(n, 1))) for n in lengths)
    if not counts:
        return []
    return [
        {"kind": kind, "length": round(10 ** ((k + 0.5) / _BINS_OF_TEN), 1), "number": counts[k]}
        for k in range(min(counts), max(counts) + 1)
    ]


def _conserved(counts: dict[str, int] | None) -> alt.Chart | None:
    """Draw what part of a conserved set is complete, in fragments, or missing."""
    if not counts or not sum(counts.values()):
        return None
    rows = [
        {"state": state, "families": counts[state], "order": k} for k, state in enumerate(STATES)
    ]
    colours = [COLOURS["proteins"], COLOURS["candidates"], COLOURS["sites"], WRONG]
    return alt.Chart(alt.Data(values=rows)).mark_bar().encode(
        alt.X("families:Q", title="families", stack="zero"),
        alt.Order("order:Q"),
        color=alt.Color("state:N", title=None, scale=alt.Scale(domain=[*STATES], range=colours)),
        tooltip=["state:N", "families:Q"],
    ).properties(width=_WIDTH, height=40)  # fmt: skip
