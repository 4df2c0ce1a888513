"""Wrong configurations and sheets: one clear line and a non-zero exit code."""

import pytest

from tests.workflow.folders import HEADER, LOCI, MRNAS, demo_rows, write_sheet

CONFIGURATIONS = [
    (("speed=3",), "configuration: unknown key 'speed'; expected one of cases, genes, fetch, "),
    (
        ("exons={provider: mzef}",),
        "'mzef' is wrong; expected one of builtin, genscan, genscan-report, augustus, file",
    ),
    (
        ("exons={provider: genscan}",),
        "configuration, exons.matrix: no value; expected GENSCAN's parameter matrix",
    ),
    (
        ("exons={provider: augustus, model: mine.json}",),
        "exons.model: not for provider augustus; expected program, min_probability, species, ",
    ),
    (
        ("exons={provider: file, species: human}",),
        "exons.species: not for provider file; expected no other key",
    ),
    (("exons={min: 3}",), "configuration, exons: unknown key 'min'; expected one of provider, "),
    (("scoring={match: x}",), "configuration, scoring.match: 'x' is wrong; expected an integer"),
    (("scoring={ends: free}",), "ends: 'free' is wrong; expected one of global, free-target"),
    (
        ("segments={gc_rich_regions: {percent: x}}",),
        "segments.gc_rich_regions.percent: 'x' is wrong; expected an integer from 0 to 100",
    ),
    (("segments={islands: 3}",), "unknown key 'islands'; expected one of proteins, cpg_islands, "),
    (("flank=-1",), "configuration, flank: -1 is wrong; expected an integer, 0 or more"),
    (("batch_size=0",), "configuration, batch_size: 0 is wrong; expected an integer, 1 or more"),
    (("mode=fast",), "mode: 'fast' is wrong; expected one of candidates, sites, both"),
    (("sites={coding: 1}",), "sites.coding: '1' is wrong; expected true or false"),
    (("device=gpu",), "configuration, device: 'gpu' is wrong; expected auto, cpu, cuda, cuda:0"),
    (("cases=none.tsv",), "none.tsv: cannot be read as a sheet of cases"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), CONFIGURATIONS)
def test_wrong_configuration(folder, settings, message):
    assert_says(folder.run("--dry-run", "--config", *settings, code=1), message)


def assert_says(output, message):
    lines = [line for line in output.splitlines() if message in line]
    assert len(lines) == 1, output


A, B = (LOCI, MRNAS)
LOCUS = (*HEADER, "locus")
SHEETS = [
    (("base", "target"), [], "line 1: no column 'base_fasta'; expected base, base_fasta, target"),
    ((" ".join(HEADER),), [], "line 1: no tab between the columns; expected columns separated by"),
    ((*HEADER, "speed"), [], "line 1: unknown column 'speed'; expected base, "),
    ((*HEADER, "base"), [], "line 1: repeated column 'base'; expected base, "),
    (HEADER, [], "nothing there; expected at least one case below the header line"),
    (HEADER, [("x", A, "y", B), ("x", "", "z", B)], "line 3: no value for base_fasta; expected "),
    (HEADER, [("a/b", A, "y", B)], "line 2, column base: 'a/b' is wrong; expected a name"),
    (HEADER, [("x", A, "y", B)] * 2, "line 3: x with y again; expected each case once"),
    (HEADER, [("x", A, "y", B, "more")], "line 2: 5 fields; expected 4, as in the header"),
    (
        HEADER, [("x", A, "y", B), ("x", B, "z", B)],
        f"line 3, column base_fasta: {B} for base x; expected {A} as in line 2",
    ),
    (
        HEADER, [("x", A, "y", B), ("z", A, "y", A)],
        f"line 3, column target_fasta: {A} for target y; expected {B} as in line 2",
    ),
    (HEADER, [("x", "{x}.fa", "y", B)], "line 2, column base_fasta: '{x}.fa' is wrong; expec"),
    (LOCUS, [("x", A, "y", B, "0-5")], "line 2, column locus: '0-5' is wrong; expected START-END"),
    (LOCUS, [("x", A, "y", B, "9-5")], "line 2, column locus: 9-5 ends before it starts; expected"),
    (
        LOCUS, [("x", A, "y", B, "1-5"), ("x", A, "z", B, ".")],
        "line 3, column locus: nothing for base x; expected 1-5 as in line 2; another locus of the "
        "record needs another name in the column base, and the record in the column record",
    ),
    (HEADER, [("x", A.with_name("*.gz"), "y", B)], "line 2, column base: 'x' in all of "),
    (
        HEADER, [("*", A.with_name("*.none"), "y", B)],
        f"line 2, column base_fasta: no file matches '{A.with_name('*.none')}'; expected one",
    ),
    (
        HEADER, [("x", A, "none*", B)],
        f"line 2, column target: no record of {B} matches 'none*'; expected one",
    ),
    (HEADER, [("*", "none.fa", "y", B)], "line 2, column base_fasta: none.fa cannot be read ("),
    (
        HEADER, [("x", A, "*", "https://x/y.fa")],
        "line 2, column target: the pattern '*' of https://x/y.fa; expected files on this machine",
    ),
    (LOCUS, [("*", A, "y", B, "1-5")], "line 2, column locus: '1-5' for the pattern *; expected n"),
    (HEADER, [("NM_0*", A, "*", B)] * 2, "line 3: NM_001010985.1 with NM_026831.1 again; expect"),
    (
        (*HEADER, "record"), [("x", A, "y", B, "r"), ("z", B, "y", B, "r")],
        f"line 3, column base_fasta: {B} for record r; expected {A} as in line 2",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "message"), SHEETS)
def test_wrong_sheet(folder, header, rows, message):
    write_sheet(folder.path / "config" / "cases.tsv", rows, header)
    assert_says(folder.run("--dry-run", code=1), f"config/cases.tsv{_place(message)}")


def _place(message):
    return f", {message}" if message.startswith("line") else f": {message}"


@pytest.mark.parametrize("provider", ["file", "genscan-report"])
def test_providers_of_files_need_their_column(folder, provider):
    output = folder.run("--dry-run", "--config", f"exons={{provider: {provider}}}", code=1)
    assert_says(output, "line 2, column exons: no value; expected a file of candidate exons")


def test_missing_fasta_is_named(folder):
    write_sheet(folder.path / "config" / "cases.tsv", [("x", "none.fa", "y", MRNAS)])
    assert "none.fa" in folder.run("--dry-run", code=1)


def test_sheet_of_the_demo_is_right(folder):
    write_sheet(folder.path / "config" / "cases.tsv", demo_rows())
    folder.run("--dry-run")
