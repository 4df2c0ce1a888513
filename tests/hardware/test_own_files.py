"""Compiled code never comes from a folder that somebody else can write."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tools.hardware.own_files import private_folder


@pytest.fixture(autouse=True)
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
