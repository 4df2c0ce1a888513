"""The workflow run for real, on the demo's two smallest loci and their mRNAs."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
import zipfile

import pysam
import pytest

from tests.programs import require
from tests.report.browser import browser
from tests.report.results import COLUMNS
from tests.workflow.folders import (
    BASES,
    ENVIRONMENT,
    HEADER,
    LOCI,
    MRNAS,
    ROOT,
    TARGETS,
    Folder,
    demo_rows,
    write_sheet,
)  # fmt: skip
from tests.workflow.test_reuse import EXAMPLES

ALIGNMENTS = {"candidates": "alignments", "sites": "site_alignments"}
RESULTS = (
    "scores.tsv",
    "best.tsv",
    *(f"{name}.{suffix}" for name in ALIGNMENTS.values() for suffix in ("gff3", "bed", "bam")),
)
WANTED = ("--", *(f"results/{name}" for name in RESULTS))
"""Without the pages and figures, which take as long again."""
SVG = "{http://www.w3.org/2000/svg}"
SITES = ("scores.tsv", "site_alignments.gff3", "site_alignments.bam")
BEST = list(zip(BASES, TARGETS, strict=True))  # orthologues
ACCEPTED = {"candidates": BEST[:1], "sites": BEST}
"""Candidates are coding exons, so that of mRNAs with long untranslated ends a part is found."""


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return a folder in which the workflow has run."""
    path = tmp_path_factory.mktemp("done")
    write_sheet(path / "config" / "cases.tsv", demo_rows())
    folder = Folder(path, ROOT / "workflow" / "Snakefile")
    (path / "said.txt").write_text(folder.run())
    return folder


def assert_same_results(folder, done):
    for name in RESULTS:
        assert (folder / name).read_bytes() == (done.path / "results" / name).read_bytes(), name


def pairs(rows):
    return [(row["base"], row["target"]) for row in rows]


def of_method(rows, method):
    return [row for row in rows if row["method"] == method]


def test_scores_hold_all_cases_in_the_order_of_the_sheet_methods_side_by_side(done):
    rows = done.table("results/scores.tsv")
    assert tuple(rows[0]) == COLUMNS
    assert [row["method"] for row in rows] == ["candidates", "sites"] * len(BASES) * len(TARGETS)
    for method in ALIGNMENTS:
        expected = [(base, target) for base in BASES for target in TARGETS]
        assert pairs(of_method(rows, method)) == expected


def test_the_summary_and_the_page_tell_of_the_run(done):
    found = json.loads((done.path / "results" / "summary.json").read_text())
    run, verdicts = found["run"], [row["accepted"] for row in done.table("results/scores.tsv")]
    assert (found["cases"], found["site_model"]) == (len(verdicts), "vertebrate")
    assert found["accepted"] == {word: verdicts.count(word) for word in {*verdicts}}
    assert run["command"].startswith("snakemake ")
    assert [each["file"] for each in run["inputs"]] == ["config/cases.tsv", str(LOCI), str(MRNAS)]
    assert set(run["limits"]) == set(ALIGNMENTS)
    page = (done.path / "results" / "report.html").read_text()
    assert f"SHA-256 {run['inputs'][0]['sha256']}" in page
    assert "E-value at most 0.001, coverage at least 0.5" in page


def test_alignments_ask_for_time_and_memory_by_the_sizes_of_their_inputs(done):
    """Small inputs: what starting takes, and little more."""
    said = (done.path / "said.txt").read_text()
    for rule in ("spliced_align", "site_align"):
        (job,) = re.findall(rf"rule {rule}:\n(?: .*\n)+", said)
        found = {name: int(re.search(rf"\b{name}=(\d+)", job)[1]) for name in ("mem_mb", "runtime")}
        assert 2000 <= found["mem_mb"] < 2100
        assert 20 <= found["runtime"] < 25


@pytest.mark.parametrize("method", ALIGNMENTS)
def test_best_targets_are_the_orthologues(done, method):
    assert pairs(of_method(done.table("results/best.tsv"), method)) == BEST


