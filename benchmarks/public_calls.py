"""Time public calls of the `gpu_tools` that PYTHONPATH names; `benchmarks.compare` starts it.

The program is run by its path, in a process of its own, and uses nothing but the public names of
`gpu_tools` and numpy. So one copy of it measures any two versions of the package.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path

import numpy as np

import gpu_tools as tools

Calls = Iterator[tuple[str, Callable[[], object]]]
"""Names of calls and the calls themselves; inputs are made before a call is yielded."""
SEED = 2026


def spliced(inputs: dict, device: str) -> Calls:
    """Yield list mode on a case set and on one large case, from prepared columns and from cases."""
    cases = [_case(*case) for case in inputs["cases"]]
    columns, large = tools.case_columns(cases), tools.case_columns([_case(*inputs["large"])])
    yield "spliced_scores", partial(tools.spliced_scores, columns, device=device)
    yield "spliced_align_many", partial(tools.spliced_align_many, columns, device=device)
    yield "spliced_align", partial(tools.spliced_align, cases, device=device)
    yield "spliced_scores, large case", partial(tools.spliced_scores, large, device=device)
    yield "spliced_align_many, large case", partial(tools.spliced_align_many, large, device=device)


def _case(base, target, exons) -> tools.Case:
    return tools.Case(_sequence(*base), _sequence(*target), tools.ExonSet.from_intervals(exons))


def _sequence(name: str, codes) -> tools.Sequence:
    return tools.Sequence(name, codes)


def sites(inputs: dict, device: str) -> Calls:
    """Yield site mode on the demo's pairs and, on a GPU, on some of the case set."""
    names = ("demo",) if device == "cpu" else ("demo", "set")
    for name in names:
        cases = _site_cases(inputs[f"{name} pairs"])
        yield f"site_align, {name}", partial(tools.site_align, cases, device=device)


def _site_cases(pairs) -> list:
    model, tables = tools.load_sites("vertebrate"), {}
    for (name, codes), _ in pairs:
        if name not in tables:
            base = _sequence(name, codes)
            tables[name] = base, tools.tables_of(base, model)
    return [
        tools.SiteCase(tables[base[0]][0], _sequence(*target), tables[base[0]][1])
        for base, target in pairs
    ]


def local(inputs: dict, device: str) -> Calls:
    """Yield local alignment of a long pair, a related pair and many pairs of proteins."""
    length, rng = inputs["local length"], np.random.default_rng(SEED)
    query, subject = (rng.integers(0, 4, length).astype(np.uint8) for _ in range(2))
    related = np.where(rng.random(length) < 0.1, subject, query).astype(np.uint8)
    align = partial(tools.local_align, device=device)
    query, subject, related = (_sequence("s", codes) for codes in (query, subject, related))
    yield "local_align, k=10", partial(align, [(query, subject)], k=10)
    yield "local_align, related, k=1", partial(align, [(query, related)])
    pairs, scoring = _proteins(rng, inputs), _protein_scoring(inputs)
    yield "local_align, proteins", partial(align, pairs, scoring)


def _proteins(rng, inputs: dict) -> list[tuple]:
    def protein():
        letters = rng.choice(list("ARNDCQEGHILKMFPSTWYV"), inputs["protein length"])
        return tools.ProteinSequence.from_text("p", "".join(letters))

    return [(protein(), protein()) for _ in range(inputs["protein pairs"])]


def _protein_scoring(inputs: dict) -> tools.AffineScoring:
    matrix = tools.SubstitutionMatrix("BLOSUM62", *inputs["matrix"])
    return tools.AffineScoring(matrix=matrix, gap_open=11, gap_extend=1)


def matching(inputs: dict, device: str) -> Calls:
    """Yield approximate and exact matching on texts of two lengths."""
    rng = np.random.default_rng(SEED)
    many, (one,) = _patterns(rng, 256, 15, 30), [_patterns(rng, 1, 64, 64)]
    for n in inputs["text lengths"]:
        texts = [_sequence("text", rng.integers(0, 4, n, dtype=np.uint8))]
        exact = partial(tools.match_exact, many, texts, device=device)
        approximate = partial(tools.match_approximate, one, texts, device=device)
        yield f"match_exact, {n:,} symbols", exact
        yield f"match_approximate, best, {n:,} symbols", approximate
        within = partial(approximate, max_distance=20)
        yield f"match_approximate, within 20, {n:,} symbols", within


def _patterns(rng, count: int, shortest: int, longest: int) -> tools.PatternSet:
    sizes = rng.integers(shortest, longest + 1, count)
    words = ["".join(rng.choice(list("ACGT"), size)) for size in sizes]
    return tools.PatternSet.from_texts({str(k): word for k, word in enumerate(words)})


def segments(inputs: dict, device: str) -> Calls:
    """Yield the searches for segments and for the best submatrix."""
    rng, size = np.random.default_rng(SEED), inputs["matrix size"]
    values = rng.integers(-100, 101, inputs["values"], dtype=np.int32)
    yield "max_segment", partial(tools.max_segment, values, device=device)
    yield "max_segments", partial(tools.max_segments, values, device=device)
    matrix = rng.integers(-100, 101, (size, size), dtype=np.int32)
    yield "max_submatrix", partial(tools.max_submatrix, matrix, device=device)


GROUPS = {
    "spliced": spliced,
    "sites": sites,
    "local": local,
    "matching": matching,
    "segments": segments,
}
"""What one process measures, by name."""


def measured(call: Callable[[], object], repeats: int, seconds: float) -> dict:
    """Time a first call and some more.

    Parameters
    ----------
    call : callable
    repeats : int
        Calls after the first, at most.
    seconds : float
        None begins when those before took as long as this.

    Returns
    -------
    dict
        ``first`` and ``times`` in seconds, and ``digest`` of the first call's result.
    """
    first, result = _timed(call)
    digest, times = digest_of(result), []
    del result
    while len(times) < repeats and sum(times) < seconds:
        times.append(_timed(call)[0])
    return {"first": first, "times": times, "digest": digest}


def _timed(call: Callable[[], object]) -> tuple[float, object]:
    begin = time.perf_counter()
    result = call()
    return time.perf_counter() - begin, result


def digest_of(value) -> str:
    """Return a digest of a result that depends on its values only."""
    digest = hashlib.sha256()
    _feed(digest, value)
    return digest.hexdigest()[:16]


def _feed(digest, value) -> None:
    if isinstance(value, np.ma.MaskedArray):
        value = value.tolist()
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"{value.shape}".encode())
        digest.update(np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<"))).tobytes())
    elif is_dataclass(value):
        for name in sorted(field.name for field in fields(value)):
            digest.update(name.encode())
            _feed(digest, getattr(value, name))
    elif isinstance(value, str | bytes | int | float | np.generic | None):
        digest.update(f"{value};".encode())
    else:
        digest.update(b"[")
        for item in value:
            _feed(digest, item)
        digest.update(b"]")


def main() -> None:
    """Measure a group on a device; write figures by name as JSON, after each call."""
    inputs_path, group, device, path, repeats, seconds = sys.argv[1:]
    inputs = pickle.loads(Path(inputs_path).read_bytes())
    found = {"package": tools.__file__, "calls": {}}
    for name, call in GROUPS[group](inputs, device):
        found["calls"][name] = measured(call, int(repeats), float(seconds))
        Path(path).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
