"""Sheet of cases: read and checked; rows of patterns become cases."""

import csv
import glob
import gzip
import zlib
from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

MISSING = ("", ".")
# the columns that name the record of a base and of a target
RECORD_COLUMNS = {"base": "record", "target": "target_record"}
# what is fetched rather than read where it lies: services, addresses, files with a checksum
SERVICES = ("ncbi:", "ensembl:")
FETCHED = re.compile(r"ncbi:|ensembl:|https?://|.*#(sha256|md5)=")
GZIP = b"\x1f\x8b"
# bytes of a FASTA file without an index, at most, that is looked through for names
LOOKED_THROUGH = 50_000_000


class Base(NamedTuple):
    """A base sequence: the columns of the sheet that its rows agree in."""

    base: str
    base_fasta: str
    record: str
    locus: str
    exons: str
    annotation: str
    junctions: str
    splice_scores: str


class Target(NamedTuple):
    """A target: the columns of the sheet that its rows agree in."""

    target: str
    target_fasta: str
    target_record: str


def sheet_error(line, text, column=None):
    """Return an error in a line of the sheet, or in the configured genes if there is no line."""
    place = f"{config['cases']}, line {line}" if line else "configuration, genes"
    return InputError(f"{place}{f', column {column}' if column else ''}: {text}")


def read_rows(path):
    """Yield (line, values by column) of the sheet, without what is missing."""
    names = None
    try:
        # spreadsheets write a byte order mark, quotes, and tabs behind the last column
        with open(path, encoding="utf-8-sig") as stream:
            for line, text in enumerate(stream, start=1):
                fields = [field.strip() for field in next(csv.reader([text], delimiter="\t"), [])]
                while fields and not fields[-1]:
                    fields.pop()
                if names is None:
                    names = check_header(fields)
                elif fields:
                    yield line, check_row(line, names, fields)
    except (OSError, UnicodeError, csv.Error) as error:
        raise InputError(
            f"{path}: cannot be read as a sheet of cases ({error}); "
            "expected tab-separated text with a header line"
        ) from None
    if names is None:
        check_header([])


def check_header(names):
    if len(names) == 1 and " " in names[0]:
        raise sheet_error(1, "no tab between the columns; expected columns separated by tabs")
    required = COLUMNS["required"]
    for name in names:
        if name not in COLUMNS["properties"] or names.count(name) > 1:
            what = "repeated" if name in COLUMNS["properties"] else "unknown"
            known = ", ".join(COLUMNS["properties"])
            hint = alike(name, COLUMNS["properties"]) if what == "unknown" else ""
            raise sheet_error(1, f"{what} column {name!r}{hint}; expected {known}")
    for name in required:
        if name not in names:
            raise sheet_error(1, f"no column {name!r}; expected {', '.join(required)}")
    return names


def check_row(line, names, fields):
    """Return the values of a row by column; those that are not there are empty."""
    if len(fields) > len(names):
        raise sheet_error(line, f"{len(fields)} fields; expected {len(names)}, as in the header")
    known = {name: field for name, field in zip(names, fields) if field not in MISSING}
    required = COLUMNS["required"]
    if missing := [name for name in required if name not in known]:
        expected = ", ".join(required)
        raise sheet_error(line, f"no value for {', '.join(missing)}; expected {expected}")
    for name, value in known.items():
        check_value(line, name, value)
    return dict.fromkeys(COLUMNS["properties"], "") | known


def check_value(line, column, value):
    schema = COLUMNS["properties"][column]
    if not matches(schema.get("pattern", ""), value):
        raise sheet_error(line, f"{value!r} is wrong; expected {schema['expected']}", column)
    if "{" in value or "}" in value:  # Snakemake would take it for a wildcard
        raise sheet_error(line, f"{value!r} is wrong; expected no braces", column)


@cache
def matches(pattern, value):
    return re.search(pattern, value) is not None


