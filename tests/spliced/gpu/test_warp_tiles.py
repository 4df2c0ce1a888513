"""Warp tiles of an exon graph: nothing is lost, nothing waits for what begins later."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from gpu_tools import SplicedScoring
from gpu_tools.spliced.exon_graph import build_exon_graph
from gpu_tools.spliced.gpu.warp_tiles import (
    ABOVE,
    ADDED,
    BEHIND,
    EMPTY,
    FIRST,
    NOT_STORED,
    PAST,
    ROW,
    Capacity,
    arrange,
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


@pytest.fixture(params=range(40))
def graph(request):
    rng = np.random.default_rng(request.param)
    case = cases.random_example(rng, 90, int(rng.integers(1, 60)), 1, 40).case()
    exons = case.exons.unique().on_strand("+" if len(case.exons.on_strand("+")) else "-")
    return build_exon_graph(case.base.codes, exons, SplicedScoring(), reverse=False)


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


def test_what_a_part_reads_is_there_before_its_tick(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    spans, parts, n_spans = tiles.spans, tiles.parts, len(tiles.spans.ends)
    of_span = np.searchsorted(parts.first_spans, np.arange(n_spans), side="right") - 1
    for part, row, _ in readers(tiles):
        if row >= n_spans:
            due = parts.ticks[np.flatnonzero(parts.above == row)[0]] + 1
        elif row >= 0:
            steps = CAPACITY.chunk + spans.virtual_lanes[row] + CAPACITY.late
            due = parts.ticks[of_span[row]] + -(-steps // CAPACITY.chunk)
        else:
            due = 0
        assert due <= parts.ticks[part]


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


def test_tiles_read_from_earlier_ones(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    parts, n_spans = tiles.parts, len(tiles.spans.ends)
    order, first = fill_warps(tiles, CAPACITY)
    tile_of = np.empty_like(order)
    tile_of[order] = np.repeat(np.arange(len(first) - 1), np.diff(first))
    of_span = np.searchsorted(parts.first_spans, np.arange(n_spans), side="right") - 1
    for part, row, _ in readers(tiles):
        if row != EMPTY:
            writer = of_span[row] if row < n_spans else np.flatnonzero(parts.above == row)[0]
            assert tile_of[writer] <= tile_of[part]


def test_tables_name_rows_and_how_they_are_shifted(graph):
    tiles = cut_into_tiles(graph, CAPACITY)
    order, first = fill_warps(tiles, CAPACITY)
    part_table = np.full((len(order) + 1, 4), -9, dtype=np.int32)
    table = np.full((len(tiles.parts.sources) + 1, 2), -9, dtype=np.int32)
    tables = np.empty(9999, np.int32), part_table.ravel(), table.ravel()
    read = arrange(tiles, (order, first), CAPACITY, graph.bonus + 100, tables)
    assert (part_table[-1] == -9).all()
    assert (table[read:] == -9).all()
    part_table, table, lanes = part_table[:-1], table[:read], tiles.spans.virtual_lanes
    sources = np.split(tiles.parts.sources, tiles.parts.first_sources[1:-1])
    sources = [sources[k][sources[k][:, 0] != EMPTY] for k in order]
    assert (part_table[:, PAST] - part_table[:, FIRST] == [len(own) for own in sources]).all()
    assert part_table[0, FIRST] == 0
    assert (part_table[1:, FIRST] == part_table[:-1, PAST]).all()
    sources = np.concatenate(sources)
    rows, shifts = table[:, ROW] // CAPACITY.late, table[:, ROW] % CAPACITY.late
    assert (rows == sources[:, 0]).all()
    of_spans = rows < len(lanes)
    assert (shifts[of_spans] == lanes[rows[of_spans]] % CAPACITY.late).all()
    assert (shifts[~of_spans] == 0).all()
    assert (table[:, ADDED] >= 100).sum() == (tiles.parts.sources[:, 1] >= 0).sum()
    above = tiles.parts.above[order]
    assert (
        part_table[:, ABOVE] == np.where(above == EMPTY, NOT_STORED, above * CAPACITY.late)
    ).all()
    ticks = tiles.parts.ticks[order]
    behind = ticks - np.repeat(ticks[first[:-1]], np.diff(first))
    assert (part_table[:, BEHIND] == CAPACITY.chunk * behind).all()


def test_only_the_empty_chain_has_no_sources(graph):
    parts = cut_into_tiles(graph, CAPACITY).parts
    part_table = np.split(parts.sources[:, 0], parts.first_sources[1:-1])
    assert part_table[0].tolist() == [EMPTY]
    assert all(rows.tolist() == [EMPTY] for rows in part_table if EMPTY in rows)


def test_rows_that_are_there_first_are_folded_first(graph):
    parts = cut_into_tiles(graph, CAPACITY).parts
    folds = np.flatnonzero(parts.lanes == 0)
    followed = folds[parts.first_spans[folds] == parts.first_spans[folds + 1]]
    assert (parts.ticks[followed] <= parts.ticks[followed + 1]).all()
    assert (np.diff(parts.first_sources)[folds] == 6).all()


def test_many_rows_are_folded():
    example = cases.random_example(np.random.default_rng(1), 200, 2, 1, 4)
    example.plus = [(k, 100 + 7 * k % 25) for k in range(90)] + [(130, 180), (185, 190)]
    example.minus = []
    case = example.case()
    exons = case.exons.unique().on_strand("+")
    graph = build_exon_graph(case.base.codes, exons, SplicedScoring(), reverse=False)
    parts = cut_into_tiles(graph, CAPACITY).parts
    assert (parts.lanes == 0).sum() > 10
    test_rows_that_are_there_first_are_folded_first(graph)
    test_the_row_above_a_track_is_that_of_all_exons_that_end_before_it(graph)
    test_what_a_part_reads_is_there_before_its_tick(graph)
