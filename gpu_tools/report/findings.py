"""What a report is made of: the table of scores, and the files that lie beside it.

`read_findings` reads them all. Every table is checked: numbers are numbers and rows differ, or an
error names the line.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from gpu_tools.errors import InputError
from gpu_tools.formats.alignments.gene_model import TRANSCRIPTS
from gpu_tools.formats.batch import CaseRow, exons_of_batches, read_case_rows
from gpu_tools.formats.exons.annotation import read_annotated_exons
from gpu_tools.formats.exons.gff import features
from gpu_tools.formats.exons.intervals import read_exons
from gpu_tools.formats.files import format_of, read_lines
from gpu_tools.formats.matches import ScoredRow, read_scores
from gpu_tools.formats.sequences.locus import cut_loci
from gpu_tools.formats.tables import MISSING, Location, read_table
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.loci import interval_of
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import decode, reverse_complement
from gpu_tools.report.run_facts import run_of

PathLike = str | os.PathLike
Interval = tuple[int, int]
Check = Callable[[Location, str, str], object]

SCORES, SUMMARY = "scores.tsv", "summary.json"
ALONE = "chain"
"""Name of the method in a table without a column ``method``."""
JOBS = {
    "spliced_align": "scores.tsv",
    "site_align": "site_scores.tsv",
    "protein_align": "protein_scores.tsv",
}
"""Rules that align, and each one's table of scores in the folder of a batch."""
METHODS = {"spliced_align": "candidates", "site_align": "sites", "protein_align": "proteins"}
"""What these rules' results are called in tables."""
_MODES = {"spliced_align": "list", "site_align": "site"}
"""What the time model calls them; it has none of proteins."""
ESTIMATE, HISTOGRAMS, CALLS = "estimate.tsv", "estimate_histograms.tsv", "estimate_calls.tsv"
"""Tables of spliced-estimate in the folder of the results, or of a batch."""
COUNTS = (
    "n_exons", "cells", "computed_cells", "groups", "largest_group", "longest_chain", "site_cells",
)  # fmt: skip
SECONDS = ("list_cpu_seconds", "list_gpu_seconds", "site_cpu_seconds", "site_gpu_seconds")
MEASURED = ("measured_seconds", "relative_error")
CANONICAL = ("GT-AG", "GC-AG", "AT-AC")
"""Donor and acceptor of the introns that spliceosomes remove."""
_UNKNOWN = ("-", "NA", None)
_DEVICE = re.compile(r"^done: .*; device ([^;]+);", re.M)
_ACCURACY = ("level", "annotated", "predicted", "true")
_RATIOS = ("base", "method", "exons", "sensitivity", "precision", "f1")


class SequenceFile(NamedTuple):
    """A record of a FASTA file: all of a base, or the part of it that begins at `start`."""

    path: Path
    record: str
    start: int


class CaseParallelism(NamedTuple):
    """A row of spliced-estimate: counts and seconds by their columns, and what was measured."""

    base: str
    target: str
    numbers: dict[str, float]
    measured: float | None
    estimated: float | None


class Bar(NamedTuple):
    """A bar of a histogram: values from `first` to `last`, and how often they occur."""

    first: int
    last: int
    count: int


class Parallelism(NamedTuple):
    """Cases that spliced-estimate counted, and histograms such as ``exon_length``.

    Bases of several batches count in each.
    """

    cases: list[CaseParallelism]
    histograms: dict[str, list[Bar]]


class Job(NamedTuple):
    """What an alignment job of the workflow took.

    `seconds` and `mebibytes` are those that Snakemake measured; `cells` those of its cases;
    `device` is what its log names, None without a log. `estimated` is what the time model says on
    such a device, with one thread of a CPU; None if spliced-estimate has not run.
    """

    rule: str
    batch: str
    cases: int
    cells: int
    seconds: float
    mebibytes: float | None
    device: str | None
    processor_seconds: float | None = None
    estimated: float | None = None

    @property
    def busy_seconds(self) -> float:
        """What an estimate compares with: the processor's time, or the whole with a GPU."""
        if _kind_of(self.device) == "gpu" or self.processor_seconds is None:
            return self.seconds
        return self.processor_seconds


