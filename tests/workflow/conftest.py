"""A working folder with a small sheet."""

from pathlib import Path

import pytest

from tests.workflow.folders import ROOT, Folder, demo_rows, write_sheet


def pytest_collection_modifyitems(items):
    """Mark the tests of this folder and run them first: the longest files are among them."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.workflow)
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with the demo's smallest cases in config/cases.tsv."""
    write_sheet(tmp_path / "config" / "cases.tsv", demo_rows())
    return Folder(tmp_path, ROOT / "workflow" / "Snakefile")
