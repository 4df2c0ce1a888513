"""What Linux has and another system may lack is asked for in one module, which does without."""

import subprocess
import sys

import pytest

from gpu_tools.hardware import system

ELSEWHERE = """
import os, pkgutil, sys
from pathlib import Path

sys.modules["fcntl"] = sys.modules["resource"] = None
del os.sched_getaffinity
read = Path.read_text
def missing(path, *arguments, **options):
    if str(path).startswith(("/proc/", "/sys/")):
        raise FileNotFoundError(2, "no such file", str(path))
    return read(path, *arguments, **options)
Path.read_text = missing

import gpu_tools
for module in pkgutil.walk_packages(gpu_tools.__path__, "gpu_tools."):
    if ".gpu" not in module.name and not module.name.endswith("__main__"):
        __import__(module.name)
from gpu_tools.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_commands_run_on_a_system_without_locks(tmp_path):
    exons = tmp_path / "exons.tsv"
    exons.write_text("base\tstart\tend\tstrand\nb\t1\t9\t+\n")
    words = ["exons", "convert", exons, "--to", "bed", "--output", tmp_path / "exons.bed"]
    command = [sys.executable, "-c", ELSEWHERE, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "compiled code cannot be stored" in done.stderr
    assert (tmp_path / "exons.bed").read_text() == "b\t0\t9\t.\t0\t+\n"


def test_a_lock_is_an_error_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(system, "fcntl", None)
    with (tmp_path / "file").open("w") as stream, pytest.raises(OSError, match="no locks"):
        system.lock(stream)


def test_a_lock_that_another_holds(tmp_path):
    with (tmp_path / "file").open("w") as one, (tmp_path / "file").open("w") as other:
        system.lock(one)
        with pytest.raises(BlockingIOError):
            system.lock(other, wait=False)
    with (tmp_path / "file").open("w") as one, (tmp_path / "file").open("w") as other:
        system.lock(one, shared=True)
        system.lock(other, shared=True, wait=False)
