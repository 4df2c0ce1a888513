"""Gather sequences, candidate exons and pairs into batches; also runs by hand, see --help."""

from typing import NamedTuple

import click

from gpu_tools.cli.common import options
from gpu_tools.cli.common.rule import run_rule
from gpu_tools.formats.exons.intervals import read_exons, write_exons
from gpu_tools.formats.merge import concatenate
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.tables import write_table
from gpu_tools.hardware.batches import even_batches
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.locus import Locus
from gpu_tools.spliced import Case

OPTIONAL = {"multiple": True, "metavar": "FILE"}
FILES = OPTIONAL | {"required": True}


def by_name(paths):
    """Return the one sequence of each file, and its file, by its name."""
    return {s.name: (s, path) for path in paths for s in read_fasta(path)}


def exons_by_base(paths, bases):
    """Return the record's exons in each file by the base that the file is of, in their order."""
    return {
        base: ExonSet.concatenate(read_exons(path).values())
        for base, path in zip(bases, paths, strict=True)
    }


def on_base(base, exons):
    """Return exons of a base's record as the name of the base stands for them.

    That is, in the coordinates of the base, unless its name is the record's.
    """
    locus = Locus.of(base)
    return exons if locus.record == base.name else locus.exons_within(exons)


def cells(pairs, bases, targets, exons):
    """Return the estimate of each pair's work: nominal cells, of all bases without candidates."""
    if not exons:
        return [len(bases[base][0]) * len(targets[target][0]) for base, target in pairs]
    return [Case(bases[base][0], targets[target][0], exons[base]).cells for base, target in pairs]


def write_pairs(path, pairs, bases):
    """Write a batch's cases with the locus of each base."""
    rows = ((base, target, Locus.of(bases[base][0]).name) for base, target in pairs)
    write_table(path, ("base", "target", "locus"), rows)


def write_candidates(path, names, bases, exons):
    """Write the candidate exons of a batch's bases."""
    sequences = {name: bases[name][0] for name in names}
    sets = {name: on_base(sequence, exons[name]) for name, sequence in sequences.items()}
    write_exons(path, sets, "gff3")


def distinct(names, files):
    """Return the files of names in order, without repetitions."""
    return [files[name] for name in dict.fromkeys(names)]


class BatchFiles(NamedTuple):
    """What the options of the command name; see there."""

    bases: tuple
    candidates: tuple
    sequences: tuple
    pair: tuple
    base: tuple
    exons: tuple
    targets: tuple
    pairs: tuple


def checked(files):
    """Return the files if there are as many of each as belong together."""
    sources, outputs = len(files.candidates), len(files.pairs)
    if sources not in (0, len(files.bases)) or bool(files.candidates) != bool(files.exons):
        raise click.UsageError("as many --candidates as --bases, and --exons; or none of both")
    if not len(files.base) == len(files.targets) == outputs or len(files.exons) not in (0, outputs):
        raise click.UsageError("as many of each output")
    return files


def write_batches(files):
    """Write the batches of the pairs."""
    loci, genes = by_name(files.bases), by_name(files.sequences)
    listed = exons_by_base(files.candidates, loci) if files.candidates else {}
    parts = even_batches(cells(files.pair, loci, genes, listed), len(files.pairs))
    for k, part in enumerate(parts):
        write_batch(files, k, files.pair[part], (loci, genes, listed))


def write_batch(files, k, assigned, known):
    """Write the files of batch `k` for the pairs assigned to it; `known` are all sequences."""
    (loci, genes, listed), (names, others) = known, ([p[i] for p in assigned] for i in (0, 1))
    bases = {name: path for name, (_, path) in loci.items()}
    targets = {name: path for name, (_, path) in genes.items()}
    concatenate(distinct(names, bases), files.base[k])
    concatenate(distinct(others, targets), files.targets[k])
    write_pairs(files.pairs[k], assigned, loci)
    if files.candidates:
        write_candidates(files.exons[k], dict.fromkeys(names), loci, listed)


@click.command("cases_batch")
@click.option("--bases", **FILES, help="FASTA of a base sequence, bgzip; repeatable.")
@click.option(
    "--candidates", **OPTIONAL,
    help="GFF3 of its candidate exons, in the bases' order; repeatable.",
)  # fmt: skip
@click.option("--sequences", **FILES, help="FASTA of a target, bgzip; repeatable.")
@click.option("--pair", nargs=2, multiple=True, required=True, help="Base and target; repeatable.")
@click.option("--base", **FILES, help="FASTA of a batch's base sequences to write; repeatable.")
@click.option("--exons", **OPTIONAL, help="GFF3 of a batch's candidate exons to write; repeatable.")
@click.option("--targets", **FILES, help="FASTA of a batch's targets to write; repeatable.")
@click.option("--pairs", **FILES, help="Table of a batch's pairs to write; repeatable.")
@options.common
def command(quiet, **files):
    """Split the pairs, in order, into as many batches as there are outputs.

    The largest batch has as few cells as the order allows.
    """
    write_batches(checked(BatchFiles(**files)))


run_rule(command, globals().get("snakemake"))
