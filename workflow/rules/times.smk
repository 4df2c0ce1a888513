"""What a case takes by the time model of gpu-tools: in site mode, on one thread of a CPU.

The figures are those shipped with gpu-tools, whatever the machine, so that the names of batches do
not depend on where the plan is made. List mode takes less. docs/design/estimate.md has the
equations.
"""

import json

with open(workflow.source_path("../../resources/estimate/cpu.json"), encoding="utf-8") as stream:
    SECONDS = json.load(stream)["seconds"]["site"]
# bytes of a vector, and symbols of the longest target whose cells have two bytes
VECTOR, NARROW = 64, 4600


def case_seconds(nucleotides, columns):
    """Return what both strands of a base take with a target."""
    width = 2 if columns <= NARROW else 4
    counts = {
        "case": 1,
        "nucleotides": 2 * nucleotides,
        "columns": columns,
        "vectors": 2 * nucleotides * -(-(columns + 1) * width // VECTOR),
        "traced": columns * min(columns, nucleotides),
    }
    return sum(SECONDS[name] * count for name, count in counts.items())
