"""Snakemake's command line in a process of its own, without importing Snakemake every time.

A server imports it once, and its forks run what the command ``snakemake`` runs: most of the time of
a dry run is imports.
"""

import multiprocessing
import os
import sys
from multiprocessing import forkserver
from unittest import mock

SERVER = multiprocessing.get_context("forkserver")


def snakemake(arguments, folder, environment, output):
    """Run Snakemake and return its exit code; what it prints goes to the file `output`."""
    SERVER.set_forkserver_preload(["snakemake.cli", "yaml"])
    with mock.patch.dict(os.environ, environment):  # plugins look at it when they are imported
        forkserver.ensure_running()
    process = SERVER.Process(target=_run, args=(arguments, folder, environment, output))
    process.start()
    process.join()
    return process.exitcode


def _run(arguments, folder, environment, output):
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["snakemake", *map(str, arguments)]
    stream = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (1, 2):
        os.dup2(stream, standard)
    from snakemake.cli import main

    main(arguments)
