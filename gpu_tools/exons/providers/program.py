"""Runs an external program on one sequence."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ProgramError
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.model.sequences import Sequence as BaseSequence

NAME = "sequence"
"""Name of the sequence in every input of a program: names of files may be anything."""
_SHOWN_LETTERS = 200
_running: set[subprocess.Popen] = set()


def output_for(
    codes: NDArray[np.uint8], command: Callable[[str], Sequence[str]]
) -> list[tuple[int, str]]:
    """Run a program on a sequence and return what it prints.

    Parameters
    ----------
    codes : ndarray of uint8, shape (n,)
        Encoded nucleotides; the program gets them in capitals, every ambiguity code as N.
    command : callable
        Takes the path of a FASTA file and returns the program and its arguments.

    Returns
    -------
    list of (int, str)
        The lines of its standard output, numbered from 1.

    Raises
    ------
    ProgramError
        If the program cannot be started or does not end with status 0.
    """
    with tempfile.TemporaryDirectory(prefix="gpu-tools-") as folder:
        fasta = Path(folder) / f"{NAME}.fa"
        write_fasta(fasta, [BaseSequence(NAME, codes)])
        return list(enumerate(_output(command(str(fasta))).splitlines(), start=1))


def end_programs() -> None:
    """End the programs that threads of this process have started and wait for."""
    for process in tuple(_running):
        process.kill()


def _run(command: Sequence[str]) -> subprocess.CompletedProcess:
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        _running.add(process)
        try:
            written = process.communicate()
        except BaseException:
            process.kill()
            raise
        finally:
            _running.discard(process)
    return subprocess.CompletedProcess(command, process.returncode, *written)


def _output(command: Sequence[str]) -> str:
    try:
        done = _run(command)
    except OSError as error:
        raise ProgramError(
            f"{command[0]} cannot be run ({error.strerror}); expected a program on the search "
            "path, or the path of one"
        ) from None
    if done.returncode:
        raise ProgramError(f"{command[0]} {_ending(done.returncode)}{_last_words(done)}")
    return done.stdout


def _ending(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"failed with status {code}"


def _last_words(done: subprocess.CompletedProcess) -> str:
    """Return the last line that a program wrote, of its errors if there are any."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return f": {lines[-1][:_SHOWN_LETTERS]}" if lines else ""
