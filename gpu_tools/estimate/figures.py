"""The figures of a device, seconds per part of the work, which are shipped or measured.

Measured figures lie in the user's cache folder, a file per device. They are valid for one version
of the package.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import GpuToolsError
from gpu_tools.estimate.model import CALL, CPU, FEATURES, MODES, summed
from gpu_tools.formats.files import open_output
from gpu_tools.hardware.device import list_gpus
from gpu_tools.hardware.own_files import private_folder
from gpu_tools.model.resources import installed_version, resource_path

_CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class DeviceFigures:
    """Seconds of each part of the work on a device.

    Parameters
    ----------
    kind : {"cpu", "gpu"}
    device : str
        Name of the processor or GPU.
    version : str
        Version of the package that was measured.
    seconds : dict of str to dict of str to float
        By mode, ``list`` or ``site``, and then by part: ``call``, and those of
        `gpu_tools.estimate.model.FEATURES`.
    """

    kind: str
    device: str
    version: str
    seconds: dict[str, dict[str, float]]

    def each(self, mode: str, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the seconds of calls of one case each, by features; see `model.CaseWork`."""
        return self.seconds[mode][CALL] + features @ self._weights(mode)

    def together(
        self, mode: str, features: NDArray[np.float64], threads: int = 1, shared=1, repeated=None
    ) -> float:
        """Return the seconds of one call of all cases.

        On a CPU threads share the cases; up to `shared` of them share a case. A GPU works on the
        critical paths of all cases at the same time. `repeated` cases have the base of another.
        """
        if not len(features):
            return 0.0
        own, weights = self.seconds[mode], self._weights(mode)
        if self.kind == CPU:
            each = features @ weights
            alone = each / np.minimum(shared, threads)
            return own[CALL] + max(float(alone.max()), float(each.sum()) / threads)
        return own[CALL] + float(summed(mode, self.kind, features, repeated) @ weights)

    def _weights(self, mode: str) -> NDArray[np.float64]:
        return np.array([self.seconds[mode][name] for name in FEATURES[mode, self.kind]])


def shipped_figures(kind: str) -> DeviceFigures:
    """Return the shipped figures of a kind of device, from the project's records."""
    return _parsed(resource_path("estimate", f"{kind}.json").read_text(encoding="utf-8"))


def device_name(kind: str) -> str:
    """Return the name of this machine's processor or of its first GPU."""
    return _processor() if kind == CPU else list_gpus()[0].name


def _processor() -> str:
    with suppress(OSError):
        for line in _CPUINFO.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def stored_figures(kind: str) -> DeviceFigures | None:
    """Return the figures that were measured on this device with this version, or None.

    A file that is unreadable or damaged counts as absent.
    """
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, GpuToolsError):
        found = _parsed(_file_of(kind, device_name(kind)).read_text(encoding="utf-8"))
        if (found.kind, found.device) == (kind, device_name(kind)):
            return found if found.version == installed_version() else None
    return None


def was_calibrated(kind: str) -> bool:
    """Return whether this user has measured any device of a kind, with any version."""
    return any(True for _ in cache_folder().glob(f"estimate-{kind}-*.json"))


def device_figures(kind: str = CPU) -> DeviceFigures:
    """Return how long each part of the work takes on this machine's CPU or on its first GPU.

    Parameters
    ----------
    kind : {"cpu", "gpu"}

    Returns
    -------
    DeviceFigures
        What `calibrate_device` measured and `store_figures` stored, on this device and with this
        version; else what is shipped, of another device.
    """
    return stored_figures(kind) or shipped_figures(kind)


def store_figures(figures: DeviceFigures) -> Path:
    """Write figures to the user's cache folder, from which `device_figures` reads them.

    Parameters
    ----------
    figures : DeviceFigures
        Others of the same device are replaced.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    OutputError
        If it cannot be written.
    """
    path = _file_of(figures.kind, figures.device)
    with open_output(path) as stream:
        json.dump(asdict(figures), stream, indent=2)
        stream.write("\n")
    return path


def cache_folder() -> Path:
    """Return the user's cache folder, or a private temporary one where there is none."""
    named = os.environ.get("XDG_CACHE_HOME")
    with suppress(OSError, RuntimeError):
        folder = (Path(named) if named else Path.home() / ".cache") / "gpu-tools"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    return private_folder()


def _file_of(kind: str, device: str) -> Path:
    digest = sha256(device.encode()).hexdigest()[:16]
    return cache_folder() / f"estimate-{kind}-{digest}.json"


def _parsed(text: str) -> DeviceFigures:
    """Return the figures in a text."""
    found = DeviceFigures(**json.loads(text))
    for mode in MODES:
        own = [float(found.seconds[mode][name]) for name in (CALL, *FEATURES[mode, found.kind])]
        if not all(isfinite(value) and value >= 0 for value in own):
            raise ValueError(f"figures of {found.device} that are no times")
    return found
