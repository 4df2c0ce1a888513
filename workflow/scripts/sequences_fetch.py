"""Fetch a source, check it and index it; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("sequences fetch", globals().get("snakemake"))
