"""What an alignment job may take on a cluster: time and memory, by the sizes of its inputs.

The time is that of the model (rules/times.smk) on one thread, times a margin. Limits are generous:
a job that exceeds one is lost, and a job that ends early costs nothing. Each further attempt may
take more.
"""

import os

# symbols of a sequence in a byte of bgzip, about
SYMBOLS_PER_BYTE = 3.7
# how much slower than the model says a job may be: an older processor, which others share
MARGIN = 10
# seconds of a cell of proteins on one thread: benchmarks/results/proteins-h200.json, 16 threads
PROTEIN_CELL = 16 / 12.2e9
# what starting, reading, writing and compiling takes, at most
MINUTES = 20
# bytes of a nucleotide (benchmarks/results/sites-memory.json), and how many times that a job may take
NUCLEOTIDE_BYTES, MEMORY_MARGIN = 10, 3
# the interpreter with all that it imports and compiles, a GPU's context, rows of a large case
MEGABYTES = 2000


def symbols(path):
    """Return about how many symbols a FASTA file holds."""
    return os.path.getsize(path) * (SYMBOLS_PER_BYTE if path.endswith(".gz") else 1)


def seconds_of(kind, nucleotides, columns):
    """Return what a case of targets or proteins takes on one thread."""
    if kind == "proteins":
        return 2 * nucleotides * columns * PROTEIN_CELL
    return case_seconds(nucleotides, columns)


def minutes_of(kind):
    """Return the function of the minutes that the alignment of targets or proteins may take."""

    def minutes(wildcards, input, attempt):
        parts = parts_of(wildcards.batch)
        base = symbols(input.base) / len(parts.bases)
        target = symbols(input[kind]) / len(parts.targets)
        seconds = len(pairs_of(wildcards.batch)) * seconds_of(kind, base, target)
        return attempt * (MINUTES + round(MARGIN * seconds / 60))

    return minutes


def megabytes_of(kind):
    """Return the function of the memory that a job on the bases in an input may take."""

    def megabytes(wildcards, input, attempt):
        bytes_of_bases = MEMORY_MARGIN * NUCLEOTIDE_BYTES * symbols(input[kind])
        return attempt * (MEGABYTES + round(bytes_of_bases / 1e6))

    return megabytes
