"""Folders of one user alone, and the memory and disk that can be had."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tools.errors import InputError
from gpu_tools.hardware import own_files
from gpu_tools.hardware.own_files import (
    available_memory,
    check_memory,
    free_disk,
    private_folder,
)


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Have an own folder for temporary files, and none chosen yet."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    private_folder.cache_clear()
    yield tmp_path
    private_folder.cache_clear()


def test_the_folder_is_the_users_alone_and_shared_by_processes(temporary):
    folder = private_folder()
    assert folder == temporary / f"gpu-tools-{os.geteuid()}"
    assert folder.stat().st_mode & 0o777 == 0o700
    private_folder.cache_clear()
    assert private_folder() == folder


@pytest.mark.parametrize("others", ["writable", "link", "file"])
def test_a_name_that_is_taken_is_not_used(temporary, others):
    name = temporary / f"gpu-tools-{os.geteuid()}"
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if others == "writable":
        name.mkdir()
        name.chmod(0o777)
    elif others == "link":
        name.symlink_to(elsewhere)
    else:
        name.touch()
    folder = private_folder()
    assert folder not in (name, elsewhere)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_folder_of_one_process_goes_with_it(temporary):
    (temporary / f"gpu-tools-{os.geteuid()}").touch()
    code = "from gpu_tools.hardware.own_files import private_folder; print(private_folder())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(str(temporary))
    assert not Path(done.stdout.strip()).exists()


GIB = 1 << 30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Return a function that writes what the system tells."""
    monkeypatch.delenv(own_files.MEMORY, raising=False)
    for name in ("_MEMINFO", "_GROUP", "_GROUPS"):
        monkeypatch.setattr(own_files, name, tmp_path / name)

    def tell(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("DOT", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return tell


def test_nothing_is_known(system):
    assert available_memory() is None
    check_memory(1 << 60, "stars")


def test_the_machine_says(system):
    system(_MEMINFO="MemTotal: 9 kB\nMemAvailable:    2097152 kB\n")
    assert available_memory() == 2 * GIB
    with pytest.raises(
        InputError, match=r"^cells take 3.0 GiB of memory; expected at most the 2.0 "
    ):
        check_memory(3 * GIB, "cells")


def test_a_group_has_less(system):
    system(_MEMINFO="MemAvailable: 2097152 kB\n", _GROUP="0::/job/step\n")
    system(_GROUPS__job__step__memoryDOTmax="max\n", _GROUPS__job__step__memoryDOTcurrent="5\n")
    system(_GROUPS__job__memoryDOTmax=f"{GIB}\n", _GROUPS__job__memoryDOTcurrent=f"{GIB // 2}\n")
    system(_GROUPS__job__memoryDOTstat=f"anon 3\ninactive_file {GIB // 4}\n")
    assert available_memory() == GIB * 3 // 4


def test_an_older_kind_of_group(system):
    system(_MEMINFO="MemAvailable: 2097152 kB\n", _GROUP="9:cpu:/x\n8:memory:/job\n")
    names = "_GROUPS__memory__job__memoryDOTlimit_in_bytes", "_GROUPS__memory__job__memoryDOT"
    system(**{names[0]: f"{GIB}\n", f"{names[1]}usage_in_bytes": "0\n"})
    assert available_memory() == GIB


@pytest.mark.parametrize(("text", "expected"), [("1.5", GIB * 3 // 2), ("x", 2 * GIB)])
def test_the_environment_says(system, monkeypatch, text, expected):
    system(_MEMINFO="MemAvailable: 2097152 kB\n")
    monkeypatch.setenv(own_files.MEMORY, text)
    assert available_memory() == expected


def test_a_disk(tmp_path):
    assert free_disk(tmp_path) > 0
    assert free_disk(tmp_path / "none") is None
