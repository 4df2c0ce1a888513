"""What an alignment job may take on a cluster: time and memory, by the sizes of its inputs.

The time model of gpu-tools (docs/design/estimate.md) says what a cell takes. Limits are generous: a
job that exceeds one is lost, and a job that ends early costs nothing. Each further attempt may take
more.
"""

import os

# symbols of a sequence in a byte of bgzip, about
SYMBOLS_PER_BYTE = 3.7
# cells of nucleotides, and of residues, that one core of an old CPU does in a second
CELLS = {"targets": 1e9, "proteins": 5e7}
# what starting, reading, writing and compiling takes, at most
MINUTES = 20
MEGABYTES = 2000
# memory that a byte of compressed bases takes: codes, sites, states of both strands
BYTES_PER_BYTE = 100


def symbols(path):
    """Return about how many symbols a FASTA file holds."""
    return os.path.getsize(path) * (SYMBOLS_PER_BYTE if path.endswith(".gz") else 1)


def minutes_of(kind):
    """Return the function of the minutes that the alignment of targets or proteins may take."""

    def minutes(wildcards, input, attempt):
        parts = parts_of(wildcards.batch)
        bases, targets = symbols(input.base), symbols(input[kind])
        each = bases / len(parts.bases) * targets / len(parts.targets)
        # both strands
        cells = 2 * each * len(pairs_of(wildcards.batch))
        return attempt * (MINUTES + round(cells / CELLS[kind] / 60))

    return minutes


def megabytes(wildcards, input, attempt):
    """Return the memory that an alignment job may take."""
    return attempt * (MEGABYTES + round(BYTES_PER_BYTE * os.path.getsize(input.base) / 1e6))