class Findings(NamedTuple):
    """What a report shows.

    Rows and columns are those of the table of scores, which lies in `folder`. Candidate and
    annotated exons are by record and in its coordinates, sequences by base. Exons that translate
    have a phase, by target, start and end. `accuracy` are rows of the workflow's table, `scores` is
    the table that was read, `summary` is of the run that wrote it, None without a file.
    `junctions` say how often introns (start, end, strand) of a record were seen, None without any.
    """

    folder: Path
    columns: list[str]
    rows: list[ScoredRow]
    candidates: dict[str, ExonSet]
    annotation: dict[str, ExonSet]
    sequences: dict[str, SequenceFile]
    phases: dict[tuple[str, int, int], str]
    accuracy: list[dict]
    jobs: list[Job]
    parallelism: Parallelism = Parallelism([], {})
    scores: Path | None = None
    summary: dict | None = None
    junctions: Mapping[str, Counter] | None = None

    @property
    def accepted(self) -> list[ScoredRow]:
        """The rows of accepted chains."""
        return [row for row in self.rows if is_accepted(row)]

    @property
    def methods(self) -> list[str]:
        """The methods, in the order of the table."""
        return list(dict.fromkeys(map(method_of, self.rows)))


class Extra(NamedTuple):
    """Files that the results of single commands do not name: paths, each none or several."""

    candidates: Sequence[PathLike] = ()
    annotation: Sequence[PathLike] = ()
    alignments: Sequence[PathLike] = ()
    genome: PathLike | None = None
    junctions: Sequence[PathLike] = ()


NO_FILES = Extra()


def method_of(row: ScoredRow) -> str:
    """Return the method of a row: ``candidates``, ``sites`` or ``proteins`` of the workflow."""
    return row.fields.get("method", ALONE)


def is_accepted(row: ScoredRow) -> bool:
    """Return whether a row has an accepted chain."""
    return row.fields["accepted"] == "yes" and bool(row.alignment.chain)


def description_of(row: ScoredRow) -> str | None:
    """Return what a target's FASTA header says behind the name, None without that."""
    text = row.fields.get("description", MISSING)
    return None if text == MISSING else text


def ratio_of(row: ScoredRow, column: str) -> float | None:
    """Return the identity or coverage of a row, None for a missing one."""
    text = row.fields.get(column, MISSING)
    return None if text == MISSING else float(text)


def read_findings(results: PathLike, extra: Extra = NO_FILES) -> Findings:
    """Read the results of the workflow, or of single commands."""
    scores = _scores_of(Path(results))
    columns, rows = read_scores(scores)
    _check_numbers(scores, rows)
    folder = scores.parent
    batches = _batches(folder / "batches", rows)
    records = {row.fields["base"]: row.alignment.base for row in rows}
    candidates = _of_batches(batches, ("predicted.gff3", "given.gff3"), read_exons)
    annotation = _of_batches(batches, ("annotation.gff3",), read_annotated_exons)
    return Findings(
        folder, columns, rows,
        _joined(records, candidates, map(read_exons, extra.candidates)),
        _joined(records, annotation, map(read_annotated_exons, extra.annotation)),
        _sequences(rows, batches, extra.genome),
        _read_phases(_gene_models(folder, extra.alignments)),
        _read_accuracy(folder / "accuracy.tsv"),
        [job for rule in JOBS for batch in batches.items() if (job := _job(folder, rule, *batch))],
        _read_parallelism([folder, *batches]), scores, _read_summary(folder / SUMMARY),
        _joined_junctions([batch / "junctions.bed" for batch in batches], extra.junctions),
    )  # fmt: skip


def junctions_in(paths: Sequence[PathLike]) -> Mapping[str, Counter] | None:
    """Return how often introns were seen, by files; None without a file."""
    if not paths:
        return None
    from gpu_tools.formats.junctions import read_junctions

    return read_junctions(paths)


def _joined_junctions(cut: Sequence[Path], others: Sequence[PathLike]):
    """Return the introns of batches, which may share a locus, and of other files."""
    found = dict(junctions_in(others) or {})
    parts = [junctions_in([path]) for path in cut if path.exists()]
    for record, counts in (item for part in parts for item in part.items()):
        found[record] = found.get(record, Counter()) | counts
    return found if parts or others else None


