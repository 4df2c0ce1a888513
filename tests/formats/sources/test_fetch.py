"""gpu-tools sequences fetch, against a server on this machine that plays answers and faults."""

import errno
import hashlib
import json
import os
import time
import zlib
from urllib.parse import quote_plus

import pytest
import requests

from gpu_tools.cli.main import main
from gpu_tools.errors import FetchError, InputError
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.sources import Settings, http, parse_source
from gpu_tools.formats.sources.fetch import client_of
from gpu_tools.formats.sources.http import (
    Client,
    Pace,
    PartialFile,
    Patience,
    Request,
    partial_file,
)
from gpu_tools.model.sequences import decode
from tests.formats.sources.faulty_server import (
    chunked,
    cut,
    hangs,
    ok,
    ranges,
    serving,
    status,
)

FASTA = b">NM_1.2 a test\nACGTACGTAC\nGGTTN\n"
BASES = "ACGTACGTACGGTTN"
SHA256 = hashlib.sha256(FASTA).hexdigest()
MD5 = hashlib.md5(FASTA).hexdigest()
EFETCH = "/efetch.fcgi"


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setattr(http, "private_folder", lambda: tmp_path.parent)
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
    "cut-chunked": chunked(FASTA[:20], end=b""),
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
    "no-wait": (status(429, Retry_After="nan"), "429 Too Many Requests and asks to wait nan s", 1),
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
    download(server, fetch, cut(body[:150_000], len(body)), ranges(body), body=body)
    first, second = (headers.get("Range") for _, _, headers in server.seen)
    assert first is None
    assert 50_000 < int(second.removeprefix("bytes=").removesuffix("-")) <= 150_000


def download(server, fetch, *answers, body=BODY):
    """Fetch an address that plays some answers, and check what has come."""
    server.play("/x.fa", *answers)
    assert fetch(f"{server.url}/x.fa")[1]["sha256"] == hashlib.sha256(body).hexdigest()


def leave_part(server, folder, size, **note):
    (folder / ".out.fa.gz.part").write_bytes(BODY[:size])
    note = {
        "address": f"{server.url}/x.fa", "validator": '"1"', "size": size,
        "crc32": zlib.crc32(BODY[:size]),
    } | note  # fmt: skip
    (folder / ".out.fa.gz.part.json").write_text(json.dumps(note))


@pytest.mark.parametrize("size", [1, 50, len(BODY) - 1, len(BODY)])
def test_killed_download_goes_on_in_the_next_run(server, fetch, tmp_path, size):
    leave_part(server, tmp_path, size)
    download(server, fetch, ranges(BODY))
    headers = server.seen[0][2]
    assert (headers["Range"], headers["If-Range"]) == (f"bytes={size}-", '"1"')


def test_bytes_behind_what_was_noted_are_dropped(server, fetch, tmp_path):
    """A process that is killed leaves them: nothing tells whether they are whole."""
    leave_part(server, tmp_path, 50)
    with (tmp_path / ".out.fa.gz.part").open("ab") as stream:
        stream.write(b"TTT")
    download(server, fetch, ranges(BODY))
    assert server.seen[0][2]["Range"] == "bytes=50-"


@pytest.mark.parametrize("change", ["byte", "cut"])
def test_a_part_that_was_changed_is_downloaded_anew(server, fetch, tmp_path, monkeypatch, change):
    leave_part(server, tmp_path, 50)
    (tmp_path / ".out.fa.gz.part").write_bytes({"byte": b"x" * 50, "cut": BODY[:40]}[change])
    told = []
    monkeypatch.setattr(http._log, "warning", lambda text, *values: told.append(text % values))
    download(server, fetch, ok(BODY, ETag='"1"'))
    assert "Range" not in server.seen[0][2]
    assert told == [f"{tmp_path / '.out.fa.gz.part'}: damaged; the download begins anew"]


