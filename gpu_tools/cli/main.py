"""The command ``gpu-tools``: finds the subcommand; errors become a line and an exit code."""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import sys
import textwrap
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches

import click

from gpu_tools.errors import GpuToolsError, printable
from gpu_tools.formats.files import streams_read_once
from gpu_tools.model.resources import COMMAND_LINE, installed_version

# What help shows of each command: a line in the list of commands, an example at its end.


EXAMPLES = {
    "annotate": "gpu-tools annotate genome.fa relatives.fa --site-model "
    "vertebrate --output genes.gff3",
    "check": "gpu-tools check",
    "devices": "gpu-tools devices",
    "exons compare": "gpu-tools exons compare --candidates exons.gff3 --truth annotation.gtf",
    "exons convert": "gpu-tools exons convert genscan.txt --to gff3 --output exons.gff3",
    "exons cut": "gpu-tools exons cut exons.gff3 --genome locus.fa --output locus_exons.gff3",
    "exons predict": "gpu-tools exons predict --genome loci.fa --output exons.gff3",
    "exons train": "gpu-tools exons train --genome records.fa --annotation genes.gff3 --name mine "
    "--output mine.json",
    "global-align": "gpu-tools global-align --query a.fa --subject b.fa --output pairs.tsv",
    "lift": "gpu-tools lift --reference old.fa --annotation old.gff3 --genome new.fa --site-model "
    "auto --output new.gff3 --unmapped unmapped.tsv",
    "local-align": "gpu-tools local-align --query mrna.fa --subject locus.fa --k 10 "
    "--alignments local.paf --output local.tsv",
    "match-approximate": "gpu-tools match-approximate --patterns probes.fa --text genome.fa "
    "--max-distance 2 --both-strands --output matches.tsv",
    "match-exact": "gpu-tools match-exact --patterns probes.fa --text genome.fa --both-strands "
    "--output matches.tsv",
    "max-segments": "gpu-tools max-segments --sequence genome.fa --scale cpg --all --min-score 30 "
    "--output islands.tsv",
    "max-submatrix": "gpu-tools max-submatrix --matrix matrix.tsv",
    "report": "gpu-tools report results --output results/report.html",
    "sequences cut": "gpu-tools sequences cut --fasta genome.fa --record chr1 --locus 1000-9000 "
    "--output locus.fa",
    "sequences fetch": "gpu-tools sequences fetch --source ncbi:NM_000572.2 --output mrna.fa",
    "sequences translate": "gpu-tools sequences translate --fasta mrnas.fa --output proteins.fa",
    "sites list": "gpu-tools sites list",
    "sites train": "gpu-tools sites train --genome genome.fa --annotation genes.gff3 --name mine "
    "--output mine.json",
    "spliced-align": "gpu-tools spliced-align locus.fa mrna.fa --site-model "
    "vertebrate --alignments gene.gff3 --output scores.tsv",
    "spliced-estimate": "gpu-tools spliced-estimate --genome loci.fa --cdnas mrnas.fa --exons "
    "exons.gff3 --histograms histograms.tsv --output estimate.tsv",
    "warm-up": "gpu-tools warm-up spliced-align",
}
"""By the command's words."""

SUMMARIES = {
    "annotate": "Find the genes of a genome by related proteins or cDNAs.",
    "check": "Test whether everything works here, and tell what to do.",
    "devices": "List the GPUs that can be used.",
    "exons": "Predict, convert, cut and compare candidate exons.",
    "exons compare": "Compare exons with an annotation.",
    "exons convert": "Convert candidate exons between formats.",
    "exons cut": "Take the exons of a record that lie in a locus.",
    "exons predict": "Predict candidate exons.",
    "exons train": "Train a model for exons predict.",
    "global-align": "Align whole sequences.",
    "lift": "Carry an annotation from one genome to another.",
    "local-align": "Find the k best local alignments of two sequences.",
    "match-approximate": "Find where patterns occur with errors.",
    "match-exact": "Find every occurrence of many patterns.",
    "max-segments": "Find the runs of symbols or numbers of largest sum.",
    "max-submatrix": "Find the rectangle of a matrix of largest sum.",
    "report": "Make a page of results, with figures of gene models.",
    "sequences": "Fetch, cut and translate sequences.",
    "sequences cut": "Cut a locus with its flanks out of a record.",
    "sequences fetch": "Fetch sequences from an address, NCBI or Ensembl.",
    "sequences translate": "Find or translate the coding sequences of cDNAs.",
    "sites": "List and train models of splice sites.",
    "sites list": "List the models of splice sites.",
    "sites train": "Train a model of splice sites from an annotation.",
    "spliced-align": "Align a cDNA or protein to a locus: the best exons.",
    "spliced-estimate": "Estimate how long spliced alignment takes.",
    "warm-up": "Compile all code once, so that no first call is slow.",
}
"""By the words of a command or group; they fit beside the longest name into 80 columns."""


