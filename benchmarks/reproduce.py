"""One page with the tables and figures of the sources, for the generated case set.

Run ``python -m benchmarks.reproduce [FOLDER] [--fresh] [--tiny]``, or ``make reproduce``. Figures
come from the records in benchmarks/results/; with ``--fresh`` the time model is measured on this
machine, on its CPU and on its GPU if there is one. FOLDER, by default ``reproduced``, gets
``index.html``.
"""

from __future__ import annotations

import argparse
import html
import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import case_sets, figures, formatting, record, rows, tables
from benchmarks.case_sets import PUBLISHED, SMALL, Spread
from benchmarks.estimate import bench_estimate, fitted
from benchmarks.formatting import Row
from benchmarks.published.model import ESTIMATES
from gpu_tools import Case, Histogram, SplicedScoring, exon_histograms
from gpu_tools.estimate.api import published_cells
from gpu_tools.estimate.model import CPU, GPU, case_strands

RECORDS = {CPU: "estimate-cpu", GPU: "estimate-h200"}
MODES = ("list", "site")
RATES = (
    ("design", "published mean, GTX 460", "published best", "recorded mean", "recorded best"),
    ("sequential", 0.06201, 0.0839),
    ("accelerator1", 0.21983, 0.50671),
    ("accelerator2", 0.45273, 2.08381),
)
"""The source's throughput in GCUPS: Nolasco 2014."""
LARGE_CASE = {"sequential": 357_506.67, "accelerator1": 6_794.17, "accelerator2": 3_934.57}
"""The source's times of the gene IL1RAPL1, in milliseconds."""
OTHER_SYSTEMS = (
    ("what", "published", "stands for"),
    ("accelerator 1", "3.57 times the sequential programme, at most 7.89",
     "one GTX 460; candidate exons and targets given; scores alone"),
    ("accelerator 2", "7.28 times, at most 31.51", "the same"),
    ("Sarje and Aluru", "755 million cells a second, 7 times one core",
     "16 SPEs of a Cell processor; syntenic alignment, of which spliced alignment without "
     "candidates is a case; all cells m x n, and the alignment"),
)  # fmt: skip
"""What is published of spliced alignment on accelerators: Nolasco 2014, and the work it names."""
OTHERS = {
    "Local alignment": ("local-lengths", "local-h200", "local-cpu"),
    "Pattern matching": ("matching-approximate", "matching-exact-lengths", "matching-exact"),
    "Segments and submatrices": (
        "segments", "submatrices", "submatrices-branches", "submatrices-disjoint",
    ),
}  # fmt: skip
"""Tables of the other sources' problems, by the names that `benchmarks.tables` has."""
PARTS = {
    "data": (
        "The data set",
        "The shape of the published cases of spliced alignment, and of those "
        "generated here with the same figures. The published mean length of exons is taken as the "
        "mean of the bases' means: over all exons it must be 7,711.73 / 55.08 = 140.01.",
    ),
    "parallelism": (
        "Parallelism",
        "What the candidate exons of the generated cases allow to be computed side by side. A "
        "histogram of all bases counts each base's exons once. One of means gives, as the source "
        "does, the percentages of each case in the mean over all cases: a case with few exons "
        "counts as much as one with many.",
    ),
    "designs": (
        "The published designs",
        "Throughput in 10^9 cells a second (GCUPS): as published, "
        "and as recorded with these designs written anew.",
    ),
    "cpu": ("The time model on a CPU", ""),
    "gpu": ("The time model on a GPU", ""),
    "others": (
        "The other problems",
        "Local alignment, pattern matching and maximum segments: "
        "recorded times, with the published designs where there are any.",
    ),
}
"""Parts of the page: title and first sentences."""
FIGURES = {
    "list": "list mode: all candidates",
    "site": "site mode: all exons that sites allow",
    "sequential": "the published sequential programme, by its equation",
    "accelerator1": "the published accelerator 1, by its equation",
    "accelerator2": "the published accelerator 2, by its equation",
}
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Tables and figures of the sources</title>
<style>body{font:16px/1.5 sans-serif;max-width:62em;margin:2em auto;padding:0 1em;color:#1f2933}
h2{margin-top:2em;border-top:1px solid #ddd;padding-top:.8em}
nav a{margin-right:1.2em}.note{color:#5f6b78}
table{border-collapse:collapse;margin:.6em 0 1.4em}
td,th{border-bottom:1px solid #ddd;padding:.25em .8em;text-align:right;white-space:nowrap}
td:first-child,th:first-child{text-align:left;min-width:14em}td:last-child{white-space:normal}
th{background:#f5f7f9;white-space:normal}
figure{margin:1em 0}figcaption{color:#5f6b78}svg{max-width:100%;height:auto}</style></head><body>
<h1>Tables and figures of the sources</h1>
<p>A. Nolasco's thesis ("Soluções em GPU para o problema do alinhamento spliced", UFMS, 2014)
describes a data set, its parallelism, designs for a GPU and a model of their time. Here are its
tables and figures for cases generated with the same shape. Times of this package are beside them,
and recorded tables of the other problems.</p>
"""


def part(name: str) -> str:
    """Return the heading of a part of the page, with its first sentences."""
    title, text = PARTS[name]
    found = f'<h2 id="{name}">{html.escape(title)}</h2>\n'
    return found + (f"<p>{html.escape(text)}</p>\n" if text else "")


def table(lines: list[Row], source: str = "") -> str:
    """Return rows, the first of which has titles, as HTML; short rows are filled up."""
    parts = [note(source)] if source else []
    parts.append("<table>")
    for number, line in enumerate(lines):
        cell = "th" if number == 0 else "td"
        filled = (*line, *("",) * (len(lines[0]) - len(line)))
        cells = (f"<{cell}>{html.escape(str(text))}</{cell}>" for text in filled)
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*parts, "</table>\n"])


def note(text: str) -> str:
    """Return where figures come from, as HTML."""
    return f'<p class="note">{html.escape(text.replace("`", ""))}</p>\n'


def figure(svg: str, caption: str) -> str:
    """Return a figure with what it shows, as HTML."""
    return f"<figure>{svg}<figcaption>{html.escape(caption)}</figcaption></figure>\n"


def recorded_table(name: str) -> str:
    """Return a table of the documents as HTML."""
    record_name = tables.TABLES[name].record
    return table(tables.lines_of(name), tables.source_of(record_name, tables.read(record_name)))


def shape_rows(cases: list[Case]) -> Iterator[Row]:
    """Yield the figures of the published data set beside those of some cases."""
    bases = list({case.base.name: case for case in cases}.values())
    of_base = [case.exons.unique() for case in bases]
    lengths = [own.ends - own.starts for own in of_base]
    targets = [sum(case.base.name == base.base.name for case in cases) for base in bases]
    found = {
        "base length": ([len(case.base) for case in bases], PUBLISHED.base_length),
        "exons of a base": ([len(own) for own in of_base], PUBLISHED.exons),
        "sum of exon lengths": ([own.sum() for own in lengths], PUBLISHED.exon_sum),
        "target length": ([len(case.target) for case in cases], PUBLISHED.target_length),
        "targets of a base": (targets, Spread(1, 4.2, 5)),
    }
    yield "figure (min / mean / max)", "published", "here"
    yield "bases, cases", f"{PUBLISHED.bases}, {PUBLISHED.cases:,}", f"{len(bases)}, {len(cases):,}"
    for name, (values, spread) in found.items():
        yield name, *map(_spread, (spread, _spread_of(values)))
    every = _spread_of(np.concatenate(lengths))
    by_base = Spread(every.lowest, float(np.mean([own.mean() for own in lengths])), every.highest)
    published = Spread(*PUBLISHED.exon_length[:1], 149.35, *PUBLISHED.exon_length[1:])
    yield "exon length, mean of the bases' means", _spread(published), _spread(by_base)
    mean = PUBLISHED.exon_sum.mean / PUBLISHED.exons.mean
    yield "exon length, mean of all exons", f"{mean:,.2f}, by the sums", f"{every.mean:,.2f}"


def _spread_of(values) -> Spread:
    return Spread(int(np.min(values)), float(np.mean(values)), int(np.max(values)))


def _spread(own: Spread) -> str:
    return f"{own.lowest:,} / {own.mean:,.2f} / {own.highest:,}"


def mean_shares(cases: list[Case]) -> Iterator[Histogram]:
    """Yield the histograms of parallelism with percentages of each case, in the mean of cases."""
    bases = Counter(case.base.name for case in cases)
    shares: dict[str, Counter] = {}
    for case in {case.base.name: case for case in cases}.values():
        for own in exon_histograms([case]):
            weight = 100 * bases[case.base.name] / len(cases) / sum(own.counts.values())
            counted = {number: weight * count for number, count in own.counts.items()}
            shares.setdefault(own.name, Counter()).update(counted)
    for own in exon_histograms(cases[:1]):
        yield own._replace(counts=dict(sorted(shares[own.name].items())))


def shape_section(cases: list[Case]) -> Iterator[str]:
    """Yield the data set's shape and the histograms of its parallelism."""
    yield part("data")
    yield table(list(shape_rows(cases)))
    labels = {
        "exon_length": "length of exons, bins of 32",
        "group_size": "exons of a group",
        "entry_size": "starts before which the same exons end",
    }
    captions = {
        "exon_length": "How often lengths of candidate exons occur.",
        "group_size": "How often groups have so many exons: none of a group can precede another "
        "of it, so accelerator 2 computes them in one launch.",
        "entry_size": "How often so many starts share the row above them.",
    }
    yield part("parallelism")
    for own, mean in zip(exon_histograms(cases), mean_shares(cases), strict=True):
        label = labels[own.name]
        yield figure(figures.histogram(own, label), f"All bases together: {captions[own.name]}")
        drawn = figures.histogram(mean, label, "% of a case, mean")
        yield figure(drawn, f"Means of percentages a case: {captions[own.name]}")
    cells = estimated_cells(cases)
    named = {design: ("-", values) for design, values in cells.items()}
    caption = (
        "The source's three estimates of all cases: cells computed one after another by the "
        "sequential programme, and anti-diagonals by the accelerators."
    )
    yield figure(figures.by_case(cells["sequential"], named, "steps"), caption)


def estimated_cells(cases: list[Case]) -> dict[str, list[int]]:
    """Return the source's estimate of each case by design."""
    found = [
        published_cells(len(case.target), case_strands(case, SplicedScoring())) for case in cases
    ]
    return {design: [own[name] for own in found] for design, name in ESTIMATES.items()}


def model_section(kind: str, recorded: dict, source: str, tiny: bool) -> Iterator[str]:
    """Yield errors of the time model on a device, and estimated against measured times."""
    own = recorded["figures"]
    chosen = cache(lambda what: fitted.chosen_cases(what, kind, tiny))
    yield part(kind) + note(source)
    yield table([tuple(rows.ERRORS.split(" | ")), *rows.model_errors(own)])
    for name in filter(own.__contains__, (*MODES, *ESTIMATES)):
        cells = [case.cells for case in chosen(name if name in MODES else fitted.PUBLISHED)]
        caption = f"Estimated and measured time of {len(cells):,} cases, {FIGURES[name]}."
        yield figure(_estimates(cells, own[name], own[name]["estimated"]), caption)
        if fit := own.get("fitted", {}).get(name):
            drawn = _estimates(cells, own[name], fit["estimated"])
            yield figure(drawn, "The same, with figures fitted on the other half of the cases.")
    if {"sequential", "accelerator1"} <= own.keys():
        yield from speed_ups(chosen(fitted.PUBLISHED), own)
    modes = {
        mode: ([len(case.base) * len(case.target) for case in chosen(mode)], own[mode]["measured"])
        for mode in MODES
        if mode in own
    }
    if modes:
        yield figure(figures.sizes(modes), "Time against m x n, base by target length.")


def _estimates(cells: list[int], own: dict, estimated: list[float]) -> str:
    series = {"measured": (".", own["measured"]), "estimated": ("-", estimated)}
    scaled = {name: (marker, 1e3 * np.array(each)) for name, (marker, each) in series.items()}
    return figures.by_case(cells, scaled, "ms")


def speed_ups(cases: list[Case], own: dict) -> Iterator[str]:
    """Yield how much faster the accelerators are than the sequential programme, case by case."""
    steps = estimated_cells(cases)
    recorded = {name: own[name]["measured"] for name in ESTIMATES if name in own}
    for design in list(recorded)[1:]:
        measured, estimated = (
            np.array(values["sequential"]) / np.array(values[design])
            for values in (recorded, steps)
        )
        series = {"measured": (".", measured), "most by the equations": ("-", estimated)}
        caption = (
            f"Speed-up of {design} over the sequential programme on {len(cases):,} cases: the mean "
            f"is {measured.mean():.2f}, the largest {measured.max():.2f}."
        )
        yield figure(figures.by_case([case.cells for case in cases], series, "times"), caption)


def published_section() -> Iterator[str]:
    """Yield throughput of the published designs, and their time of the largest case."""
    own = tables.read("estimate-h200")["figures"]
    lines = [
        (name, *(f"{v:.3g}" for v in published),
         *(f"{own[name][key]:.3g}" for key in ("mean_gcups", "best_gcups") if name in own))
        for name, *published in RATES[1:]
    ]  # fmt: skip
    yield part("designs")
    yield table([RATES[0], *lines], "recorded: estimate-h200.json")
    times = [
        (name, f"{value:,.0f} ms", formatting.ms(own.get(name, {}).get("largest")))
        for name, value in LARGE_CASE.items()
    ]
    yield "<h3>The largest case, IL1RAPL1</h3>\n"
    yield table([("design", "published, GTX 460", "recorded, of the same shape"), *times])
    yield recorded_table("large-case")
    yield "<h3>What else is published of spliced alignment on accelerators</h3>\n"
    yield table(list(OTHER_SYSTEMS))


def other_sections() -> Iterator[str]:
    """Yield the recorded tables of the other sources' problems."""
    yield part("others")
    for title, names in OTHERS.items():
        yield f"<h3>{html.escape(title)}</h3>\n"
        yield from map(recorded_table, names)


def stored_records() -> dict[str, tuple[dict, str]]:
    """Return the records of the time model, by kind of device, and what they are."""
    found = ((kind, name, tables.read(name)) for kind, name in RECORDS.items())
    return {kind: (own, tables.source_of(name, own)) for kind, name, own in found}


def fresh_records(folder: Path, tiny: bool) -> dict[str, tuple[dict, str]]:
    """Measure the time model on this machine, and write and return the records."""
    parts: dict[str, Callable] = {CPU: bench_estimate.measure}
    if record.no_gpu() is None:
        parts[GPU] = bench_estimate.measure_gpu
    found = {}
    for kind, measure in parts.items():
        path = folder / f"estimate-{kind}.json"
        record.write_each(measure(tiny=tiny), path)
        recorded = json.loads(path.read_text(encoding="utf-8"))
        found[kind] = recorded, tables.source_of(path.stem, recorded)
    return found


def page(cases: list[Case], records: dict[str, tuple[dict, str]], tiny: bool) -> str:
    """Return the page of all tables and figures."""
    links = (f'<a href="#{name}">{html.escape(title)}</a>' for name, (title, _) in PARTS.items()
             if name not in RECORDS or name in records)  # fmt: skip
    parts = [f"<nav>{' '.join(links)}</nav>\n", *shape_section(cases), *published_section()]
    for kind, (recorded, source) in records.items():
        parts += model_section(kind, recorded, source, tiny)
    return "".join([HEAD, *parts, *other_sections(), "</body></html>\n"])


def main(arguments: list[str] | None = None) -> None:
    """Write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=Path("reproduced"))
    parser.add_argument("--fresh", action="store_true", help="measure the time model here")
    parser.add_argument("--tiny", action="store_true", help="few and small cases")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    cases = case_sets.case_set(SMALL) if options.tiny else case_sets.case_set()
    records = fresh_records(options.folder, options.tiny) if options.fresh else stored_records()
    path = options.folder / "index.html"
    path.write_text(page(cases, records, options.tiny), encoding="utf-8")
    print(f"open {path}")


if __name__ == "__main__":
    main()
