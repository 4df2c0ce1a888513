"""Credible or not: E-values, acceptance and advice of ``spliced-align``."""

import numpy as np
import pysam
import pytest

from gpu_tools.cli.main import main
from gpu_tools.formats.tables import read_table
from gpu_tools.model.sequences import decode, reverse_complement
from tests.cli.test_site_mode import gene

COLUMNS = ("target", "strand", "score", "coverage", "evalue", "accepted")
SITES = ("--site-model", "vertebrate")
FORMATS = ("gff3", "gtf", "bed", "paf", "sam", "bam")
SEED = 8


@pytest.fixture
def coding(tmp_path, monkeypatch):
    """Write a gene and two targets, its coding sequence and a random one; return the former."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(SEED)
    base, target = gene(rng)
    (tmp_path / "s.fa").write_text(f">s\n{base}\n")
    noise = "".join(rng.choice(list("ACGT"), len(target)))
    (tmp_path / "t.fa").write_text(f">true\n{target}\n>noise\n{noise}\n")
    return target


def run(*arguments, targets="t.fa", table="o.tsv"):
    """Run the command; return the rows of its table by target."""
    inputs = ["--base", "s.fa", "--targets", targets, "--output", table, "--quiet"]
    assert main(["spliced-align", *inputs, "--device", "cpu", *arguments]) == 0
    return {row["target"]: row for _, row in read_table(table, COLUMNS[:1], COLUMNS[1:])}


def warnings(capsys):
    """Return the warnings on standard error so far."""
    start = "gpu-tools: warning: "
    lines = capsys.readouterr().err.splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


def names_in(path):
    """Return which of the targets a file of alignments names."""
    if path.endswith(".bam"):
        with pysam.AlignmentFile(path) as stream:
            return {record.query_name for record in stream}
    with open(path) as stream:
        text = "".join(line for line in stream if not line.startswith(("#", "@")))
    return {name for name in ("true", "noise") if name in text}


def test_the_table_has_the_descriptions_of_targets_if_there_are_any(coding):
    run(*SITES)
    with open("o.tsv") as stream:
        without = [line.rstrip() for line in stream]
    with open("t.fa") as stream:
        text = stream.read().replace(">true", ">true interleukin\t10 (Il10)")
    with open("t.fa", "w") as stream:
        stream.write(text)
    run(*SITES)
    last = ["description", "interleukin 10 (Il10)", "."]
    with open("o.tsv") as stream:
        assert [line.rstrip() for line in stream] == [
            f"{line}\t{text}" for line, text in zip(without, last, strict=True)
        ]


def test_files_hold_accepted_chains_and_the_table_all(coding):
    files = [word for suffix in FORMATS for word in ("--alignments", f"x.{suffix}")]
    rows = run(*SITES, *files)
    assert [rows[name]["accepted"] for name in ("true", "noise")] == ["yes", "no"]
    assert float(rows["true"]["evalue"]) < 1e-6 < 0.01 < float(rows["noise"]["evalue"]) <= 1
    assert rows["true"]["coverage"] == "1.0000"
    assert [names_in(f"x.{suffix}") for suffix in FORMATS] == [{"true"}] * len(FORMATS)
    assert run(*SITES, *files, "--all-alignments") == rows
    assert [names_in(f"x.{suffix}") for suffix in FORMATS] == [{"true", "noise"}] * len(FORMATS)
    for suffix in ("sam", "bam"):
        with pysam.AlignmentFile(f"x.{suffix}") as records:
            assert {r.query_name: r.is_qcfail for r in records} == {"true": False, "noise": True}


def test_gff3_has_coverage_and_evalue(coding):
    rows = run(*SITES, "--alignments", "x.gff3")
    with open("x.gff3") as stream:
        (line,) = (line for line in stream if "\tmRNA\t" in line)
    assert f";coverage=1.0000;evalue={rows['true']['evalue']}" in line


@pytest.mark.parametrize(
    ("limit", "accepted"),
    [
        (("--max-evalue", "1", "--min-coverage", "0"), ["yes", "yes"]),
        (("--max-evalue", "1e-300"), ["no", "no"]),
        (("--max-evalue", "1", "--min-identity", "0.9"), ["yes", "no"]),
        (("--max-evalue", "1", "--min-coverage", "1"), ["yes", "part"]),
    ],
)
def test_limits(coding, limit, accepted):
    rows = run(*SITES, *limit)
    assert [rows[name]["accepted"] for name in ("true", "noise")] == accepted


@pytest.mark.parametrize("more", [(), ("--coding",)])
def test_shuffles_separate_true_from_random(coding, more):
    rows = run(*SITES, *more, "--shuffles", "30")
    assert float(rows["true"]["evalue"]) < 1e-6 < 0.001 < float(rows["noise"]["evalue"])
    assert run(*SITES, *more, "--shuffles", "30", "--threads", "1") == rows
    assert run(*SITES, *more, "--shuffles", "31") != rows


def test_shuffles_give_evalues_where_none_are_shipped(coding, capsys):
    rows = run(*SITES, "--gap", "-3", "--shuffles", "20")
    assert [rows[name]["accepted"] for name in ("true", "noise")] == ["yes", "no"]
    assert warnings(capsys) == []


@pytest.mark.parametrize("more", [("--gap", "-3"), ("--intron-penalty", "5")])
def test_scores_without_parameters_accept_all_and_say_so(coding, capsys, more):
    rows = run(*SITES, *more, "--min-coverage", "0")
    assert [rows[name]["evalue"] for name in ("true", "noise")] == [None, None]
    assert [rows[name]["accepted"] for name in ("true", "noise")] == ["yes", "yes"]
    (line,) = warnings(capsys)
    assert "--shuffles 100 computes E-values" in line


@pytest.mark.parametrize(
    ("accepted", "more"), [("no", ()), ("no", ("--shuffles", "20")), ("yes", ("--min-identity", 0))]
)
def test_an_antisense_target_is_told(coding, capsys, accepted, more):
    """Also one that is accepted: its introns have no true sites."""
    codes = reverse_complement(np.array(["ACGT".index(c) for c in coding], dtype=np.uint8))
    with open("r.fa", "w") as stream:
        stream.write(f">true\n{coding}\n>turned\n{decode(codes)}\n")
    rows = run(*SITES, "--min-identity", "0.95", *map(str, more), targets="r.fa")
    assert [rows[name]["accepted"] for name in ("true", "turned")] == ["yes", accepted]
    (line,) = warnings(capsys)
    assert line == "1 target with a clearly better fit as the reverse complement: turned"


def test_targets_that_cannot_be_coding_are_told_in_one_line(coding, capsys):
    texts = {"whole": coding, "a": coding[3:], "b": coding[:-3], "c": "ACG", "d": "AC"}
    with open("c.fa", "w") as stream:
        stream.writelines(f">{name}\n{text}\n" for name, text in texts.items())
    run(*SITES, "--coding", "--ends", "global", targets="c.fa")
    (line,) = (line for line in warnings(capsys) if "codon" in line)
    assert line == (
        "4 targets without a start codon at the beginning or a stop codon at the end, as --coding "
        "expects (see --incomplete, --ends free-target): a, b, c ..."
    )
    for other in (("--coding", "--incomplete"), ("--coding", "--ends", "free-target")):
        run(*SITES, *other, targets="c.fa")
        assert not [line for line in warnings(capsys) if "codon" in line]


@pytest.mark.parametrize("more", [(), ("--shuffles", "20"), ("--gap", "-3")])
def test_a_target_too_short_for_an_evalue_is_not_accepted(coding, more):
    """Whatever its score, and whether a law is shipped, made of shuffles, or unknown."""
    with open("short.fa", "w") as stream:
        stream.write(f">short\n{coding[30:36]}\n>true\n{coding}\n")
    rows = run(*SITES, *more, targets="short.fa")
    assert [rows[name]["accepted"] for name in ("short", "true")] == ["no", "yes"]
    assert float(rows["short"]["evalue"]) > 0.1


@pytest.mark.parametrize("candidates", [False, True])
def test_unrelated_sequences_rich_in_a_and_t_are_not_credible(tmp_path, monkeypatch, candidates):
    """Bases and targets of 25 % G and C; nearly all would have 0.01 by the shipped law."""
    monkeypatch.chdir(tmp_path)
    print(f"seed {SEED}")
    rng, shares = np.random.default_rng(SEED), (0.375, 0.125, 0.125, 0.375)
    base, *targets = ("".join(rng.choice(list("ACGT"), n, p=shares)) for n in (4000, *[500] * 25))
    (tmp_path / "s.fa").write_text(f">s\n{base}\n")
    texts = (f">t{k}\n{target}\n" for k, target in enumerate(targets))
    (tmp_path / "t.fa").write_text("".join(texts) + f">true\n{base[500:700]}{base[900:1200]}\n")
    (tmp_path / "e.tsv").write_text("base\tstart\tend\tstrand\n" + "".join(
        f"s\t{k + 1}\t{k + 100}\t{strand}\n" for k in range(0, 3900, 100) for strand in "+-"
    ))  # fmt: skip
    rows = run(*(("--exons", "e.tsv") if candidates else SITES))
    chance = [float(row["evalue"]) for name, row in rows.items() if name != "true"]
    assert float(rows.pop("true")["evalue"]) < 1e-12
    assert sum(evalue <= 0.1 for evalue in chance) <= 6
    assert sum(evalue <= 0.01 for evalue in chance) <= 1
    assert {row["accepted"] for row in rows.values()} == {"no"}
