"""Rows of tables that are more than a line of each figure, see `formatting.rows_by`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from benchmarks.formatting import Row, ms, number, seconds
from benchmarks.row_names import SITES

ERRORS = "time model | cases | median error | 95th percentile | maximum | all in one call"
_MODES = {"list": "list mode", "site": "site mode"}
_DESIGNS = ("sequential", "accelerator1", "accelerator2")
_MODELS = {"equation": "published equation", "extended": "with launches and rows above"}


def rates(names: dict[str, str], rate: str = "gcups") -> Callable[[dict], Iterator[Row]]:
    """Return a function that yields a row for each named figure of time and rate."""

    def rows(figures: dict) -> Iterator[Row]:
        for name in filter(figures.__contains__, names):
            own = figures[name]
            if rate in own:
                yield names[name], seconds(own["seconds"]), number(own[rate])

    return rows


def calls(figures: dict) -> Iterator[Row]:
    """Yield a row for each whole call: its time, the processor's, and the rate if it has one."""
    for name, own in figures.items():
        times = seconds(own["seconds"]), seconds(own["processor_seconds"])
        yield name, *times, number(own["gcups"]) if "gcups" in own else ""


def spliced_several(figures: dict) -> Iterator[Row]:
    """Yield a row a function: the time on one GPU, on two, and so on."""
    for function in ("spliced_scores", "spliced_align_many"):
        own = [v["seconds"] for name, v in figures.items() if name.startswith(function)]
        yield f"`{function}`", *map(seconds, own)


def spliced_threads(figures: dict) -> Iterator[Row]:
    """Yield a row for each number of threads: the case set's scores, and its chains."""
    for name in figures:
        if found := re.fullmatch(r"cpu_spliced_scores_(\d+)_threads", name):
            both = figures[name], figures[f"cpu_spliced_align_many_{found[1]}_threads"]
            cells = [(seconds(own["seconds"]), number(own["nominal_gcups"])) for own in both]
            yield found[1], *cells[0], *cells[1]


def local_beside_parasail(figures: dict) -> Iterator[Row]:
    """Yield the rates of the score pass and of parasail's fastest kernel on one core."""
    own = figures.get("one_core_k_1") or figures["one_core_score_pass"]
    other, length = figures["parasail_one_core"]["gcups"], f"{own['length']:,}"
    yield f"{length} x {length}", f"{own['gcups']:.1f}", f"{max(other.values()):.1f}"


def published(figures: dict) -> Iterator[Row]:
    """Yield a row for each published design on the case set."""
    for design in filter(figures.__contains__, _DESIGNS):
        own = figures[design]
        if "total_gcups" in own:
            yield design, number(own["total_gcups"]), number(own["best_gcups"])


def traceback(figures: dict) -> Iterator[Row]:
    """Yield the times of chains and alignments behind a sweep."""
    names = {"gpu_kernel": "case set", "gpu_kernel_large_case": "case like IL1RAPL1"}
    yield from ((title, f"{figures[name]['trace_ms']:.2f} ms") for name, title in names.items())


def sites(figures: dict) -> Iterator[Row]:
    """Yield rows of site mode on both devices."""
    some = figures["some_cases_library"]
    cpu = some.get("cpu") or some["cpu_all_cores"]
    named = figures | {"some_cases_cuda": some["cuda"], "some_cases_cpu": cpu}
    yield from rates(SITES)(named)


def exons(figures: dict) -> Iterator[Row]:
    """Yield a row an annotated record, judged by a model of the others."""
    for row in figures["exons"]["at_cutoff"]:
        yield row["record"], f"{row['segments']}", f"{row['sensitivity']:.3f}", f"{row['density']}"


_COSTS = {"unit": "unit costs", "weighted": "costs 2, 3, 4", "by symbol": "costs by symbol"}
_GTX_960 = {
    32: (4.90, 2.67), 64: (7.13, 5.44), 128: (16.51, 10.90), 256: (31.87, 21.99),
    512: (68.44, 44.71), 1024: (159.93, 92.43),
}  # fmt: skip
"""The source's milliseconds of w-SCAN and w-Shuffle by m: Nunes 2018, table 4.1."""


def matching_approximate(figures: dict) -> Iterator[Row]:
    """Yield a row a problem of approximate matching: the plan that a search chooses."""
    for name, own in figures.items():
        kind = name.partition(" m=")[0]
        if kind in _COSTS:
            size, length = own["chosen"]
            plan = own["plans"][f"size {size}, parts of {length}"]
            what = f"{_COSTS[kind]}, m = {own['m']:,}, n = 2^{own['n'].bit_length() - 1}"
            others = [own.get("published", {}).get(d) for d in ("O-ASM", "w-SCAN", "w-Shuffle")]
            source = _GTX_960[own["m"]] if kind == "unit" and others[0] else (None, None)
            yield what, ms(plan["kernel_ms"]), f"{plan['tcups']:.1f}", *map(ms, (*others, *source))


def matching_exact(part: str, what: str) -> Callable[[dict], Iterator[Row]]:
    """Return a function that yields a row for each problem of exact matching of a part."""

    def rows(figures: dict) -> Iterator[Row]:
        for own in (own for name, own in figures.items() if name.startswith(part)):
            others = own.get("published", {})
            times = (
                own["kernel_ms"],
                *map(others.get, ("rolling, loop", "rolling", "prefix sums")),
            )
            yield what.format(**own), f"{own['matches']:,}", *map(ms, times)

    return rows


