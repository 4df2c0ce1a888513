"""Naive definitions of what tells whether a chain is credible; imports nothing of the package."""


def coverage(cigar, target_length):
    """Return the part of the target's symbols that stand in a column with a base symbol."""
    paired, position = set(), 0
    for letter, count in cigar:
        for _ in range(count):
            if letter in "=X":
                paired.add(position)
            if letter in "=XI":
                position += 1
    return len(paired) / target_length


def agreement(base, target):
    """Return how often a random nucleotide of the target equals one of the base's two strands."""
    both = [c for c in base if c in "ACGT"]
    both += ["ACGT"["TGCA".index(c)] for c in both]
    pairs = [(a, b) for a in both for b in target if b in "ACGT"]
    return sum(a == b for a, b in pairs) / len(pairs)
