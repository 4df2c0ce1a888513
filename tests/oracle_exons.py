"""Candidate exons by their definition: every interval, every type, every frame. No gpu_tools."""

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def candidates(sequence, model):
    """Return {(strand, start, end, type, score in hundredths of a bit)}, 0-based half-open.

    `sequence` is a text over ACGTN, `model` the content of a model's JSON file.
    """
    n = len(sequence)
    found = set()
    for strand, text in (("+", sequence), ("-", sequence.translate(COMPLEMENT)[::-1])):
        for start in range(n):
            for end in range(start + 1, n + 1):
                for exon_type, score in admitted(text, start, end, model):
                    place = (start, end) if strand == "+" else (n - end, n - start)
                    found.add((strand, *place, exon_type, score))
    return found


def admitted(text, start, end, model):
    """Yield the types that the interval can have, with their scores, that reach the cut-off."""
    if not model["min_length"] <= end - start <= model["max_length"]:
        return
    left = {
        "acceptor": site(text, start, model["acceptor"]),
        "start": site(text, start, model["start"]),
    }
    donor = site(text, end, model["donor"])
    for exon_type, kind, frames in (
        ("Init", "start", (0,)), ("Intr", "acceptor", (0, 1, 2)),
        ("Sngl", "start", (0,)), ("Term", "acceptor", (0, 1, 2)),
    ):  # fmt: skip
        stopped = exon_type in ("Sngl", "Term")
        right = 0 if stopped else donor
        if left[kind] is None or right is None:
            continue
        readings = [coding(text, start, end, f, stopped, model) for f in frames]
        readings = [score for score in readings if score is not None]
        if readings:
            score = left[kind] + right + max(readings) + length(end - start, model)
            if score >= hundredths(model["min_score"]):
                yield exon_type, score


def hundredths(bits):
    return round(bits * 100)


def site(text, edge, matrix):
    """Return the site's score, None if a symbol is forbidden or the score under the cut-off."""
    total = 0
    for k, column in enumerate(matrix["scores"]):
        position = edge - matrix["before"] + k
        symbol = text[position] if 0 <= position < len(text) else "N"
        unknown = None if None in column else 0
        bits = unknown if symbol == "N" else column["ACGT".index(symbol)]
        if bits is None:
            return None
        total += hundredths(bits)
    return total if total >= hundredths(matrix["cutoff"]) else None


def coding(text, start, end, frame, stopped, model):
    """Return a reading's score, None if it has a stop codon at the wrong place or lacks one."""
    codons = [k for k in range(start + frame, end - 2, 3) if text[k : k + 3] in model["stops"]]
    if codons != ([end - 3] if stopped else []):
        return None
    order, total = model["coding_order"], 0
    for k in range(start + order, end - 3 if stopped else end):
        word = text[k - order : k + 1]
        if "N" not in word:
            index = sum("ACGT".index(x) * 4**i for i, x in enumerate(reversed(word)))
            total += hundredths(model["coding"][(k - start - frame) % 3][index])
    return total


def length(size, model):
    classes = zip(model["length"]["from"], model["length"]["scores"], strict=True)
    return hundredths([score for first, score in classes if first <= size][-1])
