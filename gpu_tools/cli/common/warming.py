"""Tiny runs of the commands fill the compile cache."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, as_completed
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import NamedTuple

import click
import numpy as np

from gpu_tools.hardware import once_compiling
from gpu_tools.hardware.device import FOLDER, list_gpus, resolve
from gpu_tools.hardware.own_files import available_memory
from gpu_tools.hardware.processes import process_pool
from gpu_tools.hardware.system import n_processors

IN_RUN = "GPU_TOOLS_TINY_RUN"
"""Is in the environment of commands that do not say that they compile, such as those of tests."""
_CPU = "cpu"
_SIGNALLED = 128
"""Exit codes above are of commands that were interrupted."""
_PROCESS_MEMORY = 1 << 30
"""Bytes that a process which compiles may take."""


AT_START = (
    "compiling, once: code for this machine, up to half a minute (gpu-tools warm-up does it "
    "beforehand for all commands)"
)
IN_MIDDLE = (
    "compiling, once: more code, up to half a minute; nothing that was done is done again "
    "(gpu-tools warm-up does it beforehand)"
)


@contextlib.contextmanager
def compiling_told(quiet: bool, text: str = AT_START) -> Iterator[None]:
    """Have a command say so if code is missing from the compile cache."""

    def tell() -> None:
        if not quiet and IN_RUN not in os.environ:
            bar = "\r\033[K" if sys.stderr.isatty() else ""  # the line of a bar is cleared
            click.echo(f"{bar}{text}", err=True)

    with once_compiling(tell):
        yield


def devices_to_warm(specification: str) -> list[str]:
    """Return the devices that a specification stands for, one of each kind of GPU.

    With ``auto`` the CPU is one of them, whether or not there is a GPU.
    """
    device = resolve(specification)
    if device.kind == _CPU:
        return [_CPU]
    kinds = {gpu.ordinal: gpu.compute_capability for gpu in list_gpus()}
    first_of = {kinds[ordinal]: f"cuda:{ordinal}" for ordinal in reversed(device.ordinals)}
    return [*([_CPU] if specification == "auto" else []), *sorted(first_of.values())]


WIDE = "wide"
CPU, CUDA = "cpu", "cuda"
ON_CPU, ON_CUDA = frozenset([CPU]), frozenset([CUDA])
ON_BOTH = ON_CPU | ON_CUDA
_RESIDUES = "ACDEFGHIKLMNPQRSTVWY"


class TinyRun(NamedTuple):
    """A command with tiny inputs, and the kinds of devices that it is for, `CPU` and `CUDA`.

    `modes` are the options that make the command need other code than without them; and `WIDE` for
    cells and numbers of more bits, which large inputs need.
    """

    command: str
    arguments: str
    modes: frozenset[str]
    devices: frozenset[str]

    @property
    def has_device(self) -> bool:
        """Whether the command has the option ``--device``."""
        return self.command != "exons predict"

    def is_for(self, device: str) -> bool:
        """Return whether it is for a device, ``cpu`` or ``cuda:`` and ordinals."""
        return device.partition(":")[0] in self.devices

    def line(self, device: str, threads: int | None = 2) -> list[str]:
        """Return the arguments of Python, but for the output, on a device."""
        options = ["--device", device] if self.has_device else []
        if self.has_device and threads:
            options += ["--threads", str(threads)]
        return ["-m", "gpu_tools", *f"{self.command} {self.arguments}".split(), *options]


class Warming(NamedTuple):
    """A tiny run on a device, ``cpu`` or ``cuda:`` and an ordinal."""

    run: TinyRun
    device: str

    @property
    def is_done(self) -> bool:
        """Whether a record in the compile cache says so."""
        path = _record()
        return path is not None and self._digest in _lines_of(path)

    def attempt(self, folder: str, threads: int | None = None) -> str | None:
        """Run the command in this process on a folder's inputs; return why it failed, or None."""
        line = self.run.line(self.device, threads)[2:]
        with tempfile.TemporaryDirectory(dir=folder) as own:
            words = [*line, "--quiet", "--output", f"{own}/out"]
            failure = _failure([_inside(Path(folder), word) for word in words])
        if failure is not None:
            return f"{' '.join(line)}: {failure}"
        if path := _record():
            # what cannot be written is run again another time
            with contextlib.suppress(OSError), path.open("a", encoding="ascii") as stream:
                stream.write(f"{self._digest}\n")
        return None

    @property
    def _digest(self) -> str:
        ordinal = int(self.device.partition(":")[2] or 0)
        kinds = [] if self.device == _CPU else [list_gpus()[ordinal].compute_capability]
        return sha256(repr((self.run.line(""), kinds)).encode()).hexdigest()[:16]


