"""Align a batch of cases; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("spliced-align", globals().get("snakemake"))
