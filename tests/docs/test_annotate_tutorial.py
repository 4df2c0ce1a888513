"""The tutorial of annotation, on Debian's data: its commands print what the page shows.

The last section, of the whole genome, takes minutes: `benchmarks.annotate.bench_whole` does that.
"""

import gzip
from pathlib import Path

import pytest

from tests.docs.folder import prepare, run
from tests.docs.test_docs import ROOT, blocks

DATA = Path("/usr/share/spaln/seqdb")
PAGE = ROOT / "docs" / "guide" / "annotate-tutorial.md"
GENOME = "dictdisc_g.gf.gz"
OF_GENES = {
    "dictdisc.faa.gz": ("CAF1_DICDI", "UNG_DICDI", "ATC1_DICDI", "PTP2_DICDI"),
    "dictdisc.cf.gz": ("S14458337", "S14458514", "S14458613", "S14458583"),
}
"""The proteins and cDNAs of the part's four genes: all others take long and change nothing."""


def records(name):
    """Return the records of a file of the data."""
    with gzip.open(DATA / name) as stream:
        return [b">" + text for text in stream.read().split(b">")[1:]]


@pytest.mark.skipif(not DATA.exists(), reason="Debian's package spaln-data is not installed")
def test_the_tutorial_prints_what_it_shows(tmp_path):
    folder, printed = prepare(tmp_path), None
    (folder / "genes").mkdir()
    (folder / "genome.fa.gz").write_bytes((DATA / GENOME).read_bytes())
    for (name, wanted), own in zip(OF_GENES.items(), ("proteins", "cdnas"), strict=True):
        some = [text for text in records(name) if any(n.encode() in text for n in wanted)]
        assert len(some) == len(wanted)
        with gzip.open(folder / f"{own}.fa.gz", "wb") as stream:
            stream.write(b"".join(some))
    for language, text in blocks(PAGE, "console", "text")[2:-2]:
        if language == "text":
            assert printed == text
        else:
            printed = run(["sh", "-e", "-c", text], folder)
    assert "4</b><span>genes" in (folder / "genes" / "report.html").read_text()
