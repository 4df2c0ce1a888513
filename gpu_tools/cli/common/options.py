"""Options that several commands share, declared once."""

from __future__ import annotations

import functools
import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import click

from gpu_tools.cli.common.completion import completed
from gpu_tools.cli.common.warming import IN_MIDDLE, compiling_told
from gpu_tools.errors import DeviceError, printable
from gpu_tools.formats.exons import intervals
from gpu_tools.formats.files import check_not_read, check_writable, format_of, odd_items
from gpu_tools.hardware.device import (
    cpu_threads,
    has_given_way,
    is_specification,
    list_gpus,
    reserved,
    resolve,
    was_small,
)
from gpu_tools.hardware.system import peak_memory
from gpu_tools.model.resources import installed_version

# Options that name files, found by their names in any command.


_OUTPUTS = (
    "output", "alignments", "bed", "gff3", "dot_plot", "provenance", "report", "igv", "table",
    "targets_table", "protein_sequences", "cds_sequences", "summary", "show", "histograms", "calls",
    "unmapped", "gene_table",
)  # fmt: skip
"""Options that name files to write, in any command, but for those that read such a file."""
_READ_BY = {"report": ("alignments",)}
"""Options of these names that some commands read instead."""
_NAMES = ("name", "record", "title")
"""Options whose values are no files, whatever files there are."""


def outputs_of(options: dict) -> list[str]:
    """Return the files that the running command writes by its options."""
    read = _READ_BY.get(click.get_current_context().info_name or "", ())
    values = [options[name] for name in _OUTPUTS if name in options and name not in read]
    return [path for value in values if value is not None for path in _several(value)]


def _inputs_of(options: dict) -> list[str]:
    """Return the options' values that may name files to read."""
    read = _READ_BY.get(click.get_current_context().info_name or "", ())
    values = [value for name, value in options.items()
              if name in read or name not in (*_OUTPUTS, *_NAMES)]  # fmt: skip
    several = [
        each for value in values if isinstance(value, str | tuple) for each in _several(value)
    ]
    return [value for value in several if isinstance(value, str)]


