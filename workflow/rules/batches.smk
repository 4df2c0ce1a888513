"""Batches of cases: planned from the sheet alone; the rules' input functions look them up.

A batch is a run of cases as the sheet has them. Its name is a digest of its rows, and where the
sheet is split depends on digests of names: a changed row makes another batch of its own, and the
others keep their names and so their files.
"""

import hashlib
from itertools import accumulate, chain

# seconds that a case takes beside its alignment: benchmarks/results/workflow-cpu.json
CASE_SECONDS = 0.027
# symbols of a usual target, as the sheet has no lengths; nucleotides of a locus that counts once
TARGET_SYMBOLS, LOCUS = 1500, 100_000
# loci that structures_plot and results_report draw at most
MOST_DRAWN = 50


def digest(*words):
    return hashlib.blake2b("\t".join(words).encode(), digest_size=6).hexdigest()


def weight(base):
    """Return the time of a case on a base, relative to one on a usual locus.

    The sheet has the lengths of loci alone.
    """
    if not base.locus:
        return 1
    start, end = map(int, base.locus.split("-"))
    length = end - start + 1 + 2 * config["flank"]
    return max(1, whole_seconds(length) / whole_seconds(LOCUS))


def whole_seconds(nucleotides):
    """Return what a case takes with its share of a batch's jobs."""
    return CASE_SECONDS + case_seconds(nucleotides, TARGET_SYMBOLS)


def rank(before, pair):
    """Return how early cases are split between two, the lowest first: between bases at best."""
    same = before[0] == pair[0]
    # a base whose rows do not stand together comes before the others again and again
    return same, "" if same else digest(pair[0]), digest(*pair)


def runs(weights, ranks):
    """Yield (first, last) of runs that weigh at most batch_size, or are of one item.

    A run that is too heavy is split before the item of the lowest rank. So items that come or go
    change the runs beside them alone.
    """
    weighed, parts = [0, *accumulate(weights)], [(0, len(weights))]
    while parts:
        first, last = parts.pop()
        if last - first == 1 or weighed[last] - weighed[first] <= config["batch_size"]:
            yield first, last
        else:
            middle = min(range(first + 1, last), key=ranks.__getitem__)
            parts += [(middle, last), (first, middle)]


def by_name(batches):
    """Return batches by the digests of what they are cut from."""
    return {
        digest(*chain(*((*CASES.bases[b][:4], *CASES.targets[t]) for b, t in pairs))): pairs
        for pairs in batches
    }


def case_batches():
    """Return the pairs of each batch by its name, in the order of the sheet."""
    pairs = CASES.pairs
    weights = [weight(CASES.bases[base]) for base, _ in pairs]
    ranks = [None, *map(rank, pairs, pairs[1:])]
    return by_name(pairs[first:last] for first, last in runs(weights, ranks))


@cache
def base_batches():
    """Return batches as `case_batches` does, but each base whole, whatever its number of cases."""
    of_base = {}
    for pair in CASES.pairs:
        of_base.setdefault(pair[0], []).append(pair)
    items = list(of_base.values())
    weights = [len(item) * weight(CASES.bases[item[0][0]]) for item in items]
    found = runs(weights, list(map(digest, of_base)))
    return by_name(list(chain(*items[first:last])) for first, last in found)


def pairs_of(name):
    """Return the pairs of a batch; of all the sheet for None."""
    if name is None:
        return CASES.pairs
    return BATCHES[name] if name in BATCHES else base_batches()[name]


class Parts(NamedTuple):
    """What a batch, or all the sheet, is cut from: sequences, and the numbers of their files."""

    bases: list[Base]
    targets: list[Target]
    files: dict[str, int]


@cache
def parts_of(name):
    bases, targets = (
        [known[n] for n in dict.fromkeys(names)]
        for known, names in zip(CASES[1:], zip(*pairs_of(name), strict=True), strict=True)
    )
    files = dict.fromkeys(file_of(item[1]) for item in (*bases, *targets))
    return Parts(bases, targets, {file: k for k, file in enumerate(files, start=1)})


def batch_parts(wildcards):
    return parts_of(wildcards.get("batch"))


def cut_files(wildcards):
    """Return the FASTA files that a batch is cut from."""
    return list(batch_parts(wildcards).files)


def cut_words(item, files, *where):
    """Return a sequence as words of sequences_cut; a service's answer holds one record."""
    record, *locus = where
    record = "." if item[1].startswith(SERVICES) else record
    return item[0], files[file_of(item[1])], record, *(text or "." for text in locus)


