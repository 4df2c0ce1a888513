"""What ``gpu-tools check`` finds."""

import os

import pytest

from gpu_tools.cli import check as check_module
from gpu_tools.cli.main import main
from gpu_tools.errors import DeviceError
from gpu_tools.hardware import compiled, device
from gpu_tools.hardware.device import Gpu


def check(capsys, *arguments):
    """Return the exit code and the rows by what was looked at."""
    code = main(["check", *arguments])
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["what", "state", "found", "to_do"]
    return code, {line[0]: line[1:] for line in lines[1:]}


def test_a_machine_that_works_has_no_problem(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    code, found = check(capsys)
    assert code == 0
    assert found["python"][0] == found["numba"][0] == "ok"
    assert not [name for name, row in found.items() if row[0] == "problem"]
    assert found["compile cache"][0] == "note"  # nothing has been compiled into it
    assert "gpu-tools warm-up" in found["compile cache"][2]


def test_gpus_are_listed_and_those_of_other_jobs_are_told(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("GPU_TOOLS_LOCKS", str(tmp_path))
    cards = [Gpu(n, "card", "9.0", 80 * 10**9, "13.0", f"GPU-{n}") for n in range(2)]
    for module in (check_module, device):
        monkeypatch.setattr(module, "list_gpus", lambda: cards)
    with device.reserved("cuda:1"):
        _, found = check(capsys)
    assert found["driver"] == ["ok", "CUDA 13.0", "."]
    text = "card, compute capability 9.0, 80 GB"
    assert found["cuda:0"] == ["ok", text, "."]
    assert found["cuda:1"] == ["note", f"{text}; another job holds it", "wait for it"]


def test_what_is_compiled_counts_and_damage_is_seen(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    folder = tmp_path / "gpu-tools" / compiled.folder_name()
    (folder / "one").mkdir(parents=True)
    for name in ("a.nbi", "a.1.nbc"):
        (folder / "one" / name).write_bytes(bytes(range(99)))
    compiled._list_files(folder)
    _, found = check(capsys)
    assert found["compile cache"][:2] == ["ok", f"{folder}, 1 compiled functions"]
    (folder / "one" / "a.1.nbc").write_bytes(bytes(99))
    code, found = check(capsys)
    assert code == 1
    assert found["compile cache"][0] == "problem"
    assert "; 1 files are damaged" in found["compile cache"][1]


def test_compiled_code_lies_in_the_home(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    _, found = check(capsys)
    assert found["compile cache"][1].startswith(str(tmp_path / "caches" / "gpu-tools"))


@pytest.mark.parametrize(
    ("variable", "what", "to_do"),
    [("NUMBA_CACHE_DIR", "compile cache", "NUMBA_CACHE_DIR"),
     ("GPU_TOOLS_LOCKS", "locks of GPUs", "GPU_TOOLS_LOCKS")],
)  # fmt: skip
def test_a_folder_that_cannot_be_is_a_problem(capsys, tmp_path, monkeypatch, variable, what, to_do):
    (tmp_path / "file").touch()
    monkeypatch.setenv(variable, os.fspath(tmp_path / "file" / "folder"))
    code, found = check(capsys)
    assert code == 1
    assert found[what][0] == "problem"
    assert to_do in found[what][2]


DRIVERS = {
    "of CUDA 13": ((13, 0), "for this driver of CUDA 13.0: pip install '.[cuda13]'"),
    "of a cluster": ((12, 4), "for this driver of CUDA 12.4: pip install '.[cuda12]'"),
    "too old": ((11, 4), "install a driver of version 525 or newer"),
    "none": (None, ""),
}


@pytest.mark.parametrize("name", DRIVERS)
def test_the_extra_that_fits_the_driver_is_named(capsys, monkeypatch, name):
    def none():
        raise DeviceError("no usable CUDA device: as the driver says")

    version, expected = DRIVERS[name]
    monkeypatch.setattr(check_module, "list_gpus", none)
    monkeypatch.setattr(check_module, "driver_version", lambda: version)
    _, found = check(capsys)
    state, what, to_do = found["gpu"]
    assert (state, "as the driver says" in what) == ("note", True)
    assert to_do.startswith(expected)
    assert ("cuda1" in to_do) == ("pip" in expected)


def test_the_driver_tells_its_version(monkeypatch):
    class Driver:
        def __init__(self, name):
            assert name.startswith("libcuda.so")

        def cuDriverGetVersion(self, number):  # noqa: N802
            number._obj.value = 12040
            return 0

    monkeypatch.setattr(device.ctypes, "CDLL", Driver)
    assert device.driver_version() == (12, 4)
