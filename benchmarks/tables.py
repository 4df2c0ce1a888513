"""Write the tables of pages from the records in benchmarks/results/.

Run ``python -m benchmarks.tables``; with ``--check`` nothing is changed, and the program exits with
1 if a table is out of date. In benchmarks/README.md and in every page below docs/, the table that
follows ``<!-- table: NAME -->`` is replaced by the one that `TABLES` has by that name. So a page
gets a table by a line with its name, and no figure is typed. A table of another name stays.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.accuracy import comparison, rows
from benchmarks.accuracy.rows import Row
from benchmarks.annotate import rows as annotation_rows
from benchmarks.estimate import rows as estimate_rows
from benchmarks.formatting import ms, number, seconds
from benchmarks.matching import rows as matching_rows
from benchmarks.row_names import CODING, LOCAL, LOCAL_CPU, PROTEINS, SITES, SPLICED
from benchmarks.search import rows as search_rows
from benchmarks.segments import rows as segment_rows
from benchmarks.sites import rows as site_rows

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(?<=<!-- table: )(.*?) -->\n(?:\|.*\n)*")


class Table(NamedTuple):
    """A table: the record it is made from, its titles, and what makes rows of the figures."""

    record: str
    titles: Row
    rows: Callable[[dict], Iterator[Row]]


def _rates(names: dict[str, str], rate: str) -> Callable[[dict], Iterator[Row]]:
    """Return a function that yields a row for each named figure of time and rate."""

    def rows(figures: dict) -> Iterator[Row]:
        for name in filter(figures.__contains__, names):
            own = figures[name]
            if rate in own:
                yield names[name], seconds(own["seconds"]), number(own[rate])

    return rows


def spliced_several(figures: dict) -> Iterator[Row]:
    """Yield a row a function: the time on one GPU, on two, and so on."""
    for function in ("spliced_scores", "spliced_align_many"):
        own = [v["seconds"] for name, v in figures.items() if name.startswith(function)]
        yield f"`{function}`", *map(seconds, own)


def spliced_threads(figures: dict) -> Iterator[Row]:
    """Yield a row for each number of threads: the case set's scores, and its chains."""
    for name in figures:
        if found := re.fullmatch(r"cpu_spliced_scores_(\d+)_threads", name):
            other = figures[f"cpu_spliced_align_many_{found[1]}_threads"]
            yield (
                found[1], seconds(figures[name]["seconds"]), number(figures[name]["nominal_gcups"]),
                seconds(other["seconds"]), number(other["nominal_gcups"]),
            )  # fmt: skip


def published(figures: dict) -> Iterator[Row]:
    """Yield a row for each published design on the case set."""
    for name, own in figures["published_shape"].items():
        if not name.endswith("_wall"):
            yield (
                name.removesuffix("_kernel"),
                number(own["total_gcups"]),
                number(own["best_gcups"]),
            )


def sites(figures: dict) -> Iterator[Row]:
    """Yield rows of site mode on both devices."""
    some = figures["some_cases_library"]
    cpu = some.get("cpu") or some["cpu_all_cores"]
    named = figures | {"some_cases_cuda": some["cuda"], "some_cases_cpu": cpu}
    yield from _rates(SITES, "gcups")(named)


def exons(figures: dict) -> Iterator[Row]:
    """Yield a row an annotated record, judged by a model of the others."""
    for row in figures["exons"]["at_cutoff"]:
        yield row["record"], f"{row['segments']}", f"{row['sensitivity']:.3f}", f"{row['density']}"


def compare(figures: dict) -> Iterator[Row]:
    """Yield a row a call of two versions."""
    for name, own in figures["calls"].items():
        if "ratio" in own:
            equal = "yes" if own["equal"] else "no"
            yield name, ms(own["base_ms"]), ms(own["new_ms"]), f"{own['ratio']:.2f}", equal


