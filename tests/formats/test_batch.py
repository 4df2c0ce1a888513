"""Files of a batch: the exons of its bases come back in the coordinates of their records."""

import pytest

from gpu_tools.errors import InputError
from gpu_tools.formats.batch import CaseRow, exons_of_batches, read_case_rows, write_case_rows
from gpu_tools.formats.exons.intervals import write_exons
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus

# a locus named as its record, another one of that record, and a whole record under another name
LOCI = {"chr": Locus("chr", 100, 200), "left": Locus("chr", 50, 150), "all": Locus("r", 0, 80)}
INSIDE = {"chr": [(5, 20)], "left": [(5, 20), (60, 90)], "all": [(0, 80)]}


def write_batch(folder, name, bases):
    rows = [CaseRow(base, target, LOCI[base]) for base in bases for target in ("t", "u")]
    write_case_rows(folder / f"{name}.tsv", rows)
    sets = {b: LOCI[b].exons_under(b, ExonSet.from_intervals(INSIDE[b], "+")) for b in bases}
    write_exons(folder / f"{name}.gff3", sets, "gff3")
    return rows


def test_table_of_cases_comes_back(tmp_path):
    rows = write_batch(tmp_path, "a", ["chr", "left"])
    assert read_case_rows(tmp_path / "a.tsv") == rows


def test_exons_are_in_the_records_coordinates(tmp_path):
    write_batch(tmp_path, "a", ["chr", "left"])
    write_batch(tmp_path, "b", ["all", "left"])
    found = exons_of_batches(
        *([tmp_path / f"{name}.{suffix}" for name in "ab"] for suffix in ("gff3", "tsv"))
    )
    intervals = {
        base: list(zip(exons.starts.tolist(), exons.ends.tolist(), strict=True))
        for base, exons in found.items()
    }
    assert intervals == {"chr": [(105, 120)], "left": [(55, 70), (110, 140)], "all": [(0, 80)]}


def test_base_without_exons_has_an_empty_set(tmp_path):
    write_batch(tmp_path, "a", ["chr"])
    write_batch(tmp_path, "b", ["left"])
    found = exons_of_batches([tmp_path / "a.gff3"], [tmp_path / "b.tsv"])
    assert {base: len(exons) for base, exons in found.items()} == {"left": 0}


def test_wrong_locus_is_told(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("base\ttarget\tlocus\nx\tt\tchr:9\n")
    with pytest.raises(InputError, match=r"a\.tsv, line 2: no locus 'chr:9'"):
        read_case_rows(path)
