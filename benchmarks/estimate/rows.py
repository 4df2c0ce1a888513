"""Rows of the tables of the time model's errors."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.formatting import Row, seconds

ERRORS = "time model | cases | median error | 95th percentile | maximum | all in one call"
_MODES = {"list": "list mode", "site": "site mode"}
_DESIGNS = ("sequential", "accelerator1", "accelerator2")
_MODELS = {"equation": "published equation", "extended": "with launches and rows above"}


def percent(value: float) -> str:
    """Return a fraction in percent with one decimal."""
    return f"{100 * value:.1f} %"


def errors(figures: dict) -> Iterator[Row]:
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
    return f"{len(own['measured']):,}", *_errors(own), together


def _errors(own: dict) -> Row:
    return tuple(percent(own[name]) for name in ("median", "percentile_95", "maximum"))
