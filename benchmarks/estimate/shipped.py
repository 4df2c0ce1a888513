"""Write the shipped figures of the time model from the records.

Run ``python -m benchmarks.estimate.shipped``.
"""

from __future__ import annotations

import json
from statistics import median

from benchmarks import case_sets, tables
from gpu_tools import DeviceFigures
from gpu_tools.estimate.model import CPU, LIST, MODES, SITE, case_work
from gpu_tools.model.resources import installed_version

RECORDS = {"cpu": ("estimate-cpu", ()), "gpu": ("estimate-h200", ("site",))}
"""The record of each kind of device, and the modes whose figures are fitted on its cases.

On a GPU a calibration's small calls do not tell what a cell costs."""
START = "start-h200"
"""The record of first calls in new processes: `bench_estimate` with ``--part start``."""


def shipped_text(record: dict, modes: tuple[str, ...] = ()) -> str:
    """Return the file of figures that a record of `bench_estimate` has, four digits each.

    The version is that of the package which ships them.

    The version is that of the package which ships them. In `modes` the figures are the fitted ones.
    """
    found = record["figures"]
    figures = found["figures"] | {"version": installed_version()}
    chosen = {mode: found["fitted"][mode]["seconds"] for mode in modes}
    seconds = {
        mode: {part: float(f"{value:.4g}") for part, value in parts.items()}
        for mode, parts in (figures["seconds"] | chosen).items()
    }
    return json.dumps(figures | {"seconds": seconds}, indent=2) + "\n"


def small_inputs_text(figures: dict, start: dict) -> str:
    """Return the file by which a device is chosen for small inputs.

    `figures` are those of `shipped_text` for a CPU, `start` the milliseconds of
    first calls on a GPU in new processes, and of later ones.
    """
    cases, of_cpu = case_sets.case_set(), DeviceFigures(**figures)
    work = case_work(cases)
    found = {"start": (median(start["first_ms"]) - start["later_ms"]) / 1e3}
    cells = {LIST: sum(case.cells for case in cases)}
    cells[SITE] = sum(2 * len(case.base) * len(case.target) for case in cases)
    for mode in MODES:
        case = figures["seconds"][mode]["case"]
        together = of_cpu.together(mode, work.features[mode, CPU])
        found[mode] = {"case": case, "cell": (together - case * len(cases)) / cells[mode]}
    return json.dumps(_rounded(found), indent=2) + "\n"


def _rounded(value):
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return float(f"{value:.3g}")


if __name__ == "__main__":
    folder = tables.ROOT / "resources" / "estimate"
    for kind, (name, modes) in RECORDS.items():
        text = shipped_text(tables.read(name), modes)
        (folder / f"{kind}.json").write_text(text, encoding="utf-8")
    of_cpu = json.loads((folder / "cpu.json").read_text(encoding="utf-8"))
    (start,) = tables.read(START)["figures"].values()
    (folder / "small.json").write_text(small_inputs_text(of_cpu, start), encoding="utf-8")