def workflow(figures: dict) -> Iterator[Row]:
    """Yield a row a run of the workflow, or of its plan."""
    for name, own in figures.items():
        jobs, cpu = f"{own['jobs']:,}", seconds(own["cpu_seconds"])
        yield name, f"{own['cases']:,}", jobs, seconds(own["seconds"]), cpu


def first_calls(figures: dict) -> Iterator[Row]:
    """Yield the times of first and of second calls."""
    for name, calls in figures.items():
        first, second = calls["first"], calls["second"]
        times = first["seconds"], first["processor_seconds"], second["seconds"]
        yield name, *map(seconds, times)


CREDIBILITY = (
    "E-value at most", "shuffled", "0.1", "0.01", "0.001", "diverged", "0.1", "0.01", "0.001",
)  # fmt: skip


TABLES = {
    "first-calls": Table(
        "first-call-cpu", ("command", "first call", "of processors", "second call"), first_calls
    ),
    "list-mode": Table(
        "spliced-h200", ("list mode", "time", "GCUPS"), _rates(SPLICED, "nominal_gcups")
    ),
    "list-mode-gpus": Table(
        "spliced-several-h200", ("40,000 cases", "one GPU", "two", "three", "four"), spliced_several
    ),
    "list-mode-threads": Table(
        "spliced-h200", ("threads", "scores", "GCUPS", "chains", "GCUPS"), spliced_threads
    ),
    "published": Table("published-h200", ("design", "GCUPS", "best case"), published),
    "site-mode": Table("sites-h200", ("site mode", "time", "GCUPS"), sites),
    "site-mode-coding": Table(
        "sites-coding-h200", ("chains that translate", "time", "GCUPS"), _rates(CODING, "gcups")
    ),
    "proteins": Table(
        "proteins-h200", ("proteins in site mode", "time", "GCUPS"), _rates(PROTEINS, "gcups")
    ),
    "site-mode-calls": Table(
        "sites-whole-calls-h200",
        ("one H200, 16 cores", "checkpoints", "rows of all sites"),
        site_rows.whole_calls,
    ),
    "site-mode-cpu": Table(
        "sites-cpu", ("site mode", "processor's time", "GCUPS a core"), site_rows.sites_cpu
    ),
    "site-mode-memory": Table(
        "sites-memory", ("base x target", "peak", "time"), site_rows.site_memory
    ),
    "accuracy": Table(
        "accuracy", ("exon F1", "5 %", "15 %", "25 %", "35 %", "45 %", "50 %"), rows.accuracy
    ),
    "accuracy-genome": Table(
        "accuracy-genome",
        ("exon F1", "0 %", "5 %", "15 %", "25 %", "35 %", "45 %", "whole at 5 %"),
        rows.accuracy_genome,
    ),
    "accuracy-peers": Table(
        "accuracy-peers",
        ("exon F1", "0 %", "5 %", "15 %", "25 %", "35 %", "45 %", "whole at 5 %"),
        rows.accuracy_genome,
    ),
    **{
        f"accuracy-peers-{data}": Table(
            f"accuracy-peers-{data}",
            ("exon F1", "0 %", "5 %", "15 %", "25 %", "35 %", "45 %", "whole at 5 %"),
            partial(rows.accuracy_genome, left_out=()),
        )
        for data in ("fly2L", "human")
    },
    "accuracy-flanks": Table(
        "accuracy-flanks", ("exon F1", "targets", *rows.FLANKS), rows.accuracy_flanks
    ),
    "search-recall": Table(
        "search-recall-cpu",
        (
            "targets",
            "genes",
            "whole in a window",
            "in part",
            "windows a target",
            "median length",
            "share of cells",
            "processor's time",
        ),
        search_rows.recall,
    ),
    "search-exhaustive": Table(
        "search-cpu",
        ("proteins", "credible", "same score", "same structure", "whole pieces", "windows"),
        search_rows.exhaustive,
    ),
    "search-exhaustive-at": Table(
        "search-at-cpu",
        ("proteins", "credible", "same score", "same structure", "whole pieces", "windows"),
        search_rows.exhaustive,
    ),
    "search-exhaustive-short": Table(
        "search-short-cpu",
        ("proteins", "credible", "same score", "same structure", "whole pieces", "windows"),
        search_rows.exhaustive,
    ),
    "search-speed": Table(
        "search-speed-cpu",
        ("genome", "index", "processor's time of it", "of the search", "elapsed", "elapsed"),
        search_rows.speed,
    ),
    **{
        f"annotation-{name}{part}": Table(f"annotation-{name}", titles, own)
        for name in ("fly", "at")
        for part, titles, own in (
            (
                "",
                ("F1", "exons", "intron chains", "loci", "loci found, true ones"),
                annotation_rows.gene_sets,
            ),
            (
                "-conserved",
                (
                    "right of those found, and F1",
                    "exons",
                    "intron chains",
                    "loci",
                    "exon F1",
                    "chain F1",
                    "locus F1",
                ),
                annotation_rows.conserved,
            ),
            (
                "-references",
                ("proteins", "loci", "outside of true ones", "mRNAs"),
                annotation_rows.references,
            ),
        )
    },
    "annotation-memory": Table(
        "annotation-memory",
        ("genome", "whole, seeded", "index and genome, by the sum", "a part of 16, exhaustive"),
        annotation_rows.memory,
    ),
    "annotation-speed": Table("annotation-speed-cpu", annotation_rows.SPEED, annotation_rows.speed),
    "annotation-seeded": Table(
        "annotation-seeded",
        ("proteins", "hits", "found", "same", "genes", "found", "same", "exhaustive", "seeded"),
        annotation_rows.searches,
    ),
    "proteins-identity": Table(
        "accuracy-proteins",
        ("exon F1", "100 %", "80 %", "60 %", "40 %", "30 %"),
        rows.proteins_identity,
    ),
    "proteins-homologs": Table(
        "accuracy-proteins",
        ("exon F1", "proteins, exons", "gpu-tools", "spaln", "miniprot", "exonerate", "genewise"),
        rows.proteins_homologs,
    ),
    "proteins-short": Table(
        "accuracy-proteins",
        ("exons of at most 15 nt", "first", "internal", "last", "exon F1"),
        rows.proteins_short,
    ),
    "proteins-speed": Table(
        "accuracy-proteins",
        ("three genes, both strands", "processor's time", "GCUPS a core"),
        rows.proteins_speed,
    ),
    "compare-cdnas": Table(
        "accuracy",
        ("exon F1", *(f"{d} %" for d in comparison.DIVERGENCES), "s a gene"),
        comparison.cdnas,
    ),
    "compare-species": Table(
        "accuracy-species", ("exon F1", "mean", "least", "largest"), comparison.species
    ),
    "compare-genomes": Table(
        "accuracy-peers",
        (
            "exon F1",
            *(f"{d} %" for d in (0, *comparison.DIVERGENCES)),
            "whole at 0 %",
            "whole at 5 %",
        ),
        comparison.genomes,
    ),
    "compare-proteins": Table(
        "accuracy-proteins",
        ("mean exon F1", "vertebrates, 1 record", "vertebrates, locus", "fly", "s a protein"),
        comparison.proteins,
    ),
    "accuracy-species": Table("accuracy-species", ("exon F1", *[""] * 8), rows.accuracy_species),
    "accuracy-vertebrates": Table(
        "accuracy-vertebrates",
        ("exon F1", "genes, exons", "5 %", "15 %", "25 %", "35 %", "45 %"),
        rows.accuracy_vertebrates,
    ),
    "accuracy-fragments": Table(
        "accuracy-fragments",
        ("`--ends`", "share", "5 %", "15 %", "25 %", "35 %"),
        rows.accuracy_fragments,
    ),
    "chains": Table(
        "chains-cpu", ("exon F1", "15 %", "25 %", "35 %", "s a gene, 25 %"), rows.chains
    ),
    "credibility-fly2L": Table("credibility-fly2L", CREDIBILITY, rows.credibility),
    "credibility-at": Table("credibility-at", CREDIBILITY, rows.credibility),
    "credibility-proteins": Table("credibility-proteins", CREDIBILITY, rows.protein_credibility),
    "matching-approximate": Table(
        "matching-h200",
        ("approximate", "kernel", "TCUPS", "O-ASM", "w-SCAN", "w-Shuffle"),
        matching_rows.approximate,
    ),
    "matching-exact": Table(
        "matching-h200",
        ("exact, 2^27 symbols", "matches", "kernel", "rolling", "prefix sums"),
        matching_rows.exact,
    ),
    "matching-cpu": Table("matching-cpu", ("2^23 symbols", "time", "others"), matching_rows.cpu),
    "segments": Table(
        "segments-h200",
        ("10^8 int32", "kernel", "call, from host memory", "five numbers", "ratio"),
        segment_rows.segments,
    ),
    "submatrices": Table(
        "segments-h200",
        ("int32 on the GPU", "call", "one pair a thread", "ratio"),
        segment_rows.submatrices,
    ),
    "local-h200": Table("local-h200", ("local alignment", "time", "GCUPS"), _rates(LOCAL, "gcups")),
    "local-cpu": Table("local-cpu", ("one core", "time", "GCUPS"), _rates(LOCAL_CPU, "gcups")),
    "exons": Table("exons-cpu", ("record", "segments", "sensitivity", "per kb"), exons),
    "estimate-cpu": Table("estimate-cpu", estimate_rows.ERRORS, estimate_rows.errors),
    "estimate-gpu": Table("estimate-h200", estimate_rows.ERRORS, estimate_rows.errors),
    "workflow": Table("workflow-cpu", ("two cores", "cases", "jobs", "time", "CPU"), workflow),
    "compare": Table("compare-h200", ("call", "before", "now", "ratio", "equal"), compare),
}


