"""Inputs that a CPU has done before a GPU has started: under ``auto`` the CPU does them."""

from __future__ import annotations

import logging
import os
from contextlib import suppress

from gpu_tools.hardware.device import Device, simulated

_log = logging.getLogger(__name__)
GPU_START = "GPU_TOOLS_GPU_START"
"""Variable of the environment that names what starting a GPU takes, in seconds; 0: nothing."""
_STATE = {"started": False, "small": False}


def unless_small(where: Device, cpu_seconds: float, start_seconds: float) -> Device:
    """Return the CPU instead of a GPU that takes longer to start than the CPU to do the work.

    The result does not depend on the device. A GPU that this process has used before is started.

    Parameters
    ----------
    where : Device
        One that does not give way to the CPU is returned as it is.
    cpu_seconds : float
        About what the CPU takes, on all threads.
    start_seconds : float
        About what starting a GPU takes: its context, and kernels from the compile cache. The
        environment may name another number.
    """
    if where.kind == "cpu" or simulated():
        return where
    if where.or_cpu and not _STATE["started"] and cpu_seconds < _start_seconds(start_seconds):
        _log.info("the CPU takes about %.2g s, less than a GPU to start", cpu_seconds)
        _STATE["small"] = True
        return Device("cpu")
    _STATE["started"] = True
    return where


def take_gpu() -> None:
    """Have GPUs do small inputs too, in this process: for calls that are timed."""
    _STATE["started"] = True


def was_small() -> bool:
    """Tell whether the CPU has done all that a GPU might have done in this process."""
    return _STATE["small"] and not _STATE["started"]


def _start_seconds(usual: float) -> float:
    with suppress(KeyError, ValueError):
        return float(os.environ[GPU_START])
    return usual
