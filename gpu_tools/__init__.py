"""Exact sequence algorithms on a GPU, or without one, with the same answer."""

from gpu_tools.errors import DeviceError, GpuToolsError, InputError, OutputError, ScoringError

__all__ = [
    "DeviceError",
    "GpuToolsError",
    "InputError",
    "OutputError",
    "ScoringError",
]
