"""Local alignment: whole calls for the k best on a core and on GPUs, beside parasail.

Run ``python -m benchmarks.local.bench_local [RECORD.json] [--part gpu] [--tiny]``.
Sequences are random and of equal composition, scored with the defaults, as in the source's
experiments; *related* ones differ in a tenth of their symbols, those *with N* have it as often as
each nucleotide. Under *light* penalties of gaps unrelated sequences align from end to end.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator

import numpy as np

from benchmarks import record
from benchmarks.timing import call_seconds, median_seconds
from gpu_tools import AffineScoring, Sequence, local_align
from gpu_tools.hardware.device import list_gpus

REPEATS = 3
PARASAIL = ("sw_striped_8", "sw_striped_16", "sw_striped_sat", "sw_scan_16", "sw_diag_16")
SMALL, MIDDLE, LARGE = 10_000, 40_000, 500_000
LENGTHS = (10_000, 50_000, 100_000, 250_000, 500_000)
"""The source's lengths."""
LIGHT = AffineScoring(gap_open=4, gap_extend=1)


def random_pair(
    length: int, seed: int = 0, related: bool = False, symbols: int = 4
) -> tuple[Sequence, Sequence]:
    """Return query and subject of `length` nucleotides, with N if there are five symbols."""
    rng = np.random.default_rng(seed)
    query, subject = (rng.integers(0, symbols, length).astype(np.uint8) for _ in range(2))
    if related:
        subject = np.where(rng.random(length) < 0.1, subject, query)
    return Sequence("query", query), Sequence("subject", subject)


def rates(seconds: float, length: int, pairs: int = 1) -> dict:
    """Return time and rate of cells."""
    gcups = round(pairs * length**2 / seconds / 1e9, 4)
    return {"length": length, "seconds": round(seconds, 6), "gcups": gcups}


def whole_call(
    length: int, k: int, device: str, repeats: int = REPEATS, scoring=None, **sequences
) -> dict:
    """Time the public function; on a CPU with one thread, under light penalties its first call.

    `sequences` are options of `random_pair`.
    """
    pair, options = random_pair(length, **sequences), options_of(device)
    found = []

    def call():
        found[:] = local_align([pair], scoring, k=k, **options)

    seconds = statistics.median(call_seconds(call, repeats, warm=scoring is None))
    (best,) = found
    scores = {"best": best[0].score, "last": best[-1].score, "found": len(best)}
    return {**rates(seconds, length), "k": k, "threads": options["threads"], **scores}


def options_of(device: str) -> dict:
    """Return one thread for the CPU's figures, and all that there are beside a GPU."""
    threads = 1 if device == "cpu" else len(os.sched_getaffinity(0))
    return {"device": device, "threads": threads}


def parasail_one_core(length: int) -> dict:
    """Time parasail's local kernels on the same input."""
    try:
        import parasail
    except ImportError as error:
        return {"not measured": str(error)}
    scoring, symbols = AffineScoring(), np.array(list("ACGT"))
    texts = ["".join(symbols[sequence.codes]) for sequence in random_pair(length)]
    matrix = parasail.matrix_create("ACGT", scoring.match, scoring.mismatch)
    gaps, gcups = (scoring.gap_open, scoring.gap_extend), {}
    for name in PARASAIL:
        kernel = getattr(parasail, name)
        if not kernel(*texts, *gaps, matrix).saturated:
            seconds = min(call_seconds(lambda kernel=kernel: kernel(*texts, *gaps, matrix), 7))
            gcups[name] = round(length**2 / seconds / 1e9, 3)
    return {"length": length, "gcups": gcups}


def many_pairs(count: int, length: int) -> dict:
    """Time one call for many pairs on a GPU."""
    pairs, options = [random_pair(length, seed) for seed in range(count)], options_of("cuda")
    seconds = median_seconds(lambda: local_align(pairs, **options), REPEATS)
    return {"pairs": count, **rates(seconds, length, count)}


