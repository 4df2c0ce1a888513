"""Providers of candidate exons: the built-in predictor, or a program that a user has."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import ProgramError
from gpu_tools.exons.model import ExonModel, load_model
from gpu_tools.exons.predict import predict_exons
from gpu_tools.formats.exons.predictors import parse_augustus, parse_report
from gpu_tools.formats.sequences.fasta import write_fasta
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.sequences import Sequence as BaseSequence

# Runs an external program on one sequence.


NAME = "sequence"
"""Name of the sequence in every input of a program: names of files may be anything."""
_SHOWN_LETTERS = 200
_running: set[subprocess.Popen] = set()


def output_for(
    codes: NDArray[np.uint8], command: Callable[[str], Sequence[str]]
) -> list[tuple[int, str]]:
    """Run a program on a sequence and return what it prints."""
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


# Long sequences in overlapping windows, and the exons of windows joined again.


def windows(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """Split a sequence into windows that overlap."""
    if length <= size:
        return [(0, length)]
    starts = range(0, length - size, size - overlap)
    return [(start, start + size) for start in (*starts, length - size)]


def join_windows(parts: Sequence[tuple[tuple[int, int], ExonSet]]) -> ExonSet:
    """Return the exons of overlapping windows in the coordinates of the sequence."""
    exons = ExonSet.concatenate(
        replace(found, starts=found.starts + window[0], ends=found.ends + window[0])
        for window, found in parts
    )
    # an end of the sequence is no harm, but may count as an end of a window: of two windows with
    # an exon, the one that reaches an end of the sequence retains it in either case
    depths = [np.minimum(found.starts, b - a - found.ends) for (a, b), found in parts]
    depth = np.concatenate([np.zeros(0, dtype=np.int64), *depths])
    keys = np.stack([exons.reverse, exons.starts, exons.ends, exons.types]).astype(np.int64)
    order = np.lexsort((-depth, *keys[::-1]))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(keys[:, order]) != 0).any(axis=0)
    return exons.take(order[new])


# GENSCAN as a provider of candidate exons: the user's own binary and parameter matrix.


@dataclass(frozen=True)
class Genscan:
    """GENSCAN 1.0, run as ``genscan MATRIX SEQUENCE -subopt CUTOFF``."""

    matrix: str  # path of the parameter matrix, such as HumanIso.smat
    program: str = "genscan"  # name or path of the binary
    # smallest probability of a suboptimal exon; GENSCAN takes 0.01 and more. The exons of its
    # best parse are candidates whatever their probability.
    min_probability: float = 0.01
    # a sequence longer than `window` is split into windows of that size that overlap by at
    # least `overlap` nucleotides; see `gpu_tools.exons.providers.join_windows`
    window: int = 1_000_000
    overlap: int = 100_000

    def exons(self, codes: NDArray[np.uint8]) -> ExonSet:
        """Return the candidate exons of a sequence, both strands."""
        parts = [
            (window, self._exons_of_window(codes[slice(*window)]))
            for window in windows(len(codes), self.window, self.overlap)
        ]
        return join_windows(parts)

    def _exons_of_window(self, codes: NDArray[np.uint8]) -> ExonSet:
        choice = "-subopt", f"{self.min_probability:g}"
        lines = output_for(codes, lambda fasta: [self.program, self.matrix, fasta, *choice])
        return parse_report(f"what {self.program} printed", lines, len(codes))


# AUGUSTUS as a provider of candidate exons: gene structures that it samples.


_OPTIONS = (
    # all structures that were sampled, however improbable, not a choice of them
    "--alternatives-from-sampling=true", "--minexonintronprob=0", "--minmeanexonintronprob=0",
    "--maxtracks=-1",
    # exons with their types, the stop codon within the last one, and nothing else
    "--gff3=off", "--exonnames=on", "--stopCodonExcludedFromCDS=false", "--UTR=off", "--cds=off",
    "--introns=off", "--start=off", "--stop=off", "--protein=off", "--codingseq=off",
)  # fmt: skip


@dataclass(frozen=True)
class Augustus:
    """AUGUSTUS 3, sampling gene structures from their posterior distribution."""

    program: str = "augustus"  # name or path of the program
    species: str = "human"  # name of its model, as ``augustus --species=help`` lists them
    # gene structures to sample; an exon's probability is the share of them that has it
    samples: int = 100
    min_probability: float = 0.0  # smallest probability of a candidate

    def exons(self, codes: NDArray[np.uint8]) -> ExonSet:
        """Return the candidate exons of a sequence, both strands."""
        choices = f"--species={self.species}", f"--sample={self.samples}"
        lines = output_for(codes, lambda fasta: [self.program, *choices, *_OPTIONS, fasta])
        found = parse_augustus(f"what {self.program} printed", lines)
        retained = found.take(found.probabilities >= self.min_probability)
        return replace(retained, scores=log_odds(retained.probabilities, self.samples))


def log_odds(probabilities: NDArray[np.float64], samples: int) -> NDArray[np.float64]:
    """Return the log-odds, in bits, of shares of a number of samples.

    Half a sample is added on either side, so that all and none are finite: the score lies between
    -log2(2 n + 1) and log2(2 n + 1) for n samples. Two decimals.
    """
    counts = probabilities * samples
    return np.round(np.log2((counts + 0.5) / (samples - counts + 0.5)), 2)


# The built-in predictor as a provider of candidate exons.


@dataclass(frozen=True)
class Builtin:
    """The predictor of this package."""

    model: str = "vertebrate"  # name of a shipped model, or a file
    min_score: float | None = None  # smallest score of a candidate, in bits; none by default
    # smallest posterior probability of a candidate; the model's own by default
    min_probability: float | None = None

    @cached_property
    def _loaded(self) -> ExonModel:
        return load_model(self.model)

    def exons(self, codes: NDArray[np.uint8]) -> ExonSet:
        """Return the candidate exons of a sequence, both strands."""
        return predict_exons(codes, self._loaded, self.min_score, self.min_probability)