def cut_bases(wildcards):
    """Return name, number of the file, record and locus of each base of a batch."""
    bases, _, files = batch_parts(wildcards)
    return [cut_words(base, files, base.record, base.locus) for base in bases]


def cut_targets(wildcards):
    """Return name, number of the file and record of each target of a batch."""
    _, targets, files = batch_parts(wildcards)
    return [cut_words(target, files, target.target_record) for target in targets]


def cut_pairs(wildcards):
    """Return the cases of a batch."""
    return pairs_of(wildcards.batch)


def exon_bases(wildcards):
    """Return the bases of a batch for which the sheet names exons of a source, with their files."""
    column = EXON_COLUMNS[wildcards.source]
    found = [(base, getattr(base, column)) for base in batch_parts(wildcards).bases]
    return [(base, path) for base, path in found if path]


def exon_files(wildcards):
    """Return the files of exons that the sheet names for a batch."""
    return list(dict.fromkeys(path for _, path in exon_bases(wildcards)))


def exon_words(wildcards):
    """Return name, number of the file and record of each base with exons."""
    files = exon_files(wildcards)
    return [(b.base, files.index(path) + 1, b.record) for b, path in exon_bases(wildcards)]


def exon_kind(wildcards):
    """Return what a file of the sheet's holds."""
    if wildcards.source == "annotation":
        return "annotation"
    return "report" if config["exons"]["provider"] == "genscan-report" else "candidates"


def evidence_files(batch, column):
    """Return the files of a kind of splice evidence that the sheet names for a batch."""
    paths = (getattr(base, column) for base in parts_of(batch).bases)
    return list(dict.fromkeys(path for path in paths if path))


def evidence_words(wildcards):
    """Return name and numbers of the files of each base with splice evidence, 0 for none."""
    files = {column: ["", *evidence_files(wildcards.batch, column)] for column in EVIDENCE}
    numbers = (
        (b.base, *(own.index(getattr(b, column)) for column, own in files.items()))
        for b in batch_parts(wildcards).bases
    )
    return [words for words in numbers if any(words[1:])]


def evidence(column):
    """Return the function of the wildcards that names a batch's splice evidence of a kind."""
    suffix = {"junctions": "bed", "splice_scores": "tsv"}[column]

    def of_batch(wildcards):
        named = evidence_files(wildcards.batch, column)
        return batch_files(f"{column}.{suffix}", [wildcards.batch]) if named else []

    return of_batch


def evidence_inputs():
    """Return the splice evidence of a batch as options of an alignment."""
    return {column: evidence(column) for column in EVIDENCE}


def evidence_weights():
    """Return the weights of splice evidence, those of what a batch has."""

    def weight_of(key, column):
        value = config["sites"][key]
        return lambda wildcards: value if evidence_files(wildcards.batch, column) else None

    return {key: weight_of(key, column) for key, column in WEIGHTS.items()}


def check_weights():
    """A weight of splice evidence must not be given for a sheet that has none."""
    for key, column in WEIGHTS.items():
        has_column = any(getattr(base, column) for base in CASES.bases.values())
        if is_given(config["sites"][key]) and not has_column:
            raise InputError(
                f"configuration, sites.{key}: no {column} in the sheet of cases, with which it goes"
            )


def file_of(source):
    """Return the FASTA file of a source: itself, or what is fetched."""
    if not FETCHED.match(source):
        return source
    return f"<results>/sequences/fetched/{fetched_name(source)}.fa.gz"


def fetched_name(source):
    """Name the file of a source: readable, and another one for another source."""
    readable = re.sub(r"[^0-9A-Za-z.]+", "_", source.split("#")[0])[-60:].strip("_.")
    return f"{readable}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"


def fetched_sources():
    """Return the sources to fetch by the names of their files."""
    of_cases = [item[1] for known in CASES[1:] for item in known.values()]
    sources = dict.fromkeys(of_cases + annotation_sources() + lift_sources())
    return {fetched_name(source): source for source in sources if FETCHED.match(source)}


def batch_files(name, batches=None):
    """Return the files of one name of batches, all of them by default."""
    batches = BATCHES if batches is None else batches
    return expand("<results>/batches/{batch}/{name}", batch=batches, name=name)


def candidates(batches):
    """Return the candidate exons of batches, as the configured provider makes them."""
    source = "predicted" if PROVIDER_KEYS[config["exons"]["provider"]] else "given"
    return batch_files(f"{source}.gff3", batches)


