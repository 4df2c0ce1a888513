"""Wrong configurations and sheets: one clear line and a non-zero exit code."""

import pytest
import yaml
from snakemake.cli import parse_config
from snakemake.exceptions import WorkflowError

from gpu_tools.formats.sequences.fasta import read_fasta
from tests.workflow.folders import BASES, HEADER, LOCI, MRNAS, TARGETS, demo_rows, write_sheet
from tests.workflow.rules import SHEET, read_rules

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
    (("segments={islands: 3}",), "unknown key 'islands' (did you mean 'cpg_islands'?); expected "),
    (("flank=-1",), "configuration, flank: -1 is wrong; expected an integer, 0 or more"),
    (("batch_size=0",), "configuration, batch_size: 0 is wrong; expected an integer, 1 or more"),
    (("mode=fast",), "mode: 'fast' is wrong; expected one of candidates, sites, both"),
    (("sites={coding: 1}",), "sites.coding: '1' is wrong; expected true or false"),
    (("device=gpu",), "configuration, device: 'gpu' is wrong; expected auto, cpu, cuda, cuda:0"),
    (("scorin={match: 1}",), "configuration: unknown key 'scorin' (did you mean 'scoring'?); "),
    (("flank=1.5e0",), "configuration, flank: 1.5 is wrong; expected an integer, 0 or more"),
    (
        ("mode=sites", "sites={model: martian}"),
        "sites.model: martian: no such site model (No such ",
    ),
    (
        ("mode=both", "sites={model: vertebrat}"),
        "configuration, sites.model: vertebrat: no such site model (did you mean 'vertebrate'?); ",
    ),
    (("exons={model: x}",), "configuration, exons.model: x: no such exon model (No such file or"),
    (
        ("proteins={source: translated, matrix: BLOSUM6}",),
        "configuration, proteins.matrix: BLOSUM6: no such matrix (did you mean 'BLOSUM62'",
    ),
    (("cases=none.tsv",), "none.tsv: cannot be read as a sheet of cases"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "message"), CONFIGURATIONS)
def test_wrong_configuration(folder, monkeypatch, settings, message):
    monkeypatch.chdir(folder.path)
    assert message in refused(settings)


def refused(settings=()):
    """Return the message, of one line, of a configuration or sheet that is wrong."""
    with pytest.raises(WorkflowError) as caught:
        read_rules(parse_config(settings), SHEET)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_error_is_one_line_of_what_snakemake_prints(folder):
    settings, message = CONFIGURATIONS[0]
    output = folder.run("--dry-run", "--config", *settings, code=1)
    assert len([line for line in output.splitlines() if message in line]) == 1, output
    assert ".smk" not in output