def published_forward(length: int) -> dict:
    """Time one published forward pass, a launch an anti-diagonal."""
    from numba import cuda

    from benchmarks.published.local_antidiagonals import Forward

    for own in (min(length, 1000), length):
        query, subject = random_pair(own)
        forward = Forward(query.codes, subject.codes, AffineScoring())
        cuda.synchronize()
        begin = time.perf_counter()
        forward.run()
        cuda.synchronize()
        seconds = time.perf_counter() - begin
    (best,) = local_align([(query, subject)], **options_of("cuda"))[0]
    if forward.best().score != best.score:
        raise AssertionError("the published forward pass gives another score")
    return rates(seconds, length)


def several_gpus(length: int, count: int) -> dict:
    """Time the public function for one pair, k = 1, on one GPU and on all `count`."""
    pair, found, seconds = random_pair(length), [], []
    for n in (1, count):
        device = f"cuda:{','.join(map(str, range(n)))}"
        found.append(local_align([pair], **options_of(device)))
        seconds.append(median_seconds(lambda d=device: local_align([pair], **options_of(d)), 3))
    one, together = seconds
    return {**rates(together, length), "gpus": count, "seconds_one": round(one, 6),
            "times_as_fast": round(one / together, 3), "equal": found[0] == found[1]}  # fmt: skip


def measure(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure one core of a CPU."""
    small, middle, large = (200, 300, 400) if tiny else (SMALL, MIDDLE, LARGE)
    yield "one_core_k_1", whole_call(middle, 1, "cpu")
    yield "one_core_small_k_1", whole_call(small, 1, "cpu")
    yield "parasail_one_core", parasail_one_core(middle)
    yield "parasail_one_core_small", parasail_one_core(small)
    yield "one_core_small_k_100", whole_call(small, 100, "cpu")
    yield "one_core_k_10", whole_call(middle, 10, "cpu")
    for k in (10, 100):
        yield f"one_core_large_k_{k}", whole_call(large, k, "cpu", repeats=1)
    yield "one_core_large_related_k_1", whole_call(large, 1, "cpu", related=True, repeats=1)
    yield "one_core_double_k_1", whole_call(2 * large, 1, "cpu", repeats=1)


def source_lengths() -> Iterator[tuple[str, dict]]:
    """Measure the source's lengths and numbers of alignments, and its kinds of sequences."""
    for length in LENGTHS:
        for k in (10, 25, 100):
            yield f"{length}, k = {k}", whole_call(length, k, "cuda")
        yield f"{length}, with N", whole_call(length, 10, "cuda", symbols=5)
    for length in LENGTHS[:2]:
        yield f"{length}, light", whole_call(length, 10, "cuda", 1, LIGHT)
    for length in LENGTHS[:4]:
        yield f"{length}, published forward pass", published_forward(length)


def measure_gpu(tiny: bool = False) -> Iterator[tuple[str, dict]]:
    """Measure GPUs; with several of them, also what they do together."""
    large = LARGE
    if tiny:
        yield "6, k = 10", whole_call(6, 10, "cuda", repeats=1)
        yield "6, published forward pass", published_forward(6)
        return
    for name, length in (("", large), ("_double", 2 * large), ("_fourfold", 4 * large)):
        yield f"gpu{name}_k_1", whole_call(length, 1, "cuda")
    for count in (500, 4000):
        yield f"gpu_{count}_pairs", many_pairs(count, 2000)
    yield "gpu_double_k_10", whole_call(2 * large, 10, "cuda")
    yield "gpu_related_k_1", whole_call(2 * large, 1, "cuda", related=True)
    yield from source_lengths()
    if (count := len(list_gpus())) > 1:
        yield "several_gpus_call", several_gpus(4 * large, count)


if __name__ == "__main__":
    record.main(measure, gpu=measure_gpu)
