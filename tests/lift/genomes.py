"""A genome with genes, and copies of it that differ."""

from itertools import pairwise

import numpy as np

from gpu_tools.model.annotation import CodingSegment
from gpu_tools.model.genes import ReferenceGene, ReferenceTranscript
from gpu_tools.model.sequences import Sequence

INTRON = 180


def text(rng, length):
    return "".join("ACGT"[k] for k in rng.integers(0, 4, length))


def coding(rng, codons):
    """Return ATG, codons without stop, and TAA."""
    some = ["GCT", "GAA", "CTG", "AAG", "TCC", "GTC", "CAC", "TAC", "GGA", "ATC"]
    return "ATG" + "".join(some[k] for k in rng.integers(0, len(some), codons)) + "TAA"


def gene_text(rng, exons=3):
    """Return a gene's nucleotides, its exons and its coding parts, with untranslated ends."""
    whole = text(rng, 40) + coding(rng, 80) + text(rng, 60)
    cuts = [0, *sorted(rng.choice(np.arange(60, 260), exons - 1, replace=False)), len(whole)]
    out, intervals, parts = "", [], []
    for k, (a, b) in enumerate(pairwise(cuts)):
        start = len(out)
        out += whole[a:b]
        intervals.append((start, len(out)))
        low, high = max(a, 40), min(b, len(whole) - 60)
        parts.append((start + low - a, start + high - a))
        if k < exons - 1:
            out += "GTAAGT" + text(rng, INTRON) + "TTTTCTTTCAG"
    return out, intervals, parts


def with_phases(parts):
    phase, segments = 0, []
    for start, end in parts:
        segments.append(CodingSegment(int(start), int(end), phase))
        phase = (phase - (end - start)) % 3
    return tuple(segments)


def reference(seed=1, genes=4, between=1500):
    """Return a record of genes on + and their annotation."""
    rng = np.random.default_rng(seed)
    record, found = text(rng, between), []
    for k in range(genes):
        letters, exons, parts = gene_text(rng)
        at = len(record)
        exons = tuple((int(a) + at, int(b) + at) for a, b in exons)
        segments = with_phases([(a + at, b + at) for a, b in parts])
        one = ReferenceTranscript(f"t{k}", "r", "+", exons, segments, None, ())
        span = exons[0][0], exons[-1][1]
        found.append(ReferenceGene(f"g{k}", "r", "+", span, None, (one,)))
        record += letters + text(rng, between)
    return record, found


def sequence(letters, name="r"):
    return Sequence.from_text(name, letters)


def turned(letters):
    return letters[::-1].translate(str.maketrans("ACGT", "TGCA"))


def substituted(letters, rate, seed=2):
    rng = np.random.default_rng(seed)
    return "".join(
        "ACGT"[("ACGT".index(x) + int(rng.integers(1, 4))) % 4] if rng.random() < rate else x
        for x in letters
    )


def with_other_codons(letters, genes, every=30, seed=3):
    """Return nucleotides whose coding segments have lost and gained codons here and there."""
    rng = np.random.default_rng(seed)
    for gene in reversed(genes):
        for segment in reversed(gene.transcripts[0].coding):
            for at in range(segment.end - 15, segment.start + 15, -every):
                size = 3 * int(rng.integers(1, 3))
                if rng.random() < 0.5:
                    letters = letters[:at] + text(rng, size) + letters[at:]
                else:
                    letters = letters[: at - size] + letters[at:]
    return letters
