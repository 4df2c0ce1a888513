"""The page of the workflow: its sheet and its command work in a folder of the reader's own."""

import shlex
import sys

import pytest

from tests.docs.folder import prepare, run
from tests.docs.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "guide" / "workflow.md"
GENOME = ">chr1\n" + "ACGTTGCA" * 1000 + "\n"


@pytest.mark.workflow
def test_the_sheet_of_the_page_can_be_planned(tmp_path):
    folder = prepare(tmp_path)
    ((_, sheet), (_, command)) = blocks(PAGE, "tsv", "console")
    (folder / "cases.tsv").write_text(sheet)
    (folder / "genome.fa").write_text(GENOME)
    (folder / "mrnas.fa").write_text(">NM_010548.1\nACGTACGT\n")
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "snakemake"
    planned = run([sys.executable, "-m", *words, "--dry-run"], folder)
    assert "rule all:" in planned
    assert "spliced_align" in planned
