"""Carry an annotation from one genome to another; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("lift", globals().get("snakemake"))
