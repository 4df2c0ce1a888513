"""What a process leaves that is killed while it writes."""

import os
import subprocess
import sys

import pytest

from gpu_tools.formats import files
from gpu_tools.formats.files import clear_leftovers, new_file, open_output

WRITES = """
import os, sys
from gpu_tools.formats.files import open_output
with open_output(sys.argv[1]) as stream:
    stream.write("half")
    stream.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def not_looked_yet():
    clear_leftovers.cache_clear()


def hidden(folder):
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_process_that_lives_keeps_its_file_and_one_that_is_killed_does_not(tmp_path):
    output = tmp_path / "x.txt"
    command = [sys.executable, "-c", WRITES, output]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"written\n"
        clear_leftovers(tmp_path)
        assert len(hidden(tmp_path)) == 1
        other.kill()
    assert len(hidden(tmp_path)) == 1
    clear_leftovers.cache_clear()
    with open_output(tmp_path / "y.txt") as stream:
        stream.write("whole")
    assert hidden(tmp_path) == []
    assert not output.exists()


@pytest.mark.parametrize(
    "name", [".x.txt", ".x.abcdefgh.txt", "x.gpu-tools-00000000-abcdefgh", ".gpu-tools-0-abcdefgh"]
)
def test_other_files_stay(tmp_path, name):
    (tmp_path / name).touch()
    clear_leftovers(tmp_path)
    assert (tmp_path / name).exists()


def test_what_another_machine_leaves_stays_for_a_day(tmp_path, monkeypatch):
    handle, path = new_file(tmp_path / "x.txt")
    os.close(handle)
    monkeypatch.setattr(files, "_machine", lambda: "another")
    clear_leftovers.cache_clear()
    clear_leftovers(tmp_path)
    assert path.exists()
    os.utime(path, (0, 0))
    clear_leftovers.cache_clear()
    clear_leftovers(tmp_path)
    assert not path.exists()


def test_a_link_in_the_place_of_a_leftover_is_not_followed(tmp_path):
    handle, path = new_file(tmp_path / "x.txt")
    os.close(handle)
    kept = tmp_path / "kept"
    kept.touch()
    path.unlink()
    path.symlink_to(kept)
    clear_leftovers.cache_clear()
    clear_leftovers(tmp_path)
    assert kept.exists()
