"""Find every occurrence of the configured patterns; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("match-exact", globals().get("snakemake"))
