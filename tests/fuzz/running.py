"""A command in a process of its own: what it says, writes, needs, and whether it comes back."""

import os
import resource
import signal
import sys
import tempfile
import traceback
from pathlib import Path
from typing import NamedTuple

from gpu_tools.cli.main import main

MOST_SECONDS, MOST_BYTES = 10, 2 << 30
"""Of processor time and of memory beyond what the parent has."""
CRASHED = 99


class Outcome(NamedTuple):
    """How a run ended: its exit code, what it said, and what it needed."""

    code: int
    errors: str
    seconds: float
    bytes: int


def run(arguments: list[str]) -> Outcome:
    """Run a command in a fork of this process, which has imported and compiled already."""
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            _run_child(arguments, errors.fileno())
        _, status, used = os.wait4(child, 0)
        errors.seek(0)
        text = errors.read().decode("utf-8", "replace")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = max(used.ru_maxrss - before, 0) << 10
    return Outcome(os.waitstatus_to_exitcode(status), text, used.ru_utime + used.ru_stime, memory)


def _run_child(arguments: list[str], errors: int) -> None:
    code = CRASHED
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, handle in enumerate((nothing, nothing, errors)):
            os.dup2(handle, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
        resource.setrlimit(resource.RLIMIT_CPU, (30 * MOST_SECONDS, 30 * MOST_SECONDS))
        signal.alarm(60 * MOST_SECONDS)
        code = main(arguments)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else CRASHED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def faults(outcome: Outcome, before: set[str], outputs: set[str]) -> list[str]:
    """Return what is wrong with a run in this folder, whose files were `before`."""
    written = {path.name for path in Path().iterdir()} - before
    indexes = {name for name in written if name.endswith((".fai", ".gzi", ".bai"))}
    found = []
    if outcome.code not in (0, 1, 2):
        found.append(f"exit code {outcome.code}")
    if "Traceback" in outcome.errors:
        found.append("a traceback")
    if outcome.code in (1, 2) and "rror: " not in outcome.errors:
        found.append("no word of what is wrong")
    if outcome.code and written - indexes:
        found.append(f"files of a run that failed: {sorted(written - indexes)}")
    if not outcome.code and not written - indexes <= outputs:
        found.append(f"files that are no outputs: {sorted(written - indexes - outputs)}")
    if outcome.bytes > MOST_BYTES:
        found.append(f"{outcome.bytes >> 20} MiB of memory")
    return found
