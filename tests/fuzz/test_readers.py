"""Every reader takes a damaged file or says what is wrong with it, and raises nothing else."""

import os
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from gpu_tools.errors import GpuToolsError, printable
from gpu_tools.exons.model import load_model
from gpu_tools.formats.exons.annotation import read_annotated_exons, read_coding_segments
from gpu_tools.formats.exons.bed import read_intervals
from gpu_tools.formats.exons.coding import read_coding
from gpu_tools.formats.exons.intervals import FORMATS, read_exons
from gpu_tools.formats.sequences.fasta import read_fasta
from gpu_tools.formats.sequences.locus import cut_locus, record_lengths
from gpu_tools.formats.tables import read_table
from gpu_tools.formats.values.matrices import read_matrix as read_scores
from gpu_tools.formats.values.numbers import read_matrix, read_values
from gpu_tools.formats.values.scales import load_scale
from gpu_tools.formats.values.tracks import read_tracks
from gpu_tools.model.sequences import encode_protein
from gpu_tools.sites.model import load_sites
from tests.cli.damage import FILES
from tests.fuzz.strategies import damages

EXAMPLES = int(os.environ.get("GPU_TOOLS_FUZZ", "20"))
SEED = int(os.environ.get("GPU_TOOLS_FUZZ_SEED", "1"))
EXON_FILES = ("exons.tsv", "exons.bed", "exons.gff3", "exons.gtf", "report.txt")
READERS = {
    "fasta": (read_fasta, ("base.fa", "target.fa", "base.fa.gz", "part.fa")),
    "fastq": (read_fasta, ("reads.fq",)),
    "proteins": (partial(read_fasta, encode=encode_protein), ("protein.fa",)),
    "locus": (partial(cut_locus, record="chr1", start=100, end=160), ("base.fa", "base.fa.gz")),
    "index": (record_lengths, ("target.fa",)),
    "exons": (read_exons, EXON_FILES),
    **{f"exons as {f}": (partial(read_exons, format=f), EXON_FILES) for f in FORMATS},
    "annotated exons": (read_annotated_exons, ("genes.gff3", "genes.gtf")),
    "segments": (read_coding_segments, ("genes.gff3", "genes.gtf")),
    "coding": (read_coding, ("genes.gff3", "genes.gtf")),
    "regions": (read_intervals, ("regions.bed",)),
    "pairs": (lambda path: list(read_table(path, ("base", "target"))), ("pairs.tsv",)),
    "scale": (load_scale, ("scale.tsv",)),
    "scores": (read_scores, ("blosum.txt", "costs.txt")),
    "values": (read_values, ("values.txt", "values.npy")),
    "matrix": (read_matrix, ("matrix.tsv", "matrix.npy")),
    "track": (lambda path: list(read_tracks(path)), ("values.bedgraph",)),
    "sites": (load_sites, ("sites.json",)),
    "model": (load_model, ("model.json",)),
}
CONTENT = FILES | {"reads.fq": b"@a x\nACGTN\n+\nIIIII\n@b\nAC\n+b\n!~\n"}


@pytest.mark.parametrize("reader", READERS)
def test_reader(tmp_path, monkeypatch, reader):
    monkeypatch.chdir(tmp_path)
    read, names = READERS[reader]

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def fuzz(data):
        name = data.draw(st.sampled_from(names))
        for path in Path().iterdir():
            path.unlink()
        Path(name).write_bytes(data.draw(damages(CONTENT[name])))
        try:
            read(name)
        except GpuToolsError as error:
            printable(str(error))

    fuzz()
