"""Mutated copies of a genome: where genes are said to lie, they lie; what stays stays."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.lift import judge, mutated
from tests.formats.exons.gene_forms import FORMS

COMPLEMENT = str.maketrans("ACGT", "TGCA")


@pytest.fixture
def reference(tmp_path):
    rng = np.random.default_rng(1)
    letters = "".join(rng.choice(list("ACGT"), 1500))
    genome, annotation = tmp_path / "genome.fa", tmp_path / "annotation.gff3"
    genome.write_text(f">1\n{letters}\n>2\n{letters[::-1]}\n")
    other = FORMS["ensembl.gff3"].replace("\n1\t", "\n2\t").replace("ENSX", "OTHER")
    annotation.write_text(FORMS["ensembl.gff3"] + other.removeprefix("##gff-version 3\n"))
    return mutated.Reference.read(genome, annotation)


def texts(path, structure):
    """Return the nucleotides of the parts in reading order."""
    text = "".join(path.read_text().split(f">{structure.record}\n")[1].split(">")[0].split())
    parts = [text[a:b] for a, b in structure.parts]
    if structure.strand == "-":
        parts = [part.translate(COMPLEMENT)[::-1] for part in parts[::-1]]
    return parts, text


def test_without_mutations_genes_lie_where_they_are(tmp_path, reference):
    plain = {name: [mutated.Piece(name, 0, n)] for name, n in reference.lengths.items()}
    copy = mutated.Mutated(reference.genome, plain)
    path = tmp_path / "truth.gff3"
    path.write_text("".join(mutated.truth(copy, reference.annotation, reference.lines)))
    assert judge.judged(path, reference.annotation) == {
        "mrnas": 2, "mrnas_exact": 2, "coding": 2, "coding_exact": 2,
    }  # fmt: skip


def test_turned_and_copied_pieces_read_the_same(tmp_path, reference):
    layout = {
        "1": [mutated.Piece("1", 700, 1500), mutated.Piece("1", 50, 700, reverse=True)],
        "2": [mutated.Piece("2", 0, 700), mutated.Piece("2", 0, 700, copy=1)],
    }
    copy = mutated.Mutated(reference.genome, layout)
    copy.write(tmp_path / "copy.fa")
    truth = tmp_path / "truth.gff3"
    truth.write_text("".join(mutated.truth(copy, reference.annotation, reference.lines)))
    before = judge.structures(reference.annotation, "exon")
    after = judge.structures(truth, "exon")
    genome = tmp_path / "genome.fa"
    for name, structure in after.items():
        own = before[name.removesuffix(mutated.COPY)]
        assert texts(tmp_path / "copy.fa", structure)[0] == texts(genome, own)[0]
    assert {name.endswith(mutated.COPY) for name in after} == {True, False}
    counts = judge.judged(truth, truth)
    assert (counts["mrnas"], counts["mrnas_copies"], counts["mrnas_copies_exact"]) == (2, 1, 1)


def test_indels_move_places(reference):
    """What is not substituted stands where it is said to, in the order it had."""
    plain = {"1": [mutated.Piece("1", 0, 1500)]}
    copy = mutated.Mutated(reference.genome, plain)
    record = copy.records["1"]
    record.mutate(np.random.default_rng(3), 0.3, mutated.Protected.none(1500))
    assert len(record.text) != 1500
    ends, same, there = 0, 0, 0
    for at in range(1500):
        place = record.place(0, at, at + 1)
        if place is not None:
            assert place.start >= ends
            ends = place.end
            assert place.end - place.start == 1
            same += record.text[place.start] == reference.genome["1"][at]
            there += 1
    assert 1400 < there < 1500
    assert 0.65 < same / there < 0.75


def test_sites_and_codons_stay(tmp_path, reference):
    names = mutated.write(reference, tmp_path, (20,))
    assert names == ["free_20", "kept_20", "frame_20", "moved_2"]
    own = judge.structures(reference.annotation, "exon")
    coding = judge.structures(reference.annotation, "CDS")
    after = judge.structures(tmp_path / "kept_20.gff3", "exon")
    for name, structure in after.items():
        assert sites(tmp_path / "kept_20.fa", structure) == sites(tmp_path / "genome.fa", own[name])
    changed = judge.structures(tmp_path / "kept_20.gff3", "CDS")
    for name in changed:
        new, old = ("".join(texts(tmp_path / f, s[name])[0]) for f, s in
                    (("kept_20.fa", changed), ("genome.fa", coding)))  # fmt: skip
        assert (new[:3], new[-3:]) == (old[:3], old[-3:])
        assert new != old
    framed = judge.structures(tmp_path / "frame_20.gff3", "CDS")
    changed_lengths = {length(framed[name]) - length(coding[name]) for name in coding}
    assert all(change % 3 == 0 for change in changed_lengths)


def length(structure):
    return sum(end - start for start, end in structure.parts)


def sites(path, structure):
    _, text = texts(path, structure)
    parts = structure.parts
    return [(text[b : b + 2], text[c - 2 : c]) for (_, b), (c, _) in pairwise(parts)]
