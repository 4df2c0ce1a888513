"""Which pair is worked on when: score passes, and the search for alignments that follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from gpu_tools.hardware.batches import within_limit
from gpu_tools.hardware.cpu import simd
from gpu_tools.hardware.device import Device
from gpu_tools.local.anchors import score_reached
from gpu_tools.local.cpu import score_pass as cpu
from gpu_tools.local.cpu.vectors import LONGEST_BLOCK
from gpu_tools.local.problem import Problem, Worth
from gpu_tools.local.several import Crew
from gpu_tools.local.tiles import Tiles, tile_side
from gpu_tools.model.results import PairwiseAlignment
from gpu_tools.model.sequences import Sequence

BYTES_PER_BATCH = 1 << 30
"""What the score passes of one batch may keep in GPU memory."""
TILES_IN_HOST_MEMORY = 1 << 20
TILES_FROM_GPU = 1 << 24
"""Small tiles make the search for alignments short; on a GPU they cost nothing."""
SMALLEST_ON_CPU, SMALLEST_ON_GPU = 1 << 13, 1 << 18
"""Symbols from which on words that sequences have in common are worth looking for."""
_MANY_COLUMNS = 4 * simd.VECTOR_BYTES * LONGEST_BLOCK
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


Finish = Callable[[Task, list[Tiles], Crew | None], list[PairwiseAlignment]]
"""From a task, what is known of its problems' tiles, and the threads to its alignments."""


def in_order(
    tasks: list[Task], worth: Worth, finish: Finish, where: Device, threads: int,
    done: Callable[[int], None],
) -> list[list[PairwiseAlignment]]:  # fmt: skip
    """Do all tasks, and return what `finish` makes of each, in their order.

    `worth` says which of their alignments are looked for. A thread does a task at a time, with
    others if there are fewer tasks; `done` is told the cells of each task that is done. With GPUs,
    score passes run on them, many at a time, while threads finish what came before.
    """
    at_once = max(min(threads, len(tasks)), 1)

    def one(task: Task, tiles: list[Tiles] | None):
        tiles = tiles or _on_cpu(task, worth)
        result = finish(task, tiles, crew)
        done(task.cells)
        return result

    on_cpu = where.kind == "cpu"
    bounded = (
        ((task, None) for task in tasks) if on_cpu else _from_gpus(tasks, worth, where.ordinals)
    )
    with (
        ThreadPoolExecutor(max(threads - at_once, 1)) as others,
        ThreadPoolExecutor(at_once) as pool,
    ):
        crew = Crew(others, threads // at_once) if threads >= 2 * at_once else None
        if at_once == 1:  # another thread's memory is slower to come by
            return [one(*pair) for pair in bounded]
        return list(pool.map(lambda pair: one(*pair), bounded))


def side_on_cpu(problem: Problem) -> int:
    """Return the side of the tiles for a score pass on the CPU."""
    side = tile_side(*problem.shape, TILES_IN_HOST_MEMORY)
    # as wide as a lane's block can be, where that leaves few lanes without columns
    return max(side, LONGEST_BLOCK) if problem.shape[1] >= _MANY_COLUMNS else side


def known_worth(task: Task, worth: Worth, smallest: int) -> Worth:
    """Return which alignments of a task are worth finding once some score is known to be reached.

    That is looked for only if both sequences have `smallest` symbols: else it takes too long.
    """
    if not worth.only_best or min(task.problems[0].shape) < smallest:
        return worth
    return worth._replace(least=max(worth.least, *map(score_reached, task.problems)))


def _on_cpu(task: Task, worth: Worth) -> list[Tiles]:
    worth = known_worth(task, worth, SMALLEST_ON_CPU)
    sides = map(side_on_cpu, task.problems)
    return [
        Tiles(problem, side, cpu.score_pass(problem, side, worth), worth.least)
        for problem, side in zip(task.problems, sides, strict=True)
    ]


def _from_gpus(tasks: list[Task], worth: Worth, ordinals) -> Iterator[tuple[Task, list[Tiles]]]:
    """Yield each task with what the GPUs' score passes tell of its tiles."""
    from gpu_tools.local.gpu import score_pass as cuda

    for batch in within_limit(tasks, _bytes_of_task, BYTES_PER_BATCH):
        problems = [problem for task in batch for problem in task.problems]
        sides = [tile_side(*problem.shape, TILES_FROM_GPU) for problem in problems]
        of_tasks = (known_worth(task, worth, SMALLEST_ON_GPU) for task in batch)
        worths = [w for w, task in zip(of_tasks, batch, strict=True) for _ in task.problems]
        passes = cuda.score_passes(problems, sides, ordinals, worths)
        tiles = map(Tiles, problems, sides, passes, (w.least for w in worths))
        for task in batch:
            yield task, [next(tiles) for _ in task.problems]


def _bytes_of_task(task: Task) -> int:
    return len(task.problems) * _bytes(task.problems[0])


def _bytes(problem: Problem) -> int:
    rows, columns = problem.shape
    side = tile_side(rows, columns, TILES_FROM_GPU)
    tiles = (rows // side + 1) * (columns // side + 1)
    return _BYTES_PER_COLUMN * (rows + columns) + _BYTES_PER_TILE * tiles
