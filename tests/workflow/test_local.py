"""The target that aligns each target with its locus, locally."""

import pytest

from tests.workflow.folders import BASES, ROOT, TARGETS, Folder, demo_rows, write_sheet

pytestmark = pytest.mark.workflow


@pytest.fixture
def folder(tmp_path):
    write_sheet(tmp_path / "config" / "cases.tsv", demo_rows())
    return Folder(tmp_path, ROOT / "workflow" / "Snakefile")


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
