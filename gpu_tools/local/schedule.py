"""Which pair is worked on when: score passes, and the search for alignments that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from gpu_tools.device import Device
from gpu_tools.local import cpu
from gpu_tools.local.problem import Problem
from gpu_tools.local.tiles import Tiles, tile_side
from gpu_tools.results import PairwiseAlignment
from gpu_tools.sequences import Sequence

BYTES_PER_BATCH = 1 << 30
"""What the score passes of one batch may keep in GPU memory."""
TILES_IN_HOST_MEMORY = 1 << 20
TILES_FROM_GPU = 1 << 24
"""Small tiles make the search for alignments short; on a GPU they cost nothing."""
_BYTES_PER_COLUMN, _BYTES_PER_TILE = 12, 4


class Task(NamedTuple):
    """A pair of sequences and its problems, one for each strand of the query."""

    query: Sequence
    subject: Sequence
    problems: tuple[Problem, ...]

    @property
    def cells(self) -> int:
        """Cells of the matrix of one strand."""
        return len(self.query) * len(self.subject)


Finish = Callable[[Task, list[Tiles]], list[PairwiseAlignment]]
"""From a task and what is known of its problems' tiles to its alignments."""


def in_order(
    tasks: list[Task], finish: Finish, where: Device, threads: int, done: Callable[[int], None]
) -> list[list[PairwiseAlignment]]:
    """Do all tasks, and return what `finish` makes of each, in their order.

    A thread does a task at a time; `done` is told the cells of each task that is done. With GPUs,
    score passes run on them, many at a time, while threads finish what came before.
    """

    def one(task: Task, tiles: list[Tiles] | None = None):
        result = finish(task, tiles or [_on_cpu(problem) for problem in task.problems])
        done(task.cells)
        return result

    with ThreadPoolExecutor(max(min(threads, len(tasks)), 1)) as pool:
        if where.kind == "cpu":
            return list(pool.map(one, tasks))
        return list(pool.map(lambda pair: one(*pair), _from_gpus(tasks, where.ordinals)))


def _on_cpu(problem: Problem) -> Tiles:
    side = tile_side(*problem.shape, TILES_IN_HOST_MEMORY)
    return Tiles(problem, side, cpu.score_pass(problem, side))


def _from_gpus(tasks: list[Task], ordinals) -> Iterator[tuple[Task, list[Tiles]]]:
    """Yield each task with what the GPUs' score passes tell of its tiles."""
    from gpu_tools.local import cuda

    for batch in _batches(tasks):
        problems = [problem for task in batch for problem in task.problems]
        sides = [tile_side(*problem.shape, TILES_FROM_GPU) for problem in problems]
        passes = cuda.score_passes(problems, sides, ordinals)
        tiles = map(Tiles, problems, sides, passes)
        for task in batch:
            yield task, [next(tiles) for _ in task.problems]


def _batches(tasks: Iterable[Task]) -> Iterator[list[Task]]:
    batch, size = [], 0
    for task in tasks:
        needed = len(task.problems) * _bytes(task.problems[0])
        if batch and size + needed > BYTES_PER_BATCH:
            yield batch
            batch, size = [], 0
        batch.append(task)
        size += needed
    if batch:
        yield batch


def _bytes(problem: Problem) -> int:
    rows, columns = problem.shape
    side = tile_side(rows, columns, TILES_FROM_GPU)
    tiles = (rows // side + 1) * (columns // side + 1)
    return _BYTES_PER_COLUMN * (rows + columns) + _BYTES_PER_TILE * tiles