def matching_cpu(figures: dict) -> Iterator[Row]:
    """Yield a row a problem on one core: own time and the fastest peer's."""
    for name, own in figures.items():
        if "own_ms" in own:
            peers = {k.removesuffix("_ms"): v for k, v in own.items() if k.endswith("_ms")}
            mine = peers.pop("own")
            others = ", ".join(f"{peer} {ms(value)}" for peer, value in peers.items())
            yield name, ms(mine), others


def by_size(part: str) -> Callable[[dict], Iterator[Row]]:
    """Return a function that yields a row for each figure of segments or submatrices of a part."""

    def rows(figures: dict) -> Iterator[Row]:
        for own in (own for name, own in figures.items() if name.startswith(part)):
            times = ("kernel", "published", "call", "call_all")
            yield f"{own['size']:,}", *(_mean_of(own[time]) for time in times if time in own)

    return rows


def _mean_of(own: dict) -> str:
    return f"{ms(own['mean_ms'])} ± {100 * own['sd_ms'] / own['mean_ms']:.1f} %"


_GTX_590 = {10_000: 0.409, 50_000: 5.734, 100_000: 26.207, 250_000: 130.993, 500_000: 503.063}
"""The source's seconds by length, k = 10: Hucaljuk 2012."""
_OF_LENGTH = ("k = 10", "k = 25", "k = 100", "with N", "light", "published forward pass")


def local_lengths(figures: dict) -> Iterator[Row]:
    """Yield a row for each of the source's lengths."""
    for length, source in _GTX_590.items():
        found = [figures.get(f"{length}, {what}") for what in _OF_LENGTH]
        if any(found):
            yield (
                f"{length:,}",
                seconds(source),
                *(seconds(f["seconds"]) if f else "" for f in found),
            )


def conserved(figures: dict) -> Iterator[Row]:
    """Yield a row a source of proteins and method: right of the exons, chains and loci found."""
    for row in (row for name, row in figures.items() if name.startswith("kogs")):
        right = (
            f"{round(row[level]['precision'] * row[level]['found'])} of {row[level]['found']}"
            for level in ("exon", "chain", "locus")
        )
        scores = (f"{row[level]['f1']:.3f}" for level in ("exon", "chain", "locus"))
        yield f"{row['source']}, {row['proteins']} proteins: {row['method']}", *right, *scores


def references(figures: dict) -> Iterator[Row]:
    """Yield a row a set of proteins: loci, those outside of true ones, and mRNAs."""
    for row in (row for name, row in figures.items() if name.startswith("references")):
        name = f"{row['data']}: {' and '.join(row['sources'])}, {row['proteins']} proteins"
        yield name, str(row["loci"]), str(row["outside"]), str(row["mrnas"])
    for row in (row for name, row in figures.items() if name.startswith("shuffled")):
        name = f"{row['data']}: residues in random order, {row['proteins']} proteins, E = 0.01"
        yield name, str(row["loci"]), "", ""


def annotation_memory(figures: dict) -> Iterator[Row]:
    """Yield a row a genome: the peaks of a seeded run and of a part, and the planned sum."""
    parts = {name.split()[2]: row for name, row in figures.items() if name.startswith("exhaus")}
    for name, row in figures.items():
        kind, size = name.split()[:2]
        if kind == "seeded":
            peaks = row, parts.get(size, {})
            whole, part = (_megabytes(own.get("peak_megabytes")) for own in peaks)
            planned = _megabytes(row["planned_megabytes"])
            yield f"{int(size.replace(',', '')) / 1e6:g} Mb", whole, planned, part


def _megabytes(value: int | None) -> str:
    return "" if value is None else f"{value:,} MB"


def by_confidence(figures: dict) -> Iterator[Row]:
    """Yield a row for the introns, and one for the exons, of each set of targets."""
    for source, own in figures.items():
        for kind in ("introns", "exons"):
            counts = [[0, 0] for _ in range(5)]
            for least, (several, annotated) in own[kind].items():
                mine = counts[min(int(least) // 5, 4)]
                mine[0] += several
                mine[1] += annotated
            name = "own proteins" if source == "own" else f"proteins of {source}"
            yield f"{kind}, {name}", *(f"{right} of {several}" for several, right in counts)


def model_errors(figures: dict) -> Iterator[Row]:
    """Yield a row for each mode of this package and each fit, and two for each published design."""
    for mode, name in _MODES.items():
        if own := figures.get(mode):
            yield name, *_of_mode(own)
    for mode, own in figures.get("fitted", {}).items():
        yield f"{_MODES[mode]}, fitted on the other half", *_of_mode(own)
    for design in filter(figures.__contains__, _DESIGNS):
        own = figures[design]
        for model, name in _MODELS.items():
            count = f"{len(own['measured']) // 2:,}"
            yield f"{design}, {name}", count, *_errors(own[model])


def _of_mode(own: dict) -> Row:
    times = seconds(own["together_estimated"]), seconds(own["together_measured"])
    together = f"{times[0]} estimated, {times[1]} measured"
    return f"{len(own['estimated']):,}", *_errors(own), together


def _errors(own: dict) -> Row:
    return tuple(f"{100 * own[name]:.1f} %" for name in ("median", "percentile_95", "maximum"))
