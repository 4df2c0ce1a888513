"""Find the segments of sequences that score highest; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("max-segments", globals().get("snakemake"))
