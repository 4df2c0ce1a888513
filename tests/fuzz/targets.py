"""What is fuzzed: every command and every reader, each with the files that it is given."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from gpu_tools.exons.model import load_model
from gpu_tools.formats import batch
from gpu_tools.formats.batch import exons_of_batches, read_case_rows
from gpu_tools.formats.exons.annotation import (
    read_annotated_exons,
    read_coding,
    read_coding_segments,
)
from gpu_tools.formats.exons.genes import read_genes
from gpu_tools.formats.exons.intervals import FORMATS, read_exons, read_intervals
from gpu_tools.formats.exons.predictors import parse_augustus, parse_report
from gpu_tools.formats.files import read_lines
from gpu_tools.formats.matches import read_scores
from gpu_tools.formats.numbers import read_matrix, read_tracks, read_values
from gpu_tools.formats.scales import (
    load_matrix,
    load_scale,
    read_codon_usage,
    read_costs,
    read_pairs,
    read_scale,
)
from gpu_tools.formats.sequences.fasta import iterate_fasta, read_fasta, read_one, record_parts
from gpu_tools.formats.sequences.locus import (
    cut_loci,
    cut_locus,
    read_record,
    read_records,
    record_lengths,
)
from gpu_tools.formats.sources.fetch import parse_source
from gpu_tools.formats.tables import read_table
from gpu_tools.model.json_model import parse_json
from gpu_tools.model.locus import Loci, Locus
from gpu_tools.model.sequences import encode_protein
from gpu_tools.sites.model import load_sites
from tests.cli.damage import COMMANDS, FILES
from tests.fuzz.mutations import bgzipped

CORPUS = Path(__file__).parent / "corpus"
MORE_COMMANDS = [
    line.split()
    for line in """
spliced-align --base base.fa --proteins protein.fa --site-model sites.json --alignments a.gff3
spliced-align --base base.fa --proteins protein.fa --site-model sites.json --matrix blosum.txt
spliced-align --base base.fa --proteins protein.fa --exons exons.tsv --show a.txt
spliced-estimate --base base.fa --targets loci.fa --exons exons.tsv --histograms a.tsv
annotate --genome base.fa --proteins protein.fa --site-model sites.json --table a.tsv
annotate --genome base.fa --cdnas loci.fa --site-model sites.json --search exhaustive
annotate --genome base.fa --cdnas loci.fa --site-model sites.json --junctions twelve.bed
lift --reference base.fa --annotation genes.gff3 --genome base.fa --site-model sites.json
lift --reference loci.fa --annotation both.gff3 --genome loci.fa --site-model sites.json --copies
exons convert all.tsv --to bed
exons convert predicted.genscan --to gff3
exons convert twelve.bed --to tsv
exons compare --candidates plain.gff --truth stops.gtf
exons train --base base.fa --annotation phases.gff3 --codon-usage usage.tsv
exons cut all.tsv --base base.fa --record chr1
sites train --genome loci.fa --annotation both.gff3
sites list
devices
sequences cut --fasta loci.fa --locus 1-3 --record chr3
sequences cut --fasta base.fa.gz --locus 100-200
sequences fetch --source file.fa.gz --provenance a.tsv
sequences translate --fasta crlf.fa
max-segments --sequence proteins.fa --scale protein.tsv
max-segments --values fixed.bedgraph --all --bed a.bed
max-submatrix --matrix numbers.tsv
match-exact --patterns reads.fq --text crlf.fa
match-approximate --patterns patterns.fa --text base.fa --max-distance 1 --bed a.bed
local-align --query loci.fa --subject crlf.fa --both-strands --alignments a.paf
global-align --query proteins.fa --subject protein.fa --matrix BLOSUM62
""".strip().splitlines()
]
SLOW_COMMANDS = [
    line.split()
    for line in """