def text_of(name: str) -> str:
    """Return a table in Markdown; its first title says where the figures come from."""
    table = TABLES[name]
    path = RESULTS / f"{table.record}.json"
    if not path.exists():
        return f"| {table.titles[0]} (no record `{table.record}.json` yet) |\n| --- |\n"
    recorded = json.loads(path.read_text(encoding="utf-8"))
    titles = (f"{table.titles[0]} ({source_of(table.record, recorded)})", *table.titles[1:])
    lines = [titles, ("---",) * len(titles)]
    for row in table.rows(recorded["figures"]):
        lines.append((*row, *("",) * (len(titles) - len(row))))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def source_of(name: str, recorded: dict) -> str:
    """Return the record's name, machine, commit and day."""
    gpus, cpu = recorded["gpus"], recorded["cpu"]
    machine = f"{len(gpus)} x {gpus[0].split(',')[0]}, {cpu}" if gpus else cpu
    return f"`{name}.json`: {machine}, {recorded['commit']}, {recorded['date'][:10]}"


def updated(page: str) -> str:
    """Return a page with its tables made anew."""

    def replaced(found: re.Match) -> str:
        name = found[1]
        return f"{name} -->\n{text_of(name)}" if name in TABLES else found[0]

    return MARKED.sub(replaced, page)


def pages() -> list[Path]:
    """Return the pages that may have tables."""
    return [ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: list[str]) -> int:
    """Rewrite or check the pages; return the exit code."""
    changed = False
    for path in pages():
        page = path.read_text(encoding="utf-8")
        new = updated(page)
        if new != page:
            changed = True
            print(f"{path.relative_to(ROOT)} is out of date")
            if arguments != ["--check"]:
                path.write_text(new, encoding="utf-8")
    return int(changed and arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
