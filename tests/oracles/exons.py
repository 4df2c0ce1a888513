"""Exons and parses by their definitions: every exon, every parse, one by one. No gpu_tools."""

import math

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")
TYPES = ("Init", "Intr", "Term", "Sngl")
LEFT_OF_CODONS = ("", "-", "T", "--", "TA", "TG")
"""What an intron has of a codon, in the order of the model's key introns; - is anything else."""
BETWEEN = "between"


def exons(sequence, model):
    """Return (strand, start, end, type, taken, score) of every exon in every frame.

    `taken` counts the bases of the exon's first codon that lie before the exon; `score` is in
    hundredths of a bit. `sequence` is a text over ACGTN, `model` the content of a JSON file.
    """
    n, found = len(sequence), []
    mirrored = sequence.translate(COMPLEMENT)[::-1]
    for start, end, *rest in one_strand(sequence, model):
        found.append(("+", start, end, *rest))
    for start, end, *rest in one_strand(mirrored, model):
        found.append(("-", n - end, n - start, *rest))
    return found


def one_strand(text, model):
    for start in range(len(text)):
        for end in range(start + model["min_length"], len(text) + 1):
            if end - start <= model["max_length"]:
                for exon_type in TYPES:
                    for taken in range(3):
                        score = exon_score(text, start, end, exon_type, taken, model)
                        if score is not None:
                            yield start, end, exon_type, taken, score


def exon_score(text, start, end, exon_type, taken, model):
    """Return hundredths of a bit, or None if this is no exon."""
    begins, stops = exon_type in ("Init", "Sngl"), exon_type in ("Term", "Sngl")
    if begins and taken:
        return None
    first = start + (3 - taken) % 3
    codons = [text[k : k + 3] for k in range(first, end - 2, 3)]
    if stops and ((end - first) % 3 or not codons or codons.pop() not in model["stops"]):
        return None
    if set(codons) & set(model["stops"]):
        return None
    left = site(text, start, model["start" if begins else "acceptor"])
    right = 0 if stops else site(text, end, model["donor"])
    if left is None or right is None:
        return None
    return left + right + bases(text, start, end - 3 if stops else end, first, model)


def site(text, edge, matrix):
    total = 0
    for column, scores in enumerate(matrix["scores"]):
        place = edge - matrix["before"] + column
        score = column_score(scores, letter(text, place - 1), letter(text, place))
        if score is None:
            return None
        total += score
    return total if total >= hundredths(matrix["cutoff"]) else None


def letter(text, place):
    return text[place] if 0 <= place < len(text) else "N"


def column_score(scores, before, here):
    """Return hundredths; None where no site has the base."""
    if not isinstance(scores[0], list):
        scores = [scores] * 4
    if here == "N":
        return None if any(None in row for row in scores) else 0
    behind = [row["ACGT".index(here)] for row in scores]
    if before != "N":
        behind = [behind["ACGT".index(before)]]
    if None in behind:
        return None
    return round(sum(map(hundredths, behind)) / len(behind))


def hundredths(bits):
    return round(bits * 100)


def bases(text, start, end, first, model):
    coding, total = model["coding"], 0
    for k in range(start + coding["order"], end):
        word = text[k - coding["order"] : k + 1]
        if "N" not in word:
            share = gc_share(text, k, coding["window"])
            position = (k - first) % 3
            odds = base_bits(coding, coding["coding"][position], position, word, share)
            odds -= base_bits(coding, coding["other"][0], 3, word, share)
            total += round(100 * coding["weight"] * odds)
    return total


def gc_share(text, k, window):
    half = window // 2
    size = min(2 * half + 1, len(text))
    low = min(max(k - half, 0), len(text) - size)
    part = text[low : low + size]
    strong, known = part.count("G") + part.count("C"), size - part.count("N")
    steps = math.floor(((strong + 1) / (known + 2) - 0.25) / 0.025 + 0.5)
    return 0.25 + 0.025 * min(max(steps, 0), 20)


def base_bits(coding, words, row, word, share):
    """Return the logarithm of the last base's frequency where G and C have this share."""
    middle = coding["gc"]
    shift = coding["gc_shifts"][row] * math.log2(share / (1 - share) / (middle / (1 - middle)))
    bits = {}
    for base in "ACGT":
        index = 0
        for symbol in word[:-1] + base:
            index = 4 * index + "ACGT".index(symbol)
        bits[base] = words[index] + (shift if base in "CG" else 0)
    return bits[word[-1]] - math.log2(sum(2**b for b in bits.values()))


