"""The scripts that make the shipped data, where the original files lie beside the checkout."""

import subprocess
import sys
from pathlib import Path

import pytest

from gpu_tools.formats.files import open_binary
from gpu_tools.model.resources import resource_path

ORIGINALS = Path(__file__).parents[3] / "shared" / "data" / "real"
pytestmark = pytest.mark.skipif(not ORIGINALS.is_dir(), reason="no original files here")


def made_again(folder, sources, names, tmp_path):
    """Run a folder's make.py and return whether each file has the shipped content."""
    source, output = tmp_path / "source", tmp_path / "output"
    source.mkdir()
    output.mkdir()
    for original in sources:
        (source / original.name).symlink_to(original)
    script = resource_path(folder, "make.py")
    subprocess.run([sys.executable, script, source, "--output", output], check=True)
    return {name: content(output / name) == content(resource_path(folder, name)) for name in names}


def content(path):
    """Return the uncompressed bytes: compressed ones may differ with the library's version."""
    with open_binary(path) as stream:
        return stream.read()


def test_demo(tmp_path):
    sources = [ORIGINALS / "sim4_hs_mm" / f"sample.{n}" for n in ("gen.fasta.gz", "cdna.fasta")]
    names = ["loci.fa.gz", "loci.fa.gz.fai", "mrnas.fa.gz", "mrnas.fa.gz.fai"]
    assert made_again("demo", sources, names, tmp_path) == dict.fromkeys(names, True)


def test_training(tmp_path):
    region = ORIGINALS / "augustus_cgp_ENm008"
    entries = [ORIGINALS / "emboss" / f"{name}.embl.gz" for name in ("AF129756", "Z69719")]
    sources = [region / "hg38.fa.gz", region / "refseq.hg38.gtf", *entries]
    names = ["records.fa.gz", "records.fa.gz.fai", "annotation.gff3"]
    assert made_again("training", sources, names, tmp_path) == dict.fromkeys(names, True)
