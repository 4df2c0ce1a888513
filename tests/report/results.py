"""A small folder of results: two bases, three targets, two methods, and names to escape."""

import itertools

import numpy as np

COLUMNS = (
    "base", "target", "method", "locus", "strand", "score", "base_length", "target_length",
    "n_exons", "n_chain", "chain", "identity", "cells", "coverage", "evalue", "accepted",
    "description",
)  # fmt: skip
RECORD = "chr<b>&1"
PLUS, MINUS = "plus#1", "</script>minus"
TARGETS = ("T1", "T<i>2", "T3")
DESCRIPTIONS = {"T1": "interleukin 10 (Il10)"}
# exons, 0-based half-open in the record
GENES = {
    PLUS: ("+", [(1000, 1100), (2000, 2150), (9000, 9200)]),
    MINUS: ("-", [(12000, 12100), (13000, 13150)]),
}
LOCI = {PLUS: (500, 10000), MINUS: (11000, 14000)}
DECOY = (9500, 9530)
LENGTH = 20000


def locus(base):
    start, end = LOCI[base]
    return f"{RECORD}:{start + 1}-{end}"


def chain(exons, strand):
    ordered = sorted(exons, reverse=strand == "-")
    return ",".join(f"{start + 1}-{end}" for start, end in ordered)


def row(base, target, method, score, exons, evalue, accepted):
    """Return the texts of a row of the table of scores; without exons a case has no candidate."""
    strand = GENES[base][0] if exons else "."
    numbers = (LENGTH, 500, 40, len(exons))
    rest = (chain(exons, strand), "0.9012") if exons else (".", ".")
    last = (1000000, "0.9500", evalue, accepted, DESCRIPTIONS.get(target, "."))
    return [base, target, method, locus(base), strand, score, *numbers, *rest, *last]


def rows():
    """Return all rows: each base has a target that fits, the first one another, weaker one."""
    found = []
    for (base, own), target in itertools.product(zip(GENES, TARGETS, strict=False), TARGETS):
        exons = GENES[base][1]
        for method, score in (("candidates", 300), ("sites", 320)):
            if target == own:
                found.append(row(base, target, method, score, exons, "1.0e-50", "yes"))
            elif (base, target, method) == (PLUS, "T3", "sites"):
                found.append(row(base, target, method, 60, exons[:2], "2.0e-04", "yes"))
            elif base == PLUS:
                found.append(row(base, target, method, 12, [DECOY], "4.0e-01", "no"))
            else:
                found.append(row(base, target, method, ".", [], ".", "no"))
    return found


def sequence():
    """Return the record: random, its introns GT-AG but the first one of the forward strand."""
    symbols = list(np.random.default_rng(7).choice(list("ACGT"), LENGTH))
    for strand, exons in GENES.values():
        for (_, start), (end, _) in itertools.pairwise(exons):
            symbols[start : start + 2] = "GT" if strand == "+" else "CT"
            symbols[end - 2 : end] = "AG" if strand == "+" else "AC"
    symbols[1100:1102] = "CC"
    return "".join(symbols)


def gff3(base, feature, scores):
    """Return GFF3 of a base's exons, in the coordinates of its locus and under its name."""
    strand, exons = GENES[base]
    name = base.replace("<", "%3C").replace(">", "%3E").replace("#", "%23").replace("/", "%2F")
    for k, ((start, end), score) in enumerate(zip(exons, scores, strict=False)):
        first, last = start - LOCI[base][0] + 1, end - LOCI[base][0]
        place = f"{name}\tx\t{feature}\t{first}\t{last}"
        yield f"{place}\t{score}\t{strand}\t0\tID={feature}{k}{name}\n"


def write_table(path, columns, table):
    path.write_text("".join("\t".join(map(str, line)) + "\n" for line in (columns, *table)))


def write_batch(folder):
    """Write what the workflow leaves in the folder of a batch."""
    folder.mkdir(parents=True)
    pairs = [(base, target, locus(base)) for base in GENES for target in TARGETS]
    write_table(folder / "pairs.tsv", ("base", "target", "locus"), pairs)
    head = "##gff-version 3\n"
    candidates = (line for base in GENES for line in gff3(base, "exon", (5.5, 7.25, 3.0)))
    (folder / "predicted.gff3").write_text(head + "".join(candidates))
    annotated = (line for base in GENES for line in gff3(base, "CDS", (".", ".")))
    (folder / "annotation.gff3").write_text(head + "".join(annotated))
    record = sequence()
    cut = (f">{base} locus={locus(base)}\n{record[slice(*LOCI[base])]}\n" for base in GENES)
    (folder / "bases.fa.gz").write_text("".join(cut))  # a plain file under this name is read, too
    write_table(folder / "scores.tsv", ("cells",), [(1000000,)] * 6)


ESTIMATE = (
    "base", "target", "n_exons", "cells", "computed_cells", "groups", "largest_group",
    "longest_chain", "site_cells", "list_cpu_seconds", "list_gpu_seconds", "site_cpu_seconds",
    "site_gpu_seconds", "measured_seconds", "relative_error",
)  # fmt: skip


def write_estimate(folder):
    """Write what spliced-estimate leaves in the folder of a batch."""
    pairs = itertools.product(GENES, TARGETS)
    table = [
        (*pair, 5, cells := 10 ** (k + 3), cells // 2, 3, 2, 3, 4 * cells, 1e-3 * k, 2e-3, 0.02 * k,
         3e-3, 1.2e-3 * k, -0.1)
        for k, pair in enumerate(pairs, start=1)
    ]  # fmt: skip
    write_table(folder / "estimate.tsv", ESTIMATE, table)
    bars = [("exon_length", 1, 32, 4), ("exon_length", 65, 96, 1), ("group_size", 2, 2, 7)]
    write_table(folder / "estimate_histograms.tsv", ("histogram", "from", "to", "count"), bars)
    calls = [("list", "cpu", "a CPU", 0.5), ("list", "gpu", "a GPU", 0.25), ("site", "cpu", "a", 3)]
    write_table(folder / "estimate_calls.tsv", ("mode", "kind", "device", "seconds"), calls)


def write_results(folder):
    """Write a folder of results and return it."""
    batch = folder / "batches" / "0123456789ab"
    write_batch(batch)
    write_estimate(batch)
    write_table(folder / "scores.tsv", COLUMNS, rows())
    columns = ("base", "method", "exons", "level", "annotated", "predicted", "true")
    ratios = ("sensitivity", "precision", "f1")
    accuracy = [(b, "sites", "chain", level, 5, 5, 4, "0.8000", "0.8000", "0.8000")
                for b in (".", PLUS) for level in ("nucleotide", "exon")]  # fmt: skip
    write_table(folder / "accuracy.tsv", columns + ratios, accuracy)
    measured = folder / "benchmarks" / "spliced_align" / f"{batch.name}.tsv"
    measured.parent.mkdir(parents=True)
    write_table(measured, ("s", "max_rss", "cpu_time"), [("2.5", "100.5", "2.25")])
    log = folder / "logs" / "spliced_align" / f"{batch.name}.log"
    log.parent.mkdir(parents=True)
    log.write_text(
        "aligning: 100 %\ndone: 6 cases, 2 accepted; device cuda:1; 2.0 s; written to x\n"
    )
    (folder / "segments").mkdir()
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle r="4"/></svg>'
    (folder / "segments" / "cpg.svg").write_text(svg)
    return folder
