"""Warp tiles of an exon graph: nothing is lost, nothing waits for what begins later."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from gpu_tools import SplicedScoring
from gpu_tools.spliced.exon_graph import build_exon_graph
from gpu_tools.spliced.gpu.warp_tiles import (
    EMPTY,
    Capacity,
    cut,
    fill_warps,
)
from tests import cases

CAPACITY = Capacity(lanes=4, slots=2, chunk=4, late=4, reach=3, parts=3, sources=9)


@njit
def _cut(*given):  # what compiled functions call is not called from Python, see exon_graph.py
    return cut(*given)


def cut_into_tiles(graph, capacity):
    tracks = graph.tracks
    committed = tracks.first_by_end[tracks.commits]
    return _cut(tracks.last_rows, tracks.exon_tracks, tracks.by_end, committed, capacity)


def folded_case():
    """Return a case of so many exons that end before others that rows are folded."""
    example = cases.random_example(np.random.default_rng(1), 200, 2, 1, 4)
    example.plus = [(k, 100 + 7 * k % 25) for k in range(90)] + [(130, 180), (185, 190)]
    example.minus = []
    return example.case()


@pytest.fixture(params=[*range(20), "folded"])
def graph(request):
    if request.param == "folded":
        case = folded_case()
    else:
        rng = np.random.default_rng(request.param)
        case = cases.random_example(rng, 90, int(rng.integers(1, 60)), 1, 40).case()
    exons = case.exons.unique().on_strand("+" if len(case.exons.on_strand("+")) else "-")
    graph = build_exon_graph(case.base.codes, exons, SplicedScoring(), reverse=False)
    if request.param == "folded":
        assert (cut_into_tiles(graph, CAPACITY).parts.lanes == 0).sum() > 10
    return graph


def readers(tiles):
    """Return (part, row, exon) of every source."""
    parts = tiles.parts
    of_part = np.repeat(np.arange(len(parts.ticks)), np.diff(parts.first_sources))
    return [(int(s), int(r), int(e)) for s, (r, e) in zip(of_part, parts.sources, strict=True)]


def test_spans_cover_every_row_once_and_end_with_every_exon(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    rows = [np.arange(b, e) for b, e in zip(tiles.spans.begins, tiles.spans.ends, strict=True)]
    assert np.concatenate(rows).tolist() == list(range(graph.n_rows))
    assert (tiles.spans.ends[tiles.spans.of_exon] - 1 == graph.tracks.last_rows).all()


def test_the_row_above_a_track_is_that_of_all_exons_that_end_before_it(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    n_spans = len(tiles.spans.ends)
    above = dict(zip(tiles.parts.above.tolist(), range(len(tiles.parts.above)), strict=True))
    sources, tracks = readers(tiles), graph.tracks

    def exons_above(part):
        found = set()
        for s, row, exon in sources:
            if s == part:
                found |= {exon} if exon >= 0 else exons_above(above[row]) if row >= 0 else set()
        return found

    for track, entry in enumerate(tiles.entries):
        ended = np.flatnonzero(tracks.ends[tracks.exon_ends] <= tracks.starts[track])
        assert exons_above(above[n_spans + entry]) == set(ended.tolist())


def test_a_part_reads_what_an_earlier_tick_and_tile_have_written(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    spans, parts, n_spans = tiles.spans, tiles.parts, len(tiles.spans.ends)
    order, first = fill_warps(tiles, CAPACITY)
    tile_of = np.empty_like(order)
    tile_of[order] = np.repeat(np.arange(len(first) - 1), np.diff(first))
    of_span = np.searchsorted(parts.first_spans, np.arange(n_spans), side="right") - 1
    for part, row, _ in readers(tiles):
        if row == EMPTY:
            continue
        if row < n_spans:
            steps, writer = CAPACITY.chunk + spans.virtual_lanes[row] + CAPACITY.late, of_span[row]
        else:
            steps, writer = CAPACITY.chunk, np.flatnonzero(parts.above == row)[0]
        assert parts.ticks[writer] + -(-steps // CAPACITY.chunk) <= parts.ticks[part]
        assert tile_of[writer] <= tile_of[part]


def test_tiles_keep_to_the_capacity(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    parts, (order, first) = tiles.parts, fill_warps(tiles, CAPACITY)
    assert first[0] == 0
    assert sorted(order) == list(range(first[-1]))
    read = np.diff(parts.first_sources)
    for begin, end in pairwise(first):
        own = order[begin:end]
        assert (np.diff(parts.ticks[own]) >= 0).all()
        assert parts.lanes[own].sum() <= CAPACITY.lanes
        assert np.ptp(parts.ticks[own]) <= CAPACITY.reach
        assert len(own) <= CAPACITY.parts
        assert read[own].sum() <= CAPACITY.sources or len(own) == 1
    assert read.max() <= 6
