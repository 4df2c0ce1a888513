"""Every benchmark program runs at a tiny size, on the CPU; tests of GPUs are in gpu/."""

import gzip
import importlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import record, reproduce, tables
from benchmarks.accuracy.cases import annotated_records, genes
from benchmarks.accuracy.species import ANNOTATIONS
from benchmarks.estimate import shipped
from gpu_tools.model.sequences import decode

FOLDER = Path(record.__file__).parent
SOURCES = {
    ".".join(path.relative_to(FOLDER.parent).with_suffix("").parts): path.read_text("utf-8")
    for path in FOLDER.rglob("*.py")
}
WITH_FOLDER = sorted(name for name, text in SOURCES.items() if "needs_folder=True)" in text)
ON_GPUS = sorted(name for name, text in SOURCES.items() if "needs_gpu=True" in text)
BY_ITSELF = ["benchmarks.spliced.bench_chains"]
PROGRAMS = sorted(
    name for name, text in SOURCES.items()
    if "record.main(measure" in text and name not in [*WITH_FOLDER, *ON_GPUS, *BY_ITSELF]
)  # fmt: skip
OTHERS = {
    "benchmarks.estimate.shipped", "benchmarks.figures", "benchmarks.lift.judge",
    "benchmarks.lift.mutated", "benchmarks.reproduce", "benchmarks.tables",
}  # fmt: skip