def _several(value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


# A line at the end of a command: what was done, on which device, how fast, to which files.


_NOTES = f"{__name__}.notes"


def note(*texts: str) -> None:
    """Have the running command's last line say something, such as ``12 cases``."""
    click.get_current_context().meta.setdefault(_NOTES, []).extend(texts)


@contextmanager
def summed_up(context: click.Context, options: dict) -> Iterator[None]:
    """Write a line to standard error when a command that has noted something ends well."""
    start = time.monotonic()
    yield
    notes = context.meta.pop(_NOTES, None)
    if notes and not options["quiet"]:
        parts = [", ".join(notes), *_device(options), _cost(time.monotonic() - start)]
        click.echo(f"done: {'; '.join(parts + _written(options))}", err=True)


def _device(options: dict) -> list[str]:
    if "device" not in options:
        return []
    more = ", then cpu: too small for a GPU" if was_small() else ""
    more = ", which failed, then cpu" if has_given_way() else more
    return [f"device {options['device']}{more}"]


def _cost(seconds: float) -> str:
    """Return time, and the most memory that this process had, if that is known."""
    peak = peak_memory()
    return f"{seconds:.1f} s" + (f", {peak / 1e9:.2g} GB of memory" if peak else "")


def _written(options: dict) -> list[str]:
    folders = [options["figures"]] if options.get("figures") else []
    paths = [path for path in outputs_of(options) + folders if path != "-"]
    return [f"written to {', '.join(paths)}"] if paths else []


# Progress on standard error: a bar on a terminal, plain lines elsewhere, with what is left.


SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(label: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Give a function that receives the units done since its last call, and shows how much is done.

    Of an unknown total, 0, and if `quiet`, it shows nothing. What is compiled when it has shown
    progress for a while is told, even if compilation at the start was.
    """
    if quiet or not total:
        yield lambda done: None
        return
    with ExitStack() as blocks:
        show = lines(label, total)
        if sys.stderr.isatty():
            bar = click.progressbar(length=total, label=label, file=sys.stderr)
            show = blocks.enter_context(bar).update
        yield _telling_of_compilation(show, blocks)


def _telling_of_compilation(
    show: Callable[[int], None], blocks: ExitStack, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Have compilation told anew within `blocks` some time behind the first units."""
    state: dict[str, float] = {}

    def update(done: int) -> None:
        show(done)
        now = clock()
        if now - state.setdefault("first", now) >= SECONDS_BETWEEN_LINES:
            state["first"] = math.inf
            blocks.enter_context(compiling_told(False, IN_MIDDLE))

    return update


def lines(
    label: str, total: int, clock: Callable[[], float] = time.monotonic
) -> Callable[[int], None]:
    """Return a function that receives the units done since its last call and prints lines.

    The time that is left counts from the first units on: what is before them may be compilation.
    """
    state = {"done": 0, "next": clock() + SECONDS_BETWEEN_LINES, "first": None}

    def update(done: int) -> None:
        state["done"] += done
        now = clock()
        if done and state["first"] is None:
            state["first"] = now, state["done"]
        if now >= state["next"] or state["done"] >= total:
            state["next"] = now + SECONDS_BETWEEN_LINES
            began, before = state["first"] or (now, 0)
            left = time_left(now - began, state["done"] - before, total - before)
            click.echo(f"{label}: {100 * state['done'] // total} %{left}", err=True)

    return update


def time_left(seconds: float, done: int, total: int) -> str:
    """Return how long the rest takes if it goes on as before, or nothing if that is unknown."""
    if not 0 < done < total:
        return ""
    left = round(seconds * (total - done) / done)
    hours, minutes = left // 3600, left // 60 % 60
    if hours:
        return f", about {hours} h {minutes} min left"
    return f", about {minutes} min left" if minutes else f", about {max(left, 1)} s left"


GENOMIC, CDNA = ("--genome", "--base", "--fasta"), ("--cdnas", "--targets")
"""Names of options for genomic sequences and for cDNAs: help shows one, any is understood."""


class AliasedOption(click.Option):
    """An option with further names, which neither help nor completion shows."""

    def __init__(self, *names, aliases: tuple[str, ...] = (), **more):
        super().__init__(*names, **more)
        self.aliases = aliases

    def add_to_parser(self, parser, ctx: click.Context) -> None:
        """Add all names; an option of the command that bears one of them keeps it."""
        super().add_to_parser(parser, ctx)
        taken = {name for param in ctx.command.params for name in param.opts}
        free = [name for name in self.aliases if name not in taken]
        if free:
            action = "append" if self.multiple else "store"
            parser.add_option(self, free, self.name, action=action, nargs=self.nargs)


def option(
    declaration: str, help: str, of: object = None, aliases: tuple[str, ...] = (), **more
) -> Callable:
    """Return an option, declared as help shows it: its names, and a word for its value.

    A name without dashes is the parameter's. An option without a word, type or default is a flag.
    The default may be that of a dataclass's field: `of` is the class, or an instance. Of `aliases`
    those are understood, too, that are no names of another option.
    """
    words = declaration.split()
    names = [word for word in words if word.startswith("-") or word.islower()]
    metavar = " ".join(word for word in words if word not in names) or None
    if of is not None:
        more["default"] = getattr(of, names[0].lstrip("-").replace("-", "_"))
    if metavar is None and not {"type", "default"} & set(more):
        more["is_flag"] = True
    shown = more.get("default") is not None
    more = completed(names[0], metavar) | more
    return click.option(
        *names, cls=AliasedOption, aliases=aliases, metavar=metavar, help=help,
        show_default=shown, **more,
    )  # fmt: skip


# Options that name the files of cases, for the commands of spliced alignment.


targets = option("--cdnas targets FASTA", "cDNAs of homologous genes.", aliases=CDNA)

pairs = option(
    "--pairs TSV",
    "Columns base and target: the cases to do.  [default: every target on every base]",
)

exons_format = option(
    "--exons-format", default=intervals.AUTO,
    type=click.Choice((intervals.AUTO, *intervals.FORMATS)),
    help="Format of the exons; auto recognises it by content, then suffix.",
)  # fmt: skip


_log = logging.getLogger(__name__)


class DeviceType(click.ParamType):
    """A device specification: auto, cpu, cuda, cuda:0 or cuda:0,1."""

    name = "device"

    def convert(self, value, param, context):
        """Return `value` if it is well formed; whether the device exists is checked later."""
        if not is_specification(value):
            self.fail(f"{value!r} is not one of auto, cpu, cuda, cuda:0, cuda:0,1", param, context)
        return value


class NameType(click.ParamType):
    """A name or another text of one line, as it stands in tables and headers."""

    name = "text"

    def __init__(self, one_word: bool = False):
        self.one_word = one_word

    def convert(self, value, param, context):
        """Return `value` unless it holds what cannot be written or would end a line or field."""
        if not value.isprintable() or (self.one_word and len(value.split()) != 1):
            what = "one word" if self.one_word else "text of one line"
            self.fail(f"{printable(value)!r} is not {what}", param, context)
        return value


LARGEST_COUNT = 2**31 - 1


class IntegerRange(click.IntRange):
    """An integer in a range; messages call it an integer."""

    name = "integer"


class Count(IntegerRange):
    """A count or length, from a least one to one so large that help does not name it."""

    def __init__(self, least: int = 0, largest: int = LARGEST_COUNT):
        super().__init__(min=least)
        self.largest = largest

    def convert(self, value, param, context):
        """Return the number."""
        number = super().convert(value, param, context)
        if number > self.largest:
            self.fail(f"{number} is not in the range {self.min}<=x<={self.largest}", param, context)
        return number


class NumberRange(click.FloatRange):
    """A number in a range; what is not a number, NaN, is in none."""

    name = "number"

    def convert(self, value, param, context):
        """Return the number."""
        number = super().convert(value, param, context)
        if math.isnan(number):
            self.fail(f"{value} is not a number", param, context)
        return number


class _OneLine(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record)) if not record.exc_info else super().format(record)


def _start_logging(context: click.Context, param: click.Parameter, level: str) -> None:
    logging.basicConfig(force=True)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_OneLine("gpu-tools: %(levelname)s: %(message)s"))
    logging.addLevelName(logging.WARNING, "warning")
    logging.addLevelName(logging.INFO, "info")
    logging.addLevelName(logging.DEBUG, "debug")
    logging.getLogger("gpu_tools").setLevel(level.upper())


