"""The workflow with candidate exons of other programs, and of reports."""

import re

import pytest
import yaml

from tests.cli.sequences.test_cut import GENSCAN as REPORT
from tests.programs import require
from tests.workflow.folders import BASES, HEADER, LOCI, MRNAS, ROOT, TARGETS, write_sheet

STAND_IN = ROOT / "tests" / "programs" / "genscan"


@pytest.fixture
def configured(folder):
    """Return a function that runs the workflow up to the candidates with keys of ``exons``."""

    def run(*words, code=0, **exons):
        (folder.path / "settings.yaml").write_text(yaml.safe_dump({"exons": exons}))
        return folder.run(*words, "--configfile", "settings.yaml", code=code)

    return run


def candidates(path):
    """Return the columns of the features of a GFF3 file."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [line.split("\t") for line in lines]


def predicted(folder):
    """Return the file of candidates of the demo's only batch."""
    plan = folder.run("--dry-run")
    (path,) = set(re.findall(r"results/batches/\w+/predicted.gff3", plan))
    return path


def test_programs(folder, configured):
    """GENSCAN's stand-in, then AUGUSTUS: another provider makes the candidates anew."""
    require("augustus")
    target = predicted(folder)
    (folder.path / "a.smat").write_text("no matrix\n")
    genscan = {"program": str(STAND_IN), "matrix": "a.smat", "min_probability": 0.5}
    configured(target, provider="genscan", **genscan)
    found = candidates(folder.path / target)
    assert {fields[8].split(";")[0] for fields in found} == {"exon_type=Intr"}
    assert min(float(fields[8].split("probability=")[1]) for fields in found) >= 0.5
    configured(target, provider="augustus", species="human", samples=20)
    again = candidates(folder.path / target)
    assert ["1541", "1712"] in [fields[3:5] for fields in again]
    assert {fields[0] for fields in again} == set(BASES)
    assert "Nothing to be done" in configured(
        target, provider="augustus", species="human", samples=20
    )


def test_program_that_is_not_there(folder, configured):
    target = predicted(folder)
    output = configured(target, provider="augustus", program="./none", code=1)
    assert "gpu-tools: error: ./none cannot be run (No such file or directory)" in output
    assert not (folder.path / target).exists()


def test_reports_of_the_sheet(folder, configured):
    """A report in the coordinates of the record, under a name of its own."""
    (folder.path / "report.txt").write_text(REPORT)
    row = ("x", LOCI, TARGETS[0], MRNAS, BASES[0], "8-30", "report.txt")
    write_sheet(folder.path / "config" / "cases.tsv", [row], (*HEADER, "record", "locus", "exons"))
    configured("--until", "exons_cut", provider="genscan-report")
    (path,) = folder.batches("given.gff3")
    # under the base's name, in its own coordinates: its locus begins at position 1 with flanks
    ((name, _, _, start, end, score, *_),) = candidates(path)
    assert (name, start, end, score) == ("x", "11", "19", "5.5")
    (folder.path / "report.txt").write_text("x\t.\texon\t1\t9\t.\t+\t.\t.\n")
    output = configured("--until", "exons_cut", provider="genscan-report", code=1)
    assert "report.txt, line 1: no GENSCAN report" in output
