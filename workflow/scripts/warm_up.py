"""Compile the code of the rules for the machine at hand; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("warm-up", globals().get("snakemake"))
