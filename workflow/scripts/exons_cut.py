"""Move exons of a record onto a locus that was cut out of it; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("exons cut", globals().get("snakemake"))
