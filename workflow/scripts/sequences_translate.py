"""Translate the longest open reading frame of cDNAs; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("sequences translate", globals().get("snakemake"))
