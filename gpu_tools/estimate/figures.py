"""Figures of devices that times are estimated from: stored, shipped, and measured."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from math import inf, isfinite
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gpu_tools.errors import GpuToolsError
from gpu_tools.estimate.model import CALL, CPU, FEATURES, GPU, LIST, MODES, SITE, case_work, summed
from gpu_tools.formats.files import open_output
from gpu_tools.hardware.device import list_gpus, take_gpu
from gpu_tools.hardware.own_files import private_folder
from gpu_tools.model import sequences
from gpu_tools.model.exon_set import ExonSet
from gpu_tools.model.resources import installed_version, resource_path
from gpu_tools.model.scoring import GENE_SCORING
from gpu_tools.spliced.api import spliced_align
from gpu_tools.spliced.case import Case

# Calibration: a device's figures from calls that are timed once.
#
# Cases of many shapes are timed alone and together. The figures are non-negative and minimise the
# sum of squares of relative errors.


SITE_MODEL = "vertebrate"
TIMING_ROUNDS = 5
LONG_SECONDS = 1.0
_FIT_ROUNDS = 4000


class Sample(NamedTuple):
    """The shape of the cases of a timed call."""

    base: int  # length of the base, number of its exons, their mean length, length of the target
    exons: int
    exon: int
    target: int
    copies: int = 1  # cases of this shape in the call


SAMPLES = {
    (LIST, CPU): (
        Sample(2_000, 2, 100, 200), Sample(2_000, 4, 150, 1_500), Sample(20_000, 20, 150, 700),
        Sample(20_000, 40, 120, 1_500), Sample(20_000, 60, 150, 400), Sample(20_000, 12, 900, 900),
        Sample(50_000, 60, 150, 1_500), Sample(100_000, 150, 150, 1_500),
        Sample(50_000, 60, 150, 4_000), Sample(100_000, 300, 120, 2_500),
        Sample(100_000, 150, 150, 8_000), Sample(200_000, 600, 60, 1_000),
        Sample(2_000, 2, 100, 200, 64), Sample(20_000, 30, 140, 1_400, 32),
        Sample(50_000, 80, 150, 2_500, 8),
    ),
    (LIST, GPU): (
        Sample(2_000, 2, 100, 200), Sample(2_000, 4, 150, 1_500), Sample(20_000, 20, 150, 700),
        Sample(20_000, 40, 120, 1_500), Sample(20_000, 12, 900, 900),
        Sample(50_000, 60, 150, 1_500), Sample(100_000, 150, 150, 1_500),
        Sample(50_000, 60, 150, 4_000), Sample(100_000, 300, 120, 2_500),
        Sample(100_000, 150, 150, 8_000), Sample(200_000, 600, 120, 2_000),
        Sample(400_000, 1_800, 130, 2_400),
        Sample(2_000, 2, 100, 200, 2_000), Sample(20_000, 30, 140, 1_400, 1_000),
        Sample(50_000, 80, 150, 2_500, 1_000), Sample(50_000, 80, 150, 600, 1_000),
    ),
    (SITE, CPU): (
        Sample(1_000, 4, 150, 200), Sample(3_000, 30, 150, 1_500), Sample(10_000, 20, 150, 1_000),
        Sample(20_000, 6, 150, 300), Sample(20_000, 30, 150, 1_500), Sample(50_000, 16, 150, 800),
        Sample(12_000, 80, 150, 4_000), Sample(60_000, 50, 150, 2_500),
        Sample(12_000, 120, 150, 6_000),
        Sample(100_000, 6, 150, 300), Sample(100_000, 30, 150, 1_500),
        Sample(1_000, 2, 100, 200, 16), Sample(10_000, 20, 150, 1_000, 8),
    ),
    (SITE, GPU): (
        Sample(1_000, 4, 150, 200), Sample(3_000, 30, 150, 1_500), Sample(20_000, 6, 150, 300),
        Sample(20_000, 30, 150, 1_500), Sample(50_000, 16, 150, 800),
        Sample(12_000, 80, 150, 4_000), Sample(100_000, 30, 150, 1_500),
        Sample(400_000, 30, 150, 1_500), Sample(1_000, 2, 100, 200, 200),
        Sample(10_000, 20, 150, 1_000, 200), Sample(40_000, 30, 150, 1_500, 100),
        Sample(20_000, 6, 150, 300, 100), Sample(10_000, 60, 150, 6_000, 50),
    ),
}  # fmt: skip
"""Timed calls; bases differ within a call, so that no work is shared between cases."""
TINY = {key: (Sample(300, 2, 20, 20), Sample(300, 3, 20, 30, 2)) for key in SAMPLES}
"""Small calls, for tests."""


def calibrate_device(
    device: str = CPU,
    samples: dict[tuple[str, str], tuple[Sample, ...]] | None = None,
    tell: Callable[[int], None] | None = None,
) -> DeviceFigures:
    """Time calls on a device and return its figures.

    Parameters
    ----------
    device : str
        ``cpu``, or ``cuda`` with the ordinal of one GPU.
    samples : dict, optional
        What is timed, by mode and kind of device; `SAMPLES` by default.
    tell : callable, optional
        Called with the weight of a call in each round, see `calibration_weights`.

    Returns
    -------
    DeviceFigures

    Raises
    ------
    DeviceError
        If the device cannot be used.
    """
    kind, samples = CPU if device == CPU else GPU, samples or SAMPLES
    timed = {mode: time_samples(mode, device, samples[mode, kind], tell) for mode in MODES}
    return fitted_figures(kind, timed)


class TimedCalls(NamedTuple):
    """Calls and their times."""

    features: NDArray[np.float64]  # (S, F): Of each call, see `call_features`
    seconds: NDArray[np.float64]  # (S,): Measured


def time_samples(
    mode: str, device: str, samples: tuple[Sample, ...], tell: Callable[[int], None] | None = None
) -> TimedCalls:
    """Time a call of each shape in a mode on a device."""
    kind = CPU if device == CPU else GPU
    calls = [sample_cases(sample) for sample in samples]
    features = np.stack([call_features(mode, kind, cases) for cases in calls])
    weights = _weights(mode, kind, features)
    called = [call_of(mode, cases, device) for cases in calls]
    times = least_seconds(called, device, tell, weights=weights)
    return TimedCalls(features, np.array(times))


def _weights(mode: str, kind: str, features: NDArray[np.float64]) -> list[int]:
    """Return the weights of calls for progress, by the shipped figures."""
    seconds = shipped_figures(kind).seconds[mode]
    return weights_of(features @ [seconds[name] for name in (CALL, *FEATURES[mode, kind])])


def calibration_weights(device: str = CPU) -> int:
    """Return the sum of the weights of a calibration's calls in one round."""
    kind, total = CPU if device == CPU else GPU, 0
    for mode in MODES:
        calls = (sample_cases(sample) for sample in SAMPLES[mode, kind])
        features = np.stack([call_features(mode, kind, cases) for cases in calls])
        total += sum(_weights(mode, kind, features))
    return total


