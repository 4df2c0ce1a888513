"""Write the shipped figures of the time model from the records.

Run ``python -m benchmarks.estimate.shipped``.
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = {"cpu": ("estimate-cpu.json", ()), "gpu": ("estimate-h200.json", ("site",))}
"""The record of each kind of device, and the modes whose figures are fitted on its cases."""
FITTED = {"gpu": "estimate-fitted-h200.json"}


def shipped_text(record: dict, fitted: dict | None = None, modes: tuple[str, ...] = ()) -> str:
    """Return the file of figures that a record of `bench_estimate` has, four digits each.

    Parameters
    ----------
    record : dict
    fitted : dict, optional
        A record of `benchmarks.estimate.fitted`.
    modes : tuple of str
        Those whose figures are the fitted ones.
    """
    figures = record["figures"]["figures"]
    chosen = {mode: fitted["figures"]["fitted"][mode]["seconds"] for mode in modes}
    seconds = {
        mode: {part: float(f"{value:.4g}") for part, value in parts.items()}
        for mode, parts in (figures["seconds"] | chosen).items()
    }
    return json.dumps(figures | {"seconds": seconds}, indent=2) + "\n"


def read_record(name: str) -> dict:
    """Return a record."""
    return json.loads((ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    for kind, (name, modes) in RECORDS.items():
        fitted = read_record(FITTED[kind]) if modes else None
        out = ROOT / "resources" / "estimate" / f"{kind}.json"
        out.write_text(shipped_text(read_record(name), fitted, modes), encoding="utf-8")
