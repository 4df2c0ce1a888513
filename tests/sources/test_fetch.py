"""gpu-tools sequences fetch, against a server on this machine that plays answers and faults."""

import hashlib
import json
import time

import pytest

from gpu_tools.cli.main import main
from gpu_tools.errors import InputError
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.model.sequences import decode
from gpu_tools.sources import Settings, parse_source
from gpu_tools.sources.pace import Pace
from gpu_tools.sources.services import client_of
from tests.sources.faulty_server import cut, cut_chunked, hangs, ok, ranges, serving, status

FASTA = b">NM_1.2 a test\nACGTACGTAC\nGGTTN\n"
BASES = "ACGTACGTACGGTTN"
SHA256 = hashlib.sha256(FASTA).hexdigest()
MD5 = hashlib.md5(FASTA).hexdigest()
EFETCH = "/efetch.fcgi"


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with serving() as server:
        yield server


@pytest.fixture
def fetch(server, tmp_path, capsys):
    """Return a function that runs the command and returns what it wrote, or its error line."""

    def run(source, *options, code=0):
        output, table = tmp_path / "out.fa.gz", tmp_path / "out.tsv"
        command = [
            "sequences", "fetch", "--source", source, "--output", output, "--provenance", table,
            "--ncbi-url", server.url, "--ensembl-url", server.url, "--timeout", 2, *options,
        ]  # fmt: skip
        assert main([str(word) for word in command]) == code
        errors = capsys.readouterr().err
        if code:
            assert not output.exists()
            assert not table.exists()
            return errors.splitlines()[-1]
        names, values = (line.split("\t") for line in table.read_text().splitlines())
        (sequence,) = read_fasta(output)
        return sequence, dict(zip(names, values, strict=True))

    return run


def test_address(server, fetch, tmp_path):
    server.play("/x.fa", ok(FASTA))
    sequence, row = fetch(f"{server.url}/x.fa")
    assert (sequence.name, decode(sequence.codes)) == ("NM_1.2", BASES)
    assert row["sha256"] == SHA256
    assert (row["bytes"], row["records"], row["symbols"]) == (str(len(FASTA)), "1", "15")
    assert row["source"] == row["address"] == f"{server.url}/x.fa"
    assert row["retrieved"].endswith("+00:00")
    left = {"out.fa.gz", "out.fa.gz.fai", "out.fa.gz.gzi", "out.tsv"}
    assert {path.name for path in tmp_path.iterdir()} == left


def test_local_file(fetch, tmp_path):
    path = tmp_path / "x.fa"
    path.write_bytes(FASTA)
    sequence, row = fetch(f"{path}#md5={MD5.upper()}")
    assert decode(sequence.codes) == BASES
    assert row["address"] == str(path)
    for written in tmp_path.glob("out*"):
        written.unlink()
    error = fetch(f"{path}#md5={'0' * 32}", code=1)
    assert error == f"gpu-tools: error: {path}: md5 is {MD5}; expected {'0' * 32}"


PASSING = {
    "429": status(429, Retry_After="0"),
    "500": status(500, b"oops"),
    "503": status(503),
    "cut": cut(FASTA[:20], len(FASTA)),
    "cut-chunked": cut_chunked(FASTA[:20]),
    "refused-range": status(416),
}
SERVICE_FAULTS = PASSING | {
    "empty": ok(b""),
    "html": ok(b"<!DOCTYPE html><html><title>Maintenance</title></html>"),
    "json": ok(b'{"error":"API rate limit exceeded","count":"11"}'),
    "xml": ok(b'<?xml version="1.0"?><eFetchResult><ERROR>Unavailable</ERROR></eFetchResult>'),
    "error-in-the-middle": ok(FASTA + b"Error: CEFetchPApplication::proxy_stream()\n"),
    "two-records": ok(FASTA + b">b\nACGT\n"),
}


@pytest.mark.parametrize("fault", PASSING)
def test_faults_of_an_address_that_pass(server, fetch, fault):
    server.play("/x.fa", PASSING[fault], PASSING[fault], ok(FASTA))
    sequence, _ = fetch(f"{server.url}/x.fa#sha256={SHA256}")
    assert decode(sequence.codes) == BASES
    assert len(server.seen) == 3


