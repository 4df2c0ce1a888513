"""Small random models of genes and sequences, so that short sequences have genes."""

STOPS = ["TAA", "TAG", "TGA"]
WORDS = ["AG", "GT", "GC", "ATG", "TAA", "TGA", "TAG", "A", "C", "G", "T"]


def small_model(rng, order=1, pairs=True, **changes):
    """Return the content of a model of short sites and random scores."""

    def bits():
        return round(float(rng.normal(0, 1.5)), 2)

    def column(allowed):
        return [None if x == "-" else bits() for x in allowed]

    def matrix(before, *columns):
        scores = [column(c) for c in columns]
        if pairs:
            scores = [[[None if x is None else bits() for x in c] for _ in c] for c in scores]
        return {"before": before, "scores": scores, "cutoff": -6.0}

    def words(rows):
        return [[bits() for _ in range(4 ** (order + 1))] for _ in range(rows)]

    at = [1, 5, 20, 100]
    introns = rng.dirichlet([2.0] * 6)
    content = {
        "format": "gpu-tools exon model", "version": 2, "name": "small", "source": "random",
        "units": "bits",
        "acceptor": matrix(2, "x---", "--x-", "xxxx"),
        "donor": matrix(1, "xxxx", "--x-", "-x-x"),
        "start": matrix(1, "xxxx", "x---", "---x", "--x-"),
        "stops": STOPS,
        "coding": {
            "order": order, "window": 9, "weight": 0.7, "gc": 0.45,
            "gc_shifts": [0.4, 0.1, 1.7, 1.0], "coding": words(3), "other": words(1),
        },
        "length": {"at": at} | {t: [bits() for _ in at] for t in ("Init", "Intr", "Term", "Sngl")},
        "min_length": 3, "max_length": 60,
        "gene": {
            "between": 6.0, "intron": 4.0, "shortest_intron": 2, "single": 0.3, "last": 0.4,
            "introns": [float(share) for share in introns],
        },
        "min_probability": 0.0,
    }  # fmt: skip
    return content | changes


def random_sequence(rng, n, unknown=0.03):
    """Return a text rich in the words that sites and codons need."""
    text = ""
    while len(text) < n:
        text += "N" if rng.random() < unknown else WORDS[rng.integers(len(WORDS))]
    return text[:n]