def length_bits(size, exon_type, model):
    """Return the logarithm of a length's probability."""
    at, values = model["length"]["at"], model["length"][exon_type]

    def raw(length):
        for (a, one), (b, other) in zip(
            zip(at, values, strict=True), zip(at[1:], values[1:], strict=True), strict=False
        ):
            if a <= length <= b:
                part = math.log(length / a) / math.log(b / a)
                return one + part * (other - one)
        return values[-1]

    every = range(model["min_length"], model["max_length"] + 1)
    return raw(size) - math.log2(sum(2 ** raw(length) for length in every))


def exon_bits(exon, model):
    """Return what an exon adds to a parse."""
    _, start, end, exon_type, _, score = exon
    gene = model["gene"]
    change = {
        "Init": (1 - gene["single"]) / 2 / gene["between"] * 2**10,
        "Intr": (1 - gene["last"]) / gene["intron"] * 2**8,
        "Term": gene["last"] / gene["intron"] * 2**10,
        "Sngl": gene["single"] / 2 / gene["between"] * 2**12,
    }[exon_type]
    return score / 100 + length_bits(end - start, exon_type, model) + math.log2(change)


def left_of_codon(sequence, exon):
    """Return what an exon leaves of a codon, as `LEFT_OF_CODONS` has it."""
    strand, start, end, _, taken, _ = exon
    text = sequence[start:end]
    text = text if strand == "+" else text.translate(COMPLEMENT)[::-1]
    size = (len(text) + taken) % 3
    rest = text[len(text) - size :]
    return rest if rest in LEFT_OF_CODONS else "-" * size


def fits(sequence, left, exon, model):
    """Whether an exon may follow an intron, in reading direction, that has this of a codon."""
    strand, start, end, exon_type, taken, _ = exon
    if exon_type in ("Init", "Sngl") or len(left) != taken:
        return False
    text = sequence if strand == "+" else sequence.translate(COMPLEMENT)[::-1]
    first = start if strand == "+" else len(sequence) - end
    codon = left + text[first : first + 3 - taken]
    return taken == 0 or codon not in model["stops"]


def sides(sequence, exon, model):
    """Return the states that may lie left of an exon, and those right of it."""
    strand, *_, exon_type, _, _ = exon
    before = (
        [BETWEEN]
        if exon_type in ("Init", "Sngl")
        else [(strand, left) for left in LEFT_OF_CODONS if fits(sequence, left, exon, model)]
    )
    ends = exon_type in ("Term", "Sngl")
    after = [BETWEEN] if ends else [(strand, left_of_codon(sequence, exon))]
    return (before, after) if strand == "+" else (after, before)


def parses(sequence, model):
    """Yield (exons, weight) of every parse: the exons from left to right, and its weight.

    Different states on the way make different parses.
    """
    gene, n = model["gene"], len(sequence)
    edges = [
        (exon, 2 ** exon_bits(exon, model), *sides(sequence, exon, model))
        for exon in exons(sequence, model)
    ]
    share = dict(zip(LEFT_OF_CODONS, gene["introns"], strict=True))
    total = sum(gene["introns"])

    def boundary(state, rare):
        if state == BETWEEN or state[0] != rare:
            return 1.0
        return (1 - gene["single"]) / 2 / gene["last"] * share[state[1]] / total

    def stay(state, size):
        mean = gene["between"] if state == BETWEEN else gene["intron"]
        return (1 - 1 / mean) ** size

    def onwards(state, position, begun, weight, path):
        yield path, weight * stay(state, n - position) * boundary(state, "-")
        shortest = 1 if state == BETWEEN else gene["shortest_intron"]
        for exon, value, before, after in edges:
            rest = exon[1] - position
            if state in before and rest >= (shortest if begun else 0):
                here = weight * stay(state, rest) * value
                for following in after:
                    yield from onwards(following, exon[2], True, here, (*path, exon))

    states = [BETWEEN, *((strand, left) for strand in "+-" for left in LEFT_OF_CODONS)]
    for state in states:
        yield from onwards(state, 0, False, boundary(state, "+"), ())
