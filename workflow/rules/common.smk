"""Configuration and sheet of cases: read, checked, and asked by the rules' input functions."""

import csv
import hashlib
import re
from importlib.metadata import PackageNotFoundError, version

import pandas as pd
from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

REQUIRED = ("base", "base_fasta", "target", "target_fasta")
COLUMNS = (*REQUIRED, "record", "locus", "exons", "annotation")
# what must be the same in all rows of a base, and of a target
OF_BASE = ("base_fasta", "record", "locus", "exons", "annotation")
OF_TARGET = ("target_fasta",)
MISSING = ("", ".")
# columns of the sheet by the wildcards kind and source
NAME_COLUMNS = {"loci": "base", "targets": "target"}
EXON_COLUMNS = {"given": "exons", "annotation": "annotation"}
# what is fetched rather than read where it lies: services, addresses, files with a checksum
SERVICES = ("ncbi:", "ensembl:")
FETCHED = re.compile(r"ncbi:|ensembl:|https?://|.*#(sha256|md5)=")
# the methods of each mode, and how their files' names begin
METHODS = {
    "candidates": ["candidates"],
    "sites": ["sites"],
    "both": ["candidates", "sites"],
}
PREFIXES = {"candidates": "", "sites": "site_"}
FORMATS = ["gff3", "bed", "bam"]
# keys of the configuration that go with a provider; those without take the sheet's files
PROVIDER_KEYS = {
    "builtin": ("model", "min_score", "min_probability"),
    "genscan": ("program", "min_probability", "matrix"),
    "augustus": ("program", "min_probability", "species", "samples"),
    "genscan-report": (),
    "file": (),
}
# what rules/segments.smk looks for
SEGMENTS = ("cpg_islands", "gc_rich_regions", "hydrophobic_segments")


def check(data, schema, place):
    """Validate and fill in defaults; an error becomes one line that begins with place(path)."""
    try:
        validate(data, schema)
    except WorkflowError as error:
        cause = error.__context__
        if not hasattr(cause, "absolute_path"):
            raise
        raise WorkflowError(f"{place(list(cause.absolute_path))}: {problem(cause)}") from None


def problem(cause):
    """Say what a schema forbids and what it wants."""
    known = ", ".join(cause.schema.get("properties", {}))
    if cause.validator == "additionalProperties":
        unknown = [key for key in cause.instance if key not in cause.schema["properties"]]
        return f"unknown key {', '.join(map(repr, unknown))}; expected one of {known}"
    if cause.validator == "required":
        missing = [key for key in cause.validator_value if key not in cause.instance]
        return f"no value for {', '.join(missing)}; expected {', '.join(cause.validator_value)}"
    if cause.validator == "minItems":
        return f"nothing there; expected {expected(cause)}"
    return f"{cause.instance!r} is wrong; expected {expected(cause)}"


def expected(cause):
    if cause.validator == "enum":
        return f"one of {', '.join(map(str, cause.validator_value))}"
    return cause.schema.get("expected", f"{cause.validator} {cause.validator_value}")


def config_place(path):
    return f"configuration, {'.'.join(map(str, path))}" if path else "configuration"


def check_provider():
    """What is configured must be the provider's to take, and what it needs must be there."""
    given = {key: value for key, value in config["exons"].items() if value is not None}
    provider = given.pop("provider")
    for key in given:
        if key not in PROVIDER_KEYS[provider]:
            keys = ", ".join(PROVIDER_KEYS[provider]) or "no other key"
            raise WorkflowError(
                f"configuration, exons.{key}: not for provider {provider}; expected {keys}"
            )
    if provider == "genscan" and "matrix" not in given:
        raise WorkflowError(
            "configuration, exons.matrix: no value; expected GENSCAN's parameter matrix, "
            "a file such as HumanIso.smat"
        )


def sheet_error(line, text, column=None):
    place = f"{config['cases']}, line {line}" + (f", column {column}" if column else "")
    return WorkflowError(f"{place}: {text}")


def read_fields(path):
    """Return the sheet as a table of text without a header; row 0 is the header line."""
    try:
        return pd.read_csv(
            path,
            sep="\t",
            header=None,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=False,
            quoting=csv.QUOTE_NONE,
        ).fillna("")
    except (
        OSError,
        UnicodeError,
        pd.errors.EmptyDataError,
        pd.errors.ParserError,
    ) as error:
        reason = " ".join(str(error).split())
        raise WorkflowError(
            f"{path}: cannot be read as a sheet of cases ({reason}); "
            "expected tab-separated text with a header line"
        ) from None


