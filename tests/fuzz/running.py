"""One input to one target, in this process: what it says, writes and needs."""

from __future__ import annotations

import os
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple, TextIO

from gpu_tools.cli.main import cli, main
from gpu_tools.errors import GpuToolsError, printable
from tests.fuzz.mutations import hostile_options, mutated, options_of
from tests.fuzz.targets import FORBIDDEN, corpus

MOST_SECONDS, MOST_BYTES = 10, 2 << 30
"""Of processor time and of memory beyond what there was before."""
OLD = b"a file that is to be replaced as a whole or not at all\n"
_STAY = ("loop", "folder")
_NONE: set[str] = set()
_INDEXES = (".fai", ".gzi", ".bai", ".csi")
_ODD_OUTPUTS = (
    "folder", "nowhere/out", "/dev/full", "loop", "-", "", "x" * 300, "\udcff", "a\nb", "/dev/null",
    "base.fa", "out.gz", "é",
)  # fmt: skip


class Need(NamedTuple):
    """Seconds of the processor and bytes of memory that an input took."""

    seconds: float
    bytes: int


class Folder:
    """The current folder, which holds the files of one input at a time."""

    def __init__(self, path: Path):
        os.chdir(path)
        Path("loop").symlink_to("loop")
        Path("folder").mkdir()

    def lay_out(self, files: dict[str, bytes]) -> None:
        """Have the folder hold these files and nothing else."""
        for entry in os.scandir():
            if entry.name not in _STAY:
                os.unlink(entry.path)  # noqa: PTH108  (many thousand times)
        for name, content in files.items():
            with open(name, "wb") as stream:
                stream.write(content)

    def names(self) -> set[str]:
        """Return what is there."""
        return set(os.listdir()) - set(_STAY)


@contextmanager
def measured(need: list[Need]) -> Iterator[None]:
    """Append what the block needs."""
    before = _memory("VmRSS")
    _forget_peak()
    start = time.process_time()
    try:
        yield
    finally:
        seconds = time.process_time() - start
        need.append(Need(seconds, max(_memory("VmHWM") - before, 0)))


def _forget_peak() -> None:
    try:
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")
    except OSError:  # a kernel that cannot: the peak is that of all inputs of this process
        pass


def _memory(field: str) -> int:
    with open("/proc/self/status", encoding="ascii", errors="replace") as stream:
        for line in stream:
            if line.startswith(field):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


class Streams:
    """Standard output and error as files that are read and emptied after each input."""

    def __init__(self, folder: Path):
        self._files = [os.open(folder / name, os.O_RDWR | os.O_CREAT) for name in ("1", "2")]
        self._nothing = os.open(os.devnull, os.O_RDWR)

    @contextmanager
    def captured(self, said: list[str]) -> Iterator[None]:
        """Append what the block writes to standard error."""
        own = [os.dup(number) for number in range(3)]
        for number, handle in enumerate((self._nothing, *self._files)):
            os.dup2(handle, number)
        before = sys.stdin, sys.stdout, sys.stderr
        with open(0, closefd=False) as sys.stdin, _text(1) as sys.stdout, _text(2) as sys.stderr:
            try:
                yield
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                sys.stdin, sys.stdout, sys.stderr = before
        self._end(own, said)

    def _end(self, own: list[int], said: list[str]) -> None:
        for number, handle in enumerate(own):
            os.dup2(handle, number)
            os.close(handle)
        size = os.fstat(self._files[1]).st_size
        said.append(os.pread(self._files[1], size, 0).decode("utf-8", "replace"))
        for handle in self._files:
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)


def _text(number: int) -> TextIO:
    return open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)


