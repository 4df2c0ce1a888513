"""Readable alignments of proteins, read back: the text holds all that an alignment says."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gpu_tools import Sequence
from gpu_tools.formats.alignments.proteins import (
    LABELS,
    coding_sequence,
    translated,
    write_shown,
)
from gpu_tools.formats.alignments.walk import coding_parts
from gpu_tools.model.results import with_frameshifts
from gpu_tools.model.sequences import decode, decode_protein
from gpu_tools.model.translation import amino_acids
from tests import cases
from tests.sites.proteins.test_api import (
    PROTEIN,
    align,
    gene,
    random_protein,
    random_scoring,
    random_table,
)
from tests.spliced.proteins.test_api import SCORING, listed
from tests.spliced.proteins.test_api import align as align_listed

TEXT_COLUMN = 24
"""Where the symbols begin in a line, behind label and number."""


def read_back(text):
    """Return head, rows of four lines each joined, and the numbers of genome and protein lines."""
    every = text.removesuffix("\n\n").split("\n")
    head = "\n".join(every[:3])
    rows, numbers = ["", "", "", ""], {"protein": [], "genome": []}
    for first in range(3, len(every), 5):
        empty, *lines = every[first : first + 5]
        assert empty == ""
        assert [line[:11].strip() for line in lines] == [*LABELS]
        width = 0
        for k in (3, 0, 1, 2):
            before, symbols = lines[k][11:TEXT_COLUMN].strip(), lines[k][TEXT_COLUMN:]
            behind = re.search(r"\d+$", symbols) if before else None
            if behind:
                numbers[LABELS[k]].append((int(before), int(behind.group())))
                symbols = symbols[: behind.start() - 2]
            width = width or len(symbols)
            rows[k] += symbols.ljust(width)
    assert len({len(row) for row in rows}) == 1
    return head, rows, numbers


def exons_of(genome, strand, start):
    """Return exons and phases of introns that a line of nucleotides shows, and its nucleotides."""
    direction, at, exons, phases, letters = (1 if strand == "+" else -1), start, [], [], ""
    begin = at
    for match in re.finditer(r"<(\d+) nt, phase (\d)>|[ACGTN]", genome):
        if match.group(1):
            exons.append((begin, at - direction))
            at += direction * int(match.group(1))
            begin = at
            phases.append(int(match.group(2)))
        else:
            at, letters = at + direction, letters + match.group()
    exons.append((begin, at - direction))
    return [tuple(sorted(exon)) for exon in exons], phases, letters


def check(own, moved, base, protein, scoring, path):
    write_shown(path, [(own, moved, base)], scoring)
    head, (residues, marks, acids, genome), numbers = read_back(path.read_text())
    assert f"score {own.score}," in head
    shown = residues.replace(" ", "")
    assert shown.replace("-", "") == protein[own.target_start : own.target_end]
    letters = acids.replace(" ", "").replace("!", "")
    expected = own.translation.upper().replace("!", "")
    assert letters == expected + "*" * own.stop_codon
    assert ("!" in acids) == (own.frameshifts > 0)
    assert marks.count("|") == own.matches
    assert marks.count("|") + marks.count("+") <= own.columns
    exons, phases, nucleotides = exons_of(genome, own.strand, numbers["genome"][0][0])
    assert exons == [(start + 1, end) for start, end in moved.chain]
    assert phases == ["NUV".index(letter) for letter, _ in own.cigar if letter in "NUV"]
    assert nucleotides == decode(coding_sequence(own, base, "").codes)
    step = 1 if own.strand == "+" else -1
    for one, other in zip(numbers["genome"], numbers["genome"][1:], strict=False):
        assert other[0] == one[1] + step
    assert [a for a, _ in numbers["protein"]][1:] == [b + 1 for _, b in numbers["protein"]][:-1]


@pytest.mark.parametrize("seed", range(12))
def test_random_alignments_read_back(seed, tmp_path):
    rng = np.random.default_rng([seed, 5])
    text = cases.random_text(rng, int(rng.integers(100, 900)))
    protein = random_protein(rng, text, int(rng.integers(20, 150)))
    tables = {strand: random_table(rng, len(text)) for strand in "+-"}
    scoring = random_scoring(rng)
    own = align(text, protein, tables, scoring)
    if own.score is not None:
        moved = replace(own, chain=tuple((s + 1000, e + 1000) for s, e in own.chain))
        base = Sequence.from_text("b", text)
        check(own, moved, base, protein, scoring, tmp_path / "x.txt")


@pytest.mark.parametrize("seed", range(40))
def test_the_parts_around_frameshifts_read_in_one_frame(seed):
    """They hold the nucleotides of the chain without those of frameshifts, in its order."""
    rng = np.random.default_rng([seed, 9])
    text = cases.random_text(rng, int(rng.integers(100, 900)))
    protein = random_protein(rng, text, int(rng.integers(20, 150)))
    tables = {strand: random_table(rng, len(text)) for strand in "+-"}
    scoring = replace(random_scoring(rng), frameshift=int(rng.integers(0, 4)))
    own = align(text, protein, tables, scoring)
    if not own.chain:
        return
    split = with_frameshifts(own, "split")
    parts = coding_parts(split)
    lost = sum(n for letter, n in own.cigar if letter in "FG")
    positions = [p for (start, end), _ in parts for p in range(start, end)]
    assert len({*positions}) == len(positions) == sum(e - s for s, e in own.chain) - lost
    assert {*positions} <= {p for start, end in own.chain for p in range(start, end)}
    starts = [interval[0] for interval, _ in parts]
    assert starts == sorted(starts, reverse=own.strand == "-")
    lengths = [end - start for (start, end), _ in parts]
    assert [phase for _, phase in parts] == [-sum(lengths[:k]) % 3 for k in range(len(parts))]
    nucleotides = coding_sequence(split, Sequence.from_text("b", text), "").codes
    acids = decode_protein(amino_acids()[tuple(nucleotides.reshape(-1, 3).T)])
    own_acids = decode_protein(translated(split).codes) + "*" * own.stop_codon
    assert acids == own_acids.replace("U", "*")  # TGA that stands for U


@pytest.mark.parametrize("strand", ["+", "-"])
def test_a_gene(strand, tmp_path):
    text, exons, _ = listed(strand=strand)
    own = align_listed(text, PROTEIN, exons, SCORING)
    base = Sequence.from_text("b", text)
    check(own, own, base, PROTEIN, SCORING, tmp_path / "x.txt")
    lines = (tmp_path / "x.txt").read_text().split("\n")
    assert lines[0] == f"> t 1-{len(PROTEIN)} of {len(PROTEIN)}"
    split = re.search(r"gtaagt <76 nt, phase 1> tttcag TC", "\n".join(lines))
    assert split, "a split codon stands on both sides of its intron"


def test_stops_inside_and_frameshifts_are_seen(tmp_path):
    text, flank = gene()
    _, exons, _ = listed()
    at = flank + 12
    for changed, sign in (
        (text[: at + 3] + "TAA" + text[at + 6 :], " * "),
        (text[:at] + text[at + 2 :], " ! "),
    ):
        moved = replace(exons, starts=exons.starts - [0, 2 * (sign == " ! ")],
                        ends=exons.ends - 2 * (sign == " ! "))  # fmt: skip
        own = align_listed(changed, PROTEIN, moved, replace(SCORING, stop=4, frameshift=8))
        base = Sequence.from_text("b", changed)
        check(own, own, base, PROTEIN, SCORING, tmp_path / "x.txt")
        translation = [
            line for line in (tmp_path / "x.txt").read_text().split("\n") if "translation" in line
        ]
        assert sign in translation[0]
