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


def repetition(target):
    """Return how often two nucleotides of a frame are equal, mean of the three frames."""
    frames = []
    for frame in (target[k::3] for k in range(3)):
        known = [c for c in frame if c in "ACGT"]
        pairs = [(a, b) for i, a in enumerate(known) for b in known[:i]]
        frames.append(sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.25)
    return sum(frames) / 3


def loci(chains):
    """Group (strand, start, end, score): by falling score, each with the first head it overlaps.

    Returns lists of positions in `chains`, the head of each group first.
    """
    groups = []
    for k in sorted(range(len(chains)), key=lambda k: (-chains[k][3], k)):
        strand, start, end, _ = chains[k]
        for group in groups:
            other, first, last, _ = chains[group[0]]
            if other == strand and max(first, start) < min(last, end):
                group.append(k)
                break
        else:
            groups.append([k])
    return groups
