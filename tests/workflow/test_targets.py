"""Targets beside the default one: segments, local alignments, matches of patterns."""

import pytest

from gpu_tools import max_segments
from gpu_tools.formats.scales import load_scale
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.sequences import decode
from tests.workflow.folders import BASES, LOCI, MRNAS, ROOT, TARGETS, Folder, write_sheet

KINDS = ("cpg_islands", "gc_rich_regions", "hydrophobic_segments")
PROTEINS = ">none\nMKKDDEERR\n>inner\nMKKDDEERRLLIVLLAAVIVLLIVLFFVIKKRRDD\n"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Return a folder in which all segments of one locus and one target have been found."""
    path = tmp_path_factory.mktemp("segments")
    write_sheet(path / "config" / "cases.tsv", [(BASES[0], LOCI, TARGETS[0], MRNAS)])
    folder = Folder(path, ROOT / "workflow" / "Snakefile")
    folder.run("--config", "device=cpu", "--", "segments")
    return folder


def test_cpg_islands_are_those_of_the_library(done):
    locus = next(r for r in read_fasta(LOCI, load_scale("cpg").values) if r.name == BASES[0])
    found = max_segments(locus.codes, min_score=30_000, device="cpu")
    found = found.take(found.ends - found.starts >= 200).ranked()
    expected = [(str(s + 1), str(e)) for s, e in zip(found.starts, found.ends, strict=True)]
    rows = done.table("results/segments/cpg_islands.tsv")
    assert [(row["start"], row["end"]) for row in rows] == expected != []
    assert all(float(row["evalue"]) < 1e-6 for row in rows)


def test_gc_rich_regions_exceed_the_percentage(done):
    (locus,) = (r for r in read_fasta(LOCI) if r.name == BASES[0])
    rows = done.table("results/segments/gc_rich_regions.tsv")
    assert len(rows) > 1
    for row in rows:
        part = locus.letters()[int(row["start"]) - 1 : int(row["end"])]
        rich = part.count("G") + part.count("C")
        assert rich > 0.6 * len(part) >= 0.6 * 200
        assert float(row["score"]) == pytest.approx(2 * rich - 1.2 * len(part))


def test_the_membrane_protein_has_its_segment(done):
    (row,) = done.table("results/segments/hydrophobic_segments.tsv")
    assert (row["sequence"], row["start"], row["end"]) == (TARGETS[0], "86", "109")


@pytest.mark.parametrize("kind", KINDS)
def test_annotation_and_plot_hold_the_same_segments(done, kind):
    folder = done.path / "results" / "segments"
    rows = done.table(f"results/segments/{kind}.tsv")
    bed = [line.split("\t") for line in (folder / f"{kind}.bed").read_text().splitlines()]
    assert [(str(int(b[1]) + 1), b[2]) for b in bed] == [(row["start"], row["end"]) for row in rows]
    gff3 = (folder / f"{kind}.gff3").read_text().splitlines()
    features = [line.split("\t") for line in gff3 if not line.startswith("#")]
    assert [(f[3], f[4]) for f in features] == [(row["start"], row["end"]) for row in rows]
    assert rows[0]["sequence"] in (folder / f"{kind}.svg").read_text()


def test_the_report_shows_the_plots(done):
    done.run("--report", "report.html", "--config", "device=cpu", "--", "segments")
    report = (done.path / "report.html").read_text()
    assert all(f"{kind}.svg" in report for kind in KINDS)


def test_given_proteins_and_a_plot_of_nothing(tmp_path):
    write_sheet(tmp_path / "config" / "cases.tsv", [(BASES[0], LOCI, TARGETS[0], MRNAS)])
    folder = Folder(tmp_path, ROOT / "workflow" / "Snakefile")
    (tmp_path / "proteins.fa").write_text(PROTEINS)
    settings = tmp_path / "settings.yaml"
    wanted = "results/segments/hydrophobic_segments.svg"
    for score, count in ((15, 1), (1000, 0)):
        limits = f"hydrophobic_segments: {{min_score: {score}}}"
        settings.write_text(f"device: cpu\nsegments:\n  proteins: proteins.fa\n  {limits}\n")
        folder.run("--configfile", settings, "--", wanted)
        rows = folder.table("results/segments/hydrophobic_segments.tsv")
        assert [row["sequence"] for row in rows] == ["inner"] * count
        assert ("inner" in (tmp_path / wanted).read_text()) == bool(count)


def test_local_alignments_and_their_dot_plots(folder):
    # batches of single cases, but no base is split for these
    settings = "device: cpu\nbatch_size: 1\nlocal:\n  k: 3\n  min_score: 60\n"
    (folder.path / "settings.yaml").write_text(settings)
    folder.run("--configfile", "settings.yaml", "--", "local_alignments")
    for base in BASES:
        found = folder.table(f"results/local/{base}.tsv")
        assert {row["query"] for row in found} == set(TARGETS)
        assert all(int(row["rank"]) <= 3 and int(row["score"]) >= 60 for row in found)
        assert {row["subject"] for row in found} == {base}
        drawn = (folder.path / f"results/local/{base}.svg").read_text()
        assert all(f">{target}</text>" in drawn for target in TARGETS)


def test_patterns_are_found_in_loci_and_targets(folder):
    locus = next(record for record in read_fasta(LOCI) if record.name == BASES[0])
    word = decode(locus.codes[300:340])
    (folder.path / "patterns.fa").write_text(f">exact\n{word}\n>near\n{word[:20]}{word[21:]}\n")
    settings = "device: cpu\nmatching:\n  patterns: patterns.fa\n  max_distance: 1\n"
    (folder.path / "settings.yaml").write_text(settings)
    folder.run("--configfile", "settings.yaml", "--", "find_exact", "find_approximate")
    place = {"text": BASES[0], "start": "301", "end": "340", "strand": "+"}
    assert folder.table("results/matches/exact.tsv") == [{"pattern": "exact", **place}]
    found = folder.table("results/matches/approximate.tsv")
    best = {(row["pattern"], row["end"]): row["distance"] for row in found}
    assert best["exact", "340"] == "0"
    assert best["near", "340"] == "1"
    bed = (folder.path / "results/matches/exact.bed").read_text()
    assert bed == f"{BASES[0]}\t300\t340\texact\t0\t+\n"


def test_without_patterns_there_is_no_such_target(folder):
    output = folder.run("--dry-run", "--", "find_exact", code=1)
    assert "find_exact" in output
