"""Commands that take a second or two, their inputs, and what an undisturbed run writes."""

from __future__ import annotations

import gzip
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from gpu_tools.cli.common.warming import write_inputs
from tests.formats.sources.faulty_server import Server, serving
from tests.report.results import write_results

_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
_INDEXES = (".fai", ".gzi", ".bai", ".csi")


class KillCase(NamedTuple):
    """A command that is killed, and what it writes; `{url}` in it is the server's address."""

    name: str
    command: str
    outputs: tuple[str, ...]


_LIST = "spliced-align --base base.fa --targets targets.fa"
CASES = (
    KillCase(
        "list",
        f"{_LIST} --exons exons.tsv --alignments a.gff3 --alignments a.bam --alignments a.sam "
        "--alignments a.paf --alignments a.bed --alignments a.gtf --output out.tsv",
        ("out.tsv", "a.gff3", "a.bam", "a.bam.bai", "a.sam", "a.paf", "a.bed", "a.gtf"),
    ),
    KillCase(
        "sites",
        f"{_LIST} --site-model vertebrate --alignments a.gff3 --alignments a.bam --output out.tsv",
        ("out.tsv", "a.gff3", "a.bam", "a.bam.bai"),
    ),
    KillCase(
        "proteins",
        "spliced-align --base base.fa --proteins proteins.fa --site-model vertebrate "
        "--alignments a.gff3 --output out.tsv",
        ("out.tsv", "a.gff3"),
    ),
    KillCase(
        "annotate",
        "annotate --genome base.fa --proteins proteins.fa --site-model vertebrate --device cpu "
        "--table genes.tsv --summary genes.json --output genes.gff3",
        ("genes.gff3", "genes.tsv", "genes.json"),
    ),
    KillCase(
        "local",
        "local-align --query query.fa --subject large.fa --k 5 --alignments a.paf --output out.tsv",
        ("out.tsv", "a.paf"),
    ),
    KillCase("global", "global-align --query query.fa --subject query.fa --output o", ("o",)),
    KillCase("predict", "exons predict --base large.fa --output out.gff3", ("out.gff3",)),
    KillCase("convert", "exons convert many.tsv --to gff3 --output out.gff3", ("out.gff3",)),
    KillCase(
        "exact",
        "match-exact --patterns patterns.fa --text large.fa --bed a.bed --output out.tsv",
        ("out.tsv", "a.bed"),
    ),
    KillCase(
        "approximate",
        "match-approximate --patterns patterns.fa --text large.fa --best --output out.tsv",
        ("out.tsv",),
    ),
    KillCase(
        "segments",
        "max-segments --sequence large.fa --scale gc --all --bed a.bed --gff3 a.gff3 --output o",
        ("o", "a.bed", "a.gff3"),
    ),
    KillCase("submatrix", "max-submatrix --matrix square.npy --output out.tsv", ("out.tsv",)),
    KillCase("cut", "sequences cut --fasta large.fa --locus 1000-90000 --output o.fa", ("o.fa",)),
    KillCase(
        "fetch",
        "sequences fetch --source {url}/x.fa --output out.fa.gz --provenance a.tsv",
        ("out.fa.gz", "out.fa.gz.fai", "out.fa.gz.gzi", "a.tsv"),
    ),
    KillCase(
        "report",
        "report results --igv i.xml --genome large.fa --output page.html",
        ("page.html", "i.xml"),
    ),
)


def normal(content: bytes) -> bytes:
    """Return an output without what may differ between runs: the time of a download."""
    return _TIME.sub(b"TIME", content)


def is_index(name: str) -> bool:
    """Tell whether a file is an index, which commands make beside what they read."""
    return name.endswith(_INDEXES)


def write_all_inputs(folder: Path) -> None:
    """Write the files that the commands read."""
    import numpy as np

    write_inputs(folder)
    random = Random(7)
    text = "".join(random.choices("ACGT", k=200_000))
    (folder / "large.fa").write_text(f">large\n{text}\n")
    rows = (f"b{k % 50}\t{10 * k + 1}\t{10 * k + 9}\t+" for k in range(30_000))
    (folder / "many.tsv").write_text("\n".join(["base\tstart\tend\tstrand", *rows, ""]))
    np.save(folder / "square.npy", np.random.default_rng(1).integers(-9, 10, (600, 600)))
    write_results(folder / "results")


@contextmanager
def server() -> Iterator[Server]:
    """Give a server that sends a file of 2 MB slowly, and parts of it where they are wanted."""
    random = Random(9)
    text = "".join(random.choices("ACGT", k=2_000_000)).encode()
    with serving() as found:
        found.play("/x.fa", _slow(b">x\n" + text + b"\n"))
        yield found


def _slow(body: bytes) -> Callable:
    def answer(handler) -> None:
        asked = handler.headers.get("Range")
        first = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        handler.send_response(206 if asked else 200)
        handler.send_header("ETag", '"1"')
        if asked:
            handler.send_header("Content-Range", f"bytes {first}-{len(body) - 1}/{len(body)}")
        handler.send_header("Content-Length", str(len(body) - first))
        handler.end_headers()
        for k in range(first, len(body), 1 << 17):
            handler.wfile.write(body[k : k + (1 << 17)])
            handler.wfile.flush()
            time.sleep(0.03)

    return answer


def link_inputs(inputs: Path, folder: Path) -> None:
    """Have a folder hold the same inputs, so that what is written beside them is its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in inputs.rglob("*"):
        target = folder / path.relative_to(inputs)
        if path.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        elif not target.exists():
            os.link(path, target)


def plain(name: str, content: bytes) -> bytes:
    """Return what an output holds, without its compression."""
    return normal(gzip.decompress(content) if name.endswith(".fa.gz") else content)