def gene_rows():
    """Yield (no line, row) of the configured genes: each with each species' orthologue."""
    for gene, all_species in config["genes"].items():
        for species in all_species:
            yield None, dict.fromkeys(COLUMNS["properties"], "") | {
                "base": gene,
                "base_fasta": f"ensembl:gene:{gene}",
                "target": f"{gene}.{species}",
                "target_fasta": f"ensembl:homologue:{gene}:{species}",
            }


def is_pattern(row, column):
    """Tell whether the name of a base, or of a target, stands for records: it is none itself."""
    name, file = row[column], row[f"{column}_fasta"]
    if not ("*" in name or "?" in name) or name == row[RECORD_COLUMNS[column]]:
        return False
    return matching_files(file) is not None or name not in known_names(file)


@cache
def known_names(path, most=float("inf")):
    """Return the names of a file's records as keys.

    None are known of a file that is not there, or has no index and more than `most` bytes.
    """
    try:
        if FETCHED.match(path) or not Path(path).is_file():
            return {}
        large = Path(path).stat().st_size > most
        return dict.fromkeys((indexed_names(path) or ()) if large else record_names(path))
    except (OSError, EOFError, UnicodeError, zlib.error):  # the rule that reads it says why
        return {}


def files_of(line, row, column):
    """Return the files that a value stands for: itself, or those that it matches."""
    source = row[f"{column}_fasta"]
    files = matching_files(source)
    if files is None:
        return [source]
    if not is_pattern(row, column):
        raise sheet_error(
            line, f"{row[column]!r} in all of {source}; expected * or another pattern", column
        )
    if not files:
        raise sheet_error(line, f"no file matches {source!r}; expected one", f"{column}_fasta")
    return files


@cache
def matching_files(source):
    """Return the files that a pattern matches, None for what is no pattern of files."""
    if not glob.has_magic(source) or FETCHED.match(source) or Path(source).exists():
        return None
    return sorted(path for path in glob.glob(source, recursive=True) if Path(path).is_file())


def named(line, row, column):
    """Yield the name and file of each sequence that a row's base, or target, stands for."""
    name, files = row[column], files_of(line, row, column)
    if not is_pattern(row, column):
        yield name, files[0]
        return
    if FETCHED.match(files[0]):
        raise sheet_error(
            line, f"the pattern {name!r} of {files[0]}; expected files on this machine", column
        )
    found = [(r, f) for f in files for r in records_in(line, f, column) if fnmatchcase(r, name)]
    if not found:
        raise sheet_error(
            line, f"no record of {row[f'{column}_fasta']} matches {name!r}; expected one", column
        )
    for record, file in found:
        check_value(line, column, record)
        yield record, file


def records_in(line, path, column):
    try:
        return record_names(path)
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise sheet_error(
            line, f"{path} cannot be read ({error}); expected FASTA", f"{column}_fasta"
        ) from None


@cache
def indexed_names(path):
    """Return the names of a FASTA file's records by its index, None without one that fits it."""
    try:
        from gpu_tools.formats.sequences.locus import names_by_index
    except ImportError:  # jobs have an environment of their own; to read the file takes longer
        return None
    return names_by_index(path)


@cache
def record_names(path):
    """Return the names of a FASTA file's records."""
    names = indexed_names(path)
    if names is not None:
        return names
    with open(path, "rb") as stream:
        opened = gzip.open if stream.read(2) == GZIP else open
    with opened(path, "rb") as stream:
        headers = (line[1:].split() for line in stream if line.startswith(b">"))
        return [words[0].decode() for words in headers if words]


def bases_of(line, row):
    """Return the base sequences of a row."""
    check_pattern(line, row, "base", ("record", "locus"))
    columns = ("locus", "exons", "annotation", "junctions", "splice_scores")
    rest = [row[column] for column in columns]
    return [Base(n, file, row["record"] or n, *rest) for n, file in named(line, row, "base")]


