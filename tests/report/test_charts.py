"""Charts of all cases that many rows and several methods change."""

from dataclasses import replace

from gpu_tools.report.charts import MOST_CELLS, charts_of
from gpu_tools.report.findings import findings_of, method_of


def heat_map(rows):
    return charts_of(findings_of(rows, {}, {}))["heat_map"]


def named(row, base, target):
    own = replace(row.alignment, base=base, target=target)
    return row._replace(alignment=own, fields=row.fields | {"base": base, "target": target})


def test_the_map_opens_on_the_method_that_accepted_most(findings):
    (method,) = heat_map(findings.rows)["params"]
    assert method["value"] == "sites"
    of_sites = [row for row in findings.rows if method_of(row) == "sites"]
    fewer = [row for row in findings.rows if method_of(row) == "candidates"] + of_sites[:1]
    (method,) = heat_map(fewer)["params"]
    assert method["value"] == "candidates"


def test_the_map_of_very_many_loci_has_those_of_the_best_chains(findings):
    best = min(findings.rows, key=lambda row: row.alignment.evalue or 1)
    worst = next(row for row in findings.rows if row.fields["accepted"] == "no")
    n = MOST_CELLS + 50
    rows = [named(worst, f"b{k}", f"t{k}") for k in range(n)]
    rows += [named(best, f"good{k}", f"fit{k}") for k in range(3)]
    values = heat_map(rows)["data"]["values"]
    bases = {row["base"] for row in values}
    assert {f"good{k}" for k in range(3)} <= bases
    assert len(bases) == MOST_CELLS
