"""Every example of the README runs as it stands there."""

import re

import pytest

from tests.docs.folder import prepare, run
from tests.workflow.folders import ROOT, Folder, demo_rows, write_sheet

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.M | re.S)


def block(language, number=0):
    return [text for name, text in BLOCKS if name == language][number]


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path)


def test_every_example_is_tested():
    assert sorted(name for name, _ in BLOCKS) == ["python", "sh", "snakemake", "snakemake", "text"]


def test_command_line(folder):
    assert run(["sh", "-e", "-c", block("sh")], folder) == block("text")
    assert (folder / "gene.gff3").read_text().count("\texon\t") == 6


def test_one_click_leads_to_install_tutorial_commands_and_api():
    pages = "install.md", "tutorial.md", "index.md#commands", "troubleshooting.md"
    pages += "spliced-align.md", "annotate.md", "report.md", "compare.md"
    links = {f"docs/guide/{page}" for page in pages} | {"docs/api.md"}
    assert links <= set(re.findall(r"\]\(([^)]+)\)", README.split("```")[0]))


@pytest.mark.workflow
def test_module(folder):
    (folder / "Snakefile").write_text(block("snakemake"))
    write_sheet(folder / "config" / "cases.tsv", demo_rows())
    plan = Folder(folder, folder / "Snakefile").counts()
    assert plan["gene_structures_results_report"] == plan["all"] == 1


@pytest.mark.workflow
def test_module_of_genes(folder):
    (folder / "Snakefile").write_text(block("snakemake", 1))
    for name in ("genome.fa", "newer.fa", "relatives.fa"):
        (folder / name).write_text(">one\nACGT\n")
    (folder / "genes.gff3").write_text("##gff-version 3\n")
    plan = Folder(folder, folder / "Snakefile").counts()
    assert plan["genes_annotation_genes"] == plan["genes_annotation_lift"] == plan["all"] == 1