@pytest.mark.parametrize("fault", SERVICE_FAULTS)
def test_faults_of_a_service_that_pass(server, fetch, fault):
    server.play(EFETCH, SERVICE_FAULTS[fault], ok(FASTA))
    assert decode(fetch("ncbi:NM_1.2")[0].codes) == BASES
    assert len(server.seen) == 2


def test_slow_answers_pass(server, fetch):
    server.play("/x.fa", hangs(), hangs(FASTA[:9]), ok(FASTA))
    assert decode(fetch(f"{server.url}/x.fa", "--timeout", 0.2)[0].codes) == BASES
    assert len(server.seen) == 3


FINAL = {
    "404": (status(404, b"not here"), "the server answers 404 Not Found: 'not here'", 1),
    "always-500": (status(500), "the server answers 500 Internal Server Error", 3),
    "too-long-to-wait": (
        status(429, Retry_After="3600"), "429 Too Many Requests and asks to wait 3600 s", 1),
    "cut": (cut(FASTA[:9], len(FASTA)), "the connection was cut before the answer was complete", 3),
    "slow": (hangs(FASTA[:9]), "no answer within 0.2 s", 3),
    "html": (ok(b"<html>hello</html>"), "an HTML page instead of FASTA: '<html>hello</html>'", 1),
    "empty": (ok(b""), "an empty answer instead of FASTA", 1),
    "text": (ok(b"sorry"), "a text instead of FASTA: 'sorry'", 1),
    "no-nucleotides": (ok(b">x\nAC!T\n"), "line 2, record x, position 3: illegal symbol '!'", 1),
}  # fmt: skip


@pytest.mark.parametrize("fault", FINAL)
def test_faults_of_an_address_that_stay(server, fetch, fault, tmp_path):
    answer, message, n_requests = FINAL[fault]
    server.play("/x.fa", answer)
    error = fetch(f"{server.url}/x.fa", "--attempts", 3, "--timeout", 0.2, code=1)
    assert error.startswith(f"gpu-tools: error: {server.url}/x.fa")
    assert message in error
    assert len(server.seen) == n_requests


def test_no_server(fetch, server):
    with serving() as gone:
        url = gone.url
    assert "no connection" in fetch(f"{url}/x.fa", "--attempts", 2, code=1)


def test_wrong_checksum(server, fetch, tmp_path):
    server.play("/x.fa", ok(FASTA))
    error = fetch(f"{server.url}/x.fa#sha256={'0' * 64}", code=1)
    assert error.endswith(f"/x.fa: sha256 is {SHA256}; expected {'0' * 64}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "wait"), [("7", 7.0), ("0.5", 0.5), ("date", 30.0), ("soon", 4.0), (None, 4.0)]
)
def test_waits_as_long_as_the_server_asks(server, fetch, monkeypatch, text, wait):
    """Without a word from the server the third wait is the first one doubled twice."""
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    if text == "date":
        text = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 30))
    busy = status(503, **({"Retry_After": text} if text else {}))
    server.play("/x.fa", status(500), status(500), busy, ok(FASTA))
    fetch(f"{server.url}/x.fa")
    assert waits[:2] == [1.0, 2.0]
    assert waits[2] == pytest.approx(wait, abs=2.0 if text and "," in text else 0.0)


BODY = b">chr\n" + b"ACGTTGCAAC" * 6 + b"\n" + b"GGCC" * 15 + b"\n"


def test_cut_download_goes_on_where_it_stopped(server, fetch):
    body = BODY + b"ACGT" * 50_000 + b"\n"
    server.play("/x.fa", cut(body[:150_000], len(body)), ranges(body))
    _, row = fetch(f"{server.url}/x.fa")
    assert row["sha256"] == hashlib.sha256(body).hexdigest()
    first, second = (headers.get("Range") for _, _, headers in server.seen)
    assert first is None
    assert 50_000 < int(second.removeprefix("bytes=").removesuffix("-")) <= 150_000


