"""The workflow with sources that are fetched, from a server on this machine."""

import json

import pysam
import pytest

from tests.formats.sources.faulty_server import ok, serving, status
from tests.workflow.folders import BASES, LOCI, MRNAS, TARGETS, write_sheet

GENE = "ENSG00000136634"
RESULTS = ("results/scores.tsv", "results/provenance.tsv")


def record(path, name, header=None):
    with pysam.FastaFile(str(path)) as fasta:
        return f">{header or name}\n{fasta.fetch(name)}\n".encode()


@pytest.fixture
def server(monkeypatch):
    with serving() as server:
        monkeypatch.setenv("GPU_TOOLS_NCBI_URL", server.url)
        monkeypatch.setenv("GPU_TOOLS_ENSEMBL_URL", server.url)
        yield server


def play_ensembl(server):
    lookup = {"object_type": "Gene", "species": "homo_sapiens", "canonical_transcript": "ENST5.3"}
    homologies = [{"target": {"id": "ENSMUSG1", "perc_id": 80.0}}]
    found = {"data": [{"homologies": homologies}]}
    for path, answer in (
        (f"/lookup/id/{GENE}", lookup), ("/lookup/id/ENSMUSG1", lookup),
        (f"/homology/id/homo_sapiens/{GENE}", found),
    ):  # fmt: skip
        server.play(path, ok(json.dumps(answer).encode()))
    locus = record(LOCI, BASES[1], "ENSG00000136634.7 chromosome:GRCh38:1:1:9:1")
    server.play(f"/sequence/id/{GENE}", ok(locus))
    server.play("/sequence/id/ENST5", ok(record(MRNAS, TARGETS[1], "ENST5.3")))


def test_services_and_addresses(server, folder):
    """The same two cases from files, and from a service, an address and a file's checksum."""
    play_ensembl(server)
    server.play("/efetch.fcgi", status(429, Retry_After="0"), ok(record(LOCI, BASES[0])))
    server.play("/mrnas.fa.gz", ok(MRNAS.read_bytes()))
    rows = [
        ("locus", f"ncbi:{BASES[0]}", TARGETS[0], f"{server.url}/mrnas.fa.gz"),
        ("il10", f"ensembl:gene:{GENE}", TARGETS[1], f"{server.url}/mrnas.fa.gz"),
    ]
    write_sheet(folder.path / "config" / "cases.tsv", rows)
    configuration = folder.path / "genes.yaml"
    configuration.write_text(f"genes: {{{GENE}: [mus_musculus]}}\nflank: 50\nmode: sites\n")
    wanted = ("--configfile", configuration, "--", *RESULTS)
    folder.run(*wanted)
    scores = {(r["base"], r["target"]): r["score"] for r in folder.table("results/scores.tsv")}
    orthologue = (GENE, f"{GENE}.mus_musculus")
    assert list(scores) == [("locus", TARGETS[0]), ("il10", TARGETS[1]), orthologue]
    assert scores["il10", TARGETS[1]] == scores[orthologue]
    assert int(scores[orthologue]) > 100
    check_provenance(folder, server)
    assert "Nothing to be done" in folder.run(*wanted)


def check_provenance(folder, server):
    rows = {row["source"]: row for row in folder.table("results/provenance.tsv")}
    sources = [f"ncbi:{BASES[0]}", f"{server.url}/mrnas.fa.gz", f"ensembl:gene:{GENE}"]
    assert set(rows) == {*sources, f"ensembl:homologue:{GENE}:mus_musculus"}
    assert rows[sources[1]]["records"] == "10"
    assert rows[sources[2]]["address"].endswith("expand_5prime=50&expand_3prime=50")
    # the address was asked for once, though two cases name it
    assert server.paths().count("/mrnas.fa.gz") == 1


def test_genes_alone(server, folder):
    play_ensembl(server)
    configuration = folder.path / "genes.yaml"
    configuration.write_text(f"cases:\ngenes: {{{GENE}: [mouse]}}\n")
    assert folder.counts("--configfile", configuration)["sequences_fetch"] == 2


def test_failed_fetch_says_why_and_leaves_nothing(server, folder):
    server.play("/x.fa", ok(b"<html>sign in</html>"))
    rows = [("x", f"{server.url}/x.fa", TARGETS[0], MRNAS)]
    write_sheet(folder.path / "config" / "cases.tsv", rows)
    output = folder.run(code=1)
    assert f"gpu-tools: error: {server.url}/x.fa: an HTML page instead of FASTA" in output
    assert list((folder.path / "results" / "sequences").glob("fetched/*.gz")) == []


def test_cache_between_workflows(server, folder, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SNAKEMAKE_OUTPUT_CACHE", str(tmp_path_factory.mktemp("cache")))
    server.play("/efetch.fcgi", ok(record(LOCI, BASES[0])))
    write_sheet(
        folder.path / "config" / "cases.tsv", [("x", f"ncbi:{BASES[0]}", TARGETS[0], MRNAS)]
    )
    target = "results/sequences/loci.fa.gz"
    folder.run("--cache", "--", target)
    first = (folder.path / target).read_bytes()
    for path in (folder.path / "results" / "sequences").rglob("*.*"):
        path.unlink()
    folder.run("--cache", "--", target)
    assert (folder.path / target).read_bytes() == first
    assert len(server.seen) == 1
