"""The site of all pages: what it is made of. `make docs` builds it, and fails on a broken link."""

import re
import subprocess
import sys

import pytest

from tests.docs.test_docs import ROOT, page_id, text_of

INDEXES = [ROOT / "docs" / name / "index.md" for name in ("guide", "design")]


@pytest.mark.parametrize("index", INDEXES, ids=page_id)
def test_an_index_leads_to_every_page_beside_it(index):
    """The navigation of the site follows these links."""
    beside = {page.name for page in index.parent.glob("*.md")} - {"index.md"}
    assert beside <= set(re.findall(r"\]\(([\w-]+\.md)\)", text_of(index)))


def test_reference_lists_every_public_name():
    command = [sys.executable, "-P", ROOT / "docs" / "api_table.py", "--check"]
    assert subprocess.run(command, cwd=ROOT).returncode == 0, "run docs/api_table.py"