def warm(runs: Sequence[Warming], processes: int | None, tell: Callable[[str], None]) -> list[str]:
    """Do runs in processes side by side; return why runs failed.

    What fails there is done again alone: a GPU may refuse several processes, and memory end.
    """
    left, failures = dict(enumerate(runs)), []

    def tell_remaining() -> None:
        if left:
            tell(f"compiling, once: {len(left)} of {len(runs)} parts remain")

    tell_remaining()
    with tempfile.TemporaryDirectory(prefix="gpu-tools-") as folder:
        write_inputs(Path(folder))
        if (most := min(processes or _most_processes(), len(runs))) > 1:
            for number in _side_by_side(runs, folder, most):
                del left[number]
                tell_remaining()
        for number in [*left]:
            failures.append(left.pop(number).attempt(folder))
            tell_remaining()
    return [failure for failure in failures if failure is not None]


def _most_processes() -> int:
    memory = available_memory()
    return n_processors() if memory is None else min(n_processors(), memory // _PROCESS_MEMORY)


def _side_by_side(runs: Sequence[Warming], folder: str, processes: int) -> Iterator[int]:
    """Attempt runs in processes; yield the number of each that succeeded."""
    number_of = {}
    with process_pool(processes, "spawn", begin_process, folder) as pool:
        with contextlib.suppress(OSError, BrokenExecutor):  # no process can be made
            for number, run in enumerate(runs):
                number_of[pool.submit(run.attempt, folder, 1)] = number
        for each in as_completed(number_of):
            if each.exception() is None and each.result() is None:
                yield number_of[each]


def begin_process(folder: str) -> None:
    """Leave interrupts to the process that started this one, and share GPUs with the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ[FOLDER] = tempfile.mkdtemp(dir=folder)


def _record() -> Path | None:
    """Return where it is written what has been run."""
    from gpu_tools.hardware.compiled import WARMED, cache_folder

    folder = cache_folder()
    return folder and folder / WARMED


def _inside(folder: Path, word: str) -> str:
    """Return a word, or the path of the input that it names."""
    return str(folder / word) if (folder / word).is_file() else word


def _failure(line: list[str]) -> str | None:
    """Run a command in this process; return why it failed, or None."""
    from gpu_tools.cli.main import main

    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        code = main(line)
    if code > _SIGNALLED:
        raise KeyboardInterrupt
    if code == 0:
        return None
    return (said.getvalue().strip().splitlines() or [f"exit code {code}"])[-1]


def _lines_of(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeError):
        return []


def _run(
    command: str, arguments: str, modes: str = "", devices: frozenset[str] = ON_BOTH
) -> TinyRun:
    return TinyRun(command, arguments, frozenset(modes.split()), devices)


_LISTED = "--base base.fa --targets targets.fa --exons exons.tsv"
_SITES = "--base base.fa --targets targets.fa --site-model vertebrate"
_ON_EXONS = "--base base.fa --proteins proteins.fa --exons exons.tsv"
_ON_GENES = "--base base.fa --proteins proteins.fa --site-model vertebrate"
_GENOME = "--genome base.fa --site-model vertebrate"
_LARGE_SCORES = "--match 3000 --mismatch -3000 --gap -3000"
_LOCAL = "--query query.fa --subject base.fa --k 3"
_PROTEINS = "--query proteins.fa --subject proteins.fa --gap-open 11 --gap-extend 1"
_ONLY_16_BITS = "--query proteins.fa --subject proteins.fa --gap-open 200 --gap-extend 200"
_LONGER = "--patterns lengths.fa --text base.fa"
_REFERENCE = "--reference base.fa --annotation gene.gff3"
_MATCHING = "--patterns patterns.fa --text base.fa"

TINY_RUNS = (
    _run("local-align", _LOCAL),
    _run("local-align", f"{_LOCAL} --match 40000 --mismatch -40000 --gap-open 90000", WIDE),
    _run("local-align", f"{_LOCAL} --match 130 --mismatch -130 --gap-open 300"),
    _run("local-align", "--query long.fa --subject long.fa --k 1", WIDE),
    _run("local-align", f"{_PROTEINS} --k 4 --matrix BLOSUM62", "matrix"),
    _run("local-align", f"{_ONLY_16_BITS} --k 4 --matrix BLOSUM62", "matrix"),
    _run("local-align", f"{_PROTEINS} --k 4 --matrix large.txt", f"matrix {WIDE}"),
    _run("spliced-align", _LISTED),
    _run("spliced-align", f"{_LISTED} {_LARGE_SCORES}", WIDE),
    _run("spliced-align", f"{_LISTED} --shuffles 20", "shuffles"),
    _run("spliced-align", f"{_LISTED} --best 2 --max-evalue 1", "best"),
    _run("spliced-align", f"{_SITES} --coding", "site_model coding"),
    _run("spliced-align", f"{_SITES} --coding {_LARGE_SCORES}", f"site_model coding {WIDE}"),
    _run("spliced-align", _SITES, "site_model"),
    _run("spliced-align", f"{_SITES} {_LARGE_SCORES}", f"site_model {WIDE}"),
    _run("spliced-align", _ON_GENES, "site_model proteins"),
    _run(
        "spliced-align",
        f"{_ON_GENES} --gap-open 40000",
        f"site_model proteins {WIDE}",
        devices=ON_CPU,
    ),
    _run("spliced-align", _ON_EXONS, "proteins", devices=ON_CPU),
    _run("spliced-align", f"{_ON_EXONS} --gap-open 40000", f"proteins {WIDE}", devices=ON_CPU),
    _run("annotate", f"{_GENOME} --proteins proteins.fa", "site_model proteins", devices=ON_CPU),
    _run("annotate", f"{_GENOME} --cdnas targets.fa", "site_model", devices=ON_CPU),
    _run("lift", f"{_REFERENCE} --genome other.fa --site-model fly", devices=ON_CPU),
    _run("spliced-align", f"{_LISTED} --ends free", "free", devices=ON_CPU),
    _run("spliced-align", f"{_LISTED} --coding", "coding", devices=ON_CPU),
    _run("global-align", "--query query.fa --subject query.fa"),
    _run("global-align", f"{_PROTEINS} --matrix BLOSUM62", "matrix"),
    _run("match-approximate", f"{_MATCHING} --max-distance 2"),
    _run("match-approximate", f"{_MATCHING} --max-distance 1 --both-strands", WIDE),
    _run("match-approximate", f"{_MATCHING} --best", "best"),
    _run("match-approximate", f"{_MATCHING} --max-distance 4 --substitution 2", "costs"),
    _run("match-approximate", f"{_MATCHING} --best --substitution 2", "best costs"),
    _run("match-approximate", f"{_LONGER} --max-distance 5", WIDE),
    _run("match-approximate", f"{_LONGER} --max-distance 5 --substitution 2", f"costs {WIDE}"),
    _run("match-exact", _MATCHING),
    _run("match-exact", "--patterns lines.txt --text base.fa --alphabet bytes", "bytes"),
    _run("max-segments", "--sequence base.fa --scale gc"),
    _run("max-segments", "--sequence base.fa --scale gc --all", "every"),
    _run("max-segments", "--values int64.npy", "values"),
    _run("max-segments", "--values int64.npy --all", "values every"),
    _run("max-segments", "--values float64.npy", f"values {WIDE}"),
    _run("max-segments", "--values float64.npy --all", f"values every {WIDE}"),
    _run("max-submatrix", "--matrix matrix.tsv"),
    _run("max-submatrix", "--matrix large.npy", WIDE),
    _run("max-submatrix", "--matrix fractions.npy", WIDE),
    _run("exons predict", "--base base.fa", devices=ON_CPU),
)
"""The longest ones first."""


def write_inputs(folder: Path) -> None:
    """Write the files that the runs read: a gene of four exons, and what resembles it."""
    random = Random(3)
    exons = [_text(random, 120) for _ in range(4)]
    intron = f"GTAAGT{_text(random, 200)}TTTTTTTTCCTTTCAG"
    before = _text(random, 300)
    base = before + intron.join(exons) + _text(random, 300)
    _write_fasta(folder / "base.fa", base=base)
    _write_fasta(folder / "targets.fa", whole="".join(exons), part="".join(exons[1:]))
    _write_fasta(folder / "query.fa", query="".join(exons[:3]))
    protein = _text(random, 150, _RESIDUES)
    _write_fasta(folder / "proteins.fa", a=protein, b=protein[20:90] + protein[60:130])
    _write_fasta(folder / "patterns.fa", a=exons[0][:24], b=exons[1][:30])
    # GPUs have kernels for several lengths
    lengths = {f"of{n}": base[n : 2 * n] for n in (50, 100, 200, 400, 800)}
    _write_fasta(folder / "lengths.fa", **lengths)
    _write_fasta(folder / "long.fa", long=_text(random, 6000))
    (folder / "lines.txt").write_text(f"{exons[0][:12]}\n{exons[1][:16]}\n")
    starts = [len(before) + 1 + k * (120 + len(intron)) for k in range(4)]
    rows = [f"base\t{start}\t{start + 119}\t{strand}" for start in starts for strand in "+-"]
    (folder / "exons.tsv").write_text("\n".join(["base\tstart\tend\tstrand", *rows, ""]))
    genes = [f"base\t.\t{kind}\t{start}\t{start + 119}\t.\t+\t{phase}\tParent=t"
             for start in starts for kind, phase in (("exon", "."), ("CDS", "0"))]  # fmt: skip
    genes.insert(0, f"base\t.\tgene\t{starts[0]}\t{starts[-1] + 119}\t.\t+\t.\tID=t")
    (folder / "gene.gff3").write_text("\n".join(["##gff-version 3", *genes, ""]))
    _write_fasta(folder / "other.fa", other=base[:400] + "ACGTACG" + base[405:900] + base[903:])
    _write_numbers(folder, np.random.default_rng(3))


def _text(random: Random, length: int, letters: str = "ACGT") -> str:
    return "".join(random.choices(letters, k=length))


def _write_fasta(path: Path, **records: str) -> None:
    path.write_text("".join(f">{name}\n{text}\n" for name, text in records.items()))


def _write_numbers(folder: Path, random: np.random.Generator) -> None:
    values, matrix = random.integers(-9, 10, 500), random.integers(-9, 10, (30, 30))
    np.save(folder / "int64.npy", values)
    np.save(folder / "float64.npy", values / 8)
    rows = [f"{a} " + " ".join("3000" if a == b else "-3000" for b in _RESIDUES) for a in _RESIDUES]
    (folder / "large.txt").write_text("\n".join([f"  {' '.join(_RESIDUES)}", *rows, ""]))
    np.savetxt(folder / "matrix.tsv", matrix, "%d", delimiter="\t")
    np.save(folder / "large.npy", matrix << 40)
    np.save(folder / "fractions.npy", matrix / 8)
