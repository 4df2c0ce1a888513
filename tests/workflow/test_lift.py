"""The target lift: the files of the command, and its page."""

import json

import numpy as np
import pytest
import yaml
from snakemake.exceptions import WorkflowError

from gpu_tools.cli.main import main
from tests.formats.exons.gene_forms import ENSEMBL
from tests.workflow.folders import ROOT, Folder
from tests.workflow.rules import SHEET, read_rules

SETTINGS = """
cases:
device: cpu
lift:
  genome: new.fa
  reference: old.fa
  annotation: genes.gff3
  junctions: [seen.bed]
"""
SETTINGS_OF_CONSUMER = yaml.safe_load(SETTINGS)
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
    input: rules.genes_lift.input,
"""


@pytest.fixture
def folder(tmp_path):
    """Return a folder with two genomes, an annotation, and settings."""
    rng = np.random.default_rng(7)
    old = rng.choice(list("ACGT"), 1500)
    for at, site in ((200, "GT"), (298, "AG"), (400, "GT"), (498, "AG"), (850, "CT"), (898, "AC")):
        old[at : at + 2] = list(site)
    new = np.concatenate([rng.choice(list("ACGT"), 300), old])
    changed = rng.random(len(new)) < 0.01
    new[changed] = rng.choice(list("ACGT"), changed.sum())
    for name, letters in (("old", old), ("new", new)):
        (tmp_path / f"{name}.fa").write_text(f">1\n{''.join(letters)}\n")
    (tmp_path / "genes.gff3").write_text(ENSEMBL)
    (tmp_path / "seen.bed").write_text("1\t500\t600\t.\t9\t+\n")
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return Folder(tmp_path, ROOT / "workflow" / "Snakefile")


FILES = {
    "output": "lifted.gff3", "table": "lifted.tsv", "gene-table": "genes.tsv",
    "unmapped": "unmapped.tsv", "protein-sequences": "proteins.fa", "summary": "summary.json",
}  # fmt: skip


def files_in(path):
    """Return the files of a lift by name, the summary without the run, which has its paths."""
    found = {name: (path / name).read_bytes() for name in FILES.values()}
    summary = json.loads(found["summary.json"])
    assert summary.pop("run")["inputs"]
    return found | {"summary.json": summary}


def test_another_project_gets_the_files_of_the_command(folder):
    consumer = Folder(folder.path, folder.path / "Snakefile")
    consumer.snakefile.write_text(CONSUMER)
    consumer.run()
    path = folder.path / "command"
    path.mkdir()
    words = [word for option, name in FILES.items() for word in (f"--{option}", path / name)]
    words += ["--reference", folder.path / "old.fa", "--genome", folder.path / "new.fa"]
    words += ["--junctions", folder.path / "seen.bed"]
    words += ["--annotation", folder.path / "genes.gff3", "--site-model", "vertebrate", "--quiet"]
    assert main(["lift", *map(str, words)]) == 0
    made = folder.path / "out" / "lift"
    assert files_in(made) == files_in(path)
    assert "\tgene\t401\t900\t" in (made / "lifted.gff3").read_text()
    assert "2 of 2</b><span>genes carried over" in (made / "report.html").read_text()


def test_the_plan(folder):
    assert folder.counts("--configfile", "settings.yaml") == {
        "annotation_lift": 1, "lift_report": 1, "all": 1, "total": 3,
    }  # fmt: skip


WRONG = [
    ({"reference": None}, "lift.reference: nothing there; expected a path"),
    ({"annotation": None}, "lift.annotation: nothing there; expected a path"),
    ({"min_identity": 2}, "lift.min_identity: 2 is wrong; expected a number from 0 to 1"),
    ({"copies": False, "min_copy_identity": 0.9}, "min_copy_identity: no value of copies, with"),
    ({"junctions": "x.bed"}, "lift.junctions: 'x.bed' is wrong; expected a list of paths"),
    ({"copy": True}, "configuration, lift: unknown key 'copy' (did you mean 'copies'?)"),
    ({"site_model": "fungus"}, "configuration, lift.site_model: "),
]


@pytest.mark.parametrize(("own", "message"), WRONG, ids=[next(iter(own)) for own, _ in WRONG])
def test_wrong_settings(own, message):
    settings = yaml.safe_load(SETTINGS)
    settings["lift"] |= own
    with pytest.raises(WorkflowError) as caught:
        read_rules(settings, SHEET)
    assert message in str(caught.value)


def test_a_model_may_be_chosen_automatically():
    settings = yaml.safe_load(SETTINGS)
    settings["lift"]["site_model"] = "auto"
    read_rules(settings, SHEET)
