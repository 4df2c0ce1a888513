"""The source's figures of parallelism and of the time model, as SVG."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.accuracy.figure import to_svg
from gpu_tools import Histogram


def _plain(axis) -> None:
    """Label a logarithmic axis by 1, 2, 5, 10 and so on, without powers."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_formatter(NullFormatter())


def histogram_figure(histogram: Histogram, label: str) -> str:
    """Draw a histogram: how often values of each bin occur, on a logarithmic scale.

    Parameters
    ----------
    histogram : Histogram
    label : str
        Of the horizontal axis.

    Returns
    -------
    str
        The SVG.
    """
    drawn = Figure(figsize=(7, 3), layout="constrained")
    axes = drawn.subplots()
    lefts = [1 + number * histogram.width for number in histogram.counts]
    axes.bar(lefts, histogram.counts.values(), width=histogram.width, align="edge")
    axes.set(xlabel=label, ylabel="number", yscale="log")
    _plain(axes.yaxis)
    return to_svg(drawn)


def estimate_figure(own: dict) -> str:
    """Draw estimated and measured times of cases in the order of their sequential time.

    Parameters
    ----------
    own : dict
        Of a record of `bench_estimate`: ``cells``, ``estimated``, ``measured``.

    Returns
    -------
    str
        The SVG.
    """
    order = np.argsort(own["cells"], kind="stable")
    drawn = Figure(figsize=(7, 3), layout="constrained")
    axes = drawn.subplots()
    for name, marker in (("measured", "."), ("estimated", "-")):
        axes.plot(1e3 * np.array(own[name])[order], marker, label=name, linewidth=1)
    axes.set(xlabel="case, by sequential time", ylabel="ms", yscale="log")
    _plain(axes.yaxis)
    axes.legend(frameon=False)
    return to_svg(drawn)


def size_figure(named: dict[str, dict]) -> str:
    """Draw measured times against base length times target length.

    Parameters
    ----------
    named : dict of str to dict
        By the name of a mode: ``base_length``, ``target_length``, ``measured``.

    Returns
    -------
    str
        The SVG.
    """
    drawn = Figure(figsize=(7, 3.5), layout="constrained")
    axes = drawn.subplots()
    for name, own in named.items():
        size = np.array(own["base_length"], dtype=float) * np.array(own["target_length"])
        axes.plot(size, 1e3 * np.array(own["measured"]), ".", label=name)
    axes.set(xlabel="m x n", ylabel="ms", xscale="log", yscale="log")
    _plain(axes.yaxis)
    axes.legend(frameon=False)
    return to_svg(drawn)
