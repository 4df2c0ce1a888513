"""Write the shipped figures of the time model from the records.

Run ``python -m benchmarks.estimate.shipped``.
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from benchmarks import case_sets
from gpu_tools import DeviceFigures
from gpu_tools.estimate.model import CPU, LIST, MODES, SITE, case_work
from gpu_tools.model.resources import installed_version

ROOT = Path(__file__).parents[2]
RECORDS = {"cpu": ("estimate-cpu.json", ()), "gpu": ("estimate-h200.json", ("site",))}
"""The record of each kind of device, and the modes whose figures are fitted on its cases.

On a GPU a calibration's small calls do not tell what a cell costs."""
START = "layout-h200.json", "cuda: spliced_scores"
"""The record of first calls in new processes, and the call."""


def shipped_text(record: dict, modes: tuple[str, ...] = ()) -> str:
    """Return the file of figures that a record of `bench_estimate` has, four digits each.

    The version is that of the package which ships them.

    Parameters
    ----------
    record : dict
    modes : tuple of str
        Those whose figures are the fitted ones.
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

    Parameters
    ----------
    figures : dict
        Of a CPU: what `shipped_text` gives.
    start : dict
        Of `benchmarks.compare`, of a call on a GPU: milliseconds of first calls in new processes,
        and of later ones.
    """
    cases, of_cpu = case_sets.case_set(), DeviceFigures(**figures)
    work = case_work(cases)
    found = {"start": (median(start["new_first_ms"]) - start["new_ms"]) / 1e3}
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


def read_record(name: str) -> dict:
    """Return a record."""
    return json.loads((ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    for kind, (name, modes) in RECORDS.items():
        out = ROOT / "resources" / "estimate" / f"{kind}.json"
        out.write_text(shipped_text(read_record(name), modes), encoding="utf-8")
    groups = [own for own in read_record(START[0])["figures"].values() if START[1] in own]
    (start,) = (own[START[1]] for own in groups if "new_first_ms" in own[START[1]])
    folder = ROOT / "resources" / "estimate"
    of_cpu = json.loads((folder / "cpu.json").read_text(encoding="utf-8"))
    (folder / "small.json").write_text(small_inputs_text(of_cpu, start), encoding="utf-8")
