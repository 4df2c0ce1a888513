"""The targets that look for patterns."""

import pytest

from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.sequences import decode
from tests.workflow.folders import BASES, LOCI, ROOT, Folder, demo_rows, write_sheet

pytestmark = pytest.mark.workflow


@pytest.fixture
def folder(tmp_path):
    write_sheet(tmp_path / "config" / "cases.tsv", demo_rows())
    return Folder(tmp_path, ROOT / "workflow" / "Snakefile")


def test_patterns_are_found_in_loci_and_targets(folder):
    locus = next(record for record in read_fasta(LOCI) if record.name == BASES[0])
    word = decode(locus.codes[300:340])
    (folder.path / "patterns.fa").write_text(f">exact\n{word}\n>near\n{word[:20]}{word[21:]}\n")
    settings = "device: cpu\nmatching:\n  patterns: patterns.fa\n  max_distance: 1\n"
    (folder.path / "settings.yaml").write_text(settings)
    folder.run("--configfile", "settings.yaml", "--", "find_exact", "find_approximate")
    place = {"text": BASES[0], "start": "301", "end": "340", "strand": "+"}
    assert folder.table("results/matches/exact.tsv") == [{"pattern": "exact", **place}]
    found = folder.table("results/matches/approximate.tsv")
    best = {(row["pattern"], row["end"]): row["distance"] for row in found}
    assert best["exact", "340"] == "0"
    assert best["near", "340"] == "1"
    bed = (folder.path / "results/matches/exact.bed").read_text()
    assert bed == f"{BASES[0]}\t300\t340\texact\t0\t+\n"


def test_without_patterns_there_is_no_such_target(folder):
    output = folder.run("--dry-run", "--", "find_exact", code=1)
    assert "find_exact" in output
