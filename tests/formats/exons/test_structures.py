"""Introns of targets by the annotation of their own genes."""

from dataclasses import replace

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.exons.structures import with_introns
from gpu_tools.model.sequences import ProteinSequence

# 10 + 9 + 11 nucleotides with the stop codon: nine residues, introns behind 10 and 19 of them
SEGMENTS = (101, 110, 0), (201, 209, 2), (301, 311, 2)
GFF3 = """##gff-version 3
chr\tx\tmRNA\t101\t311\t.\t{strand}\t.\tID=transcript:T1;Parent=gene:G1;Name=one
{cds}"""


def lines(strand="+", attributes="ID=CDS:P1;Parent=transcript:T1;protein_id=NP_1"):
    ordered = SEGMENTS if strand == "+" else [(412 - e, 412 - s, p) for s, e, p in SEGMENTS]
    return "".join(
        f"chr\tx\tCDS\t{start}\t{end}\t.\t{strand}\t{phase}\t{attributes}\n"
        for start, end, phase in ordered
    )


def protein(name, residues=9):
    return ProteinSequence.from_text(name, "M" * residues)


@pytest.mark.parametrize("strand", ["+", "-"])
@pytest.mark.parametrize("name", ["T1", "transcript:T1", "one", "P1", "NP_1", "NP_1.3"])
def test_a_target_has_the_introns_of_the_coding_sequence_of_its_name(tmp_path, strand, name):
    path = tmp_path / "own.gff3"
    path.write_text(GFF3.format(strand=strand, cds=lines(strand)))
    found, without = with_introns([protein(name), protein("other")], path)
    assert [one.introns for one in found] == [(10, 19), ()]
    assert without == ["other"]


def test_gtf_with_its_stop_codon_apart(tmp_path):
    path = tmp_path / "own.gtf"
    text = lines(attributes='gene_id "G"; transcript_id "T1"; protein_id "P1";')
    text = text.replace("301\t311", "301\t308")
    stop = text.splitlines()[-1].replace("\tCDS\t301\t308", "\tstop_codon\t309\t311")
    path.write_text(f"{text}{stop}\n")
    for name in ("T1", "P1"):
        assert with_introns([protein(name)], path).targets[0].introns == (10, 19)


def test_a_first_phase_is_not_of_the_protein(tmp_path):
    path = tmp_path / "own.gff3"
    cut = lines().replace("101\t110\t.\t+\t0", "102\t110\t.\t+\t2")
    path.write_text(GFF3.format(strand="+", cds=cut))
    assert with_introns([protein("T1", 8)], path).targets[0].introns == (7, 16)


@pytest.mark.parametrize("residues", [8, 11])
def test_a_coding_sequence_of_another_length_is_none(tmp_path, residues):
    path = tmp_path / "own.gff3"
    path.write_text(GFF3.format(strand="+", cds=lines()))
    with pytest.raises(InputError, match="no coding sequence with a target's name and length"):
        with_introns([protein("T1", residues)], path)


def test_a_name_of_coding_sequences_that_differ_is_none(tmp_path):
    path = tmp_path / "own.gff3"
    other = lines(attributes="ID=CDS:P2;Parent=transcript:T2;protein_id=NP_1")
    path.write_text(GFF3.format(strand="+", cds=lines() + other.replace("201", "204")))
    found, without = with_introns([protein("P1"), protein("NP_1")], path)
    assert [one.introns for one in found] == [(10, 19), ()]
    assert without == ["NP_1"]


def test_parts_of_a_protein_keep_the_introns_inside():
    own = replace(protein("T1"), introns=(10, 19))
    assert own.part(2, 9).introns == (4, 13)
    assert own.part(0, 6).introns == (10,)
    assert own.part(4, 6).introns == ()
