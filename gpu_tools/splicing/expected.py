"""About what cases take, by figures of the time model that `gpu_tools.estimate` ships."""

from __future__ import annotations

import json
from functools import cache

from gpu_tools.hardware.device import Device
from gpu_tools.hardware.small_inputs import unless_small
from gpu_tools.model.resources import resource_path


def device_for(where: Device, mode: str, cases: int, cells: int, threads: int) -> Device:
    """Return the device for some cases: the CPU instead of a GPU that takes longer to start.

    Parameters
    ----------
    where : Device
        What was resolved.
    mode : {"list", "site"}
    cases, cells : int
        How many cases there are, and their nominal cells.
    threads : int
        Threads of the CPU.
    """
    return unless_small(where, cpu_seconds(mode, cases, cells) / threads, _figures()["start"])


def cpu_seconds(mode: str, cases: int, cells: int) -> float:
    """Return about what one thread of a CPU takes for cases of the usual shape.

    Parameters
    ----------
    mode : {"list", "site"}
    cases, cells : int
        How many cases there are, and their nominal cells.
    """
    own = _figures()[mode]
    return cases * own["case"] + cells * own["cell"]


@cache
def _figures() -> dict:
    return json.loads(resource_path("estimate", "small.json").read_text(encoding="utf-8"))
