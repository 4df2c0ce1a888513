"""Style of the workflow, its plan, and its scripts run by hand."""

import re
import runpy
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from snakemake.exceptions import WorkflowError

from gpu_tools.cli import spliced_align
from gpu_tools.estimate.figures import shipped_figures
from gpu_tools.estimate.model import site_features
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.scoring import GENE_SCORING
from gpu_tools.model.translation import GENETIC_CODES
from gpu_tools.sites.model import load_sites
from tests.workflow.folders import (
    BASES,
    HEADER,
    LOCI,
    MRNAS,
    ROOT,
    TARGETS,
    Folder,
    write_annotation,
    write_sheet,
)
from tests.workflow.rules import BATCHES, read_rules


class Named(dict):
    """Input files by name, as Snakemake gives them."""

    __getattr__ = dict.__getitem__


SCRIPTS = {path.stem: path for path in (ROOT / "workflow").glob("*/*.py")}


@pytest.fixture
def by_hand(monkeypatch, capsys):
    """Return a function that runs a script in this process: its exit code, output and errors."""

    def call(script, *words):
        monkeypatch.setattr(sys, "argv", [script, *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(SCRIPTS[script]))
        return ended.value.code, *capsys.readouterr()

    return call


def test_plan_holds_every_job_once(folder):
    counts = folder.counts()
    once = ("sequences_cut", "exons_predict", "spliced_align", "site_align", "results_merge")
    once += ("results_best", "results_loci", "results_summary", "results_report")
    once += ("structures_plot", "all")
    assert counts == dict.fromkeys(once, 1) | {"alignments_merge": 2, "total": len(once) + 2}


def test_mode_sites_needs_no_candidates_and_proteins_are_a_further_method(folder):
    settings = ("mode=sites", "exons={provider: file}")  # the sheet has no column for them
    counts = folder.counts("--config", *settings, "proteins={source: translated}", "estimate=True")
    once = ("proteins_cut", "protein_align", "protein_alignments_merge", "site_align")
    once += ("alignments_merge", "spliced_estimate")
    assert {name: counts[name] for name in once} == dict.fromkeys(once, 1)
    assert not {"exons_predict", "exons_cut", "spliced_align"} & counts.keys()


def test_splice_evidence_of_the_sheet_is_cut_for_alignments_to_all_exons(folder):
    header = (*HEADER, "junctions", "splice_scores")
    rows = [(BASES[k], LOCI, target, MRNAS, "j.bed", "s.tsv" if k else "")
            for k, target in enumerate(TARGETS)]  # fmt: skip
    write_sheet(folder.path / "config" / "cases.tsv", rows, header)
    for name in ("j.bed", "s.tsv"):
        (folder.path / name).touch()
    weight = "sites={junction_weight: 3}"
    counts = folder.counts("--config", "proteins={source: translated}", weight)
    assert counts["evidence_cut"] == counts["site_align"] == counts["protein_align"] == 1
    plan = folder.run("--dry-run", "--config", weight, "mode=sites")
    assert "input: j.bed, s.tsv, results/batches/" in plan
    assert re.search(r"rule site_align:\s+input: \S+/junctions.bed, \S+/splice_scores.tsv", plan)


def test_weights_of_evidence_need_its_column(folder, monkeypatch):
    monkeypatch.chdir(folder.path)
    with pytest.raises(WorkflowError, match="sites.splice_weight: no splice_scores in the sheet"):
        read_rules({"sites": {"splice_weight": 0}}, BATCHES)


def test_introns_of_the_targets_are_an_input(folder, monkeypatch):
    (folder.path / "own.gff3").touch()
    own = "target_introns: own.gff3"
    settings = f"sites={{{own}}}", f"proteins={{source: translated, {own}}}"
    plan = folder.run("--dry-run", "--config", "mode=sites", *settings)
    for rule in ("site_align", "protein_align"):
        assert re.search(rf"rule {rule}:\s+input: .* own.gff3, ", plan)
    monkeypatch.chdir(folder.path)
    for confidence in ({"confidence": True}, {"min_confidence": 9}):
        with pytest.raises(WorkflowError, match="target_introns: it goes without confidences"):
            read_rules({"sites": {"target_introns": "own.gff3"} | confidence}, BATCHES)


def test_splice_evidence_is_cut_by_hand(by_hand, tmp_path):
    """Of one base there are junctions, of the other one scores; other records are left out."""
    (tmp_path / "b.fa").write_text(f">x locus=r:11-50 record_length=90\n{'A' * 40}\n>y\nACGT\n")
    (tmp_path / "j.bed").write_text("r\t20\t40\t.\t7\t-\nr\t1\t20\nz\t1\t9\n")
    (tmp_path / "s.tsv").write_text("y\t3\t+\tD\t9\nz\t3\t+\tD\t9\n")
    words = ["--junctions", tmp_path / "j.bed", "--splice-scores", tmp_path / "s.tsv"]
    words += ["--base", "x", 1, 0, "--base", "y", 0, 1, "--sequences", tmp_path / "b.fa"]
    words += ["--junctions-output", tmp_path / "o.bed", "--scores-output", tmp_path / "o.tsv"]
    assert by_hand("evidence_cut", *words)[0] == 0
    assert (tmp_path / "o.bed").read_text() == "r\t20\t40\t.\t7\t-\n"
    assert (tmp_path / "o.tsv").read_text() == "y\t3\t+\tD\t9\n"


@pytest.mark.parametrize(("device", "gpus"), [("cpu", 0), ("auto", 1), ("cuda:0,1", 2)])
def test_an_alignment_job_holds_the_gpus_of_its_device(device, gpus):
    assert read_rules({"device": device}, ["configuration"])["n_gpus"]() == gpus


@pytest.fixture(scope="module")
def limits():
    """What rules/times.smk and rules/limits.smk define for a batch of ten pairs."""
    parts = SimpleNamespace(bases=range(2), targets=range(5))
    batch = {"parts_of": lambda batch: parts, "pairs_of": lambda batch: range(10)}
    return read_rules({}, ("times", "limits"), **batch)


def test_a_case_takes_what_the_time_model_says(limits):
    own = shipped_figures("cpu")
    for lengths in ((3_000, 500), (50_000, 1_500), (200, 900), (1_000_000, 6_000)):
        features = site_features(*np.array([lengths]).T)["cpu"]
        expected = own.together("site", features) - own.seconds["site"]["call"]
        assert limits["case_seconds"](*lengths) == pytest.approx(expected)


def test_limits_of_alignments_grow_with_inputs_pairs_and_attempts(tmp_path, limits):
    for name, size in (("b.fa.gz", 1 << 20), ("t.fa.gz", 1 << 20), ("p.fa", 1 << 20)):
        (tmp_path / name).write_bytes(bytes(size))
    job = Named(base=str(tmp_path / "b.fa.gz"), targets=str(tmp_path / "t.fa.gz"),
                proteins=str(tmp_path / "p.fa"))  # fmt: skip
    batch = SimpleNamespace(batch="b")
    minutes = limits["minutes_of"]("targets")
    seconds = 10 * limits["case_seconds"](3.7 * 2**20 / 2, 3.7 * 2**20 / 5)
    assert minutes(batch, job, 1) == 20 + round(10 * seconds / 60)
    assert minutes(batch, job, 2) == 2 * minutes(batch, job, 1)
    assert limits["minutes_of"]("proteins")(batch, job, 1) > 20
    assert limits["megabytes_of"]("base")(batch, job, 1) == 2000 + round(30 * 3.7 * 2**20 / 1e6)
    with pytest.raises(FileNotFoundError):  # Snakemake asks again when the input is there
        limits["megabytes_of"]("base")(batch, Named(base=str(tmp_path / "none.fa.gz")), 1)


def test_root_snakefile_plans_the_demo():
    plan = Folder(ROOT, ROOT / "Snakefile").run("--dry-run", "--forceall")
    assert len(set(re.findall("results/batches/[0-9a-f]{12}/scores.tsv", plan))) == 1


def test_shipped_configuration_is_the_schemas_defaults():
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    assert config == defaults(schema)


def test_the_schemas_scoring_is_that_of_the_command():
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
    of_command = spliced_align.command.make_context("", ["--base", "b", "--targets", "t"]).params
    scoring = defaults(schema)["scoring"]
    limits = {name: scoring[name] for name in ("max_evalue", "min_identity", "min_coverage")}
    of_library = {name: getattr(GENE_SCORING, name) for name in scoring if name not in limits}
    assert scoring == of_library | limits
    weights = {"exon_weight": None, "intron_penalty": None}  # of the mode
    assert {name: of_command[name] for name in scoring} == scoring | weights
    of_sites = {k: v for k, v in defaults(schema)["sites"].items() if k != "model"}
    assert {name: of_command[name] for name in of_sites} == of_sites
    own = {k: v for k, v in defaults(schema)["proteins"].items() if k not in ("source", "ends")}
    assert {name: of_command[name] for name in own} == own
    for section in ("proteins", "annotation"):
        keys = schema["properties"][section]["properties"]
        assert tuple(keys["genetic_code"]["enum"]) == GENETIC_CODES


def defaults(schema):
    """Return the defaults of the keys of a schema that have one."""
    keys = {k: v for k, v in schema["properties"].items() if "default" in v}
    return {k: defaults(v) if "properties" in v else v["default"] for k, v in keys.items()}


@pytest.mark.parametrize("script", SCRIPTS)
def test_scripts_run_by_hand(by_hand, script):
    code, shown, _ = by_hand(script, "--help")
    assert code == 0
    assert shown.startswith("Usage: ")


def test_a_batch_is_cut_by_hand(by_hand, tmp_path):
    """A record under its name, a locus of it, and a target from another file."""
    files = {name: str(tmp_path / name) for name in ("bases.fa", "targets.fa", "cases.tsv")}
    words = ["--fasta", LOCI, "--fasta", MRNAS, "--flank", "10"]
    words += ["--base", BASES[0], "1", BASES[0], ".", "--base", "part", "1", BASES[0], "101-200"]
    words += ["--target", TARGETS[0], "2", TARGETS[0], "--pair", "part", TARGETS[0]]
    words += [w for name, path in files.items() for w in (f"--{name.split('.')[0]}", path)]
    assert by_hand("sequences_cut", *words)[0] == 0
    whole, part = read_fasta(files["bases.fa"])
    assert (part.codes == whole.codes[90:210]).all()
    assert part.description == f"locus={BASES[0]}:91-210 record_length={len(whole)}"
    assert [record.name for record in read_fasta(files["targets.fa"])] == [TARGETS[0]]
    row = f"part\t{TARGETS[0]}\t{BASES[0]}:91-210\n"
    assert (tmp_path / "cases.tsv").read_text() == f"base\ttarget\tlocus\n{row}"
    code, _, said = by_hand("sequences_cut", *words, "--target", "x", "3", ".")
    assert code == 2
    assert "file 3 for x; expected a number from 1 to 2" in said


def test_proteins_are_cut_by_hand(by_hand, tmp_path):
    """Translated, or taken from a file; a target without a reading frame has one residue."""
    cdna, output = "CC" + "ATGGCTTGGTAA", tmp_path / "out.fa"
    (tmp_path / "t.fa").write_text(f">a\n{cdna}\n>b\nCCCCCC\n")
    (tmp_path / "a.fa").write_text(f">a\n{cdna}\n")
    (tmp_path / "p.fa").write_text(">x\nMM\n>a\nMKV*\n")
    words = ["proteins_cut", "--output", output, "--targets"]
    *_, said = by_hand(*words, tmp_path / "t.fa")
    assert "target b has no ATG: X stands for its protein" in said
    assert output.read_text() == ">a\nMAW\n>b\nX\n"
    code, _, said = by_hand(*words, tmp_path / "t.fa", "--proteins", tmp_path / "p.fa")
    assert code == 1
    assert "p.fa: no record b; expected a protein of each target" in said
    assert by_hand(*words, tmp_path / "a.fa", "--proteins", tmp_path / "p.fa")[0] == 0
    assert output.read_text() == ">a\nMKV\n"


def test_a_site_model_is_chosen_by_hand(by_hand, tmp_path):
    """A first pass that finds too few introns takes the generic model."""
    write_annotation(tmp_path, "")
    output, words = tmp_path / "model.json", ["--site-model", "auto", "--device", "cpu"]
    words += ["--genome", tmp_path / "genome.fa", "--proteins", tmp_path / "a.fa"]
    code, _, said = by_hand("sites_choose", *words, "--output", output)
    assert (code, "site model generic: " in said) == (0, True)
    assert load_sites(output).fingerprint == load_sites("generic").fingerprint


@pytest.mark.parametrize(("model", "options", "files"), [
    ("fly", {"site_model": "fly"}, {}),
    ("auto", {}, {"site_model": "<results>/site_model.json"}),
])  # fmt: skip
def test_a_chosen_model_is_a_file_of_all_batches(model, options, files):
    rules = read_rules({"sites": {"model": model}}, ["configuration"])
    assert rules["chosen_sites"]() == files
    for found in (rules["site_options"](), rules["protein_options"]()):
        assert {k: v for k, v in found.items() if k == "site_model"} == options
        assert (found["confidence"], found["min_confidence"]) == (False, 0)


def test_a_broken_line_of_segments_is_named(by_hand, tmp_path):
    (tmp_path / "a.gff3").write_text("##gff-version 3\nc\tx\tregion\t5\n")
    (tmp_path / "a.fa").write_text(">c\nACGT\n")
    words = ["--gff3", tmp_path / "a.gff3", "--sequence", tmp_path / "a.fa", "--output", "x.svg"]
    code, _, said = by_hand("segments_plot", *words)
    assert code == 1
    assert "a.gff3, line 2: 4 columns; expected 9 tab-separated columns" in said


def test_best_chains_on_a_terminal(by_hand, tmp_path):
    path = tmp_path / "best.tsv"
    message = f"gpu-tools: error: {path}: cannot be read (No such file or directory)\n"
    assert by_hand("best_chains", tmp_path) == (1, "", message)
    columns = ["base", "target", "method", "strand", "score", "n_chain", "identity", "chain"]
    path.write_text("\t".join(columns) + "\n")
    assert by_hand("best_chains", tmp_path)[1].splitlines()[0].split() == columns[:-1]
    with path.open("a") as stream:
        stream.write("chromosome\tt\tsites\t+\t12\t2\t0.9\t1-5,8-9\n")
    code, shown, _ = by_hand("best_chains", tmp_path)
    assert code == 0
    assert shown.splitlines() == [
        "base        target  method  strand  score  n_chain  identity",
        "chromosome  t       sites   +       12     2        0.9",
        "    1-5, 8-9",
        f"{path}: best target of each locus, for each method",
    ]
