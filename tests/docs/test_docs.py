"""Documentation that is generated, and links between pages."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("config/*.md")]


def test_config_table_is_up_to_date():
    command = [sys.executable, ROOT / "docs" / "config_table.py", "--check"]
    assert subprocess.run(command).returncode == 0, "run docs/config_table.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


EXAMPLES = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.name)
def test_python_examples_run(page):
    names = {}  # later examples of a page go on from earlier ones
    for text in re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S):
        exec(compile(text, page.name, "exec"), names)
