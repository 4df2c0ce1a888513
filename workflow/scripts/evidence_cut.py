"""Take the splice evidence that lies in the loci of a batch; also runs by hand, see --help."""

from collections import defaultdict

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.junctions import splice_evidence, write_evidence
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.locus import Locus
from gpu_tools.model.sequences import Sequence

FILES = {"multiple": True, "metavar": "FILE"}


def piece(sequence):
    """Return a sequence as a part of its record: the genome may have others."""
    locus = Locus.of(sequence)
    return Sequence(locus.name, sequence.codes, locus.header(locus.name))


@click.command("evidence_cut")
@click.option("--junctions", **FILES, help="Introns that were seen; repeatable.")
@click.option("--splice-scores", **FILES, help="Scores of splice sites; repeatable.")
@click.option(
    "--base", nargs=3, multiple=True, metavar="NAME N M",
    help="A base, and the Nth --junctions and Mth --splice-scores, 0 for none; repeatable.",
)  # fmt: skip
@click.option("--sequences", required=True, metavar="FILE", help="FASTA of the bases.")
@click.option("--junctions-output", required=True, metavar="BED", help="Introns to write.")
@click.option("--scores-output", required=True, metavar="TSV", help="Scores to write.")
@options.common
def command(junctions, splice_scores, base, sequences, junctions_output, scores_output, quiet):
    """Take introns and scores on records that lie in loci, in the records' coordinates."""
    pieces = {sequence.name: piece(sequence) for sequence in read_fasta(sequences)}
    of_files = defaultdict(list)
    for name, n, m in base:
        of_files[int(n), int(m)].append(pieces[name])
    found = [
        splice_evidence(own, junctions[n - 1 : n] if n else (), splice_scores[m - 1] if m else None)
        for (n, m), own in of_files.items()
    ]
    write_evidence(found, junctions_output, scores_output)


run_rule(command, globals().get("snakemake"))