@pytest.mark.parametrize(("method", "name"), [("candidates", "best"), ("sites", "site_best")])
def test_best_targets_of_the_loci_are_the_orthologues_alone(done, method, name):
    accepted = [row for row in done.table("results/scores.tsv") if row["accepted"] == "yes"]
    loci = of_method(done.table("results/best_loci.tsv"), method)
    assert sorted(pairs(loci)) == sorted(pairs(of_method(accepted, method)))
    best = of_method(done.table("results/best_targets.tsv"), method)
    assert {*ACCEPTED[method]} <= {*pairs(best)} <= {*pairs(loci)}
    models = [
        line.split("\t")
        for line in (done.path / "results" / f"{name}.gff3").read_text().splitlines()
        if "\tmRNA\t" in line
    ]
    found = sorted((fields[0], fields[3], fields[4]) for fields in models)
    assert found == sorted((row["base"], row["start"], row["end"]) for row in best)


def test_only_candidates_are_counted(done):
    for row in done.table("results/scores.tsv"):
        assert (row["n_exons"] == ".") == (row["method"] == "sites")
        if row["method"] == "sites":
            cells = 2 * int(row["base_length"]) * int(row["target_length"])
            assert int(row["cells"]) == cells


@pytest.mark.parametrize("method", ALIGNMENTS)
def test_alignments_hold_the_accepted_chains(done, method):
    rows = of_method(done.table("results/scores.tsv"), method)
    rows = [row for row in rows if row["accepted"] == "yes"]
    name, blocks = ALIGNMENTS[method], {}
    for line in (done.path / "results" / f"{name}.bed").read_text().splitlines():
        fields = line.split("\t")
        blocks[fields[0], fields[3]] = int(fields[9])
    assert blocks == {(r["base"], r["target"]): int(r["n_chain"]) for r in rows}
    with pysam.AlignmentFile(done.path / "results" / f"{name}.bam") as bam:
        scores = {(r.reference_name, r.query_name): str(r.get_tag("AS")) for r in bam}
        assert bam.check_index()
    assert scores.items() <= {(r["base"], r["target"]): r["score"] for r in rows}.items()
    assert {*ACCEPTED[method]} <= {*scores}