def _read_summary(path: Path) -> dict | None:
    if not path.exists():
        return None
    try:
        found = json.loads("\n".join(line for _, line in read_lines(path)))
        return found | {"run": run_of(found["run"])}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            "no summary of results",
            path=path,
            line=line,
            expected="JSON of spliced-align --summary",
        ) from None


def findings_of(
    rows: list[ScoredRow], candidates: Mapping[str, ExonSet], annotation: Mapping[str, ExonSet]
) -> Findings:
    """Return findings of rows alone."""
    records = {row.fields["base"]: row.alignment.base for row in rows}
    sets = (_joined(records, exons, ()) for exons in (candidates, annotation))
    return Findings(Path(), [], rows, *sets, {}, {}, [], [])


def _scores_of(path: Path) -> Path:
    scores = path / SCORES if path.is_dir() else path
    if not scores.exists():
        raise InputError(
            "no table of scores", path=scores,
            expected=f"a folder with {SCORES}, such a table, or a folder with genes.gff3 and "
            "targets.tsv",
        )  # fmt: skip
    return scores


def _check_numbers(path: Path, rows: Iterable[ScoredRow]) -> None:
    """Raise `InputError` for wrong numbers of a row, or a row twice; a header line comes first."""
    checks, places = dict.fromkeys(("identity", "coverage"), fraction), {}
    checks |= {"cells": count, "evalue": Location.number}
    for line, row in enumerate(rows, start=2):
        place = Location(path, line)
        unique(places, tuple(row.fields.values()), place)
        for name, check in checks.items():
            if row.fields.get(name, MISSING) != MISSING:
                check(place, row.fields[name], name)


def _batches(folder: Path, rows: Iterable[ScoredRow]) -> dict[Path, list[CaseRow]]:
    """Return the cases of the folders whose cases are all in the table, the newest folder first.

    The workflow leaves there what former sheets of cases made.
    """
    known = {(r.fields["base"], r.fields["target"], r.fields.get("locus")) for r in rows}
    tables = sorted(folder.glob("*/pairs.tsv"), key=lambda path: -path.stat().st_mtime_ns)
    cases = {table.parent: read_case_rows(table) for table in tables}
    return {
        batch: found
        for batch, found in cases.items()
        if all((case.base, case.target, case.locus.name) in known for case in found)
    }


def _of_batches(batches: Iterable[Path], names: Sequence[str], read) -> dict[str, ExonSet]:
    """Return the exons of batches by base, in the coordinates of records.

    They are read from the first file of the names that a batch has.
    """
    files = [next((b / n for n in names if (b / n).exists()), None) for b in batches]
    paths = [path for path in files if path]
    return exons_of_batches(paths, [path.with_name("pairs.tsv") for path in paths], read)


def _joined(
    records: Mapping[str, str], by_base: Mapping[str, ExonSet], others: Iterable[Mapping]
) -> dict[str, ExonSet]:
    """Return exons by record: those of bases, and those of files, which name records or loci."""
    found: dict[str, list[ExonSet]] = {}
    for base, exons in by_base.items():
        found.setdefault(records.get(base, base), []).append(exons)
    for sets in others:
        for name, exons in sets.items():
            locus = None if name in records.values() else Locus.parse(name)
            record = locus.record if locus else name
            found.setdefault(record, []).append(locus.exons_to_record(exons) if locus else exons)
    return {record: ExonSet.concatenate(sets) for record, sets in found.items()}


def _sequences(
    rows: Iterable[ScoredRow], batches: Mapping[Path, list[CaseRow]], genome: PathLike | None
) -> dict[str, SequenceFile]:
    whole = {}
    if genome is not None:
        whole = {r.fields["base"]: SequenceFile(Path(genome), r.alignment.base, 0) for r in rows}
    return whole | {
        case.base: SequenceFile(batch / "bases.fa.gz", case.base, case.locus.start)
        for batch, cases in batches.items()
        if (batch / "bases.fa.gz").exists()
        for case in cases
    }


