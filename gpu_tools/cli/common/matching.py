"""What ``match-approximate`` and ``match-exact`` share: options, patterns, texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpu_tools.cli.common import loci
from gpu_tools.cli.common.options import added, note, option
from gpu_tools.errors import InputError, counted
from gpu_tools.formats.files import is_compressed_name, open_binary
from gpu_tools.formats.matches import MatchRow, write_matches
from gpu_tools.formats.sequences.fasta import read_fasta, stream_bytes, stream_fasta
from gpu_tools.model.alphabets import ALPHABETS
from gpu_tools.model.sequences import SequenceChunk

if TYPE_CHECKING:
    from gpu_tools.matching import Pattern, PatternSet

_BYTES = "bytes"

options = added(
    option(
        "--patterns patterns_path FILE", required=True,
        help="Patterns, FASTA or FASTQ; with --alphabet bytes one a line, named by its number.",
    ),
    option(
        "--text texts FILE", required=True, multiple=True,
        help="Texts, FASTA or FASTQ; with --alphabet bytes any file. Repeatable.",
    ),
    option(
        "--alphabet", type=click.Choice(("dna", "protein", _BYTES)), default="dna",
        help="What the files hold.",
    ),
    option(
        "--ignore-case",
        "With --alphabet bytes: the letters A to Z match in either case, as they do elsewhere.",
    ),
    option("--both-strands", "Also search the reverse complement of each pattern."),
    option("--bed FILE", "Also write the matches as BED."),
    loci.coordinates,
)  # fmt: skip
"""Adds the options of both commands."""


def alphabet_of(alphabet: str, ignore_case: bool) -> str:
    """Return the name of the alphabet that the options choose."""
    if ignore_case and alphabet != _BYTES:
        raise click.UsageError(f"--ignore-case has no meaning with --alphabet {alphabet}")
    return "text" if ignore_case else alphabet


def read_patterns(path: str, alphabet: str, both_strands: bool) -> PatternSet:
    """Read a pattern file."""
    from gpu_tools.matching import Pattern, PatternSet  # imports the compiler

    if both_strands and ALPHABETS[alphabet].complement is None:
        raise click.UsageError(f"--both-strands has no meaning with --alphabet {alphabet}")
    if ALPHABETS[alphabet].is_bytes:
        return PatternSet(_read_lines(path, alphabet), alphabet, both_strands)
    records = read_fasta(path, ALPHABETS[alphabet].encode_pattern)
    return PatternSet([Pattern(one.name, one.codes) for one in records], alphabet, both_strands)


def _read_lines(path: str, alphabet: str) -> list[Pattern]:
    from gpu_tools.matching import Pattern

    with open_binary(path) as stream:
        lines = [line.removesuffix(b"\n").removesuffix(b"\r") for line in stream]
    if not lines:
        raise InputError("no line", path=path, expected="one pattern a line")
    if b"" in lines:
        raise InputError("empty pattern", path=path, line=lines.index(b"") + 1)
    return [Pattern.from_text(str(k), line, alphabet) for k, line in enumerate(lines, start=1)]


def stream_texts(paths: tuple[str, ...], alphabet: str, coordinates: str) -> loci.TextLoci:
    """Return the texts of all files, chunk by chunk; a file of bytes is no locus."""
    if ALPHABETS[alphabet].is_bytes:
        coordinates = "locus"
    return loci.TextLoci(_chunks(paths, alphabet), coordinates)


def _chunks(paths: tuple[str, ...], alphabet: str) -> Iterator[SequenceChunk]:
    known = ALPHABETS[alphabet]
    if known.is_bytes:
        chunks = chain.from_iterable(map(stream_bytes, paths))
        if alphabet == _BYTES:
            return chunks
        return (replace(chunk, codes=known.text_table[chunk.codes]) for chunk in chunks)
    return chain.from_iterable(
        stream_fasta(path, known.text_table, known.expected) for path in paths
    )


def write_and_note(
    output: str,
    columns: tuple[str, ...],
    rows: Iterable[MatchRow],
    bed: str | None,
    patterns: PatternSet,
) -> None:
    """Write matches as they come; the last line tells how many there are."""
    numbered = count()
    write_matches(output, columns, (row for row, _ in zip(rows, numbered, strict=False)), bed)
    found = counted(next(numbered), "match", "matches")
    note(counted(len(patterns.patterns), "pattern"), found)


def size(paths: tuple[str, ...]) -> int:
    """Return about how many symbols files hold; 0 if that is not known before reading."""
    if any(not Path(path).is_file() or is_compressed_name(path) for path in paths):
        return 0
    return sum(Path(path).stat().st_size for path in paths)
