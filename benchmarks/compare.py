"""Compare two versions of the package: the same public calls of both, in turns, in one run.

Run ``python -m benchmarks.compare BASE_DIR NEW_DIR OUT.json`` in the root of the newer tree. Each
tree is a checkout; a tree without its history names its commit in a file ``COMMIT`` or with
``--base-commit`` and ``--new-commit``. Every group of calls runs in a fresh process with
``PYTHONPATH`` of one tree (`benchmarks.public_calls`), then in one of the other tree, again and
again until the time is used up. A round that is run before the others compiles and is not counted.
``--groups`` and ``--repeats`` make rounds shorter. ``--tiny`` takes seconds: it shows that the
program works.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks import record
from benchmarks.case_sets import PUBLISHED, SMALL, case_set, demo_cases, il1rapl1_like
from benchmarks.public_calls import GROUPS
from gpu_tools.model.resources import resource_path

CALLS = Path(__file__).with_name("public_calls.py")
LARGEST_ROUNDS = 9
COMMANDS = "commands"
FULL = {
    "local length": 100_000, "protein length": 350, "protein pairs": 2_000,
    "text lengths": (1 << 22, 1 << 27), "values": 10**8, "matrix size": 4096,
}  # fmt: skip
TINY = {
    "local length": 300, "protein length": 40, "protein pairs": 3,
    "text lengths": (5_000, 20_000), "values": 10_000, "matrix size": 64,
}  # fmt: skip


def inputs_of(tiny: bool) -> dict:
    """Return what all calls work on: sizes, and sequences as names and codes."""
    cases = case_set(SMALL if tiny else PUBLISHED)
    large = cases[-1] if tiny else il1rapl1_like()
    demo = demo_cases()[:1] if tiny else demo_cases()
    demo_pairs = [(_plain(a.base), _plain(b.target)) for a in demo for b in demo]
    chosen = cases[:2] if tiny else cases[:101]
    return {
        **(TINY if tiny else FULL),
        "cases": [_plain_case(case) for case in cases],
        "large": _plain_case(large),
        "demo pairs": [(a, (b[0], b[1][:50])) for a, b in demo_pairs] if tiny else demo_pairs,
        "set pairs": [(_plain(case.base), _plain(case.target)) for case in chosen],
        "matrix": blosum62(),
    }


def _plain(sequence) -> tuple:
    return sequence.name, sequence.codes


def _plain_case(case) -> tuple:
    intervals = zip(case.exons.starts.tolist(), case.exons.ends.tolist(), strict=True)
    return _plain(case.base), _plain(case.target), list(intervals)


def blosum62() -> tuple[str, list]:
    """Return the letters of the shipped matrix and its scores."""
    lines = resource_path("matrices", "BLOSUM62.txt").read_text().splitlines()
    letters, *rows = [line.split() for line in lines if line and not line.startswith("#")]
    return "".join(letters), [[int(score) for score in row[1:]] for row in rows]


class Tree:
    """One version of the package.

    Parameters
    ----------
    folder : path
        Root of the checkout.
    commit : str, optional
        By default what the file ``COMMIT`` or git says.
    scratch : path
        Where what the version compiles is stored.
    """

    def __init__(self, folder: str, commit: str | None, scratch: Path):
        self.folder = Path(folder).resolve()
        if not (self.folder / "gpu_tools" / "__init__.py").exists():
            raise SystemExit(f"{folder} is no checkout: it has no gpu_tools/__init__.py")
        self.commit = commit or commit_of(self.folder)
        others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.folder), *filter(None, others)]),
            "NUMBA_CACHE_DIR": str(scratch / "numba"),
            "PYTHONPYCACHEPREFIX": str(scratch / "python"),
        }
        self.environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(self, *arguments, timeout: float) -> None:
        """Run Python with this version; raise `CalledProcessError` with what it said."""
        subprocess.run(
            [sys.executable, "-P", *map(str, arguments)], env=self.environment, timeout=timeout,
            cwd=self.folder, check=True, capture_output=True, text=True,
        )  # fmt: skip


def commit_of(folder: Path) -> str:
    """Return the commit of a checkout, or ``unknown``."""
    if (folder / "COMMIT").exists():
        return (folder / "COMMIT").read_text().strip()
    if not (folder / ".git").exists():
        return "unknown"
    command = ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def run_calls(tree: Tree, inputs: Path, group: str, device: str, timeout: float, repeats=7):
    """Return the figures of a group's calls by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "figures.json")
        tree.run(CALLS, inputs, group, device, path, repeats, 2, timeout=timeout)
        found = json.loads(path.read_text())
    if tree.folder not in Path(found["package"]).resolve().parents:
        raise RuntimeError(f"{found['package']} was measured instead of {tree.folder}")
    return found["calls"]