def _gene_models(folder: Path, others: Iterable[PathLike]) -> list[Path]:
    own = (folder / f"{prefix}alignments.gff3" for prefix in ("", "site_", "protein_"))
    others = (Path(path) for path in others if format_of(path, (".gff3",)))
    return list(dict.fromkeys([*(path for path in own if path.exists()), *others]))


def _read_phases(paths: Iterable[Path]) -> dict[tuple[str, int, int], str]:
    """Return the phases of the coding segments of chains that translate."""
    phases, targets = {}, {}
    for feature in (f for path in paths for f in features(path, read_lines(path))):
        if feature.type in TRANSCRIPTS:
            targets[feature.attribute("ID")] = unquote(feature.attribute("Name") or "")
        elif feature.type == "CDS":
            target = targets.get(feature.attribute("Parent"), "")
            phases[target, *feature.interval] = feature.phase
    return phases


def _read_accuracy(path: Path) -> list[dict]:
    if not path.exists():
        return []
    checks = dict.fromkeys(_ACCURACY[1:], count) | dict.fromkeys(_RATIOS[3:], fraction)
    key = (*_RATIOS[:3], _ACCURACY[0])
    return [row for _, row in read_checked(path, _ACCURACY, _RATIOS, checks, key)]


def splice_sites(
    file: SequenceFile, introns: Iterable[tuple[Interval, str]]
) -> dict[tuple[Interval, str], str]:
    """Return donor and acceptor of introns, by interval and strand."""
    wanted = [(i, s) for i, s in dict.fromkeys(introns) if i[1] - i[0] >= 4]
    loci = [
        Locus(file.record, a - file.start, b - file.start)
        for (start, end), _ in wanted
        for a, b in ((start, start + 2), (end - 2, end))
    ]
    cut = iter(cut_loci(file.path, loci) if loci else [])
    found = {}
    for (interval, strand), first, last in zip(wanted, cut, cut, strict=True):
        donor, acceptor = first.codes, last.codes
        if strand == "-":
            donor, acceptor = reverse_complement(acceptor), reverse_complement(donor)
        found[interval, strand] = f"{decode(donor)}-{decode(acceptor)}"
    return found


# Jobs and their times


def _job(folder: Path, rule: str, batch: Path, cases: list[CaseRow]) -> Job | None:
    path, table = folder / "benchmarks" / rule / f"{batch.name}.tsv", batch / JOBS[rule]
    if not (path.exists() and table.exists()):
        return None
    cells = [int(row["cells"]) for _, row in read_checked(table, ("cells",), (), {"cells": count})]
    if len(cells) != len(cases):
        raise InputError(f"{len(cells)} rows", path=table, expected=f"{len(cases)}, one a case")
    measured = _read_benchmark(path)
    processor = measured["cpu_time"]
    device = _device_of(folder, Path(rule) / f"{batch.name}.log")
    return Job(
        rule, batch.name, len(cells), sum(cells), sum(measured["s"]),
        max(measured["max_rss"], default=None), device, sum(processor) if processor else None,
        _read_calls(batch / CALLS).get((_MODES.get(rule, ""), _kind_of(device))),
    )  # fmt: skip


def _read_benchmark(path: Path) -> dict[str, list[float]]:
    """Return Snakemake's measurements by column; what was too short for them is left out."""
    found: dict[str, list[float]] = {"s": [], "max_rss": [], "cpu_time": []}
    for line, row in read_table(path, ("s", "max_rss"), ("cpu_time",), comments=False):
        for name, numbers in found.items():
            if row[name] not in _UNKNOWN:
                numbers.append(Location(path, line).number(row[name], name))
    return found


def _kind_of(device: str | None) -> str:
    """Return the kind of a device as the time model calls it; a log may say why it changed."""
    return "gpu" if device and device.startswith("cuda") and "then cpu" not in device else "cpu"


def _device_of(folder: Path, log: Path) -> str | None:
    """Return the device that the last line of a job's log names.

    Logs lie beside the folder of results, or in it.
    """
    for path in (folder.resolve().parent / "logs" / log, folder / "logs" / log):
        if path.exists():
            found = _DEVICE.findall(path.read_text("utf-8", errors="replace"))
            return found[-1] if found else None
    return None


