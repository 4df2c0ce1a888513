"""Lets one file be a Snakemake rule script and a command to run by hand."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr
from pathlib import Path

from gpu_tools.cli.main import main


def run_rule(command: str, snakemake=None) -> None:
    """Run a gpu-tools command with the options of a Snakemake job, or of this process.

    Named inputs, outputs and params become options of the same name (``_`` as ``-``); a list
    repeats its option, True is a flag, False and None are left out; ``version`` is not an option.
    Standard error goes to the rule's log.

    Parameters
    ----------
    command : str
        The command's words, for example ``"exons predict"``.
    snakemake : object, optional
        What Snakemake gives to a script; None when the file is run by hand.
    """
    if snakemake is None:
        raise SystemExit(main([*command.split(), *sys.argv[1:]]))
    log = Path(snakemake.log[0] if snakemake.log else os.devnull)
    with log.open("w", encoding="utf-8", buffering=1) as stream, redirect_stderr(stream):
        code = main([*command.split(), *job_arguments(snakemake)])
    if code:
        raise SystemExit(code)


def job_arguments(snakemake) -> list[str]:
    """Return the command line that a job's named inputs, outputs, params and threads stand for."""
    names = snakemake.params.keys()
    arguments = ["--threads", str(snakemake.threads)] if "device" in names else []
    for group in (snakemake.input, snakemake.output, snakemake.params):
        for name, value in group.items():
            if name != "version":
                arguments += _option(name, value)
    return arguments


def _option(name: str, value) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    values = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else value
    return [word for item in values for word in (option, str(item))]
