"""The table of scores as alignments, and gene models chosen from GFF3."""

import pytest

from gpu_tools import InputError
from gpu_tools.formats.scores import read_scores, select_models
from gpu_tools.model.results import SplicedAlignment

HEADER = (
    "base\ttarget\tmethod\tstrand\tscore\tbase_length\ttarget_length\tn_exons\tn_chain\tchain\t"
    "identity\tcells\tcoverage\tevalue\taccepted\n"
)
ROW = "b\tt\tsites\t-\t12\t90\t20\t.\t2\t31-40,5-9\t0.9\t8\t0.7000\t1.5e-07\tyes\n"
EMPTY = "b\tu\tsites\t.\t.\t90\t7\t.\t0\t.\t.\t8\t.\t.\tno\n"


def test_rows_are_alignments(tmp_path):
    path = tmp_path / "s.tsv"
    path.write_text(HEADER + ROW + EMPTY)
    columns, rows = read_scores(path)
    assert columns == HEADER.split()
    assert [list(row.fields.values()) for row in rows] == [ROW.split(), EMPTY.split()]
    assert [row.alignment for row in rows] == [
        SplicedAlignment("b", "t", 90, 20, "-", 12, chain=((30, 40), (4, 9)), evalue=1.5e-7),
        SplicedAlignment("b", "u", 90, 7),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1: no table of scores; expected columns accepted, base"),
        ("base\ttarget\n", "line 1: no table of scores"),
        (HEADER + ROW + ROW[:-5] + "\n", "line 3: a broken row"),
        (HEADER + ROW.replace("31-40", "31"), "line 2: a broken row"),
        (HEADER + ROW.replace("\t12\t", "\tx\t"), "line 2: a broken row"),
    ],
)
def test_broken_tables(tmp_path, text, says):
    path = tmp_path / "s.tsv"
    path.write_text(text)
    with pytest.raises(InputError, match="s.tsv, ") as error:
        read_scores(path)
    assert says in str(error.value)


def test_models_are_chosen_with_gene_and_parts(tmp_path):
    lines = ["##gff-version 3", "##sequence-region c%3B1 1 99"]
    for feature, attributes in (
        ("gene", "ID=g1"), ("mRNA", "ID=m1;Parent=g1;Name=one"), ("exon", "ID=e1;Parent=m1"),
        ("mRNA", "ID=m2;Parent=g1;Name=two%2C2"), ("exon", "ID=e2;Parent=m2"),
        ("gene", "ID=g3"), ("mRNA", "ID=m3;Parent=g3;Name=one;note=x"), ("CDS", "Parent=m3"),
    ):  # fmt: skip
        lines.append(f"c%3B1\tgpu-tools\t{feature}\t1\t9\t.\t+\t.\t{attributes}")
    path, output = tmp_path / "in.gff3", tmp_path / "out.gff3"
    path.write_text("".join(f"{line}\n" for line in lines))
    select_models(path, output, lambda base, target: (base, target) == ("c;1", "two,2"))
    assert output.read_text().splitlines() == [*lines[:3], *lines[5:7]]
    select_models(path, output, lambda base, target: False)
    assert output.read_text().splitlines() == lines[:2]