def _read_calls(path: Path) -> dict[tuple[str, str], float]:
    """Return the seconds of one call with all cases by mode and kind of device, if known."""
    if not path.exists():
        return {}
    rows = read_checked(path, ("mode", "kind", "seconds"), key=("mode", "kind"))
    return {
        (row["mode"], row["kind"]): place.number(row["seconds"], "seconds") for place, row in rows
    }


def _read_parallelism(folders: Sequence[Path]) -> Parallelism:
    """Read the tables of spliced-estimate that lie in some folders."""
    cases = [case for folder in folders for case in _read_cases(folder / ESTIMATE)]
    return Parallelism(cases, _read_histograms(folder / HISTOGRAMS for folder in folders))


def _read_cases(path: Path) -> list[CaseParallelism]:
    if not path.exists():
        return []
    columns = ("base", "target", *COUNTS, *SECONDS)
    checks = dict.fromkeys(COUNTS, count)
    rows = read_checked(path, columns, MEASURED, checks, ("base", "target"))
    return [_case(place, row) for place, row in rows]


def _case(place: Location, row: dict) -> CaseParallelism:
    numbers = {name: place.number(row[name], name) for name in (*COUNTS, *SECONDS)}
    if None in (row[name] for name in MEASURED):
        return CaseParallelism(row["base"], row["target"], numbers, None, None)
    measured, error = (place.number(row[name], name) for name in MEASURED)
    return CaseParallelism(row["base"], row["target"], numbers, measured, measured * (1 + error))


def _read_histograms(paths: Iterable[Path]) -> dict[str, list[Bar]]:
    columns, counted = ("histogram", "from", "to", "count"), Counter()
    for path in filter(Path.exists, paths):
        checks = dict.fromkeys(columns[1:], count)
        for _, row in read_checked(path, columns, (), checks, columns[:3]):
            first, last, occurrences = (int(row[name]) for name in columns[1:])
            counted[row["histogram"], first, last] += occurrences
    found: dict[str, list[Bar]] = {}
    for (name, first, last), occurrences in sorted(counted.items()):
        found.setdefault(name, []).append(Bar(first, last, occurrences))
    return found


# Checks of tables


def count(place: Location, text: str, what: str) -> None:
    """Raise `InputError` for what is no integer, or a negative one."""
    if (number := place.integer(text, what)) < 0:
        raise place.error(f"{what} {number} is negative")


def fraction(place: Location, text: str, what: str) -> None:
    """Raise `InputError` for what is no number from 0 to 1."""
    if not 0 <= place.number(text, what) <= 1:
        raise place.error(f"{what} {text} is out of range", "0 to 1")


def one_of(*words: str) -> Check:
    """Return the check of a column that holds one of some words."""

    def check(place: Location, text: str, what: str) -> None:
        if text not in words:
            raise place.error(f"{what} {text!r} is unknown", " or ".join(words))

    return check


def unique(places: dict[tuple, int], key: tuple, place: Location) -> None:
    """Note the key of a row; the key of an earlier row is an error."""
    first = places.setdefault(key, place.line)
    if first != place.line:
        raise place.error(f"the row of line {first} again", "a row for each")


def read_checked(
    path: Path,
    required: Sequence[str],
    optional: Sequence[str] = (),
    checks: Mapping[str, Check] | None = None,
    key: Sequence[str] = (),
) -> list[tuple[Location, dict]]:
    """Return the rows of a table and their places."""
    found, places = [], {}
    for line, row in read_table(path, required, optional, comments=False):
        place = Location(path, line)
        for name, check in (checks or {}).items():
            if row[name] is not None:
                check(place, row[name], name)
        if key:
            unique(places, tuple(row[name] for name in key), place)
        found.append((place, row))
    return found


MOST_TARGETS = 12
"""Targets of a method that are drawn at a locus."""
MARGIN = 500
"""Nucleotides beside the chains in which candidates and annotation are shown, at most."""


