"""Join the alignments of all batches; also runs by hand, see --help."""

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.batch import concatenate, merge_bam, merge_gff3
from gpu_tools.formats.files import format_of

FILES = {"multiple": True, "metavar": "FILE"}
MERGE = {".gff3": merge_gff3, ".bed": concatenate, ".bam": merge_bam, ".txt": concatenate}


@click.command("alignments_merge")
@click.option("--gff3", **FILES, help="Alignments as GFF3; repeatable.")
@click.option("--bed", **FILES, help="Alignments as BED12; repeatable.")
@click.option("--bam", **FILES, help="Alignments as sorted BAM; repeatable.")
@click.option("--txt", **FILES, help="Alignments as text; repeatable.")
@click.option(
    "--alignments", required=True, **FILES,
    help="Alignments to write, .gff3, .bed, .bam or .txt; repeatable.",
)  # fmt: skip
@options.common
def command(gff3, bed, bam, txt, alignments, quiet):
    """Join the alignments of several batches, in their order."""
    inputs = {".gff3": gff3, ".bed": bed, ".bam": bam, ".txt": txt}
    for path in alignments:
        suffix = format_of(path, tuple(MERGE))
        if suffix is None:
            raise click.BadParameter(f"{path}; expected a name in {', '.join(MERGE)}")
        if not inputs[suffix]:
            raise click.UsageError(f"no alignments to join to {path}; give {suffix[1:]} files")
        MERGE[suffix](inputs[suffix], path)


run_rule(command, globals().get("snakemake"))
