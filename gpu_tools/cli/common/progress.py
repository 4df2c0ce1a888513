"""Progress on standard error: a bar on a terminal, plain lines elsewhere, with what is left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(label: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Give a function that receives the units done since its last call, and shows how much is done.

    Of an unknown total, 0, and if `quiet`, it shows nothing.
    """
    if quiet or not total:
        yield lambda done: None
    elif sys.stderr.isatty():
        with click.progressbar(length=total, label=label, file=sys.stderr) as bar:
            yield bar.update
    else:
        yield lines(label, total)


def lines(
    label: str, total: int, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Return a function that receives the units done since its last call and prints lines.

    The time that is left counts from the first units on: what is before them may be compilation.
    """
    state = {"done": 0, "next": clock() + SECONDS_BETWEEN_LINES, "first": None}

    def update(done: int) -> None:
        state["done"] += done
        now = clock()
        if done and state["first"] is None:
            state["first"] = now, state["done"]
        if now >= state["next"] or state["done"] >= total:
            state["next"] = now + SECONDS_BETWEEN_LINES
            began, before = state["first"] or (now, 0)
            left = time_left(now - began, state["done"] - before, total - before)
            click.echo(f"{label}: {100 * state['done'] // total} %{left}", err=True)

    return update


def time_left(seconds: float, done: int, total: int) -> str:
    """Return how long the rest takes if it goes on as before, or nothing if that is unknown.

    Parameters
    ----------
    seconds : float
        Since the beginning.
    done, total : int
        Units of work.
    """
    if not 0 < done < total:
        return ""
    left = round(seconds * (total - done) / done)
    hours, minutes = left // 3600, left // 60 % 60
    if hours:
        return f", about {hours} h {minutes} min left"
    return f", about {minutes} min left" if minutes else f", about {max(left, 1)} s left"
