"""compute-sanitizer over a small case of every kernel; findings by kernel and tool as JSON.

python3 -m tests.real_gpu.sanitize [RECORD.json] [--processes 16] [--seconds 480] [--tools ...]

The cases are those of `gpu-tools warm-up`, which together start every kernel. They first run
without the sanitizer, which compiles the kernels and gives the answers to compare with.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from benchmarks import record
from gpu_tools.cli.common.warming import TINY_RUNS, TinyRun, write_inputs

ROOT = Path(__file__).parents[2]
TOOLS = ("memcheck", "racecheck", "synccheck", "initcheck")
LONGEST_RUN = 240
_ENDS = ("ERROR SUMMARY", "RACECHECK SUMMARY")
_FINDING = re.compile(r"=========\s+(Error|Warning|Invalid|Uninitialized|Barrier|Race)", re.I)


class Outcome(NamedTuple):
    """What a tool, or ``none``, said of a case: the kernels that ran, and findings by kernel."""

    case: str
    tool: str
    state: str
    """Ok, findings, wrong answer, nothing to compare with, failed, too long or not run."""
    kernels: tuple[str, ...] = ()
    findings: dict[str, int] | None = None
    seconds: float = 0.0
    text: str = ""


def kernels_of_package() -> list[str]:
    """Return the names of all functions that are kernels."""
    names = set()
    package = ROOT / "gpu_tools"
    for path in (*package.rglob("gpu.py"), *package.rglob("gpu/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            decorators = getattr(node, "decorator_list", ())
            calls = [each.func for each in decorators if isinstance(each, ast.Call)]
            if any(isinstance(call, ast.Name) and call.id == "kernel" for call in calls):
                names.add(node.name)
    return sorted(names)


KERNELS = kernels_of_package()


def named_in(text: str) -> list[str]:
    """Return the kernels whose names a text contains; of names within names the longer ones."""
    found = [name for name in KERNELS if name in text]
    return [name for name in found if not any(name != other and name in other for other in found)]


def sanitizer() -> str:
    """Return the path of compute-sanitizer."""
    found = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not Path(found).exists():
        sys.exit("there is no compute-sanitizer on the PATH or in /usr/local/cuda/bin")
    return found


def run(folder: Path, run: TinyRun, tool: str, deadline: float) -> Outcome:
    """Run a case under a tool, or without one."""
    case, name = f"{run.command} {run.arguments}", f"{TINY_RUNS.index(run)}.{tool}"
    limit = min(LONGEST_RUN, deadline - time.monotonic())
    if limit < 5:
        return Outcome(case, tool, "not run")
    kernels, output, log = (folder / f"{name}.{kind}" for kind in ("kernels", "out", "log"))
    words = [sys.executable, "-m", "tests.real_gpu.noted", str(kernels), *run.line("cuda:0")[2:]]
    if tool != "none":
        words = [sanitizer(), "--tool", tool, "--print-limit", "50", *words]
    locks = folder / f"{name}.locks"  # runs side by side share the one GPU
    environment = os.environ | {
        "GPU_TOOLS_LOCKS": str(locks), "GPU_TOOLS_TINY_RUN": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }  # fmt: skip
    start = time.monotonic()
    with open(log, "wb") as stream:
        try:
            code = subprocess.run(
                [*words, "--quiet", "--output", str(output)], cwd=folder, env=environment,
                stdout=stream, stderr=stream, timeout=limit, check=False,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            code = None
    text = log.read_text("utf-8", "replace")
    return judged(case, tool, code, text, time.monotonic() - start, (kernels, output, folder, name))


def judged(case: str, tool: str, code: int | None, text: str, seconds: float, files) -> Outcome:
    """Return the outcome of a run that has ended with an exit code, None if it took too long."""
    kernels, output, folder, name = files
    lines = kernels.read_text("utf-8").splitlines() if kernels.exists() else []
    ran = sorted({name for line in lines for name in named_in(line)})
    findings = findings_in(text) if tool != "none" else {}
    expected = folder / f"{name.split('.')[0]}.none.out"
    state = "ok"
    if code is None:
        state = "too long"
    elif findings:
        state = "findings"
    elif code or (tool != "none" and not any(end in text for end in _ENDS)):
        state = "failed"
    elif not expected.exists():
        state = "nothing to compare with"
    elif output.read_bytes() != expected.read_bytes():
        state = "wrong answer"
    shown = "" if state == "ok" else text[-1500:]
    return Outcome(case, tool, state, tuple(ran), findings, round(seconds, 1), shown)


def findings_in(text: str) -> dict[str, int]:
    """Return how often the tool tells of a finding, by kernel."""
    found: Counter[str] = Counter()
    parts = re.split(r"(?m)^=========\s*$", text)
    for part in parts:
        if _FINDING.search(part) and not any(end in part for end in _ENDS):
            found[" ".join(named_in(part)) or "no kernel"] += 1
    total = sum(map(int, re.findall(r"(?:ERROR SUMMARY|displayed \(): *(\d+) error", text)))
    total += sum(map(int, re.findall(r"RACECHECK SUMMARY: (\d+) hazard", text)))
    if total and not found:
        found["unknown"] = total
    return dict(found) if total else {}


def figures_of(outcomes: list[Outcome], seconds: float) -> dict:
    """Return the record: what each tool said of each kernel, and every run that was not ok."""
    by_kernel: dict = {name: defaultdict(lambda: [0, 0]) for name in KERNELS}
    for outcome in outcomes:
        for name in outcome.kernels:
            by_kernel[name][outcome.tool][0] += outcome.state in ("ok", "findings")
        for names, count in (outcome.findings or {}).items():
            for name in set(names.split()) & set(by_kernel):
                by_kernel[name][outcome.tool][1] += count
    tools = sorted({outcome.tool for outcome in outcomes} - {"none"}, key=TOOLS.index)
    return {
        "seconds": round(seconds, 1),
        "states": dict(Counter(f"{each.tool}: {each.state}" for each in outcomes)),
        "kernels": {
            name: {tool: {"cases": of[tool][0], "findings": of[tool][1]} for tool in tools}
            for name, of in by_kernel.items()
        },
        "not_run": [name for name, of in by_kernel.items() if not of],
        "not_ok": [each._asdict() for each in outcomes if each.state != "ok"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", nargs="?", help="JSON file to write")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=480, help="no run lasts beyond this")
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    options = parser.parse_args()
    if problem := record.no_gpu():
        sys.exit(problem)
    start = time.monotonic()
    deadline = start + options.seconds
    runs = [run for run in TINY_RUNS if run.is_for("cuda")]
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(options.processes) as pool:
        folder = Path(name)
        write_inputs(folder)
        outcomes = list(pool.map(lambda each: run(folder, each, "none", deadline), runs))
        print(f"without the sanitizer: {time.monotonic() - start:.0f} s", flush=True)
        # racecheck takes longest
        tools = sorted(options.tools, key=("racecheck", "initcheck", "memcheck", "synccheck").index)
        jobs = [(each, tool) for tool in tools for each in runs]
        for outcome in pool.map(lambda job: run(folder, *job, deadline), jobs):
            outcomes.append(outcome)
            print(
                f"{outcome.tool}: {outcome.state}, {outcome.seconds} s: {outcome.case}", flush=True
            )
    figures = figures_of(outcomes, time.monotonic() - start)
    if options.record:
        record.write(options.record, figures)
    print(figures["states"], "not run:", figures["not_run"])
    sys.exit(any(outcome.state != "ok" for outcome in outcomes))


if __name__ == "__main__":
    main()
