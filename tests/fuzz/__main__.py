"""Fuzzing from the command line: python3 -m tests.fuzz --inputs 20000 --processes 2."""

import argparse
import os
import sys

from benchmarks import record
from tests.fuzz.engine import Job, replay, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seed", type=int, default=1, help="another seed, other inputs")
    parser.add_argument("--seconds", type=float, help="no input is begun after so many")
    parser.add_argument("--record", help="JSON file to write")
    parser.add_argument("--replay", type=int, metavar="INPUT", help="try one input again")
    options = parser.parse_args()
    job = Job(options.inputs, options.seed, options.processes, options.seconds)
    print(f"seed {job.seed}, {job.inputs} inputs, {job.processes} processes", flush=True)
    if options.replay is not None:
        found = replay(job, options.replay)
        print(*found or ["nothing is wrong"], sep="\n")
        return bool(found)
    figures = run(job)
    if options.record:
        record.write(options.record, figures)
    for each in figures["findings"]:
        print(f"input {each['input']}, {each['times']} times: {each['target']}\n{each['fault']}\n")
    print(f"{figures['inputs']} inputs in {figures['seconds']} s:", end=" ")
    print(f"{len(figures['findings'])} kinds of findings")
    if figures["unfinished"]:
        print(f"under way when the time was over: inputs {figures['unfinished']}")
    return bool(figures["findings"])


if __name__ == "__main__":
    sys.exit(main())
