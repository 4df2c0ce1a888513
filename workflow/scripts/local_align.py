"""Align the targets of a locus with it, locally on both strands; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("local-align", globals().get("snakemake"))
