"""Kills from the command line: python3 -m tests.kills --kills 300 --processes 2."""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import record
from tests.kills.cases import CASES, server, write_all_inputs
from tests.kills.killing import CommandKiller, Killer
from tests.kills.workflow import WorkflowKiller


def kill_commands(options) -> list[dict]:
    """Kill commands, each as often; return a row for each kill."""
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    with tempfile.TemporaryDirectory(prefix="kills-") as name, server() as own:
        write_all_inputs(Path(name))
        killers = [CommandKiller(case, Path(name), own.url) for case in chosen]
        return rows_of(killers, options.kills, options.processes, options)


def kill_workflow(options) -> list[dict]:
    """Kill the workflow; return a row for each kill."""
    killer = WorkflowKiller(options.slurm, options.annotation)
    rows = rows_of(
        [killer], options.workflow, 1 if options.slurm else max(options.processes // 2, 1), options
    )
    print(f"{killer.name}: unlocked {killer.unlocked} times")
    return rows


def rows_of(killers: list[Killer], count: int, at_once: int, options) -> list[dict]:
    """Measure killers and kill in turn, some at once."""
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(Killer.measure, killers))
        print({k.name: round(k.seconds, 2) for k in killers}, flush=True)
        return list(pool.map(lambda k: killers[k % len(killers)].row(k, options), range(count)))


def figures_of(rows: list[dict], seconds: float, options) -> dict:
    """Return the record of all kills."""
    done = [row for row in rows if row["kill"] != "not done"]
    return {
        "seed": options.seed, "processes": options.processes, "seconds": round(seconds, 1),
        "kills": len(done), "in_time": sum(row["in_time"] for row in done),
        "by_case": dict(Counter(row["case"] for row in done)),
        "by_signal": dict(Counter(" ".join(row["kill"].split()[:4]) for row in done)),
        "faults": sum(bool(row["faults"]) for row in done),
        "findings": [row for row in done if row["faults"]],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300, help="of commands")
    parser.add_argument(
        "--workflow", type=int, default=0, metavar="N", help="kills of the workflow"
    )
    parser.add_argument(
        "--annotation", action="store_true", help="the workflow's target annotation"
    )
    parser.add_argument("--slurm", action="store_true", help="the workflow's jobs by SLURM")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, help="no kill is begun after so many")
    parser.add_argument("--only", nargs="+", choices=[case.name for case in CASES])
    parser.add_argument("--record", help="JSON file to write")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    start = time.monotonic()
    options.until = start + options.seconds if options.seconds else None
    rows = kill_commands(options) if options.kills else []
    if options.workflow:
        rows += kill_workflow(options)
    figures = figures_of(rows, time.monotonic() - start, options)
    if options.record:
        record.write(options.record, figures)
    print({key: value for key, value in figures.items() if key != "findings"})
    return bool(figures["findings"])


if __name__ == "__main__":
    sys.exit(main())
