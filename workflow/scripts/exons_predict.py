"""Predict the candidate exons of a sequence; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("exons predict", globals().get("snakemake"))
