"""Commands with many options: help in groups, and inputs as arguments without a name."""

from __future__ import annotations

import click

from gpu_tools.cli.common.completion import file_names

SCORING = "Search and scoring"
_GROUPS = {
    "Inputs": (
        "reference", "annotation", "base", "genome", "regions", "exons", "exons_format",
        "site_model", "targets", "proteins", "cdnas", "stranded", "pairs", "coordinates",
    ),
    SCORING: (),
    "Splice evidence": (
        "junctions", "junction_weight", "splice_scores", "splice_weight", "splice_only",
        "target_introns",
    ),
    "Scores of proteins": (
        "matrix", "gap_open", "gap_extend", "frameshift", "stop", "genetic_code", "keep_ends",
        "frameshifts",
    ),
    "What is accepted": (
        "max_evalue", "min_identity", "min_coverage", "shuffles", "isoforms", "confidence",
        "min_confidence", "copies", "min_copy_identity",
    ),
    "Output": (
        "output", "alignments", "alignments_format", "all_alignments", "protein_sequences",
        "cds_sequences", "show", "table", "targets_table", "gene_table", "unmapped",
        "summary",
    ),
    "Machine": (
        "device", "threads", "work", "batch", "strict", "quiet", "log_level", "debug",
        "help", "_click_default_help",
    ),
}  # fmt: skip
"""Headings of help, and the parameters below them; those in no group are of `SCORING`."""
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names}


class GroupedCommand(click.Command):
    """A command whose help groups its options, and whose first inputs need no name.

    `positional` are the parameters that arguments without a name stand for, in their order; if the
    last one may be given several times, so may the last argument.
    """

    def __init__(self, *arguments, positional: tuple[str, ...] = (), **options):
        super().__init__(*arguments, **options)
        self.positional = positional

    def make_parser(self, ctx: click.Context):
        """Return a parser that takes arguments without a name for the options they stand for."""
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def named(args: list[str]):
            values, rest, order = parse(args)
            return values, self._name(ctx, values, rest, order), order

        parser.parse_args = named
        return parser

    def _name(self, ctx: click.Context, values: dict, rest: list[str], order: list) -> list[str]:
        """Move arguments to the values of options, and return those that are too many."""
        options = {param.name: param for param in self.params}
        for name in self.positional:
            option, taken = options[name], rest[:1]
            if option.multiple:
                taken, rest = rest, []
            else:
                rest = rest[1:]
            if not taken:
                break
            if not option.multiple and name in values:
                raise click.UsageError(
                    f"{taken[0]!r} is an argument in the place of {option.opts[0]}, which is given "
                    "too", ctx,
                )  # fmt: skip
            values[name] = [*values.get(name, []), *taken] if option.multiple else taken[0]
            order.append(option)
        return rest

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list:
        """Complete options, and names of files, which need no option."""
        found = super().shell_complete(ctx, incomplete)
        return found if incomplete.startswith("-") else [*found, *file_names(incomplete)]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Return the words of the line of usage."""
        options = {param.name: param for param in self.params}
        words = [
            options[name].opts[0].lstrip("-").upper() + ("..." if options[name].multiple else "")
            for name in self.positional
        ]
        return [*super().collect_usage_pieces(ctx), *(f"[{word}]" for word in words)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options below the headings of their groups."""
        rows: dict[str, list] = {group: [] for group in _GROUPS}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                rows[_GROUP_OF.get(param.name or "", SCORING)].append(record)
        for group, records in rows.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)
