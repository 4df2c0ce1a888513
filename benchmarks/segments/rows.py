"""Rows of the tables of segments and submatrices."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.formatting import Row, ms


def segments(figures: dict) -> Iterator[Row]:
    """Yield rows of the best and of all segments of 10^8 values on a GPU."""
    for kind in ("even", "falling"):
        own = figures.get(f"segments, {kind}") or figures["segments_gpu"][kind]
        kernel, five = own["best_segment_kernel_ms"], own["five_numbers_kernel_ms"]
        call, every = own.get("best_segment_ms"), own.get("all_segments_ms")
        yield f"best segment, {kind}", ms(kernel), ms(call), ms(five), f"{five / kernel:.1f}"
        if every:
            yield f"all {own['all_segments']:,} segments, {kind}", "", ms(every), "", ""


def submatrices(figures: dict) -> Iterator[Row]:
    """Yield a row for each size of a matrix on a GPU."""
    sizes = dict(figures.get("submatrix_gpu", {}))
    sizes |= {k.split()[1]: v for k, v in figures.items() if k.startswith("submatrix ")}
    for size, own in sizes.items():
        call, pairs = own.get("resident_ms", own.get("call_ms")), own["pair_a_thread_kernel_ms"]
        yield f"{int(size):,} x {int(size):,}", ms(call), ms(pairs), f"{pairs / call:.1f}"