def check_header(names):
    for name in names:
        if name not in COLUMNS or names.count(name) > 1:
            what = "repeated" if name in COLUMNS else "unknown"
            raise sheet_error(1, f"{what} column {name!r}; expected {', '.join(COLUMNS)}")
    for name in REQUIRED:
        if name not in names:
            raise sheet_error(1, f"no column {name!r}; expected {', '.join(REQUIRED)}")


def read_records(path):
    """Return the rows of the sheet as dictionaries without what is missing."""
    fields = read_fields(path)
    names = [name.strip() for name in fields.iloc[0]]
    check_header(names)
    rows = ([field.strip() for field in row] for row in fields.iloc[1:].itertuples(index=False))
    return [{n: v for n, v in zip(names, row) if v not in MISSING} for row in rows]


def gene_records():
    """Return the cases that the configured genes stand for: each with each species' orthologue."""
    return [
        {
            "base": gene,
            "base_fasta": f"ensembl:gene:{gene}",
            "target": f"{gene}.{species}",
            "target_fasta": f"ensembl:homologue:{gene}:{species}",
        }
        for gene, all_species in config["genes"].items()
        for species in all_species
    ]


def all_cases():
    """Return the checked cases of the sheet and of the genes; the sheet's lines as the index."""
    records = read_records(config["cases"]) if config["cases"] else []
    records += gene_records()
    check({"cases": records}, "../schemas/cases.schema.yaml", sheet_place)
    cases = pd.DataFrame(records, index=range(2, len(records) + 2))
    cases["record"] = cases["record"].where(cases["record"] != "", cases["base"])
    check_cases(cases)
    return cases


def sheet_place(path):
    place = [config["cases"] or "configuration, genes"]
    place += [f"line {path[1] + 2}"] if len(path) > 1 else []
    place += [f"column {path[2]}"] if len(path) > 2 else []
    return ", ".join(place)


def check_cases(cases):
    for key, columns in (("base", OF_BASE), ("target", OF_TARGET)):
        for name, rows in cases.groupby(key, sort=False):
            check_equal(key, name, rows, columns)
    for line in cases.index[cases.duplicated(["base", "target"])]:
        base, target = cases.loc[line, ["base", "target"]]
        raise sheet_error(line, f"{base} with {target} again; expected each case once")
    check_loci(cases)
    check_records(cases)
    for line in cases.index[cases["exons"] == ""]:
        if "candidates" in methods() and not PROVIDER_KEYS[config["exons"]["provider"]]:
            raise sheet_error(line, "no value; expected a file of candidate exons", "exons")


def check_equal(key, name, rows, columns):
    """Rows of one base, or of one target, must mean the same sequence."""
    for column in columns:
        first = rows[column].iloc[0]
        for line, value in rows[column].items():
            if value != first:
                raise sheet_error(
                    line,
                    f"{value or 'nothing'} for {key} {name}; "
                    f"expected {first or 'nothing'} as in line {rows.index[0]}",
                    column,
                )


def check_loci(cases):
    for line, locus in cases["locus"].items():
        if locus and int(locus.split("-")[0]) > int(locus.split("-")[1]):
            raise sheet_error(line, f"{locus} ends before it starts; expected START-END", "locus")


def check_records(cases):
    """Results name records, so records of one name must come from one file."""
    files = cases[~cases["base_fasta"].str.startswith(SERVICES)]
    for record, rows in files.groupby("record", sort=False):
        check_equal("record", record, rows, ("base_fasta",))


def installed_version():
    """Return gpu-tools' version: a parameter of every rule, so that a new one reruns them."""
    try:
        return version("gpu-tools")
    except PackageNotFoundError:  # its environment may be another one than Snakemake's
        return "unknown"


