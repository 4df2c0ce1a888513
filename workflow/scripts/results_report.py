"""Make the page of all results; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("report", globals().get("snakemake"))
