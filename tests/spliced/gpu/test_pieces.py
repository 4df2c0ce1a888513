"""Pieces of a sweep program: nothing is lost, nothing waits for what begins later."""

from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from gpu_tools import SplicedScoring
from gpu_tools.spliced.exon_graph import build_exon_graph
from gpu_tools.spliced.gpu.piece_tables import (
    ADDED,
    BEHIND,
    FIRST,
    KEPT,
    NOT_KEPT,
    PAST,
    ROW,
    arrange,
    fill_warps,
)
from gpu_tools.spliced.gpu.pieces import EMPTY, Capacity, cut
from tests import cases

CAPACITY = Capacity(lanes=4, slots=2, chunk=4, late=4, span=3, segments=3, sources=9)


@njit
def _cut(*given):  # what compiled functions call is not called from Python, see program.py
    return cut(*given)


def cut_into_pieces(program, capacity):
    committed = program.first_by_end[program.track_commits]
    return _cut(program.exit_rows, program.exit_tracks, program.by_end, committed, capacity)


@pytest.fixture(params=range(40))
def program(request):
    rng = np.random.default_rng(request.param)
    case = cases.random_example(rng, 90, int(rng.integers(1, 60)), 1, 40).case()
    exons = case.exons.unique().on_strand("+" if len(case.exons.on_strand("+")) else "-")
    return build_exon_graph(case.base.codes, exons, SplicedScoring(), reverse=False)


def readers(pieces):
    """Return (segment, row, exon) of every source."""
    segments = pieces.segments
    of_segment = np.repeat(np.arange(len(segments.ticks)), np.diff(segments.first_sources))
    return [
        (int(s), int(r), int(e)) for s, (r, e) in zip(of_segment, segments.sources, strict=True)
    ]


def test_stops_cover_every_row_once_and_end_with_every_exon(program):
    pieces = cut_into_pieces(program, CAPACITY)
    rows = [np.arange(b, e) for b, e in zip(pieces.stops.begins, pieces.stops.ends, strict=True)]
    assert np.concatenate(rows).tolist() == list(range(program.n_rows))
    assert (pieces.stops.ends[pieces.stops.of_exon] - 1 == program.exit_rows).all()


def test_the_row_above_a_track_is_that_of_all_exons_that_end_before_it(program):
    pieces = cut_into_pieces(program, CAPACITY)
    n_stops, reached = len(pieces.stops.ends), {EMPTY: frozenset()}
    kept = dict(zip(pieces.segments.kept.tolist(), range(len(pieces.segments.kept)), strict=True))
    sources = readers(pieces)

    def exons_above(segment):
        found = set()
        for s, row, exon in sources:
            if s == segment:
                found |= {exon} if exon >= 0 else exons_above(kept[row]) if row >= 0 else set()
        return found

    assert reached[EMPTY] == frozenset()
    for track, entry in enumerate(pieces.entries):
        ended = np.flatnonzero(program.ends[program.exit_ends] <= program.starts[track])
        assert exons_above(kept[n_stops + entry]) == set(ended.tolist())