def fitted_figures(kind: str, timed: dict[str, TimedCalls]) -> DeviceFigures:
    """Return the figures of this machine's device that fit timed calls, by mode."""
    seconds = {}
    for mode, own in timed.items():
        weights = fit_seconds(own.features, own.seconds)
        seconds[mode] = dict(zip((CALL, *FEATURES[mode, kind]), weights.tolist(), strict=True))
    return DeviceFigures(kind, device_name(kind), installed_version(), seconds)


def call_features(mode: str, kind: str, cases: list[Case]) -> NDArray[np.float64]:
    """Return the features of a call: 1 for itself, then those of its cases together."""
    work = case_work(cases)
    return np.concatenate(([1.0], summed(mode, kind, work.features[mode, kind], work.repeated)))


def sample_cases(sample: Sample, seed: int = 1) -> list[Case]:
    """Return random cases of a shape; a target is a mutated chain of its base's exons."""
    rng = np.random.default_rng(seed)
    return [_sample_case(rng, sample, k) for k in range(sample.copies)]


def _sample_case(rng, sample: Sample, number: int) -> Case:
    base = rng.integers(0, 4, sample.base).astype(np.uint8)
    lengths = rng.gamma(4, sample.exon / 4, sample.exons).astype(np.int64)
    lengths = np.clip(lengths, 1, sample.base)
    starts = rng.integers(0, sample.base - lengths + 1)
    ends, other = starts + lengths, np.roll(np.arange(sample.exons), 1)
    # every third exon shares its start, and every third its end, as candidates do
    starts[::3] = starts[other][::3]
    ends[::3] = np.minimum(starts + lengths, sample.base)[::3]
    ends[1::3] = ends[other][1::3]
    starts[1::3] = np.maximum(ends - lengths, 0)[1::3]
    exons = ExonSet.from_intervals(np.stack([starts, ends], axis=1).tolist())
    target = _mutated_chain(rng, base, starts, ends, sample.target)
    names = f"base{number}", f"target{number}"
    return Case(sequences.Sequence(names[0], base), sequences.Sequence(names[1], target), exons)