class Runner:
    """Runs targets in an empty folder, which becomes the current one."""

    def __init__(self, folder: Path):
        (folder / "files").mkdir()
        self.streams, self.folder = Streams(folder), Folder(folder / "files")
        os.environ["GPU_TOOLS_TINY_RUN"] = "1"

    def reader(self, read: Callable, names: tuple[str, ...], rng: Random) -> list[str]:
        """Give a reader a damaged file; return what is wrong with what it does."""
        name = rng.choice(names)
        self.folder.lay_out({name: mutated(name, corpus()[name], rng)})
        need, said, found = [], [], []
        with self.streams.captured(said), measured(need):
            try:
                read(name)
            except GpuToolsError as error:
                printable(str(error))
            except BaseException:
                found.append(f"an exception: {traceback.format_exc()}")
        return found + faults_of_need(need[0])

    def command(self, words: list[str], rng: Random) -> list[str]:
        """Run a command with damage to its files or options; return what is wrong."""
        files, line, outputs = damaged_command(words, rng)
        self.folder.lay_out(files)
        return self.faults(line, files, outputs)

    def faults(
        self, line: list[str], files: dict[str, bytes], outputs: set[str], stay: set[str] = _NONE
    ) -> list[str]:
        """Run a command line among files; return what is wrong with what it does.

        `outputs` may be there after a run that ends well, what is to `stay` after any.
        """
        need, said, code = [], [], -1
        with self.streams.captured(said), measured(need):
            try:
                code = main(line)
            except BaseException:
                traceback.print_exc()
        found = faults_of_need(need[0])
        found += faults_of_words(code, said[0])
        if code and "cannot be written" in said[0]:
            stay = stay | outputs  # what was complete before another output failed
        found += self._faults_of_files(code, files, outputs, stay)
        return [f"{fault}; {line}; {said[0][-1500:]}" for fault in found]

    def _faults_of_files(
        self, code: int, files: dict[str, bytes], outputs: set[str], stay: set[str]
    ) -> Iterator[str]:
        written = {n for n in self.folder.names() - set(files) if not n.endswith(_INDEXES)} - stay
        if code and written:
            yield f"files of a run that failed: {sorted(written)}"
        if not code and not written <= outputs:
            yield f"files that are no outputs: {sorted(written - outputs)}"
        for name, content in files.items():
            may_change = name in outputs and (not code or name in stay)
            if not may_change and Path(name).read_bytes() != content:
                yield f"{name} has changed"
        if not code and "out" in files and "out" in outputs and Path("out").read_bytes() == OLD:
            yield "the output was not written"


def damaged_command(words: list[str], rng: Random) -> tuple[dict[str, bytes], list[str], set[str]]:
    """Return files, a command line, and the names of the outputs that it may write."""
    known = corpus()
    names = [word for word in words if word in known]
    files = {name: known[name] for name in {*names, "base.fa"}}
    if names and rng.random() < 0.7:
        name = rng.choice(names)
        files[name] = mutated(name, files[name], rng)
    options = options_of(words, cli)
    line = [*words, *hostile_options(options, FORBIDDEN, rng)]
    known_options = {option.name for option in options}
    if "device" in known_options:
        line += ["--device", "cpu", "--threads", "2"]
    output = rng.choice(_ODD_OUTPUTS) if rng.random() < 0.1 else "out"
    if "output" in known_options:
        line += ["--output", output]
    line += ["--quiet"] if "quiet" in known_options else []
    outputs = {output, *(word for word in words if word.startswith("a."))}
    if output == "out" and rng.random() < 0.5:
        files["out"] = OLD
    return files, line, outputs


def faults_of_need(need: Need) -> list[str]:
    """Return whether an input took too much."""
    found = []
    if need.seconds > MOST_SECONDS:
        found.append(f"time: {need.seconds:.0f} s")
    if need.bytes > MOST_BYTES:
        found.append(f"memory: {need.bytes >> 20} MiB")
    return found


def faults_of_words(code: int, errors: str) -> list[str]:
    """Return what is wrong with an exit code and what was said."""
    found = []
    if code not in (0, 1, 2):
        found.append(f"exit code {code}")
    if "Traceback" in errors:
        found.append("a traceback")
    if "out of memory" in errors:
        found.append("out of memory")
    if code in (1, 2) and "rror: " not in errors:
        found.append("no word of what is wrong")
    return found


def bound_memory(more: int | None) -> None:
    """Let this process take so many more bytes of addresses, or any, so that others have theirs."""
    size = resource.RLIM_INFINITY if more is None else _memory("VmSize") + more
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
