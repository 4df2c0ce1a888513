"""Kills from the command line: python3 -m tests.kills --kills 300 --processes 2."""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

from benchmarks import record
from tests.kills.cases import CASES, server, write_all_inputs
from tests.kills.killing import CommandKiller, Kill
from tests.kills.workflow import WorkflowKiller


def kill_commands(options) -> list[dict]:
    """Kill commands, each as often; return a row for each kill."""
    chosen = [case for case in CASES if not options.only or case.name in options.only]
    with tempfile.TemporaryDirectory(prefix="kills-") as name, server() as own:
        write_all_inputs(Path(name))
        killers = [CommandKiller(case, Path(name), own.url) for case in chosen]
        with ThreadPoolExecutor(options.processes) as pool:
            list(pool.map(CommandKiller.measure, killers))
            print({k.case.name: round(k.seconds, 2) for k in killers}, flush=True)
            return list(pool.map(
                lambda k: row_of(killers[k % len(killers)], k, options), range(options.kills)
            ))  # fmt: skip


def row_of(killer: CommandKiller, number: int, options) -> dict:
    """Kill a command by a random number of its own; return a row of the record."""
    if options.until and time.monotonic() > options.until:
        return {"case": killer.case.name, "kill": "not done", "in_time": False, "faults": []}
    kill = Kill.drawn(Random(f"{options.seed} {number}"), killer.seconds)
    found, in_time = killer.faults(kill)
    for fault in found:
        print(f"kill {number}, {killer.case.name}, {kill}: {fault}", flush=True)
    return {"case": killer.case.name, "kill": str(kill), "in_time": in_time, "faults": found}


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
        rows += WorkflowKiller.rows(options)
    figures = figures_of(rows, time.monotonic() - start, options)
    if options.record:
        record.write(options.record, figures)
    print({key: value for key, value in figures.items() if key != "findings"})
    return bool(figures["findings"])


if __name__ == "__main__":
    sys.exit(main())
