"""Reading of results: tables, exons, splice sites, jobs."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.report.charts import charts_of
from gpu_tools.report.findings import Bar, Extra, SequenceFile, read_findings, splice_sites
from gpu_tools.report.page import parallelism_table, times
from gpu_tools.report.run_facts import MOST_INPUTS, run_facts, run_of
from tests.report.results import GENES, MINUS, PLUS, RECORD, TARGETS, sequence, write_table

TIMES = {"job_times", "case_times", "cells", "histograms"}


def exons(found):
    return sorted(zip(found.starts.tolist(), found.ends.tolist(), strict=True))


def test_exons_of_batches_are_in_the_records_coordinates(findings):
    all_exons = sorted(e for _, of_base in GENES.values() for e in of_base)
    assert exons(findings.candidates[RECORD]) == all_exons
    annotated = sorted(e for _, of_base in GENES.values() for e in of_base[:2])
    assert exons(findings.annotation[RECORD]) == annotated


def test_jobs_have_the_cells_of_their_cases_and_the_device_of_their_logs(findings):
    (job,) = findings.jobs
    assert job.device == "cuda:1"
    assert (job.cases, job.cells, job.seconds, job.mebibytes) == (6, 6000000, 2.5, 100.5)
    assert (job.estimated, job.busy_seconds) == (0.25, 2.5)
    on_cpu = job._replace(device="cuda:0, then cpu: too small for a GPU")
    assert on_cpu.busy_seconds == 2.25


def test_a_batch_of_another_sheet_is_left_out(results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    pairs = folder / "batches" / "0123456789ab" / "pairs.tsv"
    pairs.write_text(pairs.read_text().replace("T3", "T4"))
    findings = read_findings(folder)
    assert [findings.candidates, findings.jobs, findings.sequences] == [{}, [], {}]


def test_a_table_of_one_command_and_its_files(results, tmp_path):
    lines = [line.split("\t") for line in (results / "scores.tsv").read_text().splitlines()]
    table = [[RECORD, *line[1:2], *line[4:]] for line in lines if line[2] == "sites"]
    write_table(tmp_path / "scores.tsv", [*lines[0][:2], *lines[0][4:]], table)
    (tmp_path / "genome.fa").write_text(f">{RECORD}\n{sequence()}\n")
    bed = tmp_path / "candidates.bed"
    bed.write_text(f"{RECORD}:501-10000\t500\t600\ta\t0\t+\n{RECORD}\t2000\t2150\tb\t0\t+\n")
    extra = Extra(candidates=[bed], genome=tmp_path / "genome.fa")
    findings = read_findings(tmp_path / "scores.tsv", extra)
    assert findings.methods == ["chain"]
    assert exons(findings.candidates[RECORD]) == [(1000, 1100), (2000, 2150)]
    options = ["--genome", extra.genome, "--candidates", bed, "--output", tmp_path / "a.html"]
    assert main(["report", str(tmp_path / "scores.tsv"), *map(str, options)]) == 0


@pytest.mark.parametrize("n", [0, 1])
def test_a_table_without_accepted_chains_makes_a_page(results, tmp_path, n):
    header, *lines = (results / "scores.tsv").read_text().splitlines(keepends=True)
    rejected = [line for line in lines if line.endswith("no\n")]
    (tmp_path / "scores.tsv").write_text("".join([header, *rejected[:n]]))
    page = tmp_path / "a.html"
    assert main(["report", str(tmp_path), "--output", str(page)]) == 0
    assert "No chain is accepted." in page.read_text()


def test_a_genome_that_is_missing_leaves_no_session(results, tmp_path):
    options = ["--igv", str(tmp_path / "a.xml"), "--genome", str(tmp_path / "x.fa")]
    assert main(["report", str(results), *options, "--output", str(tmp_path / "a.html")]) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_scores_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no table of scores; expected .* genes.gff3 and targets"):
        read_findings(tmp_path)


def test_bases_know_where_their_nucleotides_are(findings):
    assert {findings.sequences[base].start for base in (PLUS, MINUS)} == {500, 11000}


def naive_sites(intron, strand):
    if strand == "-":
        intron = intron.translate(str.maketrans("ACGT", "TGCA"))[::-1]
    return f"{intron[:2]}-{intron[-2:]}"


@pytest.mark.parametrize("seed", range(5))
def test_sites_are_those_of_the_intron_itself(seed, tmp_path):
    rng = np.random.default_rng(seed)
    text, offset = "".join(rng.choice(list("ACGT"), 500)), int(rng.integers(0, 1000))
    (tmp_path / "a.fa").write_text(f">a\n{text}\n")
    introns = []
    for strand in "+-" * 5:
        start = int(rng.integers(0, 490))
        introns.append(((start + offset, start + offset + int(rng.integers(4, 11))), strand))
    found = splice_sites(SequenceFile(tmp_path / "a.fa", "a", offset), introns)
    for (start, end), strand in introns:
        expected = naive_sites(text[start - offset : end - offset], strand)
        assert found[(start, end), strand] == expected


def test_an_intron_too_short_for_two_sites_has_none(tmp_path):
    assert splice_sites(SequenceFile(tmp_path / "missing.fa", "a", 0), [((5, 8), "+")]) == {}


def test_cases_histograms_and_jobs_are_those_of_the_tables(findings):
    found = findings.parallelism
    assert [(case.base, case.target) for case in found.cases] == [
        (base, target) for base in GENES for target in TARGETS
    ]
    assert found.cases[1].measured == 0.0024
    assert found.cases[1].estimated == 0.0024 * 0.9
    assert found.histograms == {
        "exon_length": [Bar(1, 32, 4), Bar(65, 96, 1)],
        "group_size": [Bar(2, 2, 7)],
    }
    said = times(findings)
    assert said.startswith("6 cases: ")
    assert "0.25 s of alignment in 1 job, which took 2.5 s" in said
    assert parallelism_table(found).rows[0][2:6] == [5, 0.01, 0.5, 3]


def test_without_estimates_there_is_no_section(results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    for path in folder.glob("batches/*/estimate*.tsv"):
        path.unlink()
    findings = read_findings(folder)
    assert not TIMES & set(charts_of(findings))
    assert times(findings) == ""
    assert parallelism_table(findings.parallelism).rows == []


def test_tables_beside_the_scores_count_too(results, tmp_path):
    (batch,) = results.glob("batches/*")
    shutil.copy(results / "scores.tsv", tmp_path)
    shutil.copy(batch / "estimate.tsv", tmp_path)
    findings = read_findings(tmp_path)
    assert len(findings.parallelism.cases) == 6
    assert TIMES & set(charts_of(findings)) == {"case_times", "cells"}


def test_the_first_screen_has_the_run_of_a_summary(tmp_path):
    (tmp_path / "a.fa").write_text(f">a\n{'ACGTTGCA' * 9}\n")
    (tmp_path / "e.bed").write_text("a\t0\t72\n")
    words = ["spliced-align", tmp_path / "a.fa", tmp_path / "a.fa", "--exons", tmp_path / "e.bed"]
    words += ["--device", "cpu", "--output", tmp_path / "scores.tsv", "--min-coverage", "0.25"]
    words = [*map(str, words), "--summary", str(tmp_path / "summary.json")]
    assert main(words) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["cases"], sum(summary["accepted"].values())) == (1, 1)
    names = [Path(each["file"]).name for each in summary["run"]["inputs"]]
    assert names == ["a.fa", "a.fa", "e.bed"]
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "scores.tsv"), "--output", str(page)]) == 0
    assert "coverage at least 0.25</td>" in page.read_text()
    assert "<code>gpu-tools spliced-align " in page.read_text()


def test_the_first_screen_has_configuration_and_limits_of_the_workflow(tmp_path):
    (tmp_path / "scores.tsv").write_text("")
    usual = {"max_evalue": 0.001, "min_coverage": 0.5, "min_confidence": None}
    limits = {"candidates": usual, "sites": usual | {"min_confidence": 7}, "proteins": usual}
    inputs = [{"file": f"{k}.fa", "bytes": 9, "sha256": "ab"} for k in range(MOST_INPUTS + 2)]
    run = {"configuration": "mode: sites", "limits": limits, "inputs": inputs}
    facts = run_facts(tmp_path / "scores.tsv", {"run": run_of(run), "site_model": "worm"})
    texts = {fact.name: fact.text for fact in facts if fact.name != "input"}
    assert texts.pop("results of").endswith(" UTC")
    assert texts == {
        "configuration": "mode: sites", "site model": "worm",
        "accepted (candidates, proteins)": "E-value at most 0.001, coverage at least 0.5",
        "accepted (sites)": "E-value at most 0.001, coverage at least 0.5, confidence at least 7",
        "": "and 2 more",
    }  # fmt: skip
    assert sum(fact.name == "input" for fact in facts) == MOST_INPUTS


def test_introns_of_batches_on_one_locus_count_once(results, tmp_path):
    folder = shutil.copytree(results, tmp_path / "results")
    (batch,) = folder.glob("batches/*")
    (batch / "junctions.bed").write_text(f"{RECORD}\t1100\t2000\t.\t12\t+\n")
    shutil.copytree(batch, batch.with_name("ba9876543210"))
    (tmp_path / "more.bed").write_text("other\t5\t90\t.\t3\t+\n")
    found = read_findings(folder, Extra(junctions=[tmp_path / "more.bed"])).junctions
    assert found == {RECORD: {(1100, 2000, "+"): 12}, "other": {(5, 90, "+"): 3}}


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"run": 1}', '{"run": {"command": 5}}', '{"run": {"limits": {"sites": 1}}}'],
)
def test_a_damaged_summary_is_an_error(results, tmp_path, text):
    shutil.copy(results / "scores.tsv", tmp_path)
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(InputError, match="summary.json.*no summary of results"):
        read_findings(tmp_path)
