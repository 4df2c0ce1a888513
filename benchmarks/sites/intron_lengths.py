"""What an intron penalty that depends on length would give, by brute force.

Run ``python -m benchmarks.sites.intron_lengths [RECORD.json]``.
Penalties are a + b * log2(length / 100),
rounded; site mode itself has falling tables only, so that here every entry looks at every exit,
which limits the genes to short ones. Matrices saw nothing of a gene's record.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import njit

from benchmarks import record
from benchmarks.accuracy.cases import Counts, annotated_records, genes, mutated
from benchmarks.accuracy.choice import held_out_models
from gpu_tools.sites.table import CLOSED

TABLES = ((14, 0), (16, 0), (18, 0), (12, 1), (14, 1), (10, 2), (12, 2), (18, -1), (20, -2))
"""a and b of each table."""
DIVERGENCES = (40, 45, 50)
SEEDS = (9, 10)
LONGEST_LOCUS, LONGEST_TARGET = 14_000, 1_600
WEAKEST = -2.0
"""Points of the weakest site that is looked at."""
_NONE = -(1 << 28)


@njit(cache=True)
def _best_chain(codes, target, scores, kinds, penalties, shortest):
    """Return the exons of the best chain, last one first.

    Cells carry the boundary and the column at which their exon was entered, a first entry's as
    -boundary - 2.
    """
    first_entry, inner_entry, inner_exit, last_exit = scores
    n, at = len(target), np.flatnonzero(inner_exit > CLOSED)
    cells, entered = np.full(n + 1, _NONE), np.zeros((2, n + 1), np.int64)
    exits = np.empty((len(at), n + 1), np.int64)
    exit_entered = np.empty((len(at), 2, n + 1), np.int32)
    number = np.cumsum(inner_entry > CLOSED) - 1
    chosen = np.full((number[-1] + 1, n + 1), -1, np.int32)
    n_exits, best, last = 0, _NONE, (0, 0, 0)
    for i in range(len(codes) + 1):
        if i > 0:
            above, from_above = cells.copy(), entered.copy()
            for j in range(n + 1):
                value, source = above[j] - 2, from_above[:, j]
                if j > 0:
                    pair = 1 if codes[i - 1] == target[j - 1] else -1
                    if above[j - 1] + pair > value:
                        value, source = above[j - 1] + pair, from_above[:, j - 1]
                    if cells[j - 1] - 2 > value:
                        value, source = cells[j - 1] - 2, entered[:, j - 1]
                cells[j] = max(value, _NONE)
                entered[0, j], entered[1, j] = source[0], source[1]
        if last_exit[i] > CLOSED and cells[n] + last_exit[i] > best:
            best, last = cells[n] + last_exit[i], (i, entered[0, n], entered[1, n])
        if inner_exit[i] > CLOSED:
            exits[n_exits] = cells + inner_exit[i]
            exit_entered[n_exits] = entered
            n_exits += 1
        if first_entry[i] > CLOSED:
            for j in range(n + 1):
                if first_entry[i] - 2 * j > cells[j]:
                    cells[j] = first_entry[i] - 2 * j
                    entered[0, j], entered[1, j] = -i - 2, j
        if inner_entry[i] > CLOSED:
            reached, source = np.full(n + 1, _NONE), chosen[number[i]]
            for e in range(n_exits):
                length = i - at[e]
                if length >= shortest and kinds[1][at[e]] == kinds[0][i]:
                    added = inner_entry[i] - penalties[length]
                    for j in range(n + 1):
                        if exits[e, j] + added > reached[j]:
                            reached[j], source[j] = exits[e, j] + added, e
            for j in range(n + 1):
                if reached[j] > cells[j]:
                    cells[j], entered[0, j], entered[1, j] = reached[j], i, j
    chain = [(0, 0)][:0]
    end, begin, column = last
    while begin >= 0:
        chain.append((begin, end))
        e = chosen[number[begin], column]
        end, begin, column = at[e], exit_entered[e, 0, column], exit_entered[e, 1, column]
    chain.append((-begin - 2, end))
    return chain


def exon_f1(models, cases, penalties) -> float:
    """Return the exon F1 of some genes and targets."""
    counts = Counts.zero()
    for gene, target in cases:
        table = models[gene.record].table(gene.codes)
        scores = [table.first_entry, table.inner_entry, table.inner_exit, table.last_exit]
        for k in (1, 2):
            scores[k] = np.where(scores[k] < WEAKEST, CLOSED, scores[k])
        kinds = table.entry_kind, table.exit_kind
        shortest = table.introns[0].min_length
        chain = _best_chain(gene.codes, target, tuple(scores), kinds, penalties, shortest)
        counts.add(gene, [(int(start), int(end)) for start, end in chain])
    return Counts.f1(counts.exons)


def main() -> None:
    """Print the rows; write the record."""
    records, found = annotated_records(), []
    models = held_out_models(records)
    short = [
        g for g in genes(records)
        if len(g.codes) <= LONGEST_LOCUS and len(g.coding) <= LONGEST_TARGET
    ]  # fmt: skip
    lengths = np.maximum(np.arange(LONGEST_LOCUS + 1), 1)
    for constant, slope in TABLES:
        penalties = np.rint(constant + slope * np.log2(lengths / 100)).astype(np.int64)
        line = {"constant": constant, "slope": slope, "genes": len(short)}
        for divergence in DIVERGENCES:
            scores = []
            for seed in SEEDS:
                rng = np.random.default_rng([seed, divergence])
                cases = [(g, mutated(rng, g.coding, divergence / 100, False)) for g in short]
                scores.append(exon_f1(models, cases, penalties))
            line[f"{divergence} %"] = round(float(np.mean(scores)), 4)
        found.append(line)
        print("\t".join(map(str, line.values())), flush=True)
    if len(sys.argv) > 1:
        record.write(sys.argv[1], {"exon_f1": found})


if __name__ == "__main__":
    main()
