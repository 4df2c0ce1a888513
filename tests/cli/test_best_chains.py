"""Several chains of a pair on the command line: ``spliced-align --best``."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.cli.main import main
from tests.cli.test_site_mode import gene
from tests.oracles.spliced import reverse_complement

EXONS = (80, 141), (250, 329), (438, 514)
SITES = ("--site-model", "vertebrate")
FORMATS = ("x.gff3", "x.gtf", "x.bed", "x.paf", "x.sam")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Three copies of a gene, the second on the other strand, and candidates of two."""
    monkeypatch.chdir(tmp_path)
    text, target = gene(np.random.default_rng(8))
    base = text + reverse_complement(text) + text
    places = copies(len(text))
    (tmp_path / "s.fa").write_text(f">s\n{base}\n")
    (tmp_path / "t.fa").write_text(f">t\n{target}\n")
    lines = [
        f"s\t{start}\t{end}\te\t0\t{'+-+'[k]}\n" for k, exons in enumerate(places)
        for start, end in exons
    ]  # fmt: skip
    (tmp_path / "e.bed").write_text("".join(lines))
    return places


def copies(length):
    """Return the exons of each copy in transcript order, 0-based half-open."""
    turned = [(2 * length - end, 2 * length - start) for start, end in EXONS]
    return [EXONS, turned, [(2 * length + start, 2 * length + end) for start, end in EXONS]]


def run(capsys, *arguments):
    """Return the rows of the table by column."""
    command = ["spliced-align", "--genome", "s.fa", "--cdnas", "t.fa", "--device", "cpu"]
    assert main([*command, "--quiet", *arguments]) == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out), delimiter="\t"))


@pytest.mark.parametrize(
    "mode", [SITES, (*SITES, "--coding"), ("--exons", "e.bed"), ("--exons", "e.bed", "--coding")]
)
def test_each_copy_of_a_gene_has_a_chain(files, capsys, mode):
    rows = run(capsys, *mode, "--best", "5")
    texts = [",".join(f"{start + 1}-{end}" for start, end in exons) for exons in files]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert sorted(row["chain"] for row in rows) == sorted(texts)
    assert {row["accepted"] for row in rows} == {"yes"}
    assert len({(row["score"], row["evalue"], row["cells"]) for row in rows}) == 1
    assert rows[0] | {"rank": None} == run(capsys, *mode)[0] | {"rank": None}
    assert len(run(capsys, *mode, "--best", "2")) == 2


def test_one_chain_is_what_there_is_without_the_option(files, capsys):
    found = []
    for more in ((), ("--best", "1")):
        options = [word for name in FORMATS for word in ("--alignments", name)]
        rows = run(capsys, *SITES, *options, *more)
        texts = [Path(name).read_text() for name in FORMATS]
        texts[-1] = re.sub("\tCL:.*", "", texts[-1])
        found.append((rows, texts))
    assert found[0] == found[1]
    assert "rank" not in found[0][0][0]


def test_files_of_alignments_tell_the_rank(files, capsys):
    options = [word for name in FORMATS for word in ("--alignments", name)]
    run(capsys, *SITES, *options, "--best", "5")
    texts = {name: Path(name).read_text().splitlines() for name in FORMATS}
    features = "\n".join(line for line in texts["x.gff3"] if not line.startswith("#"))
    assert sorted(re.findall(r"ID=mRNA:.*;rank=(\d)", features)) == ["1", "2", "3"]
    names = re.findall(r"ID=((?:mRNA|gene):[^;\n]*)", features)
    assert len(names) == len(set(names)) == 6
    transcripts = [line for line in texts["x.gtf"] if "\ttranscript\t" in line]
    ids, ranks = (
        re.findall(rf'{name} "(.+?)"', "\n".join(transcripts)) for name in ("transcript_id", "rank")
    )
    assert (len(set(ids)), sorted(ranks)) == (3, ["1", "2", "3"])
    kinds = re.findall(r"tp:A:(.)\trk:i:(\d)", "\n".join(texts["x.paf"]))
    assert sorted(kinds) == [("P", "1"), ("S", "2"), ("S", "3")]
    records = [line.split("\t") for line in texts["x.sam"] if not line.startswith("@")]
    flags = {line[-1]: int(line[1]) & 256 for line in records}
    assert flags == {"rk:i:1": 0, "rk:i:2": 256, "rk:i:3": 256}


def test_confidence_compares_chains_that_avoid_the_same_pairs(files, capsys):
    rows = run(capsys, *SITES, "--best", "3", "--confidence")
    assert len({row["confidence"] for row in rows}) == 1
    assert list(rows[0])[-2:] == ["confidence", "rank"]
