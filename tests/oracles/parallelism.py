"""The parallelism of a strand's exons by its definition; exons are (start, end), half-open."""


def groups(exons):
    """Put exons, in order, into groups; one that starts past a smallest end closes the group."""
    found = []
    for start, end in sorted(exons):
        if not found or any(start >= other for _, other in found[-1]):
            found.append([])
        found[-1].append((start, end))
    return found


def entries(exons):
    """Return how many distinct starts have each set of exons that end before them."""
    before = {}
    for start in {start for start, _ in exons}:
        ended = frozenset(end for _, end in exons if end <= start)
        before.setdefault(ended, set()).add(start)
    return sorted(map(len, before.values()))


def heaviest_chain(exons, weight):
    """Return the largest sum of weights of exons of which each ends before the next one starts."""
    best = {}
    for exon in sorted(exons):
        before = [best[other] for other in best if other[1] <= exon[0]]
        best[exon] = weight(exon) + max(before, default=0)
    return max(best.values())


def cells(exons, n):
    """Return the published estimates: sequential, within exons, within and between exons."""
    lengths = [end - start for start, end in exons]
    longest = [max(end - start for start, end in group) for group in groups(exons)]
    within = sum(length + n - 1 for length in lengths)
    return n * sum(lengths), within, sum(length + n - 1 for length in longest)