def leave_part(server, folder, size, **note):
    (folder / ".out.fa.gz.part").write_bytes(BODY[:size])
    note = {"address": f"{server.url}/x.fa", "validator": '"1"'} | note
    (folder / ".out.fa.gz.part.json").write_text(json.dumps(note))


@pytest.mark.parametrize("size", [1, 50, len(BODY) - 1, len(BODY)])
def test_killed_download_goes_on_in_the_next_run(server, fetch, tmp_path, size):
    leave_part(server, tmp_path, size)
    server.play("/x.fa", ranges(BODY))
    _, row = fetch(f"{server.url}/x.fa")
    assert row["sha256"] == hashlib.sha256(BODY).hexdigest()
    headers = server.seen[0][2]
    assert (headers["Range"], headers["If-Range"]) == (f"bytes={size}-", '"1"')


CHANGED = {
    "other-version": ({}, ranges(BODY, '"2"')),
    "other-address": ({"address": "http://127.0.0.1/y.fa"}, ranges(BODY)),
    "no-validator": ({"validator": None}, ranges(BODY)),
}


@pytest.mark.parametrize("change", CHANGED)
def test_part_of_something_else_is_not_used(server, fetch, tmp_path, change):
    note, answer = CHANGED[change]
    leave_part(server, tmp_path, 50, **note)
    (tmp_path / ".out.fa.gz.part").write_bytes(b"x" * 50)
    server.play("/x.fa", answer)
    assert fetch(f"{server.url}/x.fa")[1]["sha256"] == hashlib.sha256(BODY).hexdigest()


def test_another_part_than_asked_for_is_not_appended(server, fetch, tmp_path):
    leave_part(server, tmp_path, 50)
    wrong = status(206, BODY[9:], Content_Range=f"bytes 9-{len(BODY) - 1}/{len(BODY)}")
    server.play("/x.fa", wrong, ranges(BODY))
    assert fetch(f"{server.url}/x.fa")[1]["sha256"] == hashlib.sha256(BODY).hexdigest()


def test_efetch_is_asked_for_the_accession(server, fetch):
    server.play(EFETCH, ok(FASTA))
    _, row = fetch("ncbi:NM_1.2")
    (_, query, _) = server.seen[0]
    assert query["id"] == "NM_1.2"
    assert (query["db"], query["rettype"], query["retmode"]) == ("nuccore", "fasta", "text")
    assert row["address"].startswith(f"{server.url}{EFETCH}?")


def test_key_is_sent_but_never_shown(server, fetch, monkeypatch):
    monkeypatch.setenv("NCBI_API_KEY", "0123secret")
    server.play(EFETCH, status(400, b"bad"), ok(FASTA))
    assert "0123secret" not in fetch("ncbi:NM_1.2", code=1)
    assert server.seen[0][1]["api_key"] == "0123secret"
    assert "0123secret" not in "".join(fetch("ncbi:NM_1.2")[1].values())


@pytest.mark.parametrize(
    "text",
    [
        b"Error: F a i l e d  t o  u n d e r s t a n d  i d :  X X 9 9 9",
        b"Failed to understand id: XX999",
        b"Error: Cannot process ID list",
    ],
)
def test_unknown_accession_is_not_asked_for_again(server, fetch, text):
    server.play(EFETCH, ok(text))
    assert "a text instead of FASTA" in fetch("ncbi:XX999", code=1)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ("ncbi:NC_1.1:101-115", EFETCH),
        ("ensembl:region:human:7:101-115:-", "/sequence/region/human/7:101..115:-1"),
        ("ensembl:region:mus_musculus:X:101-115", "/sequence/region/mus_musculus/X:101..115:1"),
    ],
)
def test_regions_have_the_length_asked_for(server, fetch, source, path):
    server.play(path, ok(FASTA.replace(b"GGTTN", b"GG")), ok(FASTA))
    assert len(fetch(source)[0]) == 15
    assert server.paths() == [path] * 2
    if path == EFETCH:
        assert (server.seen[0][1]["seq_start"], server.seen[0][1]["seq_stop"]) == ("101", "115")
    else:
        assert server.seen[0][2]["Accept"] == "text/x-fasta"