def run_commands(tree: Tree, inputs: Path, group: str, device: str, timeout: float, repeats=3):
    """Return the figures of whole processes by name; the digest is of the tables they write."""
    demo = tree.folder / "resources" / "demo"
    with tempfile.TemporaryDirectory() as folder:
        exons, table = Path(folder, "exons.gff3"), Path(folder, "table.tsv")
        base = ["--base", demo / "loci.fa.gz"]
        align = ["spliced-align", *base, "--targets", demo / "mrnas.fa.gz", "--device", device]
        align += ["--ends", "free-target", "--output", table, "--quiet"]
        listed = [*align, "--exons", exons, "--exon-weight", "0.5", "--intron-penalty", "10"]
        tree.run("-m", "gpu_tools", "exons", "predict", *base, "-o", exons, timeout=timeout)
        commands = {
            "process, import": ["-c", "import gpu_tools"],
            "process, gpu-tools --help": ["-m", "gpu_tools", "--help"],
            "process, demo, list mode": ["-m", "gpu_tools", *listed],
            "process, demo, site mode": ["-m", "gpu_tools", *align, "--site-model", "vertebrate"],
        }
        return {
            name: process_times(tree, command, table, timeout, repeats)
            for name, command in commands.items()
        }


def process_times(tree: Tree, command: list, table: Path, timeout: float, repeats: int) -> dict:
    """Return first and further times of a process, and a digest of the table it writes."""
    times = []
    table.write_text("")
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        tree.run(*command, timeout=timeout)
        times.append(time.perf_counter() - begin)
    digest = hashlib.sha256(table.read_bytes()).hexdigest()[:16]
    return {"first": times[0], "times": times[1:], "digest": digest}


class Comparison:
    """Rounds of all groups with both trees, and what came of them.

    Parameters
    ----------
    trees : dict
        ``base`` and ``new``.
    inputs : path
        Of the pickled inputs.
    devices : list of str
    deadline : float
        When the last process must have ended, by the monotonic clock.
    groups : list of str
        What is measured: groups of `benchmarks.public_calls`, and ``commands``.
    repeats : int
        Timed calls a process.
    """

    def __init__(
        self, trees: dict[str, Tree], inputs: Path, devices: list[str], deadline: float,
        groups: list[str], repeats: int,
    ):  # fmt: skip
        self.trees, self.inputs, self.deadline = trees, inputs, deadline
        calls = partial(run_calls, repeats=repeats)
        runs = [(group, run_commands if group == COMMANDS else calls) for group in groups]
        self.tasks = [(group, device, run) for device in devices for group, run in runs]
        self.rounds = []
        self.errors = []
        self.usual = {}

    def left(self) -> float:
        """Return the seconds left."""
        return self.deadline - time.monotonic()

    def warm_up(self, tiny_inputs: Path) -> None:
        """Compile what both trees need, several processes side by side; nothing is counted."""
        jobs = [(task, tree) for task in self.tasks for tree in self.trees.values()]

        def attempt(job):
            (group, device, run), tree = job
            try:
                run(tree, tiny_inputs, group, device, max(self.left() / 2, 1), repeats=0)
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                self._failed("warm-up", group, device, error)

        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(attempt, jobs))

    def round(self) -> bool:
        """Run each group that time is left for once with each tree; tell whether there was any."""
        self.rounds.append(found := defaultdict(dict))
        names = sorted(self.trees, reverse=len(self.rounds) % 2 == 0)
        for group, device, run in self.tasks:
            if self.left() < 2.5 * self.usual.get((group, device), 1):
                continue
            for name in names:
                begin = time.monotonic()
                try:
                    calls = run(self.trees[name], self.inputs, group, device, max(self.left(), 1))
                except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                    self._failed(name, group, device, error)
                    continue
                compiled = sum(max(one["first"] - _median(one), 0) for one in calls.values())
                self.usual[group, device] = time.monotonic() - begin - compiled
                for call, figures in calls.items():
                    found[f"{device}: {call}"][name] = figures
        return bool(found)

    def _failed(self, name: str, group: str, device: str, error: Exception) -> None:
        said = f"{error} {getattr(error, 'stderr', '') or ''}"[-1500:]
        print(f"{name}, {group} on {device}: {said}", file=sys.stderr, flush=True)
        self.errors.append({"tree": name, "group": group, "device": device, "error": said})

    def figures(self) -> dict:
        """Return medians in milliseconds, ratios, and whether results are equal, by call."""
        names = dict.fromkeys(name for found in self.rounds for name in found)
        return {name: summary([found[name] for found in self.rounds if name in found])
                for name in names}  # fmt: skip