A, B = (LOCI, MRNAS)
BX, BY = BASES[1], TARGETS[1]
LOCUS = (*HEADER, "locus")
SHEETS = [
    (("base", "target"), [], "line 1: no column 'base_fasta'; expected base, base_fasta, target"),
    ((" ".join(HEADER),), [], "line 1: no tab between the columns; expected columns separated by"),
    ((*HEADER, "speed"), [], "line 1: unknown column 'speed'; expected base, "),
    ((*HEADER, "base"), [], "line 1: repeated column 'base'; expected base, "),
    ((*HEADER, "recrd"), [], "line 1: unknown column 'recrd' (did you mean 'record'?); expected b"),
    (
        HEADER, [("NM_000572", A, BY, B)],
        f"line 2, column base: no record 'NM_000572' in {A} (did you mean 'NM_000572.2'?)",
    ),
    (
        HEADER, [(BX, A, "y", B)],
        f"line 2, column target: no record 'y' in {B}; expected one of its 10 records",
    ),
    (
        (*HEADER, "target_record"), [(BX, A, "y", B, "z")],
        f"line 2, column target_record: no record 'z' in {B}; expected one of its 10 records",
    ),
    (
        (*HEADER, "target_record"), [(BX, A, "y", B, BY), (BX, A, "y", B, "")],
        f"line 3, column target_record: y for target y; expected {BY} as in line 2",
    ),
    (
        (*HEADER, "target_record"), [("*", A, "N*", B, BY)],
        f"line 2, column target_record: '{BY}' for the pattern N*; expected nothing",
    ),
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
    *(
        (HEADER, [("x", A, "y", source)], "line 2, column target_fasta:")
        for source in ("ensembl:ENSG1", "ftp://x/y.fa", "ncbi:")
    ),
    (HEADER, [("NM_0*", A, "*", B)] * 2, "line 3: NM_001010985.1 with NM_026831.1 again; expect"),
    (
        (*HEADER, "record"), [("x", A, "y", B, "r"), ("z", B, "y", B, "r")],
        f"line 3, column base_fasta: {B} for record r; expected {A} as in line 2",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("header", "rows", "message"), SHEETS)
def test_wrong_sheet(folder, monkeypatch, header, rows, message):
    monkeypatch.chdir(folder.path)
    write_sheet(folder.path / "config" / "cases.tsv", rows, header)
    assert f"config/cases.tsv{_place(message)}" in refused()


def _place(message):
    return f", {message}" if message.startswith("line") else f": {message}"


@pytest.mark.parametrize("provider", ["file", "genscan-report"])
def test_providers_of_files_need_their_column(folder, monkeypatch, provider):
    monkeypatch.chdir(folder.path)
    message = "line 2, column exons: no value; expected a file of candidate exons"
    assert message in refused([f"exons={{provider: {provider}}}"])


def test_missing_fasta_is_named(folder):
    write_sheet(folder.path / "config" / "cases.tsv", [("x", "none.fa", TARGETS[0], MRNAS)])
    assert "none.fa" in folder.run("--dry-run", code=1)


def test_numbers_that_yaml_takes_for_text(folder, monkeypatch):
    monkeypatch.chdir(folder.path)
    text = "flank: 1e3\nfetch: {timeout: 1e1}\nsites: {exon_weight: 5e-1}\n"
    words = ["scoring={match: 2, exon_weight: 1e-3}"]
    config = read_rules(yaml.safe_load(text) | parse_config(words), SHEET)["config"]
    assert (config["flank"], config["fetch"]["timeout"]) == (1000, 10)
    weights = [config[section]["exon_weight"] for section in ("sites", "scoring")]
    assert weights == [0.5, 0.001]
    assert config["scoring"]["match"] == 2


def test_a_sheet_of_a_spreadsheet(folder, monkeypatch):
    """A byte order mark, quotes, any line ends, tabs and blanks behind the last column."""
    monkeypatch.chdir(folder.path)
    path = folder.path / "config" / "cases.tsv"
    plain = read_rules({}, SHEET)["CASES"]
    assert len(plain.pairs) == len(demo_rows())
    for end in ("\r\n", "\r", "\n"):
        write_sheet(path, demo_rows())
        lines = [
            "\t".join(f'"{field}"' for field in line.split("\t")) + "\t \t"
            for line in path.read_text().splitlines()
        ]
        path.write_bytes(("\ufeff" + end.join([*lines, "\t\t", ""])).encode())
        assert read_rules({}, SHEET)["CASES"] == plain


def test_names_with_stars_and_records_of_targets(folder):
    """A name that a record has is no pattern; a target may have another name than its record."""
    star, other = "HLA-A*01:01", "HLA-A*01:01:02"
    for name, first in (("a", "ACGT"), ("b", "GGCC")):
        (folder.path / f"{name}.fa").write_text(f">{star}\n{first * 9}\n>{other}\n{first * 8}\n")
    rows = [
        (star, "a.fa", star, "b.fa", ""), (star, "a.fa", "renamed", "b.fa", other),
        ("HLA-A*", "a.fa", "renamed", "b.fa", other),
    ]  # fmt: skip
    path = folder.path / "config" / "cases.tsv"
    write_sheet(path, rows[:2], (*HEADER, "target_record"))
    folder.run("--until", "sequences_cut")
    (found,) = folder.batches("targets.fa.gz")
    assert [(s.name, len(s)) for s in read_fasta(found)] == [(star, 36), ("renamed", 32)]
    write_sheet(path, [rows[2]], (*HEADER, "target_record"))
    folder.run("--until", "sequences_cut")
    newest = max(folder.batches("bases.fa.gz"), key=lambda file: file.stat().st_mtime_ns)
    assert [s.name for s in read_fasta(newest)] == [star, other]
