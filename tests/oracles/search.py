"""Naive definitions of words, hits and chains of a search; imports nothing from gpu_tools.

A genome is a text for each record, a target is a text. `pair(a, b)` scores a letter of the target
and one of the genome as it reads on a strand.
"""

from __future__ import annotations

import math

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def read(text, strand, code=None):
    """Return (least nucleotide, letter) of each symbol of a strand by frame, in reading order.

    `code` has the amino acid of each codon; without it a symbol is a nucleotide. A symbol with an
    ambiguity code is None.
    """
    size = 3 if code else 1
    turned = text if strand == "+" else text.translate(COMPLEMENT)[::-1]
    frames = []
    for frame in range(size):
        row = []
        for k in range(frame, len(text) - size + 1, size):
            word = turned[k : k + size]
            place = k if strand == "+" else len(text) - k - size
            row.append((place, None if "N" in word else (code[word] if code else word)))
        frames.append(row)
    return frames


def words(text, strand, shape, classes, code=None):
    """Yield (word, least nucleotide of its first symbol); `classes` is a list of texts."""
    for row in read(text, strand, code):
        for k in range(len(row) - len(shape) + 1):
            word = word_of([letter for _, letter in row[k : k + len(shape)]], shape, classes)
            if word is not None:
                yield word, row[k][0]


def word_of(letters, shape, classes):
    """Return the classes of the letters that count, None if one has no class."""
    members = []
    for letter, counts in zip(letters, shape, strict=True):
        if counts == "1":
            found = [k for k, members in enumerate(classes) if letter and letter in members]
            if not found:
                return None
            members += found
    return tuple(members)


def hits(text, target, shape, classes, pair, drop, least, code=None):
    """Return the extension of every word that target and genome share, as a set.

    A hit is (strand, first, last, least nucleotide of the first symbol, score).
    """
    found, size = set(), 3 if code else 1
    for strand in "+-":
        for row in read(text, strand, code):
            for q in range(len(target) - len(shape) + 1):
                own = word_of(target[q : q + len(shape)], shape, classes)
                for k in range(len(row) - len(shape) + 1):
                    letters = [letter for _, letter in row[k : k + len(shape)]]
                    if own is None or own != word_of(letters, shape, classes):
                        continue
                    ahead = [(a, b[1]) for a, b in zip(target[q:], row[k:], strict=False)]
                    behind = [
                        (a, b[1]) for a, b in zip(target[:q][::-1], row[:k][::-1], strict=False)
                    ]
                    right, more = extended(ahead, pair, drop)
                    left, rest = extended(behind, pair, drop)
                    if more + rest >= least:
                        move = -size if strand == "-" else size
                        place = row[k][0] - move * left
                        found.add(("+-".index(strand), q - left, q + right, place, more + rest))
    return found


def extended(pairs, pair, drop):
    """Return length and score of the best beginning of some pairs, the shortest of equals."""
    score = best = length = 0
    for k, (a, b) in enumerate(pairs):
        if b is None:
            break
        score += pair(a, b)
        if score > best:
            best, length = score, k + 1
        elif best - score > drop:
            break
    return length, best


def chance(nucleotides):
    """Return 2.2 times the logarithm to base two, taken in quarters by straight lines."""
    length = max(nucleotides, 64)
    bits = int(math.log2(length) + 1e-12)
    quarters = 4 * bits + (4 * length // 2**bits - 4)
    return 11 * quarters // 20


def link_cost(a, b, step, max_intron, symbol, gap, intron):
    """Return what it costs that a hit (group, first, last, start, score) follows another one."""
    end_a, end_b = (h[3] + step * (h[2] - h[1]) for h in (a, b))
    if a[0] != b[0] or not (a[1] < b[1] and a[2] < b[2] and a[3] < b[3] and end_a < end_b):
        return None
    common = max(a[2] - b[1], math.ceil((end_a - b[3]) / step), 0)
    if common >= min(a[2] - a[1], b[2] - b[1]):
        return None
    extra = b[3] - end_a - step * (b[1] - a[2])
    if extra > max_intron:
        return None
    ways = [gap + abs(extra) // step]
    if extra == 0:
        ways = [0]
    elif extra > 0:
        ways.append(intron + chance(extra))
    return symbol * common + min(ways)


def chain_scores(found, *costs):
    """Return for each hit the score of the best chain that ends with it."""
    scores = []
    for k, hit in enumerate(found):
        best = 0
        for i in range(k):
            cost = link_cost(found[i], hit, *costs)
            if cost is not None:
                best = max(best, scores[i] - cost)
        scores.append(hit[4] + best)
    return scores