def batch_names(n_cases):
    """Name the batches so that another number of them is another set of files."""
    n = -(-n_cases // config["batch_size"])
    return [f"{k}of{n}" for k in range(1, n + 1)]


def batch_files(name):
    """Return the files of one name of all batches."""
    return expand("<results>/batches/{batch}/{name}", batch=BATCHES, name=name)


def fetched_name(source):
    """Name the file of a source: readable, and another one for another source."""
    readable = re.sub(r"[^0-9A-Za-z.]+", "_", source.split("#")[0])[-60:].strip("_.")
    return f"{readable}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"


def fetched_sources():
    """Return the sources to fetch by the names of their files."""
    sources = pd.concat([CASES["base_fasta"], CASES["target_fasta"]]).unique()
    return {fetched_name(source): source for source in sources if FETCHED.match(source)}


def source_of(wildcards):
    """Return where a sequence comes from: a file, or what is to be fetched."""
    column = NAME_COLUMNS[wildcards.kind]
    return CASES.loc[CASES[column] == wildcards.name, f"{column}_fasta"].iloc[0]


def sequence_file(wildcards):
    """Return the FASTA file of a locus or a target."""
    source = source_of(wildcards)
    if not FETCHED.match(source):
        return source
    return f"<results>/sequences/fetched/{fetched_name(source)}.fa.gz"


def sequence_record(wildcards):
    """Return the record's name; None for a service's answer, which holds one record only."""
    if source_of(wildcards).startswith(SERVICES):
        return None
    if wildcards.kind == "targets":
        return wildcards.name
    return CASES.loc[CASES["base"] == wildcards.name, "record"].iloc[0]


def sequence_locus(wildcards):
    """Return the part of the record to cut, None for all of it."""
    if wildcards.kind == "targets":
        return None
    return CASES.loc[CASES["base"] == wildcards.name, "locus"].iloc[0] or None


def base_row(wildcards):
    """Return a row of the sheet that names a base sequence."""
    return CASES[CASES["base"] == wildcards.base].iloc[0]


def sequences(kind):
    """Return the cut base sequences or the targets, each once, in the order of the sheet."""
    names = CASES[NAME_COLUMNS[kind]].unique()
    return expand("<results>/sequences/{kind}/{name}.fa.gz", kind=kind, name=names)


def targets_of_base(wildcards):
    """Return the targets of a base sequence, in the order of the sheet."""
    names = CASES.loc[CASES["base"] == wildcards.base, "target"]
    return expand("<results>/sequences/targets/{name}.fa.gz", name=names)


def exon_kind(wildcards):
    """Return what a file of the sheet's holds."""
    if wildcards.source == "annotation":
        return "annotation"
    return "report" if config["exons"]["provider"] == "genscan-report" else "candidates"


def candidates(bases):
    """Return the candidate exons of base sequences, as the configured provider makes them."""
    source = "predicted" if PROVIDER_KEYS[config["exons"]["provider"]] else "given"
    return expand("<results>/exons/{source}/{base}.gff3", source=source, base=bases)


def methods():
    """Return the configured methods."""
    return METHODS[config["mode"]]


def listed(**files):
    """Return the files of candidate exons by name, or none if no method needs candidates."""
    return files if "candidates" in methods() else {}


def prefixes():
    """Return how the names of the configured methods' files begin."""
    return [PREFIXES[method] for method in methods()]


def method_files(name):
    """Return each batch's files of one name, one for each method, batch by batch."""
    names = [f"{PREFIXES[method]}{name}" for method in methods()]
    return expand("<results>/batches/{batch}/{name}", batch=BATCHES, name=names)


def site_options():
    """Return the options of site mode: its own, and what both methods share."""
    own = dict(config["sites"])
    shared = ("match", "mismatch", "gap", "ends")
    options = {"site_model": own.pop("model"), **own}
    return options | {name: config["scoring"][name] for name in shared}


def pairs():
    """Return the (base, target) pairs in the order of the sheet."""
    return list(CASES[["base", "target"]].itertuples(index=False, name=None))


def annotated_bases():
    """Return the base sequences whose annotation the sheet names."""
    return list(CASES.loc[CASES["annotation"] != "", "base"].unique())


def n_gpus():
    """Return how many GPUs an alignment job holds; under auto one, in case there is one."""
    return 0 if config["device"] == "cpu" else config["device"].count(",") + 1


def segment_limits(name):
    """Return what segments must have at least, as options of max-segments."""
    return {key: config["segments"][name][key] for key in ("min_score", "min_length")}


def segment_sequences(wildcards):
    """Return the files in which a kind of segment is looked for."""
    if wildcards.segments == "hydrophobic_segments":
        return config["segments"]["proteins"] or "<results>/sequences/proteins.fa"
    return sequences("loci")


def annotations(bases):
    """Return the annotated coding segments of base sequences."""
    return expand("<results>/exons/annotation/{base}.gff3", base=bases)


def tables():
    """Return the workflow's results."""
    names = ["scores.tsv", "best.tsv", "structures.svg", "best_loci.tsv", "best_targets.tsv"]
    names += expand("{prefix}best.gff3", prefix=prefixes())
    names += expand("{prefix}alignments.{format}", prefix=prefixes(), format=FORMATS)
    names += ["accuracy.tsv"] if annotated_bases() else []
    names += ["provenance.tsv"] if FETCHED_SOURCES else []
    return expand("<results>/{name}", name=names)


check(config, "../schemas/config.schema.yaml", config_place)
check_provider()
CASES = all_cases()
BATCHES = batch_names(len(CASES))
FETCHED_SOURCES = fetched_sources()
VERSION = installed_version()


wildcard_constraints:
    base="[^/]+",
    batch="[0-9]+of[0-9]+",
    prefix="|".join(PREFIXES.values()),
    fetched="[0-9A-Za-z._-]+",
    kind="loci|targets",
    name="[^/]+",
    segments="|".join(SEGMENTS),
    source="given|annotation",