class DrawnLocus(NamedTuple):
    """A place on a record, and the chains there.

    `name` is the base's; of several loci on a base it also says where: ``RECORD:START-END``.
    `interval` reaches from the first to the last nucleotide of the chains, 0-based half-open.
    `rows` are chains by method in the order of the table, then by falling score; `omitted` chains
    of lower scores are left out. A base without any accepted chain has each method's best one.
    """

    name: str
    base: str
    record: str
    interval: Interval
    rows: list[ScoredRow]
    omitted: int
    accepted: bool

    @property
    def best(self) -> ScoredRow:
        """The chain of the lowest E-value, of equal ones the first."""
        return min(self.rows, key=rank)

    @property
    def shown(self) -> Interval:
        """The interval in which candidates and annotation are shown."""
        start, end = self.interval
        margin = min(MARGIN, (end - start) // 10 + 50)
        return max(0, start - margin), end + margin

    def within(self, sets: dict[str, ExonSet]) -> ExonSet:
        """Return the exons of the locus's record that lie in what is shown."""
        exons = sets.get(self.record, ExonSet.empty())
        start, end = self.shown
        return exons.take((exons.starts >= start) & (exons.ends <= end))


def rank(row: ScoredRow) -> tuple[float, float]:
    """Return how good a chain is, the smallest first: its E-value, then its score."""
    evalue = row.alignment.evalue
    return float("inf") if evalue is None else evalue, -(row.alignment.score or 0)


def drawn_loci(findings: Findings) -> list[DrawnLocus]:
    """Return the loci of all bases with a chain."""
    methods = findings.methods
    bases: dict[str, list[ScoredRow]] = {}
    for row in findings.rows:
        bases.setdefault(row.fields["base"], [])
        if row.alignment.chain:
            bases[row.fields["base"]].append(row)
    return [locus for rows in bases.values() if rows for locus in _of_base(rows, methods)]


def drawn_bases(findings: Findings) -> list[DrawnLocus]:
    """Return all chains of each base as one locus."""
    bases: dict[str, list[ScoredRow]] = {}
    for row in findings.rows:
        if row.alignment.chain:
            bases.setdefault(row.fields["base"], []).append(row)
    return [_locus(rows, findings.methods, MOST_TARGETS, whole=True) for rows in bases.values()]


def _of_base(rows: list[ScoredRow], methods: list[str]) -> list[DrawnLocus]:
    accepted = [row for row in rows if is_accepted(row)]
    if not accepted:
        best = min(rows, key=rank)
        near = [row for row in rows if overlap(_interval(row), _interval(best))]
        return [_locus(near, methods, 1, whole=True)]
    groups = clusters(accepted)
    return [_locus(group, methods, MOST_TARGETS, whole=len(groups) == 1) for group in groups]


def _locus(rows: list[ScoredRow], methods: list[str], most: int, whole: bool) -> DrawnLocus:
    drawn = [row for method in methods for row in _best_of(rows, method, most)]
    bounds = [_interval(row) for row in drawn]
    interval = min(start for start, _ in bounds), max(end for _, end in bounds)
    first = rows[0]
    record, base = first.alignment.base, first.fields["base"]
    place = f"{record}:{interval[0] + 1}-{interval[1]}"
    name = base if whole else place if base == record else f"{base} ({place})"
    accepted = is_accepted(first)
    omitted = len(rows) - len(drawn) if accepted else 0
    return DrawnLocus(name, base, record, interval, drawn, omitted, accepted)


def _best_of(rows: Iterable[ScoredRow], method: str, most: int) -> list[ScoredRow]:
    found = [row for row in rows if method_of(row) == method]
    return sorted(found, key=lambda row: -row.alignment.score)[:most]


def clusters(rows: Iterable[ScoredRow]) -> list[list[ScoredRow]]:
    """Return groups of chains that overlap, directly or through others, by their starts."""
    groups: list[list[ScoredRow]] = []
    end = -1
    for row in sorted(rows, key=_interval):
        start, last = _interval(row)
        if start >= end:
            groups.append([])
        groups[-1].append(row)
        end = max(end, last)
    return groups


def overlap(one: Interval, other: Interval) -> bool:
    """Return whether two intervals have a nucleotide in common."""
    return one[0] < other[1] and other[0] < one[1]


def _interval(row: ScoredRow) -> Interval:
    return interval_of(row.alignment)
