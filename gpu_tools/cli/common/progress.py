"""Progress on standard error: a bar on a terminal, plain lines elsewhere."""

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
        yield _lines(label, total)


def _lines(label: str, total: int) -> Callable[[int], None]:
    state = {"done": 0, "next": time.monotonic() + SECONDS_BETWEEN_LINES}

    def update(done: int) -> None:
        state["done"] += done
        now = time.monotonic()
        if now >= state["next"] or state["done"] >= total:
            state["next"] = now + SECONDS_BETWEEN_LINES
            click.echo(f"{label}: {100 * state['done'] // total} %", err=True)

    return update
