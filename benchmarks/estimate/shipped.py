"""Write the shipped figures of the time model from the records.

Run ``python -m benchmarks.estimate.shipped``; a record that is not there changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORDS = {"cpu": "estimate-cpu.json", "gpu": "estimate-h200.json"}


def shipped_text(record: dict) -> str:
    """Return the file of figures that a record of `bench_estimate` has, four digits each."""
    figures = record["figures"]["figures"]
    seconds = {
        mode: {part: float(f"{value:.4g}") for part, value in parts.items()}
        for mode, parts in figures["seconds"].items()
    }
    return json.dumps(figures | {"seconds": seconds}, indent=2) + "\n"


if __name__ == "__main__":
    for kind, name in RECORDS.items():
        path = ROOT / "benchmarks" / "results" / name
        if path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            out = ROOT / "resources" / "estimate" / f"{kind}.json"
            out.write_text(shipped_text(record), encoding="utf-8")