def test_gene_with_flanks(server, fetch):
    server.play("/sequence/id/ENSG1", ok(FASTA))
    fetch("ensembl:gene:ENSG1", "--flank", 100)
    query = {"type": "genomic", "expand_5prime": "100", "expand_3prime": "100"}
    assert server.seen[0][1] == query


GENE = {"object_type": "Gene", "species": "mus_musculus", "canonical_transcript": "ENSMUST5.3"}


def as_json(data):
    return ok(json.dumps(data).encode())


def test_cdna_of_a_gene_is_its_canonical_transcripts(server, fetch):
    server.play("/lookup/id/ENSMUSG1", status(429, Retry_After="0"), ok(b"<html>"), as_json(GENE))
    server.play("/sequence/id/ENSMUST5", ok(FASTA))
    fetch("ensembl:cdna:ENSMUSG1.4")
    assert server.seen[-1][:2] == ("/sequence/id/ENSMUST5", {"type": "cdna"})


def test_homologue_is_the_most_similar_orthologue(server, fetch):
    identities = [("ENSMUSG1", 50.0), ("ENSMUSG3", 82.5), ("ENSMUSG2", 82.5)]
    found = [{"target": {"id": name, "perc_id": identity}} for name, identity in identities]
    server.play("/lookup/id/ENSG1", as_json(GENE | {"species": "homo_sapiens"}))
    server.play("/homology/id/homo_sapiens/ENSG1", as_json({"data": [{"homologies": found}]}))
    server.play("/lookup/id/ENSMUSG2", as_json(GENE))
    server.play("/sequence/id/ENSMUST5", ok(FASTA))
    _, row = fetch("ensembl:homologue:ENSG1:mus_musculus")
    assert server.seen[1][1]["target_species"] == "mus_musculus"
    assert row["address"] == f"{server.url}/sequence/id/ENSMUST5?type=cdna"


def test_no_homologue(server, fetch):
    server.play("/lookup/id/ENSG1", as_json(GENE))
    server.play("/homology/id/mus_musculus/ENSG1", as_json({"data": [{"homologies": []}]}))
    error = fetch("ensembl:homologue:ENSG1:cow", code=1)
    assert "Ensembl knows no orthologue of ENSG1 in cow" in error


@pytest.mark.parametrize(
    "text",
    [
        "ncbi:", "ncbi:a b", "ncbi:NC_1:5", "ensembl:ENSG1", "ensembl:gene:", "ensembl:protein:P1",
        "ensembl:homologue:ENSG1", "ensembl:homologue:ENSG1:Homo sapiens",
        "ensembl:region:human:7:0-5", "ensembl:region:human:7:9-5", "ncbi:NC_1:9-5",
        "ftp://x/y.fa", "x.fa#sha256=12", "x.fa#md5=" + "0" * 64,
    ],
)  # fmt: skip
def test_wrong_sources(text):
    with pytest.raises(InputError, match="expected"):
        parse_source(text)


def test_pace_holds_for_all_who_share_it(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    monkeypatch.setattr(time, "time", lambda: 1000.25)
    Pace("ncbi", 0.5).wait()
    Pace("ensembl", 0.5).wait()
    Pace("ncbi", 0.5).wait()
    assert waits == [0.5]
    (tmp_path / Pace("ncbi", 1).path.name).write_text("half a num")
    Pace("ncbi", 0.5).wait()
    assert waits == [0.5]


@pytest.mark.parametrize(("key", "seconds"), [(None, 1 / 3), ("k", 1 / 10)])
def test_ncbi_is_asked_as_often_as_it_allows(monkeypatch, key, seconds):
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    if key:
        monkeypatch.setenv("NCBI_API_KEY", key)
    client = client_of(parse_source("ncbi:NM_1.2"), Settings())
    assert client.pace.seconds == pytest.approx(seconds)