def finite(context: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """Refuse infinities and what is not a number; a callback of options."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


def one_of_suffixes(suffixes: tuple[str, ...]) -> Callable:
    """Return a callback of options that refuses files of another suffix."""

    def check(context: click.Context, param: click.Parameter, value: str | tuple[str, ...] | None):
        for path in (value,) if isinstance(value, str) else value or ():
            if format_of(path, suffixes) is None:
                raise click.BadParameter(f"{path!r} does not end in one of {', '.join(suffixes)}")
        return value

    return check


def alignments_of(suffixes: tuple[str, ...], more: str = "") -> Callable:
    """Return --alignments and --alignments-format; `more` is what help says of a format."""

    def check(context: click.Context, param: click.Parameter, paths: tuple[str, ...]):
        format, names = context.params.get("alignments_format"), ", ".join(suffixes)
        unknown = [path for path in paths if format_of(path, suffixes) is None]
        if unknown and not format:
            raise click.BadParameter(
                f"{unknown[0]!r} does not end in one of {names}; give --alignments-format"
            )
        if format and not unknown:
            raise click.UsageError(
                f"--alignments-format is for a file of --alignments that does not end in one of "
                f"{names}, such as -"
            )
        return paths

    formats = tuple(suffix.removeprefix(".") for suffix in suffixes)
    return added(
        option(
            "--alignments FILE", multiple=True, callback=check,
            help=f"Also write the alignments; the suffix ({', '.join(suffixes)}) chooses the "
            f"format{more}. May be given several times.",
        ),
        option(
            "--alignments-format", type=click.Choice(formats), is_eager=True,
            help="Format of a file of --alignments whose suffix does not choose it, such as - for "
            "standard output.",
        ),
    )  # fmt: skip


def added(*options: Callable) -> Callable:
    """Return a decorator that adds options to a command, in this order."""
    return lambda function: functools.reduce(lambda f, option: option(f), options[::-1], function)


def output_of(what: str, **more) -> Callable:
    """Return the option --output of a command that writes `what`; `more` goes to click."""
    return click.option(
        "--output", "-o", default="-", show_default=True, metavar="FILE",
        **completed("--output", "FILE"), help=f"{what} to write; - is standard output.", **more,
    )  # fmt: skip


output = output_of("Table")

_device_and_threads = added(
    option(
        "--device", type=DeviceType(), default="auto",
        help="auto, cpu, cuda, cuda:0 or cuda:0,1; auto is a GPU that no other job holds, else "
        "the CPU.",
    ),
    option("--threads -t N", "CPU threads.  [default: all]", type=Count(1)),
)  # fmt: skip


def device(function: Callable) -> Callable:
    """Add --device and --threads to a command; it receives ``device`` and ``threads``.

    The command holds its GPUs as long as it runs, so that several jobs on one machine do not
    share one by accident; ``device`` is what it got.
    """
    return device_unless(lambda options: None)(function)


def device_unless(runs_on_cpu: Callable[[dict], str | None]) -> Callable:
    """Add --device and --threads as `device` does, except for work that no GPU can do.

    `runs_on_cpu` receives the options by name. It returns None, or which work it is that always
    runs on the CPU. Then no GPU is reserved and ``device`` is ``cpu``; a CUDA device that cannot be
    used is an error all the same.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def with_device(*arguments, device: str, **options):
            what = runs_on_cpu(options)
            if what is None:
                with reserved(device) as held:
                    _tell_device(device, held, options["threads"])
                    return function(*arguments, device=held, **options)
            if device not in ("auto", "cpu"):
                resolve(device)
            _log.info("device cpu: %s always run there", what)
            return function(*arguments, device="cpu", **options)

        return _device_and_threads(with_device)

    return decorate


def _tell_device(requested: str, held: str, threads: int | None) -> None:
    """Log which device does the work, and why."""
    if not _log.isEnabledFor(logging.INFO):
        return  # looking for GPUs takes time
    why = "as asked for"
    try:
        names = {str(gpu.ordinal): gpu.name for gpu in list_gpus()} if requested != "cpu" else {}
        if held != "cpu":
            why = ", ".join(names[k] for k in held.partition(":")[2].split(","))
        elif names:
            why = "every GPU is in use"
    except DeviceError as error:
        why = str(error)
    _log.info("device %s (%s), %d threads of the CPU", held, why, cpu_threads(threads))


@contextmanager
def _compilation_logged() -> Iterator[None]:
    """Log how many functions numba compiles instead of loading them from its cache."""
    if not _log.isEnabledFor(logging.DEBUG):
        yield
        return
    from numba.core import event

    from gpu_tools.hardware.compiled import cache_folder

    listener = event.RecordingListener()
    _log.debug("compiled code lies in %s", cache_folder() or "memory")
    with event.install_listener("numba:compile", listener):
        yield
    n = sum(each.is_start for _, each in listener.buffer)
    _log.debug("%d functions were compiled, all others were in the cache", n)


_common = added(
    option("--strict", "Odd records of inputs are errors, not left out with a warning."),
    option("--quiet", "Neither progress nor summary on standard error."),
    option(
        "--log-level", type=click.Choice(("debug", "info", "warning", "error")), default="warning",
        callback=_start_logging, expose_value=False, is_eager=True,
        help="What to log on standard error; info says what was chosen and why.",
    ),
    option("--debug", "Show the traceback of an error.", expose_value=False),
)  # fmt: skip


def common(function: Callable) -> Callable:
    """Add --strict, --quiet, --log-level and --debug to a command; it receives ``quiet``.

    Whether its outputs can be written, and replace none of its inputs, is looked at before anything
    is read.
    A command that notes something has a last line on standard error (see `summary`).
    It is said that code is compiled that the command lacks.
    """

    @functools.wraps(function)
    def compiling(strict: bool, **options):
        context = click.get_current_context()
        _log.info("%s %s", context.command_path, installed_version())
        check_writable(*outputs_of(options))
        check_not_read(outputs_of(options), _inputs_of(options))
        with summed_up(context, options), compiling_told(options["quiet"]):
            with _compilation_logged(), odd_items(strict):
                return function(**options)

    return _common(compiling)
