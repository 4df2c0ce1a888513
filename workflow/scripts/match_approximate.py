"""Find where the configured patterns occur with errors; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("match-approximate", globals().get("snakemake"))
