"""Other programs find the same scores; each test is for a program that is installed."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from gpu_tools import AffineScoring, Sequence, local_align
from gpu_tools.model.sequences import decode


def scores(pair, scoring, k):
    (found,) = local_align([pair], scoring, k=k, device="cpu")
    return [alignment.score for alignment in found]


def dna_pair(seed, longest=300):
    """Return two sequences that share a stretch; the programs take no ambiguity codes here."""
    rng = np.random.default_rng(seed)
    stretch = rng.integers(0, 4, longest // 3).astype(np.uint8)
    parts = [rng.integers(0, 4, int(rng.integers(9, longest))).astype(np.uint8) for _ in range(4)]
    return (
        Sequence("q", np.concatenate([parts[0], stretch, parts[1]])),
        Sequence("s", np.concatenate([parts[2], stretch[:40], stretch[44:], parts[3]])),
    )


def write_fasta(folder, pair):
    paths = [folder / f"{s.name}.fa" for s in pair]
    for path, sequence in zip(paths, pair, strict=True):
        path.write_text(f">{sequence.name}\n{decode(sequence.codes)}\n")
    return [str(path) for path in paths]


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


PROGRAMS = {
    "matcher": (
        "-gapopen 16 -gapextend 4 -datafile EDNAFULL -alternatives 5 -auto -stdout",
        r"(?m)^# Score: (\S+)",
    ),
    # the first symbol of a gap of lalign36 costs both penalties
    "lalign36": ("-n -3 -r +5/-4 -f -12 -g -4 -E 1000", r"Waterman-Eggert score: (\d+)"),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("seed", range(4))
def test_scores_are_those_of_another_program(program, seed, tmp_path):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    (options, pattern), pair = PROGRAMS[program], dna_pair(seed)
    files, options = write_fasta(tmp_path, pair), options.split()
    words = [*files, *options] if program == "matcher" else [*options, *files]
    theirs = [float(x) for x in re.findall(pattern, output_of(program, *words))][:5]
    assert theirs
    assert scores(pair, AffineScoring(5, -4, 16, 4), len(theirs)) == theirs