class LazyGroup(click.Group):
    """A click group that imports the module of a command, with its ``command``, on its first use.

    The modules are named as their commands, with _ for -; `within` is the group's own name.
    """

    def __init__(self, *arguments, within: str = "", **options):
        super().__init__(*arguments, **options)
        titles = [title for title in SUMMARIES if title.rpartition(" ")[0] == within]
        self.titles = {title.rpartition(" ")[2]: title for title in titles}

    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(self.titles)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import and return one command with its example, or None if there is no such name."""
        title = self.titles.get(name)
        if title is None:
            return None
        module = title.replace(" ", ".").replace("-", "_")
        command = importlib.import_module(f"gpu_tools.cli.{module}").command
        command.short_help = SUMMARIES[title]
        if example := EXAMPLES.get(title):
            command.epilog = f"\b\nExample:\n{_wrapped(example)}"
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """List all commands for the help of the group, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, SUMMARIES[self.titles[name]]) for name in sorted(self.titles)]
            )

    def resolve_command(self, context: click.Context, arguments: list[str]):
        """Find the command that arguments begin with; an error names those that are alike."""
        try:
            return super().resolve_command(context, arguments)
        except click.UsageError as error:
            alike = get_close_matches(arguments[0], self.list_commands(context))
            if alike and "Did you mean" not in error.message:
                error.message = f"{error.message} (Did you mean {' or '.join(alike)}?)"
            raise


def _wrapped(example: str) -> str:
    """Return a command in lines that a shell reads as one."""
    lines = textwrap.wrap(
        example, 72, initial_indent="  ", subsequent_indent="    ",
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return " \\\n".join(lines)


_SHOWN = 60
BAD_INPUT, WRONG_USAGE = 1, 2
_AGAIN_SECONDS = 0.02
"""After so long an interrupt is sent again: the callback that it came into is over by then."""
_ENDED_BY = 128
"""What a shell adds to the number of the signal that ended a program."""


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(installed_version(), "-V", "--version", prog_name="gpu-tools")
def cli() -> None:
    """Exact sequence algorithms on a GPU, or without one, with the same answer."""


def main(arguments: Sequence[str] | None = None, program: click.Command = cli) -> int:
    """Run the command line and return its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    _open_missing_streams()
    arrived: list[int] = []
    try:
        with _interrupts_noted(arrived), streams_read_once():
            with _command_line_told(arguments if program is cli else []):
                return program.main(arguments, _name(program), standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return WRONG_USAGE
    except BrokenPipeError:
        _abandon_output()  # the reader went away: leave quietly
        return BAD_INPUT
    except (click.Abort, KeyboardInterrupt):
        return _interrupted(arrived)
    except Exception as error:
        if arrived:  # compiled code and libraries turn interrupts into errors of their own
            return _interrupted(arrived)
        if "--debug" in arguments or (reason := _reason(error)) is None:
            raise
        return _failed(reason, BAD_INPUT)


@contextmanager
def _command_line_told(arguments: Sequence[str]) -> Iterator[None]:
    """Have files that are written tell the command line, if there is one."""
    token = COMMAND_LINE.set(shlex.join(["gpu-tools", *arguments]) if arguments else "")
    try:
        yield
    finally:
        COMMAND_LINE.reset(token)


def _interrupted(arrived: list[int]) -> int:
    # Python remembers an interrupt that came out of code in a string, as numba's and dataclasses'
    # is, and would end as if nobody had handled it; the next such code makes it forget
    exec("pass")
    number = arrived[0] if arrived else signal.SIGINT
    return _failed("terminated" if number == signal.SIGTERM else "interrupted", _ENDED_BY + number)


def _reason(error: Exception) -> str | None:
    """Return what is wrong with the input or the machine; None if it is the program."""
    if isinstance(error, GpuToolsError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[:_SHOWN]!r} cannot be written in the encoding {error.encoding}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return None


@contextmanager
def _interrupts_noted(arrived: list[int]) -> Iterator[None]:
    """Note interrupts, and let SIGTERM, which schedulers send, clean up as one does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame) -> None:
        arrived.append(number)
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)  # a job in the background of a shell ignores it
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        with _lost_interrupts_sent_again(arrived):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _lost_interrupts_sent_again(arrived: list[int]) -> Iterator[None]:
    """Send an interrupt again that came within a callback, as those of imports: Python drops it."""
    told = sys.unraisablehook

    def send_again(unraisable) -> None:
        if not (arrived and unraisable.exc_type is KeyboardInterrupt):
            told(unraisable)
            return
        again = threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), arrived[0]))
        again.daemon = True
        again.start()

    sys.unraisablehook = send_again
    try:
        yield
    finally:
        sys.unraisablehook = told


def _open_missing_streams() -> None:
    """Put nothing where standard input, output or error is closed: no file gets its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _abandon_output() -> None:
    """Keep Python from writing once more, at its end, what could not be written."""
    try:
        sys.stdout.flush()
    except (AttributeError, ValueError):
        pass  # there is no output, or it is no file
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _name(program: click.Command) -> str:
    return "gpu-tools" if program is cli else f"{program.name}.py"


def _failed(reason: str, code: int) -> int:
    _abandon_output()
    with suppress(OSError):  # there is nobody to tell
        click.echo(f"gpu-tools: error: {printable(reason)}", err=True)
    return code
