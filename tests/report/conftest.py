"""Results, and the page of them."""

import pytest

from gpu_tools.cli.main import main
from gpu_tools.report.findings import read_findings
from tests.report.results import write_results


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    return write_results(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="session")
def findings(results):
    return read_findings(results)


@pytest.fixture(scope="session")
def page(results):
    """Return the page of the results, with all that can be written beside it."""
    path = results / "report.html"
    track = results / "batches" / "0123456789ab" / "annotation.gff3"
    options = ["--output", path, "--igv", results / "igv.xml", "--figures", results / "figures"]
    options += ["--track", track]
    assert main(["report", str(results), *map(str, options)]) == 0
    return path