def test_what_a_segment_reads_is_there_before_its_tick(program):
    pieces = cut_into_pieces(program, CAPACITY)
    stops, segments, n_stops = pieces.stops, pieces.segments, len(pieces.stops.ends)
    of_stop = np.searchsorted(segments.first_stops, np.arange(n_stops), side="right") - 1
    for segment, row, _ in readers(pieces):
        if row >= n_stops:
            due = segments.ticks[np.flatnonzero(segments.kept == row)[0]] + 1
        elif row >= 0:
            steps = CAPACITY.chunk + stops.virtual_lanes[row] + CAPACITY.late
            due = segments.ticks[of_stop[row]] + -(-steps // CAPACITY.chunk)
        else:
            due = 0
        assert due <= segments.ticks[segment]


def test_pieces_keep_to_the_capacity(program):
    pieces = cut_into_pieces(program, CAPACITY)
    segments, (order, first) = pieces.segments, fill_warps(pieces, CAPACITY)
    assert first[0] == 0
    assert sorted(order) == list(range(first[-1]))
    read = np.diff(segments.first_sources)
    for begin, end in pairwise(first):
        own = order[begin:end]
        assert (np.diff(segments.ticks[own]) >= 0).all()
        assert segments.lanes[own].sum() <= CAPACITY.lanes
        assert np.ptp(segments.ticks[own]) <= CAPACITY.span
        assert len(own) <= CAPACITY.segments
        assert read[own].sum() <= CAPACITY.sources or len(own) == 1
    assert read.max() <= 6


def test_pieces_read_from_earlier_ones(program):
    pieces = cut_into_pieces(program, CAPACITY)
    segments, n_stops = pieces.segments, len(pieces.stops.ends)
    order, first = fill_warps(pieces, CAPACITY)
    piece_of = np.empty_like(order)
    piece_of[order] = np.repeat(np.arange(len(first) - 1), np.diff(first))
    of_stop = np.searchsorted(segments.first_stops, np.arange(n_stops), side="right") - 1
    for segment, row, _ in readers(pieces):
        if row != EMPTY:
            writer = of_stop[row] if row < n_stops else np.flatnonzero(segments.kept == row)[0]
            assert piece_of[writer] <= piece_of[segment]


def test_tables_name_rows_and_how_they_are_shifted(program):
    pieces = cut_into_pieces(program, CAPACITY)
    order, first = fill_warps(pieces, CAPACITY)
    of_segments = np.full((len(order) + 1, 4), -9, dtype=np.int32)
    table = np.full((len(pieces.segments.sources) + 1, 2), -9, dtype=np.int32)
    tables = np.empty(9999, np.int32), of_segments.ravel(), table.ravel()
    read = arrange(pieces, (order, first), CAPACITY, program.exit_bonus + 100, tables)
    assert (of_segments[-1] == -9).all()
    assert (table[read:] == -9).all()
    of_segments, table, lanes = of_segments[:-1], table[:read], pieces.stops.virtual_lanes
    sources = np.split(pieces.segments.sources, pieces.segments.first_sources[1:-1])
    sources = [sources[k][sources[k][:, 0] != EMPTY] for k in order]
    assert (of_segments[:, PAST] - of_segments[:, FIRST] == [len(own) for own in sources]).all()
    assert of_segments[0, FIRST] == 0
    assert (of_segments[1:, FIRST] == of_segments[:-1, PAST]).all()
    sources = np.concatenate(sources)
    rows, shifts = table[:, ROW] // CAPACITY.late, table[:, ROW] % CAPACITY.late
    assert (rows == sources[:, 0]).all()
    of_stops = rows < len(lanes)
    assert (shifts[of_stops] == lanes[rows[of_stops]] % CAPACITY.late).all()
    assert (shifts[~of_stops] == 0).all()
    assert (table[:, ADDED] >= 100).sum() == (pieces.segments.sources[:, 1] >= 0).sum()
    kept = pieces.segments.kept[order]
    assert (of_segments[:, KEPT] == np.where(kept == EMPTY, NOT_KEPT, kept * CAPACITY.late)).all()
    ticks = pieces.segments.ticks[order]
    behind = ticks - np.repeat(ticks[first[:-1]], np.diff(first))
    assert (of_segments[:, BEHIND] == CAPACITY.chunk * behind).all()


def test_only_the_empty_chain_has_no_sources(program):
    segments = cut_into_pieces(program, CAPACITY).segments
    of_segments = np.split(segments.sources[:, 0], segments.first_sources[1:-1])
    assert of_segments[0].tolist() == [EMPTY]
    assert all(rows.tolist() == [EMPTY] for rows in of_segments if EMPTY in rows)


def test_rows_that_are_there_first_are_folded_first(program):
    segments = cut_into_pieces(program, CAPACITY).segments
    folds = np.flatnonzero(segments.lanes == 0)
    followed = folds[segments.first_stops[folds] == segments.first_stops[folds + 1]]
    assert (segments.ticks[followed] <= segments.ticks[followed + 1]).all()
    assert (np.diff(segments.first_sources)[folds] == 6).all()


def test_many_rows_are_folded():
    example = cases.random_example(np.random.default_rng(1), 200, 2, 1, 4)
    example.plus = [(k, 100 + 7 * k % 25) for k in range(90)] + [(130, 180), (185, 190)]
    example.minus = []
    case = example.case()
    exons = case.exons.unique().on_strand("+")
    program = build_exon_graph(case.base.codes, exons, SplicedScoring(), reverse=False)
    segments = cut_into_pieces(program, CAPACITY).segments
    assert (segments.lanes == 0).sum() > 10
    test_rows_that_are_there_first_are_folded_first(program)
    test_the_row_above_a_track_is_that_of_all_exons_that_end_before_it(program)
    test_what_a_segment_reads_is_there_before_its_tick(program)