@pytest.mark.parametrize("name", ALIGNMENTS.values())
def test_gff3_is_valid(done, name):
    require("gt")
    file = done.path / "results" / f"{name}.gff3"
    checked = subprocess.run(["gt", "gff3validator", file], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr


def test_best_chains_are_drawn_by_method(done):
    drawn = (done.path / "results" / "structures.svg").read_text()
    texts = [element.text or "" for element in ET.fromstring(drawn).iter(f"{SVG}text")]
    for base, target in BEST:
        assert sum(text.startswith(f"{base}:") for text in texts) == 1
        assert sum(text.startswith(f"{target} (") for text in texts) == len(ALIGNMENTS)
    of_both = {*ACCEPTED["candidates"]} & {*ACCEPTED["sites"]}  # the chains of one need no name
    for lane in ("candidate exons", "any exons that splice sites allow"):
        assert texts.count(f"chains of {lane}") == len(of_both)
    assert texts.count("candidates' score") == len(BASES)


def test_the_page_has_all_loci_and_links_to_the_files(done):
    results = done.path / "results"
    page = (results / "report.html").read_text()
    assert f"{len(BASES)} of {len(BASES)}</b><span>loci searched have a gene model" in page
    links = re.findall(r'<a class="file" href="([^"]+)"', page)
    assert {"scores.tsv", "alignments.gff3", "site_alignments.bam", "igv_session.xml"} <= {*links}
    assert [link for link in links if not (results / link).exists()] == []


def test_the_session_of_igv_names_the_genome_and_the_models(done):
    results = done.path / "results"
    session = ET.parse(results / "igv_session.xml").getroot()
    assert (results / session.get("genome")).resolve() == LOCI.resolve()
    paths = [resource.get("path") for resource in session.iter("Resource")]
    assert paths == ["best.gff3", "site_best.gff3", "alignments.bam", "site_alignments.bam"]
    # IGV finds a track by the path of its resource, and an index beside the file
    assert {track.get("id") for track in session.iter("Track")} == {*paths}
    needed = [*paths, *(f"{path}.bai" for path in paths if path.endswith(".bam"))]
    genome = [session.get("genome") + suffix for suffix in (".fai", ".gzi")]
    assert [name for name in (*needed, *genome) if not (results / name).exists()] == []


def test_snakemake_makes_its_report(done, tmp_path):
    done.run("--report", "report.zip")
    with zipfile.ZipFile(done.path / "report.zip") as file:
        file.extractall(tmp_path)
    assert {"overview.svg", "structures.svg"} <= {path.name for path in tmp_path.rglob("*")}
    whole = tmp_path / "report" / "report.html"
    assert "Gene structures by exact spliced alignment" in whole.read_text()
    (page,) = (whole.parent / "data").rglob("report.html")
    assert page.read_bytes() == (done.path / "results" / "report.html").read_bytes()
    require("chromium")
    with browser(tmp_path / "profile") as opened:
        opened.open(whole)
        opened.wait("document.body.innerText.includes('Gene structures')")
        opened.open(page)
        opened.wait("document.documentElement.dataset.ready === 'yes'")
        assert opened.run("document.querySelectorAll('#overview svg').length") > 0
        # Snakemake's own page warns about the style sheets that it is made with
        assert [error for error in opened.errors if "tailwindcss" not in str(error)] == []
        allowed = ("about:blank", tmp_path.as_uri(), "blob:", "data:")
        assert [url for url in opened.requests if not url.startswith(allowed)] == []


def test_every_alignment_job_is_measured(done):
    for rule in ("spliced_align", "site_align"):
        (path,) = (done.path / "results" / "benchmarks" / rule).glob("*.tsv")
        (row,) = done.table(path)
        assert float(row["s"]) > 0


def test_second_run_does_nothing(done):
    assert "Nothing to be done" in done.run()


def test_results_do_not_depend_on_the_batches_or_on_a_kill(done, folder):
    """Snakemake and its jobs are killed while they align; the next run does what is left."""
    settings, results = ("--config", "batch_size=3"), folder.path / "results"
    process = folder.start("--cores", "2", *settings, **ENVIRONMENT)
    while not list((folder.path / "logs").glob("spliced_align/*")):
        assert process.poll() is None, (folder.path / "output.txt").read_text()
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (results / "scores.tsv").exists()
    files = [p for p in folder.batches("*") if p.is_file() and not p.name.startswith(".")]
    written = {path: path.read_bytes() for path in files}
    cut = [p for name in ("bases", "targets") for p in folder.batches(f"{name}.fa.gz*")]
    before = {path: path.stat().st_mtime_ns for path in cut}
    assert len(before) >= 6
    folder.run("--unlock", *settings)
    folder.run("--rerun-incomplete", *settings, *WANTED)
    sizes = [len(path.read_text().splitlines()) - 1 for path in folder.batches("pairs.tsv")]
    assert sum(sizes) == len(demo_rows()) > max(sizes)
    # whatever stood under its name was whole, and what was done was not done again
    assert written.items() <= {path: path.read_bytes() for path in written}.items()
    assert before.items() <= {path: path.stat().st_mtime_ns for path in before}.items()
    assert_same_results(folder.path / "results", done)


def test_another_weight_runs_the_alignment_again(done):
    weight = done.path / "weight.yaml"
    weight.write_text("scoring:\n  exon_weight: 2\n")
    counts = done.counts("--configfile", weight)
    assert counts["spliced_align"] == 1
    assert not {"exons_predict", "site_align"} & counts.keys()


@pytest.mark.parametrize("method", ALIGNMENTS)
def test_one_method_gives_its_rows_of_both_and_no_file_of_the_other(done, tmp_path, method):
    folder = Folder(tmp_path / "copy", done.snakefile)
    shutil.copytree(done.path, folder.path)
    settings, tables = ("--config", f"mode={method}"), ("scores.tsv", "best.tsv")
    folder.run(*settings, "--", *(f"results/{table}" for table in tables))
    for table in tables:
        both = of_method(done.table(f"results/{table}"), method)
        assert folder.table(f"results/{table}") == both
    plan = folder.run("--dry-run", "--forceall", *settings)
    files = {f"results/{name}.bam" for name in ALIGNMENTS.values()}
    assert {file for file in files if file in plan} == {f"results/{ALIGNMENTS[method]}.bam"}


def test_names_of_every_allowed_symbol_and_options_of_sites(done, folder):
    """Chains that translate have CDS parts; an intron that costs more, fewer exons."""
    require("gt")
    base, target = "0chr_1:5-9|x+y=z~w.2", "_t:1|u+v=w~x-y.z"
    fasta = folder.path / "both.fa"
    with pysam.FastaFile(str(MRNAS)) as mrnas, pysam.FastaFile(str(LOCI)) as loci:
        records = {base: loci.fetch(BASES[1]), target: mrnas.fetch(TARGETS[1])}
    fasta.write_text("".join(f">{name}\n{symbols}\n" for name, symbols in records.items()))
    write_sheet(folder.path / "config" / "cases.tsv", [(base, fasta, target, fasta)])
    options = folder.path / "sites.yaml"
    options.write_text(
        "scoring: {min_coverage: 0.4}\n"
        "sites: {coding: true, intron_penalty: 60, min_intron: 70, min_coverage: 0.4}\n"
    )
    folder.run("--configfile", options, *WANTED)
    best = folder.table("results/best.tsv")
    assert pairs(best) == [(base, target)] * 2
    with pysam.AlignmentFile(folder.path / "results" / "alignments.bam") as bam:
        assert [(r.reference_name, r.query_name) for r in bam] == [(base, target)]
    file = folder.path / "results" / "site_alignments.gff3"
    assert "\tCDS\t" in file.read_text()
    subprocess.run(["gt", "gff3validator", file], check=True, capture_output=True)
    plain, fewer = (of_method(rows, "sites")[-1] for rows in (done.table("results/best.tsv"), best))
    assert pairs([plain]) == BEST[1:]
    assert int(fewer["n_chain"]) < int(plain["n_chain"])


def test_provider_file_takes_the_sheets_candidates(folder):
    """A locus cut out of a record: its exons are given and found in the record's coordinates."""
    (base, *_), (target, *_) = BASES, TARGETS
    exons = folder.path / "exons.tsv"
    intervals = [(1025, 1163), (1541, 1712), (2550, 2683), (3497, 3664), (3896, 4124), (10, 20)]
    exons.write_text(
        "base\tstart\tend\tstrand\n" + "".join(f"{base}\t{a}\t{b}\t+\n" for a, b in intervals)
    )
    row = ("locus", LOCI, target, MRNAS, base, "1025-4124", exons)
    write_sheet(folder.path / "config" / "cases.tsv", [row], (*HEADER, "record", "locus", "exons"))
    settings = ("exons={provider: file}", "flank=100", "mode=candidates")
    folder.run("--config", *settings, "--", "results/best.tsv")
    (best,) = folder.table("results/best.tsv")
    assert best["base"] == "locus"
    assert best["locus"] == f"{base}:925-4224"
    assert best["base_length"] == "5398"  # the record's
    assert best["n_exons"] == "5"  # the sixth lies outside of the locus and its flanks
    assert best["chain"] == ",".join(f"{a}-{b}" for a, b in intervals[:5])
    assert not folder.batches("predicted.gff3")


def test_results_on_loci_are_in_the_records_coordinates_and_compared(folder, done):
    """Two loci of one record, one named as the record, and a whole one; the annotations hold
    exons of known chains, that of the whole one less one exon, plus another."""
    base, target = BASES[1], TARGETS[1]  # on the reverse strand
    whole = [row for row in done.table("results/best.tsv") if row["base"] == base]
    exons = of_method(whole, "sites")[0]["chain"].split(",")
    inner = [(a, b) for a, b in (map(int, e.split("-")) for e in exons) if 2200 < a < b < 5000]
    assert len(inner) == 3
    known = [(1019, 1163), (1541, 1712), (2550, 2683), (3497, 3664), (5000, 5009)]
    lines = {base: [(*exon, "-") for exon in inner], BASES[0]: [(*exon, "+") for exon in known]}
    for name, intervals in lines.items():
        (folder.path / f"{name}.gff3").write_text("##gff-version 3\n" + "".join(
            f"{name}\tx\tCDS\t{a}\t{b}\t.\t{strand}\t0\tID=c;Parent=m\n"
            for a, b, strand in intervals
        ))  # fmt: skip
    rows = [(base, LOCI, target, MRNAS, base, "1500-6300", f"{base}.gff3"),
            ("left", LOCI, target, MRNAS, base, "1500-4700", "."),
            (BASES[0], LOCI, TARGETS[0], MRNAS, ".", ".", f"{BASES[0]}.gff3")]  # fmt: skip
    header = (*HEADER, "record", "locus", "annotation")
    write_sheet(folder.path / "config" / "cases.tsv", rows, header)
    wanted = (f"results/{name}" for name in (*SITES, "accuracy.tsv"))
    folder.run("--config", "flank=100", "batch_size=2", "--", *wanted)
    scores = of_method(folder.table("results/scores.tsv"), "sites")[:2]
    assert [(r["base"], r["locus"]) for r in scores] == [
        (base, f"{base}:1400-6400"), ("left", f"{base}:1400-4800"),
    ]  # fmt: skip
    assert {row["base_length"] for row in scores} == {"6891"}
    assert {f"{a}-{b}" for a, b in inner} <= set(scores[0]["chain"].split(","))
    check_loci_files(folder.path / "results", base)
    check_accuracy(folder.table("results/accuracy.tsv"), base)


def check_accuracy(table, base):
    rows = {(r["base"], r["method"], r["exons"]): r for r in table if r["level"] == "exon"}
    assert {name for name, _, _ in rows} == {*BASES, "."}
    assert {exons for _, method, exons in rows if method == "sites"} == {"chain"}
    counts = {case: [int(row[column]) for column in ("annotated", "predicted", "true")]
              for case, row in rows.items()}  # fmt: skip
    chain = rows[BASES[0], "candidates", "chain"]
    assert counts[BASES[0], "candidates", "chain"] == [5, 5, 4]
    assert chain["sensitivity"] == chain["precision"] == chain["f1"] == "0.8000"
    assert counts[BASES[0], "candidates", "candidates"][2] == 4
    # its first and last exon hold untranslated bases too
    assert counts[BASES[0], "sites", "chain"][2] == 3
    assert counts[base, "sites", "chain"][::2] == [3, 3]
    for method, exons in (("candidates", "chain"), ("sites", "chain")):
        one, other = (counts[name, method, exons] for name in BASES)
        together = [a + b for a, b in zip(one, other, strict=True)]
        assert counts[".", method, exons] == together


def check_loci_files(results, base):
    """All files of two loci of a record name the record, and give its length once."""
    with pysam.AlignmentFile(results / "site_alignments.bam") as bam:
        assert dict(zip(bam.references, bam.lengths, strict=True)) == {base: 6891, BASES[0]: 5398}
        with pysam.FastaFile(str(LOCI)) as fasta:
            for record in bam:
                pairs = record.get_aligned_pairs(matches_only=True)
                symbols = fasta.fetch(record.reference_name)
                same = [symbols[r].upper() == record.query_sequence[q] for q, r in pairs]
                assert sum(same) > 0.7 * len(same)
    bed = [line.split("\t") for line in (results / "site_alignments.bed").read_text().splitlines()]
    assert {fields[0] for fields in bed} == {base, BASES[0]}


def test_failing_job_shows_one_line_and_leaves_no_output(folder):
    broken = folder.path / "broken.fa"
    broken.write_text(">x\nACGT\nAC!T\n")
    write_sheet(folder.path / "config" / "cases.tsv", [("x", broken, TARGETS[0], MRNAS)])
    output = folder.run(code=1)
    expected = f"gpu-tools: error: {broken}, line 3, record x, position 7: illegal symbol '!'"
    assert expected in output
    assert not folder.batches("bases.fa.gz")


def test_consumer_of_ten_lines(done, tmp_path):
    """The page's first example, which sets nothing but the sheet and the folders of results."""
    example = EXAMPLES[0]
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    (tmp_path / "gpu-tools").symlink_to(ROOT)
    (tmp_path / "Snakefile").write_text(example)
    write_sheet(tmp_path / "config" / "a.tsv", demo_rows())
    consumer = Folder(tmp_path, tmp_path / "Snakefile")
    wanted = ("--", *(f"results/gene_structures/{name}" for name in RESULTS))
    assert consumer.counts()["gene_structures_results_report"] == 1
    consumer.run(*wanted)
    assert_same_results(tmp_path / "results" / "gene_structures", done)
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {".snakemake", "Snakefile", "config", "gpu-tools", "logs", "results"}
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["gene_structures"]
    assert "Nothing to be done" in consumer.run(*wanted)
