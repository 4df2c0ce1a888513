"""``gpu-tools match-approximate``: where patterns occur with errors."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter

import click

import gpu_tools
from gpu_tools.cli.common import matching, options
from gpu_tools.cli.common.loci import errors_of_records
from gpu_tools.cli.common.options import option, progress
from gpu_tools.errors import InputError
from gpu_tools.formats.matches import MatchRow
from gpu_tools.formats.scales import read_costs, read_pairs
from gpu_tools.model.alphabets import ALPHABETS, Alphabet
from gpu_tools.model.results import ApproximateMatch, cigar_text
from gpu_tools.model.scoring import LIMIT_INT32, EditCosts

COLUMNS = ("pattern", "text", "start", "end", "strand", "distance", "cigar")


def _cost(name: str, least: int, text: str):
    return option(f"--{name} N", text, EditCosts, type=options.Count(least, LIMIT_INT32 - 1))


@click.command("match-approximate")
@matching.options
@option(
    "--max-distance D", type=options.Count(),
    help="Report every end position within this distance. Either this or --best is needed.",
)  # fmt: skip
@option("--best", "Report the end positions of each pattern's best distance.")
@option(
    "--locally-best",
    "Of overlapping matches of a pattern and strand report only the one of the least distance, or "
    "the first of equal ones.",
)
@_cost("insertion", 1, "Cost of a text symbol that the pattern lacks (D).")
@_cost("deletion", 1, "Cost of a pattern symbol that the text lacks (I).")
@_cost("substitution", 0, "Cost of a pattern symbol that does not match its text symbol (X).")
@option(
    "--substitution-table FILE",
    "Costs of pairs of letters in NCBI's format: a row for each of the pattern's letters, a "
    "column for each of the text's; --substitution is for the others.",
)
@option(
    "--insertion-costs FILE",
    "Costs of text symbols that the pattern lacks, a table with the columns symbol and cost; "
    "--insertion is for the others.",
)
@option(
    "--deletion-costs FILE",
    "The same of pattern symbols that the text lacks; --deletion is for the others.",
)
@options.output
@options.device
@options.common
def command(
    patterns_path, texts, alphabet, ignore_case, both_strands, max_distance, best,
    locally_best, output, bed, coordinates, device, threads, quiet, **costs,
) -> None:  # fmt: skip
    """Find where patterns occur with errors, exactly.

    For each end position one match is reported, the longest of the least distance. IUPAC codes in
    a pattern stand for their nucleotides; in a text they match nothing. Files may be compressed,
    and larger than memory. The table is sorted by text, end and pattern, with 1-based inclusive
    positions on the forward strand, those in a locus in its record's coordinates; CIGARs run along
    the text.
    """
    if best == (max_distance is not None):
        raise click.UsageError("give either --max-distance D or --best")
    alphabet = matching.alphabet_of(alphabet, ignore_case)
    costs = _costs(ALPHABETS[alphabet], **costs)
    patterns = matching.read_patterns(patterns_path, alphabet, both_strands)
    passing = matching.stream_texts(texts, alphabet, coordinates)
    names = {patterns_path: [pattern.name for pattern in patterns.patterns]}
    with progress("searching", matching.size(texts), quiet) as done, errors_of_records(names):
        found = gpu_tools.scan_approximate(
            patterns, passing, max_distance=max_distance,
            costs=costs, device=device, threads=threads, progress=done,
        )  # fmt: skip
        matches = (match for part in found for match in part)
        rows = _rows(_locally_best(matches) if locally_best else matches)
        matching.write_and_note(output, COLUMNS, passing.moved(rows), bed, patterns)


def _costs(
    alphabet: Alphabet,
    substitution_table: str | None,
    insertion_costs: str | None,
    deletion_costs: str | None,
    **weights: int,
) -> EditCosts:
    """Return the costs of the options: of all symbols, and of those that files name."""

    def pairs(path: str):
        read = read_pairs(path, any_symbols=alphabet.is_bytes)
        return alphabet.pair_costs(*read, weights["substitution"])

    files = {
        "table": (substitution_table, pairs),
        "insertion": (
            insertion_costs,
            lambda path: alphabet.insertion_costs(read_costs(path), weights["insertion"]),
        ),
        "deletion": (
            deletion_costs,
            lambda path: alphabet.deletion_costs(read_costs(path), weights["deletion"]),
        ),
    }
    by_symbol = {}
    for name, (path, read) in files.items():
        try:
            by_symbol |= {} if path is None else {name: read(path)}
        except InputError as error:
            raise error.located(path=path) from None
    return EditCosts(**weights | by_symbol)


def _locally_best(matches: Iterable[ApproximateMatch]) -> Iterator[ApproximateMatch]:
    """Yield the matches that overlap no better one that is yielded, text by text."""
    for _, of_text in groupby(matches, key=lambda match: match.text):
        numbered = list(enumerate(of_text))
        taken: dict = {}  # by pattern and strand: ends of disjoint intervals, rising, and starts
        chosen = []
        for number, match in sorted(numbered, key=lambda own: (own[1].distance, own[1].end)):
            ends, starts = taken.setdefault((match.pattern, match.strand), ([], []))
            place = bisect_right(ends, match.start)
            if place == len(ends) or match.end <= starts[place]:
                ends.insert(place, match.end)
                starts.insert(place, match.start)
                chosen.append((number, match))
        yield from (match for _, match in sorted(chosen, key=itemgetter(0)))


def _rows(matches: Iterable[ApproximateMatch]) -> Iterator[MatchRow]:
    for match in matches:
        yield MatchRow(
            match.pattern, match.text, match.start, match.end, match.strand, match.distance,
            (match.distance, cigar_text(match.cigar)),
        )  # fmt: skip
