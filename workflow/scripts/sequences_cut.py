"""Cut a locus out of a FASTA record, check and index it; also runs by hand, see --help."""

from gpu_tools.cli.common.rule import run_rule

run_rule("sequences cut", globals().get("snakemake"))
