"""Gather the local alignments of all batches; also runs by hand, see --help."""

import shutil

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule


@click.command("local_alignments")
@click.option(
    "--batches", multiple=True, required=True, metavar="FOLDER",
    help="Folder of a batch's local alignments; repeatable.",
)  # fmt: skip
@click.option("--results", required=True, metavar="FOLDER", help="Folder to write.")
@options.common
def command(batches, results, quiet):
    """Copy the files of several folders into one."""
    for folder in batches:
        # but for Snakemake's hidden file of the time
        shutil.copytree(folder, results, ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True)


run_rule(command, globals().get("snakemake"))