local-align --query one.fa --subject one.fa --dot-plot a.svg
report scores.tsv --loci 1 --igv a.xml
report scores.tsv --genome base.fa --annotation genes.gff3 --candidates exons.tsv --loci 1
""".strip().splitlines()
]
"""They draw, which takes seconds: few inputs."""
NOT_FUZZED = {"check": "it reads nothing", "warm-up": "it reads nothing, and compiles for minutes"}
FORBIDDEN = (
    "show", "work", "index", "k",
    "output", "device", "alignments", "bed", "gff3", "report", "dot_plot", "shuffles", "threads",
    "quiet", "debug", "help", "figures", "igv", "provenance", "ncbi_url", "ensembl_url",
    "attempts", "timeout", "protein_sequences", "cds_sequences", "table", "targets_table",
    "summary", "histograms", "calls", "calibrate", "measure",
)  # fmt: skip
"""Options that say where to write, or take as long as they are told to."""


@cache
def corpus() -> dict[str, bytes]:
    """Return the corpus by the files' names, with what is binary made of it."""
    found = {path.name: path.read_bytes() for path in sorted(CORPUS.glob("*/*"))}
    found["numbers.tsv"] = found["matrix.tsv"]
    found |= FILES | {
        "file.fa.gz": gzip.compress(found["plain.fa"], mtime=0), "models.bam": _bam(),
        "blocks.fa.gz": bgzipped(found["lines.fa"]),
    }  # fmt: skip
    return found


def _bam() -> bytes:
    import tempfile

    import pysam

    header = {"HD": {"VN": "1.6", "SO": "coordinate"}, "SQ": [{"SN": "chr1", "LN": 1500}]}
    with tempfile.NamedTemporaryFile(suffix=".bam") as file:
        with pysam.AlignmentFile(file.name, "wb", header=header) as stream:
            for name, score in (("t1", 140), ("t1", 90), ("t2", 5)):
                record = pysam.AlignedSegment(stream.header)
                record.query_name, record.query_sequence = name, "ACGT" * 3
                record.reference_id, record.reference_start, record.cigarstring = 0, 200, "5M9N7M"
                record.set_tag("AS", score)
                stream.write(record)
        return file.read()


class Reader(NamedTuple):
    """A function of a file's name, and the files that it is given."""

    read: Callable
    names: tuple[str, ...]


def _in(*folders: str) -> tuple[str, ...]:
    """Return the names of the corpus's files in some folders."""
    return tuple(sorted(path.name for folder in folders for path in (CORPUS / folder).glob("*")))


def _all(read: Callable) -> Callable:
    return lambda path: list(read(path))


def _each_line(parse: Callable) -> Callable:
    """Return a function that parses each line of a file by itself; what one raises ends it."""
    return lambda path: [parse(line) for _, line in read_lines(path)]


def _merged(merge_files: Callable) -> Callable:
    return lambda path: merge_files([path, path], "merged")


def _methods(path: str) -> None:
    """Merge a batch's table of scores with its cases, one of which is damaged."""
    rows = "base\ttarget\tlocus\nb1\tt1\tchr1:1-1500\nb2\tt2\tchr1:1-1500\n"
    Path("cases").write_text(rows, encoding="utf-8")
    batch.merge_methods([{"a": path, "b": path}], ["cases"], "merged")


def _batches(path: str) -> None:
    rows = "base\ttarget\tlocus\nb1\tt1\tchr1:1-1500\nchr1\tt2\tchr1:101-700\n"
    Path("cases").write_text(rows, encoding="utf-8")
    exons_of_batches([path], ["cases"])


