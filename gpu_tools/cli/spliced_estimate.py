"""``gpu-tools spliced-estimate``: parallelism of cases, and how long they take."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

import click

from gpu_tools.cli.common import loci, options
from gpu_tools.cli.common.cases import CaseFiles, read_cases
from gpu_tools.cli.common.options import GENOMIC, option, progress
from gpu_tools.errors import counted
from gpu_tools.formats import tables
from gpu_tools.hardware.device import cpu_threads

COLUMNS = (
    "base", "target", "base_length", "target_length", "n_exons", "cells", "computed_cells",
    "groups", "largest_group", "entries", "longest_chain", "sequential", "intra_exon",
    "inter_exon", "list_steps", "list_warps", "list_cpu_seconds", "list_gpu_seconds",
    "site_cells", "site_steps", "site_warps", "site_cpu_seconds", "site_gpu_seconds",
    "memory_bytes",
)  # fmt: skip
MEASURED = ("measured_seconds", "relative_error")
HISTOGRAM = ("histogram", "from", "to", "count")
CALLS = ("mode", "kind", "device", "seconds")
FIGURES = ("kind", "device", "version", "mode", "part", "seconds")
_MODES = ("list", "site")


@click.command("spliced-estimate")
@option("--genome base FASTA", "Genomic sequences.", aliases=GENOMIC)
@loci.region_of("the genomic sequences")
@option(
    "--exons FILE",
    "Candidate exons by sequence name: GENSCAN report, GFF3, GTF, BED or TSV. Site mode needs "
    "none.",
)
@options.targets
@options.pairs
@options.exons_format
@option(
    "--histograms FILE",
    "Also write how often lengths of exons and sizes of groups occur, as TSV.",
)
@option(
    "--calls FILE",
    "Also write how long one call with all cases takes in each mode on each kind of device, on a "
    "CPU with one thread, as TSV.",
)
@option(
    "--calibrate/--no-calibrate", default=None,
    help="Time the device first, some seconds, and store its figures in the user's cache folder. "
    "Without cases the table holds these figures.  [default: if the stored figures are of another "
    "device or version]",
)  # fmt: skip
@option(
    "--measure",
    "Also run each case alone, and report the time and the estimate's relative error.",
)
@option(
    "--mode", type=click.Choice(_MODES), default=_MODES[0],
    help="What --measure runs, and what the last line sums up: listed candidates, or all exons "
    "that sites allow.",
)  # fmt: skip
@options.output
@options.device_unless(lambda r: None if r["measure"] or r["calibrate"] else "estimates")
@options.common
def command(
    base, regions, exons, targets, pairs, exons_format, histograms, calls, calibrate, measure,
    mode, output, device, threads, quiet,
) -> None:  # fmt: skip
    """Estimate the parallelism of cases of spliced alignment, and how long they take.

    The cases are those of spliced-align with --exons, or with --mode site without. The table has
    one row for each case: cells, groups of exons that do not depend on each other, the published
    estimates in cells, and the seconds of a call with this case alone in list mode and in site
    mode, on one thread of the CPU and on a GPU. Nothing is aligned unless --measure is given.
    """
    is_alone = _is_calibration({"genome": base, "exons": exons, "cdnas": targets}, calibrate, mode)
    measured = _calibrated(device, calibrate, quiet)
    if is_alone:
        tables.write_table(output, FIGURES, _figure_rows(measured))
        options.note(f"figures of {measured.device} measured")
        return
    files = CaseFiles(base, exons, targets, pairs, exons_format, regions)
    cases = read_cases(files).cases
    work, estimates, known = _estimated(cases, measured)
    expected = [each.seconds[mode, _kind(device)] for each in estimates]
    times = _measured(cases, expected, mode, device, quiet) if measure else None
    columns = COLUMNS + (MEASURED if measure else ())
    tables.write_table(output, columns, _rows(estimates, times, (mode, _kind(device))))
    if histograms:
        tables.write_table(histograms, HISTOGRAM, _histogram_rows(cases))
    options.note(counted(len(cases), "case"))
    if calls:
        tables.write_table(calls, CALLS, _call_rows(work, known, exons is not None))
    _sum_up(work, known, mode, cpu_threads(threads))
    if times:
        _tell_errors(estimates, times, (mode, _kind(device)))


def _is_calibration(inputs: dict, calibrate: bool | None, mode: str) -> bool:
    """Return whether there are no cases, only a calibration; cases must be whole."""
    missing = [f"--{name}" for name, value in inputs.items() if value is None]
    if missing == ["--exons"] and mode == "site":
        return False
    if missing and not (calibrate and len(missing) == len(inputs)):
        raise click.UsageError(
            f"{', '.join(missing)} missing; expected cases, or --calibrate alone"
        )
    return bool(missing)


def _kind(device: str) -> str:
    return "cpu" if device == "cpu" else "gpu"


def _calibrated(device: str, calibrate: bool | None, quiet: bool):
    """Return figures measured now: if wanted, or if those stored are of another device or version.

    None if nothing is measured. `calibrate` is None if nothing was said.
    """
    from gpu_tools.estimate import figures as calibration
    from gpu_tools.estimate.figures import store_figures, stored_figures, was_calibrated

    kind = _kind(device)
    if calibrate is None:
        calibrate = was_calibrated(kind) and stored_figures(kind) is None
    if not calibrate:
        return None
    total = calibration.calibration_weights(device) * calibration.TIMING_ROUNDS
    with progress("calibrating", total, quiet) as done:
        figures = calibration.calibrate_device(device, tell=done)
    store_figures(figures)
    return figures


def _estimated(cases, measured):
    """Return what cases consist of, their estimates, and the figures of both kinds of device."""
    from gpu_tools.estimate.api import spliced_estimate
    from gpu_tools.estimate.figures import device_figures
    from gpu_tools.estimate.model import case_work

    kinds = ("cpu", "gpu")
    known = [measured if measured and measured.kind == k else device_figures(k) for k in kinds]
    work = case_work(cases)
    return work, spliced_estimate(work, known), known


def _measured(cases, expected: list[float], mode: str, device: str, quiet: bool) -> list[float]:
    """Return the seconds of a call with each case alone; progress is that of the expected ones."""
    from gpu_tools.estimate.figures import TIMING_ROUNDS, call_of, least_seconds, weights_of

    calls = [call_of(mode, [case], device) for case in cases]
    weights = weights_of(expected)
    with progress("measuring", sum(weights) * TIMING_ROUNDS, quiet) as done:
        return least_seconds(calls, device, done, weights=weights)


def _rows(estimates, times: list[float] | None, measured: tuple[str, str]) -> Iterator[tuple]:
    for each, seconds in zip(estimates, times or repeat(None), strict=times is not None):
        by = {f"{mode}_{kind}": f"{each.seconds[mode, kind]:.6f}" for mode, kind in each.seconds}
        yield (
            each.base, each.target, each.base_length, each.target_length, each.n_exons, each.cells,
            each.computed_cells, each.groups, each.largest_group, each.entries,
            each.longest_chain, each.sequential, each.intra_exon, each.inter_exon,
            each.list_steps, each.list_warps, by["list_cpu"], by["list_gpu"],
            each.site_cells, each.site_steps, each.site_warps, by["site_cpu"], by["site_gpu"],
            each.memory, *_error(each.seconds[measured], seconds),
        )  # fmt: skip


def _error(estimated: float, measured: float | None) -> tuple[str, ...]:
    """Return the measured time, and the relative error of the estimate, if there is one."""
    if measured is None:
        return ()
    return f"{measured:.6f}", f"{estimated / measured - 1:.4f}"


def _histogram_rows(cases) -> Iterator[tuple]:
    from gpu_tools.estimate.model import exon_histograms

    for own in exon_histograms(cases):
        for number, count in own.counts.items():
            yield own.name, number * own.width + 1, (number + 1) * own.width, count


def _call_rows(work, known, has_candidates: bool) -> Iterator[tuple]:
    from gpu_tools.estimate.api import estimated_seconds

    for mode in _MODES if has_candidates else ("site",):
        for own in known:
            yield mode, own.kind, own.device, f"{estimated_seconds(work, own, mode):.6f}"


def _figure_rows(figures) -> Iterator[tuple]:
    for mode, parts in figures.seconds.items():
        for part, seconds in parts.items():
            yield figures.kind, figures.device, figures.version, mode, part, f"{seconds:.4g}"


def _sum_up(work, known, mode: str, threads: int) -> None:
    """Note how long one call with all cases takes on each kind of device."""
    from gpu_tools.estimate.api import estimated_seconds

    for figures in known:
        of_cpu = figures.kind == "cpu"
        seconds = estimated_seconds(work, figures, mode, threads if of_cpu else 1)
        count = f" with {counted(threads, 'thread')}" if of_cpu else ""
        options.note(f"about {seconds:.2g} s in {mode} mode on {figures.device}{count}")


def _tell_errors(estimates, times: list[float], measured: tuple[str, str]) -> None:
    from gpu_tools.estimate.figures import relative_errors

    found = relative_errors([each.seconds[measured] for each in estimates], times)
    options.note(
        f"relative error median {found.median:.1%}, 95th percentile {found.percentile_95:.1%}, "
        f"maximum {found.maximum:.1%}"
    )