def _mutated_chain(rng, base, starts, ends, length: int) -> NDArray[np.uint8]:
    """Return a target: exons in order, a tenth of their nucleotides replaced."""
    parts, past = [], 0
    for k in np.argsort(ends, kind="stable"):
        if starts[k] >= past:
            parts.append(base[starts[k] : ends[k]])
            past = ends[k]
    copy = np.concatenate(parts)[:length]
    filled = np.concatenate([copy, rng.integers(0, 4, length - len(copy)).astype(np.uint8)])
    return np.where(rng.random(length) < 0.1, rng.integers(0, 4, length), filled).astype(np.uint8)


def fit_seconds(features: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return non-negative weights with the least squares of the relative errors."""
    scaled = features / seconds[:, None]
    norms = np.linalg.norm(scaled, axis=0)
    used = norms > 0
    scaled[:, used] /= norms[used]
    gram, aims = scaled.T @ scaled, scaled.T @ np.ones(len(seconds))
    weights = np.zeros(len(norms))
    for _ in range(_FIT_ROUNDS):
        for k in np.flatnonzero(used):
            weights[k] = max(weights[k] + aims[k] - gram[k] @ weights, 0.0)
    weights[used] /= norms[used]
    return weights


# ---- times of calls


def call_of(mode: str, cases: list[Case], device: str) -> Callable[[], object]:
    """Return a function that aligns cases once in a mode, on one thread of a CPU or on a GPU.

    Site mode scores the sites of both strands of every distinct base, and then aligns.
    """
    # all threads of the CPU do the rest of the work beside a GPU
    threads = 1 if device == CPU else None
    if device != CPU:
        take_gpu()
    if mode == LIST:
        return lambda: spliced_align(cases, GENE_SCORING, device=device, threads=threads)
    # list mode does not need these imports, which take time
    from gpu_tools.model.scoring import SITE_SCORING
    from gpu_tools.sites.api import SiteCase, site_align, tables_of
    from gpu_tools.sites.model import load_sites

    model, scoring = load_sites(SITE_MODEL), SITE_SCORING

    def align():
        bases = {id(case.base): case.base for case in cases}
        options = {"ends": scoring.ends, "threads": threads}
        tables = {key: tables_of(base, model, **options) for key, base in bases.items()}
        work = [SiteCase(case.base, case.target, tables[id(case.base)]) for case in cases]
        return site_align(work, scoring, device=device, threads=threads)

    return align


def least_seconds(
    calls: Sequence[Callable[[], object]],
    device: str,
    tell: Callable[[int], None] | None = None,
    rounds: int = TIMING_ROUNDS,
    weights: Sequence[int] | None = None,
) -> list[float]:
    """Return the least time of each call over rounds of all calls; the first is also called before.

    On a CPU that is the processor time of this thread, which other programs disturb less than the
    wall time; with a GPU it is the wall time. Long calls are timed twice. `tell` is called with the
    weight of each call in each round.
    """
    weights = weights or [1] * len(calls)
    clock = time.thread_time if device == CPU else time.perf_counter
    least = [inf] * len(calls)
    for call in calls[:1]:
        call()
    for number in range(rounds):
        for k, call in enumerate(calls):
            # the first call may also compile
            if number < 2 or least[k] < LONG_SECONDS:
                begin = clock()
                call()
                least[k] = min(least[k], clock() - begin)
            if tell:
                tell(weights[k])
    return least


def weights_of(seconds: Iterable[float]) -> list[int]:
    """Return estimated times as weights for progress: microseconds, at least one."""
    return [max(round(1e6 * value), 1) for value in seconds]


class RelativeErrors(NamedTuple):
    """Absolute relative errors of estimates."""

    median: float
    percentile_95: float
    maximum: float


def relative_errors(estimated, measured) -> RelativeErrors:
    """Return the median, the 95th percentile and the maximum of relative errors."""
    errors = np.abs(np.asarray(estimated) / np.asarray(measured) - 1)
    return RelativeErrors(*map(float, np.percentile(errors, [50, 95, 100])))


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