def test_a_long_download_is_noted_again_and_again(tmp_path):
    """So that one that is killed need not begin anew."""
    chunk, sizes = bytes(1 << 23), []

    def chunks(part):
        for _ in range(4):
            yield chunk
            noted = json.loads((tmp_path / ".out.fa.part.json").read_text())
            sizes.append(noted["size"] // len(chunk))

    with partial_file(tmp_path / "out.fa") as part:
        part.begin("http://127.0.0.1/x.fa", {"ETag": '"1"'})
        part.append(chunks(part))
    assert sizes == [0, 2, 2, 4]
    with partial_file(tmp_path / "out.fa") as part:
        assert part.note["size"] == part.size == 4 * len(chunk)


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
    download(server, fetch, answer)


def test_part_of_a_part_is_not_complete(server, fetch, tmp_path):
    """Of what is asked for a server may send less: the rest is asked for again."""
    leave_part(server, tmp_path, 20)
    some = status(206, BODY[20:50], ETag='"1"', Content_Range=f"bytes 20-49/{len(BODY)}")
    download(server, fetch, some, ranges(BODY))
    assert [headers["Range"] for _, _, headers in server.seen] == ["bytes=20-", "bytes=50-"]


WRONG_PARTS = {
    "of another version": {"ETag": '"2"', "Content_Range": f"bytes 20-{len(BODY) - 1}/{len(BODY)}"},
    "of unknown length": {"Content_Range": f"bytes 20-{len(BODY) - 1}/*"},
    "of a length of many digits": {"Content_Range": "bytes 20-30/" + "9" * 5000},
    "without a range": {},
    "of an earlier beginning": {"Content_Range": f"bytes 9-{len(BODY) - 1}/{len(BODY)}"},
}


@pytest.mark.parametrize("fault", WRONG_PARTS)
def test_part_that_may_not_fit_is_not_appended(server, fetch, tmp_path, fault):
    leave_part(server, tmp_path, 20)
    download(server, fetch, status(206, BODY[20:], **WRONG_PARTS[fault]), ok(BODY))


def test_part_that_was_not_asked_for_is_refused(server, fetch):
    body = BODY[:61]
    server.play("/x.fa", status(206, body, Content_Range=f"bytes 0-60/{len(BODY)}"))
    error = fetch(f"{server.url}/x.fa", "--attempts", 2, code=1)
    assert error.endswith("/x.fa: an answer 206 without the requested part")


def test_two_sources_are_never_joined(server, fetch, tmp_path, monkeypatch):
    """A process that dies before it has emptied the file leaves no note of the new source."""
    leave_part(server, tmp_path, 50, address="http://127.0.0.1/y.fa")
    monkeypatch.setattr(PartialFile, "append", lambda *_: os._exit(9))
    server.play("/x.fa", ok(BODY, ETag='"1"'), ranges(BODY))
    child = os.fork()
    if not child:
        try:
            fetch(f"{server.url}/x.fa")
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    monkeypatch.undo()
    assert fetch(f"{server.url}/x.fa")[1]["sha256"] == hashlib.sha256(BODY).hexdigest()


PLANTED = {
    "link": lambda path, other: path.symlink_to(other),
    "second name": lambda path, other: path.hardlink_to(other),
    "folder": lambda path, other: path.mkdir(),
    "pipe": lambda path, other: os.mkfifo(path),
}


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("name", [".out.fa.gz.part", ".out.fa.gz.part.json"])
def test_what_others_put_in_the_way_is_left_alone(server, fetch, tmp_path, kind, name):
    other = tmp_path / "other"
    other.write_text("dear")
    PLANTED[kind](tmp_path / name, other)
    download(server, fetch, cut(BODY[:50], len(BODY)), ranges(BODY))
    assert other.read_text() == "dear"


def test_several_downloads_for_one_output_do_not_mix(server, tmp_path):
    bodies = [BODY, BODY.replace(b"ACGT", b"TGCA")]
    server.play("/0", ok(bodies[0], ETag='"1"'))
    server.play("/1", ok(bodies[1], ETag='"1"'))
    output = tmp_path / "out.fa"
    with partial_file(output) as first, partial_file(output) as second:
        for number, part in enumerate((first, second)):
            Client(Patience()).download(Request(f"{server.url}/{number}"), part, lambda path: None)
        assert [part.path.read_bytes() for part in (first, second)] == bodies
    assert list(tmp_path.iterdir()) == []


def test_full_disk(server, fetch, monkeypatch):
    def full(self, chunks):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(PartialFile, "append", full)
    server.play("/x.fa", ok(FASTA))
    assert "cannot be written (No space left on device)" in fetch(f"{server.url}/x.fa", code=1)


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


@pytest.mark.parametrize("code", [200, 400, 503])
@pytest.mark.parametrize("key", ["0123secret", "a+b/c=&d"])
def test_a_key_that_the_server_repeats_is_not_shown(server, fetch, monkeypatch, caplog, code, key):
    monkeypatch.setenv("NCBI_API_KEY", key)
    server.play(EFETCH, lambda handler: handler.send(code, f"{handler.path} {key}".encode()))
    error = fetch("ncbi:NM_1.2", "--attempts", 2, code=1)
    for spelling in (key, quote_plus(key)):
        assert spelling not in error + caplog.text
    assert ("***" in error) == (code != 503)


def test_a_password_is_sent_but_never_shown(server, fetch, tmp_path, caplog):
    address = f"{server.url.replace('//', '//me:hush@')}/x.fa"
    server.play("/x.fa", status(503), status(404), ok(FASTA))
    assert "hush" not in fetch(address, code=1) + caplog.text
    _, row = fetch(address)
    assert row["source"] == row["address"] == f"{server.url}/x.fa"
    assert server.seen[-1][2]["Authorization"].startswith("Basic ")
    for written in tmp_path.glob("out*"):
        written.unlink()
    assert "hush" not in fetch(address.replace("http", "ftp"), code=1)
    assert "hush" not in fetch(address + "#md5=0", code=1)


@pytest.mark.parametrize("address", ["http://", "http://[::1", "http://a:999999/", "http://a b/"])
def test_an_address_that_is_none(fetch, address):
    assert fetch(address, code=1).startswith("gpu-tools: error: ")


def test_redirections(server, fetch, monkeypatch):
    """Another scheme is refused; a password is for its own host alone."""
    server.play("/file", status(302, Location="file:///etc/passwd"))
    assert fetch(f"{server.url}/file", code=1).endswith("cannot be requested (InvalidSchema)")
    server.play("/odd", status(302, Location="\u00e9"))
    assert fetch(f"{server.url}/odd", code=1).endswith("to an address that is no text")
    other = server.url.replace("127.0.0.1", "localhost")
    server.play("/x.fa", status(302, Location=f"{other}/y.fa"))
    server.play("/y.fa", ok(FASTA))
    fetch(f"{server.url.replace('//', '//me:hush@')}/x.fa")
    assert "Authorization" in server.seen[-2][2]
    assert "Authorization" not in server.seen[-1][2]


def test_a_key_is_for_the_service_alone(server, fetch, monkeypatch):
    monkeypatch.setenv("NCBI_API_KEY", "0123secret")
    other = server.url.replace("127.0.0.1", "localhost")
    server.play(EFETCH, status(302, Location=f"{other}/y.fa"))
    server.play("/y.fa", ok(FASTA))
    fetch("ncbi:NM_1.2")
    (_, first, _), (_, second, headers) = server.seen
    assert first["api_key"] == "0123secret"
    assert "0123secret" not in str((second, headers))


def test_a_long_answer_in_json_is_cut(server, fetch, monkeypatch):
    monkeypatch.setattr("gpu_tools.formats.sources.http._LARGEST_JSON", 50)
    server.play("/lookup/id/ENSG1", as_json(GENE | {"more": "x" * 100}))
    error = fetch("ensembl:cdna:ENSG1", "--attempts", 1, code=1)
    assert "no JSON but" in error


def test_a_redirection_that_gives_up_encryption(server):
    """The adapter sends what is meant for https to the server without it."""

    class Plain(requests.adapters.HTTPAdapter):
        def send(self, request, **options):
            plain = request.copy()
            plain.url = request.url.replace("https:", "http:")
            response = super().send(plain, **options)
            response.url = request.url
            return response

    client = Client(Patience(attempts=1))
    client.session.mount("https://", Plain())
    server.play("/x", status(302, Location=f"{server.url}/y"))
    server.play("/y", ok(b"{}"))
    with pytest.raises(FetchError, match="redirects to an address without encryption"):
        client.json(Request(f"{server.url.replace('http:', 'https:')}/x"))


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


STRANGE = [b"[]", b"null", b"7", b'"x"', b"[" * 100_000, b"9" * 5000, b'{"object_type": "Gene"}',
           b'{"data": 7}', b'{"data": [{"homologies": [{"target": {}}]}]}']  # fmt: skip


# what happens to be collected in the depth of a nested answer cannot run its finalizer there
DEEP = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@DEEP
@pytest.mark.parametrize("answer", STRANGE)
@pytest.mark.parametrize("source", ["ensembl:cdna:ENSG1", "ensembl:homologue:ENSG1:cow"])
def test_answers_that_are_not_understood(server, fetch, answer, source):
    server.play("/lookup/id/ENSG1", ok(answer))
    assert "error: " in fetch(source, "--attempts", 1, code=1)
    server.play("/lookup/id/ENSG1", as_json(GENE))
    server.play("/homology/id/mus_musculus/ENSG1", ok(answer))
    assert "error: " in fetch("ensembl:homologue:ENSG1:cow", "--attempts", 1, code=1)


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
    waits = []
    monkeypatch.setattr(time, "sleep", waits.append)
    monkeypatch.setattr(http, "private_folder", lambda: tmp_path)
    for service in ("ncbi", "ensembl", "ncbi"):
        Pace(service, 60).wait()
    assert waits == [pytest.approx(60, abs=5)]
    os.utime(tmp_path / "ncbi.pace", (0, 0))
    Pace("ncbi", 60).wait()
    assert len(waits) == 1
    (tmp_path / "x.pace").mkdir()
    with pytest.raises(FetchError, match="no pace can be kept"):
        Pace("x", 60).wait()


@pytest.mark.parametrize(("key", "seconds"), [(None, 1 / 3), ("k", 1 / 10)])
def test_ncbi_is_asked_as_often_as_it_allows(monkeypatch, key, seconds):
    monkeypatch.delenv("NCBI_API_KEY", raising=False)
    if key:
        monkeypatch.setenv("NCBI_API_KEY", key)
    client = client_of(parse_source("ncbi:NM_1.2"), Settings())
    assert client.pace.seconds == pytest.approx(seconds)


def test_a_device_is_no_source(fetch):
    """Reading zeros never ends."""
    error = fetch("/dev/zero", code=1)
    assert error == "gpu-tools: error: /dev/zero: it is a device; expected a file"


@pytest.mark.parametrize("answer", ["announced", "endless"])
def test_a_download_has_a_limit(server, fetch, tmp_path, answer):
    body = b">x\n" + b"ACGT\n" * 30_000
    server.play("/x.fa", ok(body) if answer == "announced" else chunked(body))
    error = fetch(f"{server.url}/x.fa", "--max-size", 1e-4, code=1)
    bytes_ = "150,003 bytes; expected at most" if answer == "announced" else "more than"
    assert error.endswith(f"/x.fa: {bytes_} 107,374{' bytes' * (answer == 'endless')}")
    assert [path for path in tmp_path.iterdir() if ".part" in path.name] == []


def test_a_download_that_the_disk_cannot_hold(server, fetch, monkeypatch):
    server.play("/x.fa", ok(FASTA))
    monkeypatch.setattr("gpu_tools.formats.files.free_disk", lambda path: 5)
    assert f"it takes {len(FASTA)} bytes; the disk has 5 left" in fetch(
        f"{server.url}/x.fa", code=1
    )
