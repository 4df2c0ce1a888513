"""Tables of spliced-estimate in a report."""

import shutil

from gpu_tools.report.charts import charts_of
from gpu_tools.report.findings import Bar, read_findings
from gpu_tools.report.tables import parallelism_table, times
from tests.report.results import GENES, TARGETS

TIMES = {"job_times", "case_times", "cells", "histograms"}


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
