"""Write the tables of pages from the records in benchmarks/results/.

Run ``python -m benchmarks.tables``; with ``--check`` nothing is changed, and the program exits with
1 if a table is out of date. In benchmarks/README.md and in every page below docs/, the table that
follows ``<!-- table: NAME -->`` is replaced by the one that `TABLES` has by that name. So a page
gets a table by a line with its name, and no figure is typed. A table of another name stays.

The first title of a table names the record, the machine, the commit, the date, and, if a record has
``superseded``, which change of the code came after it.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks import rows
from benchmarks.accuracy import comparison
from benchmarks.accuracy import rows as accuracy
from benchmarks.formatting import Row, rows_by
from benchmarks.row_names import CODING, LOCAL, LOCAL_CPU, PROTEINS, SPLICED

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(?<=<!-- table: )(.*?) -->\n(?:\|.*\n)*")


class Table(NamedTuple):
    """A table: the record it is made from, its titles, and what makes rows of the figures."""

    record: str
    title: str
    rows: Callable[[dict], Iterator[Row]]

    @property
    def titles(self) -> Row:
        """The titles of the columns."""
        return tuple(self.title.split(" | "))


IDENTITIES = "exon F1 | 100 % | 80 % | 60 % | 40 % | 30 %"
BY_DIVERGENCE = "exon F1 | 0 % | 5 % | 15 % | 25 % | 35 % | 45 % | whole at 5 %"
RATES = "time | GCUPS"
RABIN_KARP = (
    "matches | kernel | rolling, k hashes in a loop | rolling, hash table | prefix sums, hash table"
)
BY_SIZE = "search, on the GPU | published design, on the GPU | call, from host memory | on two GPUs"
CREDIBILITY = "E-value at most | shuffled | 0.1 | 0.01 | 0.001 | diverged | 0.1 | 0.01 | 0.001"
FIRST_CALLS = (
    "command | first call | of processors | second call",
    rows_by("{name} | {first[seconds]!t} | {first[processor_seconds]!t} | {second[seconds]!t}"),
)
EXHAUSTIVE = (
    "proteins | credible | same score | same structure | whole pieces | windows",
    rows_by(
        "{data}, {identity} % | {credible} | {same_score} | {same_structure} | "
        "{processor_seconds:.0f} s | {processor_seconds_in_windows:.1f} s", "exhaustive",
    ),
)  # fmt: skip
CONSERVED = (
    "right of those found, and F1 | exons | intron chains | loci | exon F1 | chain F1 | locus F1"
)
CONFIDENCE = "annotated, by confidence | 0 to 4 | 5 to 9 | 10 to 14 | 15 to 19 | 20 and more"
REFERENCES = "proteins | loci | outside of true ones | mRNAs"
SETS = (
    "F1 | exons | intron chains | loci | loci found, true ones",
    rows_by(
        "{data}, {nucleotides!M} Mb, {proteins} proteins at {identity} %: {method} | "
        "{exon[f1]:.3f} | {chain[f1]:.3f} | {locus[f1]:.3f} | {locus[found]} of {locus[truth]}",
        "identity",
    ),
)  # fmt: skip

TABLES = {
    "first-calls": Table("first-call-cpu", *FIRST_CALLS),
    "first-calls-gpu": Table("first-call-h200", *FIRST_CALLS),
    "workflow": Table(
        "workflow-cpu", "two cores | cases | jobs | time | CPU",
        rows_by("{name} | {cases:,} | {jobs:,} | {seconds!t} | {cpu_seconds!t}"),
    ),
    # spliced alignment, list mode
    "list-mode": Table(
        "spliced-h200", f"list mode | {RATES}", rows.rates(SPLICED, "nominal_gcups")
    ),
    "list-mode-gpus": Table(
        "spliced-several-h200", "40,000 cases | one GPU | two | three | four", rows.spliced_several
    ),
    "list-mode-threads": Table(
        "spliced-h200", "threads | scores | GCUPS | chains | GCUPS", rows.spliced_threads
    ),
    "list-mode-parasail": Table(
        "spliced-cpu", "G cells a second of one core | gpu-tools | parasail",
        rows_by("scores of the case set | {gcups:.1f} | {parasail_gcups:.1f}"),
    ),
    "traceback": Table("spliced-h200", "chains and alignments | time", rows.traceback),
    "large-case": Table(
        "large-case-cpu",
        "case like IL1RAPL1, one core | processor's time | exons of the best chain | "
        "its nucleotides",
        rows_by(
            "{name} | {processor_seconds!t} | {same} of {of} | {shared:,} of {of_nucleotides:,}"
        ),
    ),
    "published": Table("estimate-h200", "design | GCUPS | best case", rows.published),
    "calls": Table(
        "calls-gpu", "warm calls, 16 cores | time | processor's time | GCUPS", rows.calls
    ),
    "calls-commands": Table(
        "calls-commands-gpu", "fly, 3 Mb, 16 cores | time", rows_by("{name} | {seconds!t}")
    ),
    # site mode
    "site-mode": Table("sites-h200", f"site mode | {RATES}", rows.sites),
    "site-mode-coding": Table(
        "sites-coding-h200", f"chains that translate | {RATES}", rows.rates(CODING)
    ),
    "proteins": Table("proteins-h200", f"proteins in site mode | {RATES}", rows.rates(PROTEINS)),
    "site-mode-cpu": Table(
        "sites-cpu", "site mode | processor's time | GCUPS a core",
        rows_by("{name} | {processor_seconds!t} | {gcups_a_core!n}"),
    ),
    "site-mode-memory": Table(
        "sites-memory", "base x target | peak | time",
        rows_by("{name} | {peak_megabytes:,} MB | {seconds!t}"),
    ),
    # accuracy
    "accuracy": Table(
        "accuracy", "exon F1 | 5 % | 15 % | 25 % | 35 % | 45 % | 50 %", accuracy.accuracy
    ),
    "accuracy-genome": Table("accuracy-genome", BY_DIVERGENCE, accuracy.accuracy_genome),
    "accuracy-peers": Table("accuracy-peers", BY_DIVERGENCE, accuracy.accuracy_genome),
    **{
        f"accuracy-peers-{data}": Table(
            f"accuracy-peers-{data}", BY_DIVERGENCE, partial(accuracy.accuracy_genome, left_out=())
        )
        for data in ("fly2L", "human", "at")
    },
    "accuracy-flanks": Table(
        "accuracy-flanks", f"exon F1 | targets | {' | '.join(accuracy.FLANKS)}",
        accuracy.accuracy_flanks,
    ),
    "accuracy-species": Table("accuracy-species", "exon F1" + " | " * 8, accuracy.accuracy_species),
    "accuracy-vertebrates": Table(
        "accuracy-vertebrates", "exon F1 | genes, exons | 5 % | 15 % | 25 % | 35 % | 45 %",
        accuracy.accuracy_vertebrates,
    ),
    "accuracy-fragments": Table(
        "accuracy-fragments", "`--ends` | share | 5 % | 15 % | 25 % | 35 %",
        accuracy.accuracy_fragments,
    ),
    "chains": Table("chains-cpu", "exon F1 | 15 % | 25 % | 35 % | s a gene, 25 %", accuracy.chains),
    "exons": Table("exons-cpu", "record | segments | sensitivity | per kb", rows.exons),
    "credibility-fly2L": Table("credibility-fly2L", CREDIBILITY, accuracy.credibility),
    "credibility-at": Table("credibility-at", CREDIBILITY, accuracy.credibility),
    "credibility-proteins": Table(
        "credibility-proteins", CREDIBILITY, accuracy.protein_credibility
    ),
    "proteins-identity": Table("accuracy-proteins", IDENTITIES, accuracy.proteins_identity),
    "proteins-homologs": Table(
        "accuracy-proteins",
        "exon F1 | proteins, exons | gpu-tools | spaln | miniprot | exonerate | genewise",
        accuracy.proteins_homologs,
    ),
    "proteins-short": Table(
        "accuracy-proteins", "exons of at most 15 nt | first | internal | last | exon F1",
        accuracy.proteins_short,
    ),
    "proteins-speed": Table(
        "accuracy-proteins", "three genes, both strands | processor's time | GCUPS a core",
        rows_by("{method} | {processor_seconds:.3f} s | {gcups:.3g}", "speed"),
    ),
    # how does it compare
    "compare-cdnas": Table(
        "accuracy", "exon F1 | 5 % | 15 % | 25 % | 35 % | 45 % | s a gene", comparison.cdnas
    ),
    "compare-identities": Table("accuracy-proteins", IDENTITIES, comparison.identities),
    "compare-proteins": Table(
        "accuracy-proteins",
        "mean exon F1 | vertebrates, 1 record | vertebrates, locus | fly | s a protein",
        comparison.proteins,
    ),
    # search and annotation
    "search-recall": Table(
        "search-recall-cpu",
        "targets | genes | whole in a window | in part | windows a target | median length | "
        "share of cells | processor's time",
        rows_by(
            "{kind} of {data}, {identity} % | {genes} | {whole} | {part} | {windows:.2f} | "
            "{median_length:,} | {share_of_cells!p} | {processor_seconds:.2g} s"
        ),
    ),
    "search-exhaustive": Table("search-cpu", *EXHAUSTIVE),
    "search-exhaustive-at": Table("search-at-cpu", *EXHAUSTIVE),
    "search-exhaustive-short": Table("search-short-cpu", *EXHAUSTIVE),
    "search-speed": Table(
        "search-speed-cpu",
        "genome | processor's time | elapsed",
        rows_by(
            "{genome}, {targets:,} proteins | {search_processor_seconds:.0f} s | "
            "{search_seconds:.0f} s"
        ),
    ),
    **{
        f"annotation-{name}{part}": Table(f"annotation-{name}", titles, own)
        for name in ("fly", "at")
        for part, titles, own in (
            ("", *SETS),
            ("-conserved", CONSERVED, rows.conserved),
            ("-references", REFERENCES, rows.references),
        )
    },
    "annotation-memory": Table(
        "annotation-memory",
        "genome | whole, seeded | index and genome, by the sum | a part of 16, exhaustive",
        rows.annotation_memory,
    ),
    "annotation-speed": Table(
        "annotation-speed-cpu",
        "12 Mb, 5,000 proteins, two threads | elapsed | processor's time | peak memory | "
        "transcripts | loci | outside of true ones | true loci met",
        rows_by(
            "{name} | {seconds:.0f} s | {processor_seconds:.0f} s | {peak_megabytes:,} MB | "
            "{transcripts:,} | {loci:,} | {outside:,} | {true} of {true_loci}"
        ),
    ),
    "wild-mrnas": Table(
        "wild-worm",
        "worm, mRNAs with untranslated ends | exact, both outer ends | intron chains | "
        "edges of exons, F1 | reported | processor's time",
        rows_by(
            "{substituted} % substituted: {method} | {exact} of {targets} | "
            "{chains} of {of_chains} | {edges:.3f} | {found} | {processor_seconds:.1f} s",
            "mrnas",
        ),
    ),
    "wild-own": Table(
        "wild-worm",
        "worm, own proteins | whole structures | exons, F1 | structures reported, annotated | "
        "introns reported, annotated | processor's time",
        rows_by(
            "{identity} %: {method} | {whole} of {targets} | {exons:.3f} | "
            "{structures}, {annotated} | {junctions}, {junctions_annotated} | "
            "{processor_seconds:.1f} s",
            "own",
        ),
    ),
    "wild-distant": Table(
        "wild-worm",
        "worm, conserved proteins of other kingdoms | introns reported | annotated | structures | "
        "processor's time",
        rows_by(
            "{source}: {method} | {junctions} | {junctions_annotated} | {structures} | "
            "{processor_seconds:.1f} s",
            "distant",
        ),
    ),
    "whole": Table(
        "whole-dictyostelium",
        "proteins at an identity | introns reported | in the span of a cDNA | right | "
        "processor's time",
        rows_by(
            "{identity} %: {method} | {introns} | {judged} | {right} | {processor_seconds:.1f} s"
        ),
    ),
    **{
        f"lift-{name}": Table(
            f"lift-{name}",
            f"{name}, nucleotides substituted | exact mRNAs, both outer ends | exact coding "
            "sequences | processor's time | peak memory",
            rows_by(
                "{differences}: {method} | {mrnas_exact} of {mrnas} | {coding_exact} of {coding} | "
                "{processor_seconds:.1f} s | {peak_megabytes:,} MB"
            ),
        )
        for name in ("worm", "fly2L", "at")
    },
    "lift-copies": Table(
        "lift-worm",
        "worm, 20 loci copied and 20 moved | mRNAs exact at both places",
        rows_by("{method} | {mrnas_copies_exact} of {mrnas_copies}", "moved"),
    ),
    "confidence-worm": Table("confidence-worm", CONFIDENCE, rows.by_confidence),
    "confidence-at": Table("confidence-at", CONFIDENCE, rows.by_confidence),
    "annotation-seeded": Table(
        "annotation-seeded",
        "proteins | hits | found | same | genes | found | same | exhaustive | seeded",
        rows_by(
            "{data}, {proteins} proteins at {identity} % | {hits[exhaustive]} | {hits[found]} | "
            "{hits[same]} | {genes[exhaustive]} | {genes[found]} | {genes[same]} | "
            "{exhaustive_seconds:.1f} s | {seeded_seconds:.1f} s"
        ),
    ),
    # the other problems
    "matching-approximate": Table(
        "matching-h200",
        "approximate | kernel | TCUPS | O-ASM | w-SCAN | w-Shuffle | w-SCAN, source | "
        "w-Shuffle, source",
        rows.matching_approximate,
    ),
    "matching-exact": Table(
        "matching-h200", "exact, 2^27 symbols, m = 10 to 30 | " + RABIN_KARP,
        rows.matching_exact("several", "{patterns:,} patterns, {symbols} symbols"),
    ),
    "matching-exact-lengths": Table(
        "matching-h200", "k patterns of m symbols | " + RABIN_KARP,
        rows.matching_exact("exact", "k = {patterns}, m = {shortest}"),
    ),
    "matching-cpu": Table("matching-cpu", "2^23 symbols | time | others", rows.matching_cpu),
    "segments": Table("segments-h200", "values | " + BY_SIZE, rows.by_size("segment, even")),
    "segments-all": Table(
        "segments-h200", "all maximal segments, from host memory | segments | call",
        rows_by("{name} | {all_segments:,} | {all_segments_ms!m}", "segment"),
    ),
    "submatrices": Table(
        "segments-h200", "rows and columns | " + BY_SIZE, rows.by_size("submatrix")
    ),
    "submatrices-branches": Table(
        "segments-h200",
        "4,096 x 4,096 values | one pair a thread, maxima | the same, branches | search",
        rows_by("{name} | {maxima_ms!m} | {branches_ms!m} | {search_ms!m}", "branches"),
    ),
    "submatrices-disjoint": Table(
        "segments-h200", "submatrices that share no cell | found | GPU | CPU",
        rows_by("{name} | {found} | {cuda_ms!m} | {cpu_ms!m}", "disjoint"),
    ),
    "local-h200": Table("local-h200", f"local alignment | {RATES}", rows.rates(LOCAL)),
    "local-lengths": Table(
        "local-h200",
        "both lengths | source, GTX 590, k = 10 | k = 10 | k = 25 | k = 100 | with N, k = 10 | "
        "light penalties, k = 10 | published forward pass",
        rows.local_lengths,
    ),
    "local-cpu": Table("local-cpu", f"one core | {RATES}", rows.rates(LOCAL_CPU)),
    "local-parasail": Table(
        "local-cpu", "G cells a second of one core | gpu-tools | parasail",
        rows.local_beside_parasail,
    ),
    "estimate-cpu": Table("estimate-cpu", rows.ERRORS, rows.model_errors),
    "estimate-gpu": Table("estimate-h200", rows.ERRORS, rows.model_errors),
}  # fmt: skip


def read(name: str) -> dict:
    """Return a record of benchmarks/results/."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def lines_of(name: str) -> list[Row]:
    """Return a table's titles and rows, without empty columns; nothing if there are no rows."""
    table = TABLES[name]
    rows = list(table.rows(read(table.record)["figures"]))
    return [
        (*row, *("",) * (len(table.titles) - len(row))) for row in (table.titles, *rows) if rows
    ]


def text_of(name: str) -> str:
    """Return a table in Markdown; its first title says where the figures come from."""
    lines, record = lines_of(name), TABLES[name].record
    if lines:
        (first, *titles), *others = lines
        titles = (f"{first} ({source_of(record, read(record))})", *titles)
        lines = [titles, ("---",) * len(titles), *others]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def source_of(name: str, recorded: dict) -> str:
    """Return a record's name, machine, commit and day, and what has changed since."""
    gpus, cpu = recorded["gpus"], recorded["cpu"]
    machine = f"{len(gpus)} x {gpus[0].split(',')[0]}, {cpu}" if gpus else cpu
    source = f"`{name}.json`: {machine}, {recorded['commit']}, {recorded['date'][:10]}"
    since = recorded.get("superseded")
    return f"{source}; measured before {since}" if since else source


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
