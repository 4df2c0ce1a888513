"""Locks on GPUs, held by this process and by others."""

import os
import re
import subprocess
import sys
import threading
from contextlib import ExitStack

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import DeviceError
from gpu_tools.hardware import device
from gpu_tools.hardware.device import Gpu, is_held, reserved

CARDS = [Gpu(n, "card", "9.0", 1, "13.0", uuid) for n, uuid in enumerate(("GPU-b", "GPU-a"))]


@pytest.fixture
def cards(monkeypatch, tmp_path):
    """Pretend that there are two GPUs; nothing of a GPU is used here."""
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(device, "list_gpus", lambda: CARDS)


def test_what_is_held_shows_and_looking_holds_nothing(cards):
    with reserved("cuda:1"):
        assert [is_held(gpu) for gpu in CARDS] == [False, True]
    assert [is_held(gpu) for gpu in CARDS] == [False, False]


@pytest.mark.parametrize(
    ("specifications", "expected"),
    [
        (["auto"], ["cuda:0"]),
        (["auto", "auto", "auto"], ["cuda:0", "cuda:1", "cpu"]),
        (["cuda:0", "auto", "auto"], ["cuda:0", "cuda:1", "cpu"]),
        (["cuda", "cuda", "auto"], ["cuda:0", "cuda:1", "cpu"]),
        (["cuda:1,0", "auto"], ["cuda:1,0", "cpu"]),
        (["cpu", "auto"], ["cpu", "cuda:0"]),
    ],
)
def test_each_job_gets_its_own(cards, specifications, expected):
    with ExitStack() as stack:
        assert [stack.enter_context(reserved(text)) for text in specifications] == expected
    with reserved("cuda:0,1") as got:
        assert got == "cuda:0,1"


@pytest.mark.parametrize("specification", ["cuda:0", "cuda", "cuda:0,1"])
def test_explicit_device_is_waited_for(cards, specification):
    order = []

    def wait():
        with reserved(specification):
            order.append("second")

    with reserved("cuda:0"), reserved("cuda:1"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


HOLD = """
import fcntl, sys
stream = open(sys.argv[1], "w")
fcntl.flock(stream, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def test_lock_of_a_killed_process_is_gone(cards, tmp_path):
    with reserved("cuda:1"):
        pass
    lock = tmp_path / "locks" / "GPU-b.lock"
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"held\n"
    with reserved("auto") as got:
        assert got == "cuda:1"
    other.kill()
    other.wait()
    with reserved("auto") as got:
        assert got == "cuda:0"


def test_folder_is_for_all_users(cards, tmp_path):
    with reserved("auto"):
        assert (tmp_path / "locks").stat().st_mode & 0o7777 == 0o1777
        assert os.listdir(tmp_path / "locks") == ["GPU-b.lock"]


def test_no_folder_for_locks(cards, monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(tmp_path / "none" / "locks"))
    with pytest.raises(DeviceError, match="no folder for locks"):
        with reserved("auto"):
            pass


IN_THE_WAY = {
    "pipe": (os.mkfifo, "GPU-b.lock: cannot be locked (it is not a file)"),
    "folder": (os.mkdir, "GPU-b.lock: cannot be locked (it is not a file)"),
    "link": (lambda path: path.symlink_to("/etc/passwd"), "cannot be locked (Too many levels of"),
}


@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_what_is_no_lock_file(cards, tmp_path, kind):
    make, message = IN_THE_WAY[kind]
    (tmp_path / "locks").mkdir()
    make(tmp_path / "locks" / "GPU-b.lock")
    with pytest.raises(DeviceError, match=re.escape(message)):
        with reserved("auto"):
            pass


def test_a_folder_for_locks_that_leads_elsewhere(cards, monkeypatch, tmp_path):
    """In the folder for temporary files anyone may have put a link; a user's own is followed."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "gpu-tools-locks").symlink_to("elsewhere")
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(tmp_path / "gpu-tools-locks"))
    with reserved("auto") as got:
        assert got == "cuda:0"
    (tmp_path / "elsewhere" / "GPU-b.lock").unlink()
    monkeypatch.delenv("GPU_TOOLS_LOCKS")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(DeviceError, match="no folder for locks of GPUs"):
        with reserved("auto"):
            pass
    assert os.listdir(tmp_path / "elsewhere") == []


def test_cpu_needs_no_lock(monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(tmp_path / "none" / "locks"))
    with reserved("cpu") as got:
        assert got == "cpu"


def test_command_runs_on_the_cpu_while_another_holds_the_gpus(cards, tmp_path, monkeypatch, capsys):
    base = tmp_path / "x.fa"
    base.write_text(">x\nACGTACGT\n")
    exons = tmp_path / "x.bed"
    exons.write_text("x\t0\t8\n")
    words = ["spliced-align", "--base", base, "--targets", base, "--exons", exons]
    with reserved("cuda:0"), reserved("cuda:1"):
        assert main(list(map(str, words))) == 0
    seen = capsys.readouterr()
    assert "runs on the CPU" in seen.err
    assert seen.out.splitlines()[1].split("\t")[3] == "8"
