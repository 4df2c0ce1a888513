"""What memory and disk can be had: the machine's, a scheduler's group's, or what is named."""

import pytest

from gpu_tools.errors import InputError
from gpu_tools.hardware import own_files
from gpu_tools.hardware.own_files import available_memory, check_memory, free_disk

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
