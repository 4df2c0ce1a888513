"""Times of whole calls of matching on a GPU, and of kernels and whole calls on several."""

from __future__ import annotations

import numpy as np

from benchmarks.matching.kernels import WEIGHTED, approximate_on_gpus, exact_on_gpus
from benchmarks.matching.peers import random_patterns, random_text
from benchmarks.timing import median_ms
from gpu_tools.matching import match_approximate, match_exact
from gpu_tools.model.scoring import EditCosts
from gpu_tools.model.sequences import Sequence


def many_matches(rng, n: int, count: int, m: int, limit: int) -> dict:
    """Time whole calls with many matches, of which the CPU finds the starts and CIGARs."""
    text, patterns, found = random_text(rng, n), random_patterns(rng, count, m, m), {}
    figures = {"n": n, "patterns": count, "m": m, "max_distance": limit}
    for device in ("cuda", "cpu"):

        def call(device=device):
            found[device] = match_approximate(patterns, [text], max_distance=limit, device=device)

        figures[f"{device}_call_ms"] = median_ms(call, 1)
    if found["cuda"] != found["cpu"]:
        raise AssertionError("the GPU gives other matches than the CPU")
    return {**figures, "matches": len(found["cpu"])}


def several_gpus(rng, n: int, m: int, counts=(10_000, 256), sets=((0,), (0, 1))) -> dict:
    """Time kernels with all data resident, and whole calls, on one GPU and on several.

    Parameters
    ----------
    rng : numpy.random.Generator
    n : int
        Symbols of the text; the whole call of approximate matching takes a quarter of them.
    m : int
        Rows of the patterns of approximate matching.
    counts : tuple of int
        Patterns of exact and of approximate matching.
    sets : tuple of tuple of int
        The GPUs of each run.
    """
    text = random_text(rng, n)
    exact, near = random_patterns(rng, counts[0], 16, 30), random_patterns(rng, counts[1], m, m)
    quarter, found = Sequence("text", text.codes[: n // 4]), []
    figures = {"n": n, "m": m, "exact_patterns": counts[0], "approximate_patterns": counts[1]}
    for ordinals in sets:
        device = f"cuda:{','.join(map(str, ordinals))}"
        matches, seed = {}, np.random.default_rng(1)

        def exact_call(device=device, matches=matches):
            matches["exact"] = list(match_exact(exact, [text], device=device))

        def approximate_call(device=device, matches=matches):
            matches["approximate"] = match_approximate(near, [quarter], device=device)

        figures[device] = {
            "unit_kernel_ms": approximate_on_gpus(seed, text, m, EditCosts(), ordinals),
            "weighted_kernel_ms": approximate_on_gpus(seed, text, m, WEIGHTED, ordinals),
            "exact_kernel_ms": exact_on_gpus(exact, text, ordinals),
            "exact_call_ms": median_ms(exact_call, 1),
            "approximate_call_ms": median_ms(approximate_call, 1),
        }
        found.append(matches)
    if any(other != found[0] for other in found):
        raise AssertionError("several GPUs give other matches than one")
    return figures
