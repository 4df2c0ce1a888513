"""Naive definitions of site mode; imports nothing from gpu_tools."""

from __future__ import annotations

from itertools import product

from tests.oracles.spliced import cost_before, cost_behind, global_score


def chains(sites, length):
    """All chains with the sum of their sites and introns, as {chain: best sum}.

    `sites` holds four dictionaries of scores by boundary, ``first_entry`` and so on, ``introns``
    as (kind, least length, penalty, lines), the kinds of boundaries, ``entry_kind`` and
    ``exit_kind``, ``marks`` as ranks by boundary, ``window``, None or (origin, step, most steps),
    and perhaps ``junctions``, penalties of introns by their two boundaries.
    """
    found = {}

    def grow(chain, total):
        end = chain[-1][1]
        if end in sites["last_exit"]:
            done = total + sites["last_exit"][end]
            found[chain] = max(found.get(chain, done), done)
        if end not in sites["inner_exit"]:
            return
        for start in sites["inner_entry"]:
            penalty = intron_penalty(sites, end, start)
            if start < end or penalty is None:
                continue
            added = sites["inner_exit"][end] + sites["inner_entry"][start] - penalty
            for following in range(start + 1, length + 1):
                grow((*chain, (start, following)), total + added)

    for start, end in product(sites["first_entry"], range(1, length + 1)):
        if start < end:
            grow(((start, end),), sites["first_entry"][start])
    return found