def summary(rounds: list[dict]) -> dict:
    """Return the figures of one call: those of each tree, and the ratio of new to base.

    The ratio is the median of the rounds' ratios of medians. Below 1 the new tree is faster.
    """
    both = [found for found in rounds if len(found) == 2]
    ratios = [_median(found["new"]) / _median(found["base"]) for found in both]
    firsts = [found["new"]["first"] / found["base"]["first"] for found in both[1:]]
    figures = {"rounds": len(both)}
    if both:
        figures["ratio"] = round(statistics.median(ratios), 4)
        figures["ratios"] = [round(ratio, 4) for ratio in ratios]
        figures["equal"] = all(found["base"]["digest"] == found["new"]["digest"] for found in both)
    if firsts:
        figures["ratio_first_calls"] = round(statistics.median(firsts), 4)
    for name in ("base", "new"):
        own = [found[name] for found in rounds if name in found]
        if own:
            figures[f"{name}_ms"] = _ms(statistics.median(map(_median, own)))
            figures[f"{name}_least_ms"] = _ms(min(t for one in own for t in one["times"]))
            figures[f"{name}_first_ms"] = [_ms(one["first"]) for one in own]
    return figures


def _median(figures: dict) -> float:
    return statistics.median(figures["times"])


def _ms(seconds: float) -> float:
    return round(1e3 * seconds, 4)


def compare(options: argparse.Namespace) -> dict:
    """Run rounds until the time is used up; write the record after each; return the figures."""
    deadline = time.monotonic() + options.seconds
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        trees = {
            "base": Tree(options.base, options.base_commit, scratch / "base"),
            "new": Tree(options.new, options.new_commit, scratch / "new"),
        }
        for tiny in (True,) if options.tiny else (True, False):
            path = scratch / ("tiny" if tiny else "full")
            path.write_bytes(pickle.dumps(inputs_of(tiny)))
        devices, groups = options.devices.split(), options.groups.split()
        comparison = Comparison(trees, path, devices, deadline, groups, options.repeats)
        if not options.tiny:
            comparison.warm_up(scratch / "tiny")
        print(f"warm after {options.seconds - comparison.left():.0f} s", flush=True)
        more = True
        while more and len(comparison.rounds) < options.rounds:
            more = comparison.round()
            figures = comparison.figures()
            write(options.out, trees, comparison, figures)
            print(f"round {len(comparison.rounds)}: {comparison.left():.0f} s left", flush=True)
    return figures


def write(path: str, trees: dict[str, Tree], comparison: Comparison, figures: dict) -> None:
    """Write the record: both commits, the machine, errors, figures by call."""
    found = {
        "commits": {name: tree.commit for name, tree in trees.items()},
        "threads": len(os.sched_getaffinity(0)),
        "rounds": len(comparison.rounds),
        "errors": comparison.errors,
        "calls": figures,
    }
    record.write(path, found)


def options_of(arguments: list[str]) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", metavar="BASE_DIR")
    parser.add_argument("new", metavar="NEW_DIR")
    parser.add_argument("out", metavar="OUT.json")
    parser.add_argument("--base-commit")
    parser.add_argument("--new-commit")
    parser.add_argument("--devices", default="cuda cpu", help="say 'cpu' where there is no GPU")
    parser.add_argument("--seconds", type=float, default=450, help="of the whole run")
    parser.add_argument("--rounds", type=int, default=LARGEST_ROUNDS, help="at most")
    parser.add_argument("--groups", default=" ".join([*GROUPS, COMMANDS]), help="by spaces")
    parser.add_argument("--repeats", type=int, default=7, help="timed calls a process")
    parser.add_argument("--tiny", action="store_true", help="tiny inputs, one round")
    options = parser.parse_args(arguments)
    options.rounds = 1 if options.tiny else options.rounds
    return options


def main(arguments: list[str] | None = None) -> None:
    """Compare, and print a line a call."""
    found = compare(options_of(sys.argv[1:] if arguments is None else arguments))
    for name, figure in found.items():
        shown = (figure.get(key) for key in ("base_ms", "new_ms", "ratio", "equal"))
        print(name, *shown, sep="\t")


if __name__ == "__main__":
    main()
