"""A working folder for the examples of the pages."""

import os
import subprocess
import sys

from tests.workflow.folders import ENVIRONMENT, ROOT


def prepare(path):
    """Make a folder in which the paths of the examples lead to this checkout; return it."""
    (path / "resources").symlink_to(ROOT / "resources")
    (path / "gpu-tools").symlink_to(ROOT)
    (path / "bin").mkdir()
    for name, arguments in (("gpu-tools", " -m gpu_tools"), ("python", "")):
        program = path / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        program.chmod(0o755)
    return path


def run(command, folder):
    """Run a command in the folder and return its standard output; it must succeed."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | ENVIRONMENT | {"PATH": path, "LC_ALL": "C"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