def intron_penalty(sites, end, start):
    """Least penalty of an intron from a boundary to another one; None if no class admits it.

    A line (extra, every) costs its extra, and a point for each mark of the level that lies behind
    the shortest intron of the class, up to the entry. Where there is a longest intron, so many of
    these boundaries may be multiples of the step as there are most steps; that is None elsewhere.
    An intron with a penalty of its own may have that instead.
    """
    costs = [c for pair, c in sites.get("junctions", {}).items() if pair == (end, start)]
    for kind, least, penalty, lines in sites["introns"]:
        alike = kind == sites["exit_kind"][end] == sites["entry_kind"][start]
        crossed = range(end + least + 1, start + 1)
        origin, step, most = sites["window"] or (0, 1, len(crossed))
        too_long = sum((i + origin) % step == 0 for i in crossed) > most
        if alike and start - end >= least and not too_long:
            ranks = [sites["marks"][i] for i in crossed if i in sites["marks"]]
            rises = [extra + sum(rank < 2**31 // every for rank in ranks) for extra, every in lines]
            costs.append(penalty + min(rises, default=0))
    return min(costs, default=None)


def marks(base, every):
    """Ranks of the marks of a level by boundary, as docs/design/site-mode.md has them."""
    found = {}
    for boundary in range(24, len(base) + 1):
        word = base[boundary - 24 : boundary].upper().replace("U", "T")
        if set(word) - set("ACGT") or any(word[p:] == word[:-p] for p in range(1, 13)):
            continue
        rank = sum("ACGT".index(letter) * 4 ** (23 - k) for k, letter in enumerate(word))
        rank = rank * 0x9E3779B97F4A7C15 % 2**64
        rank = (rank ^ rank >> 32) * 0xD6E8FEB86659FD93 % 2**64 >> 33
        if rank < 2**31 // every:
            found[boundary] = rank
    return found


def best_score(base, target, sites, scoring, is_wanted=lambda chain: True):
    """Best score over all wanted chains, each aligned by its definition; None without a chain."""
    gap, pair = scoring["gap"], scoring["pair"]
    spans = {(0, len(target)): 0}
    if scoring["ends"] != "global":
        spans = {
            (a, b): cost_before(a, scoring) + cost_behind(b, target, scoring)
            for a in range(len(target) + 1)
            for b in range(a, len(target) + 1)
        }
    best, known = None, {}
    for chain, total in chains(sites, len(base)).items():
        if not is_wanted(chain) or (sites.get("coding") and not translates(base, chain)):
            continue
        text = "".join(base[start:end] for start, end in chain)
        if text not in known:
            known[text] = max(
                global_score(text, target[a:b], pair, gap) - cost for (a, b), cost in spans.items()
            )
        score = known[text] + total
        best = score if best is None else max(best, score)
    return best


STOPS = ("TAA", "TAG", "TGA")


def end_points(base, ends, reading, points):
    """Points of first entries and last exits by boundary, as docs/design/site-mode.md has them.

    `points` are those of start, stop, begin and end; ``reading`` is ``any``, ``complete`` or
    ``incomplete``.
    """
    start, stop, *anywhere = points
    if ends == "free":
        anywhere = [max(0, usual) for usual in anywhere]
    elif reading == "complete":
        anywhere = [float("-inf")] * 2
    first = [starts_at(base, i) for i in range(len(base) + 1)]
    last = [i >= 3 and base[i - 3 : i] in STOPS for i in range(len(base) + 1)]
    return (
        {i: max(anywhere[0], start if found else anywhere[0]) for i, found in enumerate(first)},
        {i: max(anywhere[1], stop if found else anywhere[1]) for i, found in enumerate(last)},
    )


def starts_at(base, boundary):
    """Whether the only start codon begins at a boundary."""
    return base[boundary : boundary + 3] == "ATG"


def translates(base, chain):
    """Whether a chain is read through in one frame, as the docstring of site tables says."""
    lengths = [end - start for start, end in chain]
    text = "".join(base[start:end] for start, end in chain).upper().replace("U", "T")
    codons = [text[k : k + 3] for k in range(0, len(text), 3)]
    if len(text) % 3 or len(codons) < 2 or any(codon in STOPS for codon in codons[:-1]):
        return False
    exon_of = [k for k, length in enumerate(lengths) for _ in range(length)]
    exons = [exon_of[k : k + 3] for k in range(0, len(text), 3)]
    whole = len(set(exons[0])) == len(set(exons[-1])) == 1
    return whole and all(len(set(codon)) < 3 for codon in exons)


def best_by_programme(base, target, sites, scoring):
    """Best score over all chains by the plain recurrence, for cases too large to enumerate."""
    gap, pair, n, none = scoring["gap"], scoring["pair"], len(target), float("-inf")
    start = [gap * j for j in range(n + 1)]
    if scoring["ends"] != "global":
        start = [max(value, -cost_before(j, scoring)) for j, value in enumerate(start)]
    row, kept, best = [none] * (n + 1), {}, none
    for i in range(len(base) + 1):
        if i > 0:
            following = [row[0] + gap]
            for j in range(1, n + 1):
                paired = row[j - 1] + pair(base[i - 1], target[j - 1])
                following.append(max(paired, row[j] + gap, following[j - 1] + gap))
            row = following
        if i in sites["last_exit"]:
            columns = {n: row[-1]} if scoring["ends"] == "global" else dict(enumerate(row))
            ended = [value - cost_behind(j, target, scoring) for j, value in columns.items()]
            best = max(best, max(ended) + sites["last_exit"][i])
        if i in sites["inner_exit"]:
            kept[i] = [value + sites["inner_exit"][i] for value in row]
        entries = []
        if i in sites["first_entry"]:
            entries.append([value + sites["first_entry"][i] for value in start])
        if i in sites["inner_entry"]:
            for end, leaving in kept.items():
                penalty = intron_penalty(sites, end, i)
                if penalty is not None:
                    added = sites["inner_entry"][i] - penalty
                    entries.append([value + added for value in leaving])
        row = [max(values) for values in zip(row, *entries, strict=True)]
    return None if best == none else best


def best_with_intron_points(base, target, sites, scoring, points):
    """Best score over all chains whose introns have the points of their place in the target.

    `points` are by the target's symbols that are used up before an intron; symbols that are left
    out there may be on either side of it.
    """
    gap, pair, columns = scoring["gap"], scoring["pair"], range(len(target) + 1)
    free, best, none, known = scoring["ends"] != "global", None, float("-inf"), {}

    def piece(text, a, b):
        if (text, a, b) not in known:
            known[text, a, b] = global_score(text, target[a:b], pair, gap)
        return known[text, a, b]

    for chain, total in chains(sites, len(base)).items():
        if sites.get("coding") and not translates(base, chain):
            continue
        row = [-cost_before(a, scoring) if free or a == 0 else none for a in columns]
        for k, (start, end) in enumerate(chain):
            before = [value + (points[a] if k else 0) for a, value in enumerate(row)]
            text = base[start:end]
            row = [max(before[a] + piece(text, a, b) for a in range(b + 1)) for b in columns]
        ends = columns if free else [len(target)]
        score = total + max(row[b] - (cost_behind(b, target, scoring) if free else 0) for b in ends)
        best = score if best is None else max(best, score)
    return best
