"""A group of commands that imports the module of a command on its first use."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Iterable
from difflib import get_close_matches

import click

# What help shows of each command: a line in the list of commands, an example at its end.


EXAMPLES = {
    "annotate": "gpu-tools annotate --genome genome.fa --proteins relatives.fa --site-model "
    "vertebrate --output genes.gff3",
    "check": "gpu-tools check",
    "devices": "gpu-tools devices",
    "exons compare": "gpu-tools exons compare --candidates exons.gff3 --truth annotation.gtf",
    "exons convert": "gpu-tools exons convert genscan.txt --to gff3 --output exons.gff3",
    "exons cut": "gpu-tools exons cut exons.gff3 --base locus.fa --output locus_exons.gff3",
    "exons predict": "gpu-tools exons predict --base loci.fa --output exons.gff3",
    "exons train": "gpu-tools exons train --base records.fa --annotation genes.gff3 --name mine "
    "--output mine.json",
    "global-align": "gpu-tools global-align --query a.fa --subject b.fa --output pairs.tsv",
    "local-align": "gpu-tools local-align --query mrna.fa --subject locus.fa --k 10 "
    "--alignments local.paf --output local.tsv",
    "match-approximate": "gpu-tools match-approximate --patterns probes.fa --text genome.fa "
    "--max-distance 2 --both-strands --output matches.tsv",
    "match-exact": "gpu-tools match-exact --patterns probes.fa --text genome.fa --both-strands "
    "--output matches.tsv",
    "max-segments": "gpu-tools max-segments --sequence genome.fa --scale cpg --all --min-score 30 "
    "--output islands.tsv",
    "max-submatrix": "gpu-tools max-submatrix --matrix matrix.tsv",
    "report": "gpu-tools report results --output results/report.html",
    "sequences cut": "gpu-tools sequences cut --fasta genome.fa --record chr1 --locus 1000-9000 "
    "--output locus.fa",
    "sequences fetch": "gpu-tools sequences fetch --source ncbi:NM_000572.2 --output mrna.fa",
    "sequences translate": "gpu-tools sequences translate --fasta mrnas.fa --output proteins.fa",
    "sites list": "gpu-tools sites list",
    "sites train": "gpu-tools sites train --genome genome.fa --annotation genes.gff3 --name mine "
    "--output mine.json",
    "spliced-align": "gpu-tools spliced-align --base locus.fa --targets mrna.fa --site-model "
    "vertebrate --alignments gene.gff3 --output scores.tsv",
    "spliced-estimate": "gpu-tools spliced-estimate --base loci.fa --targets mrnas.fa --exons "
    "exons.gff3 --histograms histograms.tsv --output estimate.tsv",
    "warm-up": "gpu-tools warm-up spliced-align",
}
"""By the command's words."""

SUMMARIES = {
    "annotate": "Find the genes of a genome by related proteins or cDNAs.",
    "check": "Look whether everything works here, and say what to do.",
    "devices": "List the GPUs that can be used.",
    "exons": "Predict, convert, cut and compare candidate exons.",
    "exons compare": "Compare exons with an annotation.",
    "exons convert": "Convert candidate exons between formats.",
    "exons cut": "Take the exons of a record that lie in a locus.",
    "exons predict": "Predict candidate exons.",
    "exons train": "Train a model for exons predict.",
    "global-align": "Align whole sequences.",
    "local-align": "Find the k best local alignments of two sequences.",
    "match-approximate": "Find where patterns occur with errors.",
    "match-exact": "Find every occurrence of many patterns.",
    "max-segments": "Find the runs of symbols or numbers of largest sum.",
    "max-submatrix": "Find the rectangle of a matrix of largest sum.",
    "report": "Make a page of results, with figures of gene models.",
    "sequences": "Fetch, cut and translate sequences.",
    "sequences cut": "Cut a locus with its flanks out of a record.",
    "sequences fetch": "Fetch sequences from an address, NCBI or Ensembl.",
    "sequences translate": "Find or translate the coding sequences of cDNAs.",
    "sites": "List and train models of splice sites.",
    "sites list": "List the models of splice sites.",
    "sites train": "Train a model of splice sites from an annotation.",
    "spliced-align": "Align a cDNA or protein to a locus: the best exons.",
    "spliced-estimate": "Estimate how long spliced alignment takes.",
    "warm-up": "Compile all code once, so that no first call is slow.",
}
"""By the words of a command or group; they fit beside the longest name into 80 columns."""


class LazyGroup(click.Group):
    """A click group whose commands live in modules of a package, each as ``command``.

    The modules are named as their commands, with _ for -.
    """

    def __init__(self, *arguments, package: str, names: Iterable[str], **options):
        super().__init__(*arguments, **options)
        self.modules = {name: f"{package}.{name.replace('-', '_')}" for name in names}

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self.modules)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import and return one command with its example, or None if there is no such name."""
        if name not in self.modules:
            return None
        command = importlib.import_module(self.modules[name]).command
        words = self.modules[name].removeprefix("gpu_tools.cli.").split(".")
        title = " ".join(words).replace("_", "-")
        command.short_help = SUMMARIES.get(title)
        if example := EXAMPLES.get(title):
            command.epilog = f"\b\nExample:\n{_wrapped(example)}"
        return command

    def resolve_command(self, context: click.Context, arguments: list[str]):
        """Find the command that arguments begin with; an error names those that are alike."""
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as error:
            alike = get_close_matches(arguments[0], self.list_commands(context))
            if alike and "Did you mean" not in error.message:
                error.message = f"{error.message} (Did you mean {' or '.join(alike)}?)"
            raise


def _wrapped(example: str) -> str:
    """Return a command in lines that a shell reads as one."""
    lines = textwrap.wrap(
        example, 72, initial_indent="  ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return " \\\n".join(lines)
