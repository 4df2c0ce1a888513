"""Protein targets of spliced-align: options, reading, and what is written of them alone."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence

import click
import numpy as np
from numpy.typing import NDArray

from gpu_tools.cli.common.credibility import tell
from gpu_tools.cli.common.options import Count, added, option
from gpu_tools.errors import InputError, ScoringError
from gpu_tools.formats.alignments import SUFFIXES
from gpu_tools.formats.alignments.proteins import coding_sequence, place_of, translated, write_shown
from gpu_tools.formats.exons.structures import with_introns
from gpu_tools.formats.files import OddItems, format_of
from gpu_tools.formats.scales import SHIPPED, load_matrix
from gpu_tools.formats.sequences.fasta import read_fasta, write_fasta
from gpu_tools.model.results import FRAMESHIFTS, KEEP, ProteinAlignment
from gpu_tools.model.scoring import LIMIT_INT32, ProteinScoring
from gpu_tools.model.sequences import ProteinSequence, decode_protein, encode_protein
from gpu_tools.model.translation import GENETIC_CODES, STANDARD

_log = logging.getLogger(__name__)
_PENALTY = Count(0, LIMIT_INT32 - 1)
_ONLY_NUCLEOTIDES = frozenset("ACGTUN")
_LONG_ENOUGH = 20
"""Letters of a record, at least, that is taken for nucleotides if it holds no others."""
NO_PROTEINS = (".sam", ".bam")


def _matrix(more: str = ""):
    return option(
        "--matrix NAME|FILE", default="BLOSUM62",
        help=f"With --proteins: scores of amino acids, {', '.join(SHIPPED)} or a file in NCBI's "
        f"format.{more}",
    )  # fmt: skip


_costs = added(
    option(
        "--gap-open N", type=_PENALTY, of=ProteinScoring,
        help="With --proteins: cost of a gap, plus --gap-extend for each residue or codon. All "
        "costs are in units of the matrix.",
    ),
    option(
        "--gap-extend N", type=_PENALTY, of=ProteinScoring,
        help="With --proteins: cost of each residue or codon of a gap.",
    ),
    option(
        "--frameshift N", type=_PENALTY, of=ProteinScoring,
        help="With --proteins: cost of a frameshift.",
    ),
    option(
        "--stop N", type=_PENALTY, of=ProteinScoring,
        help="With --proteins: cost of a stop codon inside a chain.",
    ),
    option(
        "--genetic-code N", type=int, default=STANDARD,
        help=f"With --proteins: NCBI's number of the code, {', '.join(map(str, GENETIC_CODES))}.",
    ),
    option(
        "--keep-ends",
        "With --proteins: align all residues, also ends without similar sequence within reach.",
    ),
)  # fmt: skip
protein_scores = added(_matrix(), _costs)
"""Adds the options of the scores of proteins to a command."""

frameshifts = option(
    "--frameshifts", type=click.Choice(FRAMESHIFTS), default=KEEP,
    help="With --proteins: structures with frameshifts or stop codons inside. keep: an exon is one "
    "CDS, with the alignment's phase; split: an exon is split at a frameshift into CDS parts of "
    "one frame each; drop: these structures are left out.",
)  # fmt: skip

target_introns = option(
    "--target-introns FILE",
    "With --site-model: GFF3 or GTF of the targets' own genes, in the genome that they come from. "
    "An intron where the target's gene has one gains points.",
)  # fmt: skip

protein_options = added(
    option(
        "--proteins FASTA",
        "Instead of --cdnas: proteins of homologous genes, aligned codon by codon.",
    ),
    _matrix(
        " With --cdnas: such a file of nucleotides, a row for each of the base's, a column for "
        "each of the target's, instead of --match and --mismatch."
    ),
    _costs,
    target_introns,
    frameshifts,
    option(
        "--protein-sequences FASTA",
        "With --proteins: also write what the accepted chains translate to.",
    ),
    option(
        "--cds-sequences FASTA",
        "With --proteins: also write the coding sequences of the accepted chains.",
    ),
    option(
        "--show FILE",
        "With --proteins: also write the accepted alignments as text to be read: residues, "
        "translation, nucleotides and splice sites.",
    ),
)
"""Adds the options of protein targets to a command; their names are `OPTIONS`."""


SCORES = ("matrix", "gap_open", "gap_extend", "frameshift", "stop", "genetic_code", "keep_ends")
OPTIONS = (
    "proteins", *SCORES, "target_introns", "frameshifts", "protein_sequences", "cds_sequences",
    "show",
)  # fmt: skip


def protein_scoring(options: dict, ends: str, **weights) -> ProteinScoring:
    """Return the scoring that options stand for; `weights` are those of candidates."""
    costs = {name: options[name] for name in SCORES[1:-1]}
    try:
        return ProteinScoring(load_matrix(options["matrix"]), ends=ends, **costs, **weights)
    except ScoringError as error:
        raise click.UsageError(str(error)) from None


def check_protein_usage(context: click.Context, alignments: Iterable[str]) -> None:
    """Refuse options that do not go with proteins, or not without them."""
    given = {
        name for name in context.params
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
    }  # fmt: skip
    options = context.params
    if (options["proteins"] is None) == (options["targets"] is None):
        raise click.UsageError("give either --cdnas or --proteins")
    own = set(OPTIONS) - {"proteins", "matrix", "target_introns"}
    others = {"match", "mismatch", "gap", "coding", "incomplete"}
    wrong = sorted(given & (others if options["proteins"] else own))
    if wrong:
        name = wrong[0].replace("_", "-")
        does = "does not go with" if options["proteins"] else "needs"
        raise click.UsageError(f"--{name} {does} --proteins")
    if options["target_introns"] and options["exons"]:
        raise click.UsageError("--target-introns needs --site-model")
    if options["targets"] and options["target_introns"] and (
        options["confidence"] or options["min_confidence"]
    ):  # fmt: skip
        raise click.UsageError("--target-introns of --cdnas goes without confidences")
    if options["proteins"] and options["exons"] and options["ends"] == "free":
        raise click.UsageError("--proteins with --exons needs whole candidates, not --ends free")
    for path in alignments:
        chosen = format_of(path, SUFFIXES) or f".{options['alignments_format']}"
        if options["proteins"] and chosen in NO_PROTEINS:
            raise click.UsageError(f"{path}: SAM and BAM hold no proteins; write .paf or .gff3")


def read_proteins(path: str, nucleotides: str = "--cdnas") -> dict[str, ProteinSequence]:
    """Read proteins by name, a stop at the end, ``*`` or ``.``, left out."""
    found, odd = {}, OddItems("records without a residue, left out")
    for record in read_fasta(path, _encode):
        letters = decode_protein(record.codes)
        if len(letters) >= _LONG_ENOUGH and set(letters) <= _ONLY_NUCLEOTIDES:
            raise InputError(
                "a protein of nucleotides' letters alone", path=path, record=record.name,
                expected=f"amino acids; nucleotides go to {nucleotides}",
            )  # fmt: skip
        residues = record.codes[:-1] if letters.endswith("*") else record.codes
        if not len(residues):
            odd.add(InputError("no residue", path=path, record=record.name, expected="amino acids"))
            continue
        found[record.name] = ProteinSequence(record.name, residues, record.description)
    if not found:
        raise odd.first
    odd.warn()
    return found


def with_own_introns(targets: dict, path: str | None) -> dict:
    """Return proteins or cDNAs with the introns of their own genes, if a file has these."""
    if path is None:
        return targets
    made, without = with_introns(targets.values(), path)
    are_proteins = all(isinstance(one, ProteinSequence) for one in targets.values())
    what = "coding sequence" if are_proteins else "transcript"
    tell(without, "target", f"without a {what} of this name and length in {path}")
    return {one.name: one for one in made}


def _encode(symbols: bytes) -> NDArray[np.uint8]:
    """Encode a protein, at whose end gffread writes a stop as ``.``."""
    return encode_protein(symbols[:-1] + b"*" if symbols.endswith(b".") else symbols)


def write_proteins(
    options: dict,
    found: Sequence[tuple[ProteinAlignment, ProteinAlignment]],
    bases: dict,
    scoring: ProteinScoring,
) -> None:
    """Write what the options ask for of chains: as they are, and in their record's place."""
    if options["protein_sequences"]:
        write_fasta(options["protein_sequences"], [translated(moved) for _, moved in found])
    if options["cds_sequences"]:
        write_fasta(
            options["cds_sequences"],
            [coding_sequence(own, bases[own.base], place_of(moved)) for own, moved in found],
        )
    if options["show"]:
        shown = [(own, moved, bases[own.base]) for own, moved in found]
        write_shown(options["show"], shown, scoring)