def numbers(value):
    """Yield the numbers of a figure."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from numbers(item)
    elif isinstance(value, int | float):
        yield value


def check(measured, path):
    """Check that figures are there and are finite, and that a record of them can be written."""
    found = dict(measured)
    assert found
    for name, figure in found.items():
        assert np.isfinite(list(numbers(figure))).all(), name
    record.write(path, found)
    assert json.loads(path.read_text())["figures"].keys() == found.keys()
    return found


def test_every_program_is_known():
    """A new program is run by one of the tests below, or is listed here with its own test."""
    started = {name for name, text in SOURCES.items() if '__name__ == "__main__"' in text}
    assert started == {*PROGRAMS, *WITH_FOLDER, *ON_GPUS, *BY_ITSELF, *OTHERS}
    assert len(PROGRAMS) >= 9


@pytest.mark.parametrize("name", PROGRAMS)
def test_program_at_a_tiny_size(name, tmp_path):
    check(importlib.import_module(name).measure(tiny=True), tmp_path / "record.json")


@pytest.fixture(scope="module")
def species(tmp_path_factory):
    """A folder like augustus-doc's with the shortest gene of man, and mutated ones of others.

    It also has the gene as a genome with coding sequences and their annotation.
    """
    folder, rng = tmp_path_factory.mktemp("cgp"), np.random.default_rng(1)
    gene = min(genes(annotated_records()), key=lambda gene: len(gene.codes))
    for name, (assembly, annotation) in ANNOTATIONS.items():
        codes = gene.codes.copy()
        if name != "human":
            codes[::20] = rng.integers(0, 4, len(codes[::20]))
        with gzip.open(folder / f"{assembly}.fa.gz", "wt") as stream:
            stream.write(f">chr\n{decode(codes)}\n")
        first, last = gene.exons[0][0], gene.exons[-1][1]
        features = [("CDS", *exon) for exon in gene.exons]
        features += [("start_codon", first, first + 3), ("stop_codon", last - 3, last)]
        (folder / annotation).write_text("".join(
            f'chr\tx\t{kind}\t{start + 1}\t{end}\t.\t+\t.\ttranscript_id "t1";\n'
            for kind, start, end in features
        ))  # fmt: skip
    annotated = (folder / ANNOTATIONS["human"][1]).read_text()
    for name, text in (
        ("genome", f">chr\n{decode(gene.codes)}\n"), ("cds", f">t1\n{decode(gene.coding)}\n"),
    ):  # fmt: skip
        with gzip.open(folder / f"{name}.fa.gz", "wt") as stream:
            stream.write(text)
    with gzip.open(folder / "truth.gtf.gz", "wt") as stream:
        stream.write(annotated)
    return folder


@pytest.mark.parametrize("name", WITH_FOLDER)
def test_program_with_a_folder_at_a_tiny_size(name, species, tmp_path):
    check(importlib.import_module(name).measure(species, tiny=True), tmp_path / "record.json")


@pytest.mark.parametrize(("name", "part"), [
    ("accuracy.species", "measure_mutated"), ("accuracy.bench_credibility", "measure_proteins"),
])  # fmt: skip
def test_part_with_a_folder_at_a_tiny_size(name, part, species, tmp_path):
    measure = getattr(importlib.import_module(f"benchmarks.{name}"), part)
    check(measure(species, tiny=True), tmp_path / "record.json")


def test_memory_of_annotations_at_a_tiny_size(tmp_path):
    from benchmarks.hardware.bench_memory import measure_annotation

    check(measure_annotation(tiny=True), tmp_path / "record.json")


def test_chains_of_a_short_gene_are_found(tmp_path):
    from benchmarks.spliced.bench_chains import measure

    found = check(measure(tiny=True), tmp_path / "record.json")
    assert min(row["nucleotide_f1"] for row in found["chains"]) > 0.8


def test_one_page_of_the_sources_tables_and_figures(tmp_path, monkeypatch):
    """From a record at a tiny size: each table and figure is there."""
    recorded = {"figures": dict(reproduce.bench_estimate.measure(tiny=True))}
    monkeypatch.setattr(reproduce, "stored_records", lambda: {"cpu": (recorded, "a <record>")})
    reproduce.main([str(tmp_path), "--tiny"])
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 2 * 3 + 1 + 3 + 2 + 1  # two are of fitted figures
    for title in ("All bases together", "Means of percentages a case", "three estimates of all"):
        assert title in page
    assert "<td>exon length, mean of all exons</td><td>140.01, by the sums</td>" in page
    assert "Sarje and Aluru" in page
    assert "a &lt;record&gt;" in page
    assert "<td>base length</td><td>2,848 / 42,181.00 / 575,746</td><td>400 /" in page
    assert "<td>accelerator2</td><td>0.453</td><td>2.08</td>" in page
    assert "w-Shuffle" in page
    figures = shipped.shipped_text(recorded)
    assert json.loads(figures)["kind"] == "cpu"


def test_pages_have_the_tables_of_the_records():
    assert tables.main(["--check"]) == 0, "run make tables"


def test_every_table_is_on_a_page():
    text = "".join(page.read_text("utf-8") for page in tables.pages())
    assert set(re.findall("<!-- table: (.*?) -->", text)) >= set(tables.TABLES)


def test_every_record_is_read_and_has_a_line_for_each_row():
    """A table or a note does; others are deleted: git has them."""
    notes = "".join(path.read_text("utf-8") for path in (FOLDER / "notes").glob("*.md"))
    noted = set(re.findall(r"\(\.\./results/([\w-]+)\.json\)", notes))
    read = {table.record for table in tables.TABLES.values()} | {shipped.START, "accuracy-choice"}
    read |= noted
    assert {path.stem for path in tables.RESULTS.glob("*")} == read
    for name in read:
        text = (tables.RESULTS / f"{name}.json").read_text("utf-8")
        assert text == record.text_of(tables.read(name)), name


def test_a_table_says_what_its_record_is_older_than(monkeypatch):
    recorded = {"gpus": [], "cpu": "a CPU", "commit": "c", "date": "2026-01-02T03", "figures": {}}
    assert tables.source_of("r", recorded) == "`r.json`: a CPU, c, 2026-01-02"
    recorded["superseded"] = "cells had 16 bits"
    assert tables.source_of("r", recorded).endswith("2026-01-02; measured before cells had 16 bits")
    monkeypatch.setattr(tables, "read", lambda name: recorded)
    assert tables.text_of("site-mode-cpu") == ""
    recorded["figures"] = {"call": {"processor_seconds": 2, "gcups_a_core": 3}}
    assert tables.text_of("site-mode-cpu").splitlines()[2] == "| call | 2 s | 3 |"


def test_a_run_cut_short_leaves_what_it_has_measured(tmp_path, capsys):
    def measured():
        yield "first", {"seconds": 1.5}
        raise TimeoutError

    path = tmp_path / "record.json"
    with pytest.raises(TimeoutError):
        record.write_each(measured(), path)
    assert json.loads(path.read_text())["figures"] == {"first": {"seconds": 1.5}}
    assert capsys.readouterr().out == "first: {'seconds': 1.5}\n"
