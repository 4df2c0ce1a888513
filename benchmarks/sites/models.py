"""What more context would give the site models, by cross-validation over records.

Run ``python -m benchmarks.sites.models [RECORD.json]``. Matrices of several windows, of independent
columns and of columns that depend on the one before, are trained on all records but one; each true
site of that record is ranked among its record's places with the same word (log2 of the share of
places that score as high or higher: the more negative, the better). Windows are also judged by
exon F1 as in accuracy_choice.py, with the shipped weights.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import record
from benchmarks.accuracy.cases import Counts, annotated_records, genes, mutated
from benchmarks.accuracy.choice import counts
from gpu_tools.exons.training import folds
from gpu_tools.model.annotated_strands import strands_of
from gpu_tools.model.sequences import OTHER, encode
from gpu_tools.sites.model import sites_from_dict
from gpu_tools.sites.training import ACCEPTOR, DONOR, SiteDesign, train_sites
from gpu_tools.splicing.site_estimation import Window

WINDOWS = {
    "donors": [(3, 6), (3, 8), (3, 10), (5, 6)],
    "acceptors": [(15, 3), (20, 3), (30, 3), (40, 3), (50, 3), (30, 6)],
}
WEIGHTS = (4, 12, 30)
DIVERGENCES = (35, 45, 50)
SEED = 47
_DEFAULTS = {"donors": DONOR, "acceptors": ACCEPTOR}


class Places(NamedTuple):
    """Codes around true sites, and around the other places with one of the site's words."""

    true: NDArray[np.uint8]
    other: NDArray[np.uint8]


def places(records, kind: str, window: Window) -> Places:
    """Collect the places of both strands of records."""
    parts = [_of_strand(s, getattr(s, kind), window) for r in records for s in strands_of(r)]
    return Places(*(np.concatenate(side) for side in zip(*parts, strict=True)))


def _of_strand(strand, sites, window: Window) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    width = window.before + window.after
    codes = np.pad(strand.codes, width, constant_values=OTHER)
    views = np.lib.stride_tricks.sliding_window_view(codes, width)[width - window.before :]
    word = slice(window.before + window.offset, window.before + window.offset + 2)
    holds = np.any([(views[:, word] == encode(w)).all(axis=1) for w in window.words], axis=0)
    return views[sites], views[np.setdiff1d(np.flatnonzero(holds), sites)]


def columns_of(true: NDArray[np.uint8], background, order: int, weight: float) -> list[NDArray]:
    """Return log-odds of each column: 4 numbers, or 4 x 4 by the column before."""
    found = []
    for k in range(true.shape[1]):
        own = _shares(true[:, k], background, weight)
        table = own if order == 0 or k == 0 else np.stack(
            [_shares(true[true[:, k - 1] == a, k], own, 2 * weight) for a in range(4)]
        )  # fmt: skip
        found.append(np.log2(table / background))
    return found


def _shares(codes, prior: NDArray, weight: float) -> NDArray:
    seen = np.bincount(codes[codes < OTHER], minlength=4)
    return (seen + weight * prior) / (seen.sum() + weight)


def scores(sites: NDArray[np.uint8], columns: list[NDArray]) -> NDArray:
    """Return the sum of the columns' log-odds; an unknown base counts nothing."""
    total = np.zeros(len(sites))
    for k, table in enumerate(columns):
        padded = np.pad(table, [(0, 1)] * table.ndim)
        total += padded[sites[:, k]] if table.ndim == 1 else padded[sites[:, k - 1], sites[:, k]]
    return total


def rank_bits(records, kind: str, window: Window, order: int, weight: float) -> float:
    """Return the mean log2 rank of held-out sites."""
    ranks = []
    for held_out, others in folds(records):
        known, tested = places(others, kind, window), places([held_out], kind, window)
        seen = np.bincount(known.other[known.other < OTHER], minlength=4)
        columns = columns_of(known.true, seen / seen.sum(), order, weight)
        decoys = np.sort(scores(tested.other, columns))
        above = len(decoys) - np.searchsorted(decoys, scores(tested.true, columns))
        ranks += ((above + 1) / (len(decoys) + 1)).tolist()
    return round(float(np.mean(np.log2(ranks))), 3)


def rank_rows(records) -> list[dict]:
    """Return a row a kind of site, window, order of dependence and weight of the prior."""
    return [
        {
            "site": kind, "before": before, "after": after, "order": order, "weight": weight,
            "log2_rank": rank_bits(
                records, kind, replace(_DEFAULTS[kind], before=before, after=after), order, weight
            ),
        }
        for kind, windows in WINDOWS.items() for before, after in windows
        for order in (0, 1) for weight in WEIGHTS
    ]  # fmt: skip


def f1_rows(records) -> list[dict]:
    """Return a row a window: exon F1 of held-out records by divergence."""
    every, found = genes(records), []
    designs = [("shipped", SiteDesign())]
    for kind, windows in WINDOWS.items():
        for before, after in windows:
            window = replace(_DEFAULTS[kind], before=before, after=after)
            if window != _DEFAULTS[kind]:
                design = SiteDesign(**{kind.removesuffix("s"): window})
                designs.append((f"{kind} {before} + {after}", design))
    for name, design in designs:
        models = [
            sites_from_dict(train_sites(others, "held out", held_out.sequence.name, design))
            for held_out, others in folds(records)
        ]
        found.append({"windows": name} | {f"{d} %": f1(models, every, d) for d in DIVERGENCES})
    return found


def f1(models, every, divergence: int) -> float:
    """Return the exon F1 of all genes at a divergence."""
    rng = np.random.default_rng([SEED, divergence])
    cases = [(g, mutated(rng, g.coding, divergence / 100, False)) for g in every]
    return round(Counts.f1(sum(c.exons for c in counts(models, cases))), 4)


def main() -> None:
    """Print the rows; write the record."""
    records = annotated_records()
    figures = {"ranks": rank_rows(records), "exon_f1": f1_rows(records)}
    for rows in figures.values():
        for line in rows:
            print("\t".join(map(str, line.values())))
    if len(sys.argv) > 1:
        record.write(sys.argv[1], figures)


if __name__ == "__main__":
    main()
