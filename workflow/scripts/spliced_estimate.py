"""Estimate parallelism and time of a batch of cases; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("spliced-estimate", globals().get("snakemake"))
