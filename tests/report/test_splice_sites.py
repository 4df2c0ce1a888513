"""Nucleotides at the ends of introns."""

import numpy as np
import pytest

from gpu_tools.report.findings import SequenceFile, splice_sites

COMPLEMENT = str.maketrans("ACGT", "TGCA")


def naive(text, start, end, strand):
    intron = text[start:end]
    intron = intron if strand == "+" else intron.translate(COMPLEMENT)[::-1]
    return f"{intron[:2]}-{intron[-2:]}"


@pytest.mark.parametrize("seed", range(5))
def test_sites_are_those_of_the_intron_itself(seed, tmp_path):
    rng = np.random.default_rng(seed)
    text, offset = "".join(rng.choice(list("ACGT"), 500)), int(rng.integers(0, 1000))
    (tmp_path / "a.fa").write_text(f">a\n{text}\n")
    introns = []
    for strand in "+-" * 5:
        start = int(rng.integers(0, 490))
        introns.append(((start + offset, start + offset + int(rng.integers(4, 11))), strand))
    found = splice_sites(SequenceFile(tmp_path / "a.fa", "a", offset), introns)
    for (start, end), strand in introns:
        expected = naive(text, start - offset, end - offset, strand)
        assert found[(start, end), strand] == expected


def test_an_intron_too_short_for_two_sites_has_none(tmp_path):
    assert splice_sites(SequenceFile(tmp_path / "missing.fa", "a", 0), [((5, 8), "+")]) == {}
