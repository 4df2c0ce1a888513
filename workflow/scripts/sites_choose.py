"""Choose the shipped site model that fits best by a first pass; also runs by hand, see --help."""

import click

from gpu_tools.cli import annotate
from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.cli.common.site_models import GENERIC, tell_choice


@click.command("sites_choose")
@annotate.genome
@annotate.search
@click.option("--output", required=True, metavar="JSON", help="Site model to write.")
@options.device
@options.common
def command(genome, output, device, threads, quiet, **more):
    """Choose the site model that gpu-tools annotate --site-model auto would take."""
    from gpu_tools.annotate.genome import GenomeRecords
    from gpu_tools.annotate.site_choice import choose_sites
    from gpu_tools.formats.files import open_output
    from gpu_tools.formats.sequences.fasta import read_fasta
    from gpu_tools.model.resources import resource_path

    more["site_model"] = GENERIC
    targets, records = annotate.read_targets(more), GenomeRecords(read_fasta(genome))
    sites, why = choose_sites(records, targets, annotate.limits_of(more), device, threads)
    name = tell_choice(sites, why, quiet)
    with open_output(output) as stream:
        stream.write(resource_path("models", "sites", f"{name}.json").read_text(encoding="utf-8"))


run_rule(command, globals().get("snakemake"))
