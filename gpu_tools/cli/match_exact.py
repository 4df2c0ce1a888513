"""``gpu-tools match-exact``: every occurrence of many patterns."""

from __future__ import annotations

import click

import gpu_tools
from gpu_tools.cli.common import matching, options
from gpu_tools.cli.common.options import progress
from gpu_tools.formats.matches import MatchRow

COLUMNS = ("pattern", "text", "start", "end", "strand")


@click.command("match-exact")
@matching.options
@options.output
@options.device
@options.common
def command(
    patterns_path, texts, alphabet, ignore_case, both_strands, output, bed, coordinates, device,
    threads, quiet,
) -> None:  # fmt: skip
    """Find every occurrence of every pattern, overlapping ones included.

    IUPAC codes in a pattern stand for their nucleotides; in a text they match nothing. Files may be
    compressed, and larger than memory. The table is sorted by text, start and pattern, with 1-based
    inclusive positions on the forward strand; a palindrome is reported on both strands. Positions
    in a locus are in its record's coordinates.
    """
    alphabet = matching.alphabet_of(alphabet, ignore_case)
    patterns = matching.read_patterns(patterns_path, alphabet, both_strands)
    passing = matching.stream_texts(texts, alphabet, coordinates)
    with progress("searching", matching.size(texts), quiet) as done:
        found = gpu_tools.scan_exact(
            patterns, passing, device=device, threads=threads, progress=done
        )
        rows = (MatchRow(*row) for part in found for row in part)
        matching.write_and_note(output, COLUMNS, passing.moved(rows), bed, patterns)
