"""The target annotation: parts as jobs give the files of the command."""

import pytest
import yaml
from snakemake.exceptions import WorkflowError

from tests.workflow.folders import (
    ROOT,
    Folder,
    gene_set_in,
    gene_set_of_command,
    write_annotation,
)
from tests.workflow.rules import SHEET, read_rules

SETTINGS = """
cases:
device: cpu
annotation:
  genome: genome.fa
  proteins: [a.fa, b.fa]
"""
SETTINGS_OF_CONSUMER = {
    "cases": None, "device": "cpu",
    "annotation": {
        "genome": "genome.fa", "proteins": ["a.fa", "b.fa"], "target_parts": 1, "genome_parts": 2,
        "search": "exhaustive", "longest_gene": 600,
    },
}  # fmt: skip
CONSUMER = f"""
module genes:
    snakefile: "{ROOT / "workflow" / "Snakefile"}"
    config: {SETTINGS_OF_CONSUMER}
    pathvars:
        results="out",
        logs="out/logs"
use rule * from genes as genes_*
rule mine:
    default_target: True
    input: rules.genes_annotation.input,
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a genome, two files of proteins, and settings."""
    write_annotation(tmp_path, SETTINGS)
    return Folder(tmp_path, ROOT / "workflow" / "Snakefile")


def test_another_project_gets_the_files_of_the_command(folder):
    """Two shares of the genome, a job each; the first run ends after one of them."""
    consumer = Folder(folder.path, folder.path / "Snakefile")
    consumer.snakefile.write_text(CONSUMER)
    first = folder.path / "out" / "annotation" / "hits" / "1-1.json"
    consumer.run("--", first.relative_to(folder.path))
    done = first.stat().st_mtime_ns
    assert [path.name for path in first.parent.iterdir()] == ["1-1.json"]
    consumer.run()
    assert first.stat().st_mtime_ns == done
    files = gene_set_of_command(folder.path, "--search", "exhaustive", "--longest-gene", "600")
    assert b"\tgene\t" in files["genes.gff3"]
    assert gene_set_in(first.parents[1]) == files
    page = (first.parents[1] / "report.html").read_text()
    assert "2 of 2</b><span>targets have a gene" in page


def test_the_plan_of_a_seeded_search(folder):
    counts = folder.counts("--configfile", "settings.yaml")
    assert counts == {
        "annotation_hits": 8, "annotation_genes": 1, "annotation_report": 1, "all": 1, "total": 11,
    }  # fmt: skip
    assert "gpu=1" in folder.run(
        "--dry-run", "--resources", "gpu=4", "--configfile", "settings.yaml", "--config",
        "device=auto",
    )  # fmt: skip


def test_code_is_compiled_on_request(folder):
    plan = folder.counts("--configfile", "settings.yaml", "--", "results/warm_up.done")
    assert plan == {"warm_up": 1, "total": 1}


def test_splice_evidence_is_an_input_of_the_search(folder):
    for name in ("j.bed", "s.tsv", "own.gff3"):
        (folder.path / name).touch()
    files = "junctions: [j.bed], splice_scores: s.tsv, target_introns: own.gff3"
    evidence = f"annotation={{{files}, junction_weight: 2}}"
    plan = folder.run("--dry-run", "--configfile", "settings.yaml", "--config", evidence)
    assert plan.count("genome.fa, a.fa, b.fa, j.bed, s.tsv, own.gff3") == 8 + 1


def test_a_chosen_site_model_is_one_for_all_parts(folder):
    """A first pass finds too few introns here, so that the generic model is taken."""
    settings = folder.path / "settings.yaml"
    settings.write_text(SETTINGS + "  site_model: auto\n  target_parts: 1\n  confidence: true\n")
    counts = folder.counts("--configfile", "settings.yaml")
    assert counts == {
        "annotation_sites": 1, "annotation_hits": 1, "annotation_genes": 1,
        "annotation_report": 1, "all": 1, "total": 5,
    }  # fmt: skip
    plan = folder.run("--dry-run", "--configfile", "settings.yaml")
    assert plan.count("annotation/site_model.json") > 2


WRONG = [
    ("search: quick", "annotation.search: 'quick' is wrong; expected one of seeded, exhaustive"),
    ("genome_parts: 3", "annotation.genome_parts: 3 with search seeded; expected 1"),
    ("cdnas: x.fa", "annotation.cdnas: 'x.fa' is wrong; expected a list of paths or sources"),
    ("speed: 3", "configuration, annotation: unknown key 'speed'; expected one of genome, "),
    ("coding: true", "annotation.coding: no value of cdnas, with which it goes"),
    ("end_cost: 0", "annotation.end_cost: no value of cdnas, with which it goes"),
    ("junction_weight: 0", "annotation.junction_weight: no value of junctions, with which it goes"),
    ("splice_only: true", "annotation.splice_only: no value of splice_scores, with which it goes"),
    ("splice_weight: 1001", "splice_weight: 1001 is wrong; expected a number from 0 to 1000"),
    (
        "ends: free",
        "ends: 'free' is wrong; expected one of global, free-target, no value",
    ),
    ("genetic_code: 7", "genetic_code: 7 is wrong; expected one of 1, 2, 3, 4, 5, 6, 9, "),
    ("cdnas: [x.fa]\n  intron_penalty: 9", "intron_penalty: proteins and cdnas; expected one of"),
    ("proteins: []", "annotation: no targets; expected files in proteins or in cdnas"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_wrong_settings(line, message):
    with pytest.raises(WorkflowError) as caught:
        read_rules(yaml.safe_load(f"{SETTINGS}  {line}\n"), SHEET)
    assert message in str(caught.value)