def listed(**files):
    """Return the files of candidate exons by name, or none if no method needs candidates."""
    return files if "candidates" in methods() else {}


def estimated_exons():
    """Return the candidate exons of a batch by name, or none if no method needs candidates."""
    if "candidates" not in methods():
        return {}
    return {"exons": lambda wildcards: candidates([wildcards.batch])}


def method_files(name):
    """Return each batch's files of one name, one for each method, batch by batch."""
    names = [f"{prefix}{name}" for prefix in prefixes()]
    return expand("<results>/batches/{batch}/{name}", batch=BATCHES, name=names)


def estimates():
    """Return the estimates of all batches, for the report, or none if it does not have them."""
    if not config["estimate"]:
        return []
    names = ["estimate.tsv", "estimate_histograms.tsv", "estimate_calls.tsv"]
    return expand("<results>/batches/{batch}/{name}", batch=BATCHES, name=names)


def first_batches(bases):
    """Return the batches that are the first ones of some bases."""
    return list(dict.fromkeys(FIRST_BATCH[base] for base in bases))


def annotated(bases):
    """Return those bases whose annotation the sheet names."""
    return [base for base in bases if CASES.bases[base].annotation]


def segment_sequences(wildcards):
    """Return the file in which a kind of segment is looked for."""
    if wildcards.segments == "hydrophobic_segments":
        return config["segments"]["proteins"] or "<results>/sequences/proteins.fa"
    return "<results>/sequences/loci.fa.gz"


def drawn_exons():
    """Return the files of all candidates and annotated exons, which the report draws."""
    found = candidates(BATCHES) if "candidates" in methods() else []
    return found + batch_files("annotation.gff3", first_batches(ANNOTATED))


def drawn_junctions():
    """Return the introns that were seen on all bases, which the report draws."""
    bases = [base for base in CASES.bases if CASES.bases[base].junctions]
    return batch_files("junctions.bed", first_batches(bases))


def sheet_files():
    """Return the sheet, and the files that it names."""
    items = [*CASES.bases.values(), *CASES.targets.values()]
    columns = ("exons", "annotation", *EVIDENCE)
    paths = [file_of(item[1]) for item in items]
    paths += [getattr(base, column) for base in CASES.bases.values() for column in columns]
    sheet = config["cases"] or ""
    named = [sheet] if os.path.exists(sheet) else []
    introns = [config[section]["target_introns"] for section in ("sites", "proteins")]
    return list(dict.fromkeys(filter(None, [*named, *protein_files(), *introns, *paths])))


def only_genome():
    """Return the FASTA file of all bases, none if there are several."""
    files = {file_of(base.base_fasta) for base in CASES.bases.values()}
    return list(files) if len(files) == 1 else []


def tables():
    """Return the workflow's tables, alignments and figure of structures."""
    names = ["scores.tsv", "best.tsv", "structures.svg", "best_loci.tsv", "best_targets.tsv"]
    names += expand("{prefix}best.gff3", prefix=prefixes())
    for method in methods():
        formats = PROTEIN_FORMATS if method == "proteins" else FORMATS
        names += expand("{prefix}alignments.{format}", prefix=PREFIXES[method], format=formats)
    names += ["accuracy.tsv"] if ANNOTATED else []
    names += ["provenance.tsv"] if FETCHED_SOURCES else []
    return expand("<results>/{name}", name=names)


def everything():
    """Return the workflow's results."""
    if not CASES.pairs:
        return annotation_files() + lift_files()
    pages = expand("<results>/{name}", name=["report.html", "igv_session.xml"])
    return tables() + pages


# columns of the sheet by the wildcard source
EVIDENCE = ("junctions", "splice_scores")
# weights of splice evidence, and the columns that they go with
WEIGHTS = {
    "junction_weight": "junctions",
    "splice_weight": "splice_scores",
    "splice_only": "splice_scores",
}
EXON_COLUMNS = {"given": "exons", "annotation": "annotation"}
BATCHES = case_batches()
FIRST_BATCH = {base: name for name in reversed(BATCHES) for base, _ in BATCHES[name]}
DRAWN = list(CASES.bases)[:MOST_DRAWN]
ANNOTATED = annotated(CASES.bases)
FETCHED_SOURCES = fetched_sources()
check_weights()


wildcard_constraints:
    batch="[0-9a-f]{12}",
    prefix="|".join(PREFIXES[method] for method in METHODS["both"]),
    fetched="[0-9A-Za-z._-]+",
    segments="|".join(SEGMENTS),
    source="given|annotation",
