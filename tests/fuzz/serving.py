"""Random answers of a server on this machine to `sequences fetch`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from random import Random

from tests.formats.sources.faulty_server import (
    Server,
    chunked,
    cut,
    ok,
    ranges,
    serving,
    status,
)
from tests.fuzz.mutations import HOSTILE_WORDS, mutated

FASTA = b">NM_1.2 a test\nACGTACGTAC\nGGTTN\n"
_LOOKUP = {"object_type": "Gene", "species": "homo_sapiens", "canonical_transcript": "ENST01.3"}
_HOMOLOGY = {"data": [{"homologies": [{"target": {"id": "ENSG02", "perc_id": 80.5}}]}]}
_STATUS = (200, 204, 206, 301, 302, 304, 400, 401, 403, 404, 408, 416, 418, 429, 500, 503, 599)
_HEADERS = {
    "Location": ("http://127.0.0.1:1/", "/x.fa", "file:///etc/passwd", "ftp://x/", "//", "\u00e9"),
    "Content-Range": ("bytes 0-9/10", "bytes 5-3/2", "bytes */9", "x", "bytes 0-99999999999999/1"),
    "ETag": ('"1"', 'W/"1"', "", "x" * 5000), "Last-Modified": ("never", "0"),
    "Retry-After": ("0", "-1", "nan", "1e400", "Mon, 99 Foo 9999", "9" * 400),
    "Content-Encoding": ("gzip", "deflate", "br", "x"), "Content-Type": ("text/html", "\u00e9"),
}  # fmt: skip
SOURCES = (
    "{url}/x.fa", "{url}/x.fa#sha256=" + "0" * 64, "ncbi:NM_1.2", "ncbi:NM_1.2:1-15",
    "ensembl:gene:ENSG01", "ensembl:cdna:ENSG01", "ensembl:homologue:ENSG01:mus_musculus",
    "ensembl:region:homo_sapiens:X:1-15:-",
)  # fmt: skip


class AnyPath(Server):
    """Gives each request the next of some answers, whatever its path."""

    def next_answer(self, path: str) -> Callable:
        """Return an answer."""
        with self.lock:
            answers = self.answers["/"]
            return answers.pop(0) if len(answers) > 1 else answers[0]


def answers(rng: Random) -> list[Callable]:
    """Return one to three answers."""
    return [_answer(rng) for _ in range(rng.choice((1, 1, 2, 3)))]


def _answer(rng: Random) -> Callable:
    body = rng.choice((
        FASTA, json.dumps(_LOOKUP).encode(), json.dumps(_HOMOLOGY).encode(), b"", b"<html>",
        rng.choice(HOSTILE_WORDS), b"[" * 5000,
    ))  # fmt: skip
    if rng.random() < 0.5:
        body = mutated(rng.choice(("x.json", "x.fa")), body, rng)
    headers = {name: rng.choice(values) for name, values in _HEADERS.items() if rng.random() < 0.2}
    kind = rng.randrange(5)
    if kind == 0:
        return cut(body[: len(body) // 2], len(body) + rng.choice((0, 1, 1 << 40)))
    if kind == 1:
        return chunked(body, end=b"")
    if kind == 2:
        return ranges(body)
    if kind == 3:
        fields = {name.replace("-", "_"): value for name, value in headers.items()}
        return status(rng.choice(_STATUS), body, **fields)
    return ok(body, **headers)


class Network:
    """A server that lives as long as the process; commands do not wait between attempts."""

    def __init__(self):
        self._context = serving(AnyPath)
        self.server = self._context.__enter__()
        time.sleep = lambda seconds: None

    def close(self) -> None:
        """Stop the server."""
        self._context.__exit__(None, None, None)

    def line(self, rng: Random) -> list[str]:
        """Return the arguments of a command that meets random answers."""
        self.server.answers["/"], url = answers(rng), self.server.url
        source = rng.choice(SOURCES).format(url=url)
        return [
            "sequences", "fetch", "--source", source, "--ncbi-url", url, "--ensembl-url", url,
            "--attempts", "2", "--timeout", "2", "--output", rng.choice(("out", "out.fa.gz")),
            "--provenance", "a.tsv", "--quiet",
        ]  # fmt: skip