def targets_of(line, row):
    """Return the targets of a row."""
    check_pattern(line, row, "target", ("target_record",))
    record = row["target_record"]
    return [Target(name, file, record or name) for name, file in named(line, row, "target")]


def check_pattern(line, row, column, others):
    """A pattern goes without the columns that are for one sequence."""
    for other in others:
        if row[other] and is_pattern(row, column):
            what = f"{row[other]!r} for the pattern {row[column]}"
            raise sheet_error(line, f"{what}; expected nothing", other)


def check_equal(known, item, line):
    """Rows of one base, or of one target, must mean the same sequence."""
    first, first_line = known.setdefault(item[0], (item, line))
    for column, value, wanted in zip(item._fields, item, first, strict=True):
        if value != wanted:
            hint = (
                "; another locus of the record needs another name in the column base, "
                "and the record in the column record"
            )
            raise sheet_error(
                line,
                f"{value or 'nothing'} for {item._fields[0]} {item[0]}; "
                f"expected {wanted or 'nothing'} as in line {first_line}"
                f"{hint if column == 'locus' else ''}",
                column,
            )


def check_base(base, line):
    if base.locus and int(base.locus.split("-")[0]) > int(base.locus.split("-")[1]):
        raise sheet_error(line, f"{base.locus} ends before it starts; expected START-END", "locus")
    without = not base.exons and not PROVIDER_KEYS[config["exons"]["provider"]]
    if without and "candidates" in methods():
        raise sheet_error(line, "no value; expected a file of candidate exons", "exons")


def check_record(item, line):
    """The record that a base or a target is must be in its file, if the file is here."""
    column, file, own = item._fields[0], item[1], RECORD_COLUMNS[item._fields[0]]
    record, known = getattr(item, own), known_names(file, LOOKED_THROUGH)
    if known and record not in known:
        hint = alike(record, known) or f"; expected one of its {len(known)} records"
        place = column if record == item[0] else own
        raise sheet_error(line, f"no record {record!r} in {file}{hint}", place)


class Record(NamedTuple):
    """A record: those of one name must come from one file, as results name records."""

    record: str
    base_fasta: str


class Cases(NamedTuple):
    """The cases, pairs of names in the order of the sheet; bases and targets by name."""

    pairs: list[tuple[str, str]]
    bases: dict[str, Base]
    targets: dict[str, Target]


def read_cases():
    """Return the checked cases of the sheet and of the genes."""
    bases, targets, records, lines = {}, {}, {}, {}
    rows = read_rows(config["cases"]) if config["cases"] else ()
    for line, row in (*rows, *gene_rows()):
        of_row, others = bases_of(line, row), targets_of(line, row)
        for base in of_row:
            if base.base not in bases:
                check_base(base, line)
            check_equal(bases, base, line)
            if not base.base_fasta.startswith(SERVICES):
                check_equal(records, Record(base.record, base.base_fasta), line)
        for target in others:
            check_equal(targets, target, line)
        for pair in ((base.base, target.target) for base in of_row for target in others):
            if lines.setdefault(pair, line) != line:
                raise sheet_error(line, f"{pair[0]} with {pair[1]} again; expected each case once")
    if workflow.is_main_process:  # jobs read the rules, too
        for item, line in (*bases.values(), *targets.values()):
            check_record(item, line)
    if not (lines or config["annotation"]["genome"] or config["lift"]["genome"]):
        place = config["cases"] or "configuration, genes"
        raise InputError(
            f"{place}: nothing there; expected at least one case below the header line"
        )
    known = ({name: item for name, (item, _) in found.items()} for found in (bases, targets))
    return Cases(list(lines), *known)


with open(workflow.source_path("../schemas/cases.schema.yaml"), encoding="utf-8") as stream:
    COLUMNS = yaml.safe_load(stream)["properties"]["cases"]["items"]
CASES = read_cases()
