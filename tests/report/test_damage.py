"""A damaged file of results is an error that names the file, and the line where there is one."""

import json
import re
import shutil

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.report.findings import read_findings
from gpu_tools.report.gene_set import read_gene_set
from tests.report.test_gene_set import folder as genes  # noqa: F401  (a fixture)

BATCH = "batches/0123456789ab/"
MEASURED = "benchmarks/spliced_align/0123456789ab.tsv"
NUMBERS = {
    "scores.tsv": ("score", "base_length", "target_length", "chain", "identity", "cells",
                   "coverage", "evalue"),
    "accuracy.tsv": ("annotated", "predicted", "true", "sensitivity", "precision", "f1"),
    f"{BATCH}scores.tsv": ("cells",),
    f"{BATCH}pairs.tsv": ("locus",),
    f"{BATCH}estimate.tsv": ("n_exons", "cells", "groups", "site_cells", "list_cpu_seconds",
                             "measured_seconds"),
    f"{BATCH}estimate_histograms.tsv": ("from", "to", "count"),
    f"{BATCH}estimate_calls.tsv": ("seconds",),
    MEASURED: ("s", "max_rss", "cpu_time"),
}  # fmt: skip
OF_GENES = {
    "genes.tsv": ("start", "end", "mrnas", "exons", "score", "evalue", "identity", "coverage"),
    "targets.tsv": ("length", "found", "loci", "identity", "coverage"),
}
NO_NUMBERS = ("x", "nan", "1e999", "é")
TABLES = [*NUMBERS, *OF_GENES]


def columns(tables):
    return [(name, column) for name, several in tables.items() for column in several]


@pytest.fixture
def copy(results, genes, tmp_path):  # noqa: F811
    """A function that copies results or a gene set, and gives the path of a file there."""

    def copied(name):
        folder = genes if (genes / name).exists() and "/" not in name else results
        shutil.copytree(folder, tmp_path / "copy")
        return tmp_path / "copy" / name

    return copied


def read(path):
    folder = next(f for f in path.parents if f.name == "copy")
    if (folder / "conserved.txt").exists():
        return read_gene_set(folder, folder / "conserved.txt")
    return read_findings(folder)


def refused(path, line=None):
    with pytest.raises(InputError) as caught:
        read(path)
    assert caught.value.path == str(path)
    assert caught.value.line is not None or line is None
    assert line in (None, caught.value.line)
    assert "\n" not in str(caught.value)


def changed(path, column, text):
    """Change a field of the first row that has all its values."""
    head, *rows = (line.split("\t") for line in path.read_text().splitlines())
    k = next(k for k, row in enumerate(rows) if "." not in row)
    rows[k][head.index(column)] = text
    path.write_text("".join("\t".join(row) + "\n" for row in (head, *rows)))
    return k + 2


@pytest.mark.parametrize("text", NO_NUMBERS)
@pytest.mark.parametrize(("name", "column"), columns(NUMBERS | OF_GENES))
def test_what_is_no_number(copy, name, column, text):
    path = copy(name)
    refused(path, changed(path, column, text))


COUNTS = [*columns({"genes.tsv": ("start", "mrnas"), "targets.tsv": ("length", "loci")}),
          ("scores.tsv", "cells"), ("accuracy.tsv", "true"),
          (f"{BATCH}estimate_histograms.tsv", "count")]  # fmt: skip


@pytest.mark.parametrize("text", ["1.5", "-5", "9" * 20])
@pytest.mark.parametrize(("name", "column"), COUNTS)
def test_what_is_no_count(copy, name, column, text):
    path = copy(name)
    refused(path, changed(path, column, text))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    "damage", ["empty", "no text", "other text", "cut", "doubled", "no column"]
)
def test_damaged_tables(copy, name, damage):
    path = copy(name)
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    rows_again = name != MEASURED and not name.endswith("pairs.tsv")
    path.write_bytes({
        "empty": b"", "no text": b"\xff\xfe\x00\x01", "other text": b"hello\nworld\n",
        "cut": "".join(lines[:-1] + [lines[-1].partition("\t")[0]]).encode(),
        "doubled": (text + "".join(lines[rows_again:])).encode(),
        "no column": "".join(line.partition("\t")[2] for line in lines).encode(),
    }[damage])  # fmt: skip
    if len(lines[0].split("\t")) == 1 and damage in ("cut", "doubled", "no column"):
        path.write_text("".join(lines[:-1]))  # a row is missing
    refused(path)


@pytest.mark.parametrize(
    "text", ["", "##sequence-region a\n", "##gff-version 3\n##sequence-region a 1 x\n",
             "##gff-version 3\na\tx\texon\t1\n"],
)  # fmt: skip
def test_damaged_gene_models(copy, text):
    path = copy("genes.gff3")
    path.write_text(text)
    refused(path, max(1, text.count("\n")))


@pytest.mark.parametrize("damage", ["identity=x", "coverage=2", "evalue=many", "score"])
def test_damaged_figures_of_gene_models(copy, damage):
    path, name = copy("genes.gff3"), damage.partition("=")[0]
    lines = path.read_text().splitlines()
    k = next(k for k, line in enumerate(lines) if "\tmRNA\t" in line)
    fields = lines[k].split("\t")
    if name == "score":
        fields[5] = "high"
    else:
        fields[8] = re.sub(f"{name}=[^;]*", damage, fields[8])
    lines[k] = "\t".join(fields)
    path.write_text("\n".join(lines) + "\n")
    refused(path, k + 1)


@pytest.mark.parametrize(
    "text", ["", "hello", "[]", "7", '"introns"', "{}", '{"introns": {"GT-AG": 1',
             *(json.dumps({"introns": introns, "complete": complete})
               for introns, complete in [({"GT-AG": "x"}, 2), ([1], 2), (None, 2), ({}, "many"),
                                         ({}, None), ({"GT-AG": -1}, 2), ({"GT-AG": 1.5}, 2)]),
             *(json.dumps({"introns": {}, "complete": 1} | more)
               for more in ({"parts": ["x"]}, {"parts": 5}, {"searched": -1}, {"run": []},
                            {"run": {"command": 1}}, {"run": {"max_evalue": "x"}},
                            {"run": {"inputs": [{}]}}, {"run": {"inputs": [[]]}})),
             "[" * 100_000],
)  # fmt: skip
def test_a_summary_that_is_none(copy, text):
    path = copy("summary.json")
    path.write_text(text)
    refused(path, 1 if text[:1] in ("", "h") or text.endswith("1") else None)


@pytest.mark.parametrize(
    ("text", "line"), [("", None), ("\n", None), ("t2\na\tb\tc\n", 2), ("t2\n\na\tt9\n", 3)]
)
def test_a_wrong_conserved_set(copy, text, line):
    path = copy("conserved.txt")
    path.write_text(text)
    refused(path, line)


def test_cells_may_be_missing(copy, tmp_path):
    path = copy("scores.tsv")
    changed(path, "cells", ".")
    assert main(["report", str(path.parent), "--output", str(tmp_path / "page.html")]) == 0


@pytest.mark.parametrize("name", ["scores.tsv", "targets.tsv"])
def test_the_command_says_it_in_one_line(copy, tmp_path, capsys, name):
    path = copy(name)
    line = changed(path, "coverage", "x")
    assert main(["report", str(path.parent), "--output", str(tmp_path / "page.html")]) == 1
    expected = f"gpu-tools: error: {path}, line {line}: coverage 'x' is not a number\n"
    assert capsys.readouterr().err == expected
    assert not (tmp_path / "page.html").exists()
