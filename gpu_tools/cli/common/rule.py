"""Lets one file be a Snakemake rule script and a command to run by hand."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr
from pathlib import Path

import click

from gpu_tools.cli.main import cli, main

NO_OPTIONS = ("version", "needs", "fai", "gzi")


def run_rule(command: str | click.Command, snakemake=None) -> None:
    """Run a command with the options of a Snakemake job, or of this process.

    Named inputs, outputs and params become options of the same name (``_`` as ``-``); a list
    repeats its option, a tuple in it gives an option several words, True is a flag, False and
    None are left out; ``version`` is not an option, nor are ``needs``, files that a command finds
    beside its argument, and ``fai`` and ``gzi``, indexes that are written beside what they index.
    Unnamed inputs are the command's arguments, unnamed outputs what it writes beside the named
    ones. Standard error goes to the rule's log.
    """
    words, program = (command.split(), cli) if isinstance(command, str) else ([], command)
    if snakemake is None:
        raise SystemExit(main([*words, *sys.argv[1:]], program))
    log = Path(snakemake.log[0] if snakemake.log else os.devnull)
    with log.open("w", encoding="utf-8", buffering=1) as stream, redirect_stderr(stream):
        code = main([*words, *job_arguments(snakemake)], program)
    if code:
        raise SystemExit(code)


def job_arguments(snakemake) -> list[str]:
    """Return the command line that a job's inputs, outputs, params and threads stand for."""
    arguments: list[str] = []
    names = snakemake.params.keys()
    if {"device", "provider"} & set(names):  # a command with one of them has --threads
        arguments += ["--threads", str(snakemake.threads)]
    for group in (snakemake.input, snakemake.output, snakemake.params):
        for name, value in group.items():
            if name not in NO_OPTIONS:
                arguments += _option(name, value)
    if snakemake.params.get("device") == "auto" and snakemake.resources.get("gpu") == 0:
        arguments += ["--device", "cpu"]  # the last one counts; this job has no GPU
    unnamed = _unnamed(snakemake.input)
    return [*arguments, "--", *unnamed] if unnamed else arguments  # a name may begin with -


def _unnamed(files) -> list[str]:
    # Snakemake lists the unnamed ones first, as in a call
    named = sum(1 if isinstance(value, str) else len(value) for _, value in files.items())
    return [str(file) for file in list(files)[: len(files) - named]]


def _option(name: str, value) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if value is None or value is False:
        return []
    if value is True:
        return [option]
    values = [value] if isinstance(value, str) or not hasattr(value, "__iter__") else value
    return [word for item in values for word in (option, *_words(item))]


def _words(item) -> list[str]:
    return [str(word) for word in item] if isinstance(item, tuple) else [str(item)]