_FASTA = (*_in("fasta"), "base.fa", "target.fa", "base.fa.gz", "part.fa", "blocks.fa.gz")
_EXONS = (*_in("exons"), "exons.tsv", "exons.bed", "exons.gff3", "exons.gtf", "report.txt")
_ANNOTATION = (*_in("annotation", "exons"), "genes.gff3", "genes.gtf")
_MATRICES = ("blosum.txt", "costs.txt")
READERS = {
    "fasta": Reader(read_fasta, _FASTA),
    "fasta record by record": Reader(_all(iterate_fasta), _FASTA),
    "fasta in parts": Reader(lambda path: list(record_parts(path, 8)), _FASTA),
    "proteins": Reader(partial(read_fasta, encode=encode_protein), (*_FASTA, "protein.fa")),
    "one record": Reader(read_one, ("one.fa", "plain.fa")),
    "record": Reader(partial(read_record, name="b"), _FASTA),
    "records": Reader(partial(read_records, names=("a", "b")), _FASTA),
    "loci of headers": Reader(lambda path: Loci(read_fasta(path)), _FASTA),
    "locus": Reader(partial(cut_locus, record="chr1", start=100, end=160), _FASTA[-5:]),
    "locus in lines": Reader(
        partial(cut_loci, loci=[Locus("a", 4, 12), Locus("b", 0, 3)], flank=3),
        ("lines.fa", "blocks.fa.gz", "crlf.fa"),
    ),
    "index": Reader(record_lengths, _FASTA),
    "exons": Reader(read_exons, _EXONS),
    **{f"exons as {f}": Reader(partial(read_exons, format=f), _EXONS) for f in FORMATS},
    "report": Reader(
        lambda path: parse_report(path, read_lines(path), 1500), ("report.txt", *_in("exons"))
    ),
    "augustus": Reader(
        lambda path: parse_augustus(path, read_lines(path)), ("augustus.gff", "plain.gff")
    ),
    "annotated exons": Reader(read_annotated_exons, _ANNOTATION),
    "genes": Reader(read_genes, _ANNOTATION),
    "segments": Reader(read_coding_segments, _ANNOTATION),
    "coding": Reader(read_coding, _ANNOTATION),
    "regions": Reader(read_intervals, ("regions.bed", *_in("exons"))),
    "pairs": Reader(lambda path: list(read_table(path, ("base", "target"))), _in("tables")),
    "cases": Reader(read_case_rows, ("cases.tsv",)),
    "exons of batches": Reader(_batches, _EXONS),
    "scores": Reader(read_scores, ("scores.tsv", "methods.tsv")),
    "codon usage": Reader(read_codon_usage, ("usage.tsv",)),
    "scale": Reader(load_scale, ("scale.tsv", "protein.tsv")),
    "named scale": Reader(partial(read_scale, name="x"), ("scale.tsv", "protein.tsv")),
    "substitution matrix": Reader(load_matrix, _MATRICES),
    "pairs of symbols": Reader(partial(read_pairs, any_symbols=True), _MATRICES),
    "costs": Reader(read_costs, ("costs.tsv",)),
    "values": Reader(read_values, ("values.txt", "whole.txt", "values.npy")),
    "matrix": Reader(read_matrix, ("matrix.tsv", "matrix.npy")),
    "track": Reader(_all(read_tracks), ("values.bedgraph", "fixed.bedgraph")),
    "sites": Reader(load_sites, ("sites.json",)),
    "model": Reader(load_model, ("model.json",)),
    "json": Reader(lambda path: parse_json(Path(path).read_text("latin-1")), ("sites.json",)),
    "source": Reader(_each_line(parse_source), ("list.txt",)),
    "locus name": Reader(_each_line(Locus.parse), ("loci.txt",)),
    "merged tables": Reader(_merged(batch.merge_tables), _in("tables")),
    "merged methods": Reader(_methods, ("scores.tsv", "methods.tsv")),
    "merged gff3": Reader(_merged(batch.merge_gff3), ("models.gff3",)),
    "merged bam": Reader(_merged(batch.merge_bam), ("models.bam",)),
    "joined files": Reader(_merged(batch.concatenate), ("plain.fa", "blocks.fa.gz")),
}
"""Every function that reads a file that may come from anybody."""
COMMAND_LINES = [*COMMANDS, *MORE_COMMANDS]
