"""Naive definitions of site mode; imports nothing from gpu_tools."""

from __future__ import annotations

from itertools import product

from tests.oracles import global_score


def chains(sites, length):
    """All chains with the sum of their sites and introns, as {chain: best sum}.

    `sites` holds four dictionaries of scores by boundary, ``first_entry`` and so on, ``introns``
    as (kind, least length, penalty) and the boundaries' ``entry_kind`` and ``exit_kind``.
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
            penalties = [
                penalty for kind, least, penalty in sites["introns"]
                if start - end >= least
                and kind == sites["exit_kind"][end] == sites["entry_kind"][start]
            ]  # fmt: skip
            if start < end or not penalties:
                continue
            added = sites["inner_exit"][end] + sites["inner_entry"][start] - min(penalties)
            for following in range(start + 1, length + 1):
                grow((*chain, (start, following)), total + added)

    for start, end in product(sites["first_entry"], range(1, length + 1)):
        if start < end:
            grow(((start, end),), sites["first_entry"][start])
    return found


def best_score(base, target, sites, scoring):
    """Best score over all chains, each aligned by its definition; None if there is no chain."""
    gap, pair = scoring["gap"], scoring["pair"]
    spans = [(0, len(target))]
    if scoring["ends"] != "global":
        spans = [(a, b) for a in range(len(target) + 1) for b in range(a, len(target) + 1)]
    best, known = None, {}
    for chain, total in chains(sites, len(base)).items():
        text = "".join(base[start:end] for start, end in chain)
        if text not in known:
            known[text] = max(global_score(text, target[a:b], pair, gap) for a, b in spans)
        score = known[text] + total
        best = score if best is None else max(best, score)
    return best
