"""The tutorial of lift, on the repository's data: its commands print what the page shows."""

import os

from tests.docs.folder import prepare, run
from tests.docs.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "guide" / "lift-tutorial.md"


def test_the_tutorial_prints_what_it_shows(tmp_path, monkeypatch):
    folder, printed = prepare(tmp_path), None
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    shown = 0
    for language, text in blocks(PAGE, "console", "text"):
        if language == "text":
            assert printed == text
            shown += 1
        else:
            printed = run(["sh", "-e", "-c", text], folder)
    assert shown == 4
    assert "45 of 45</b><span>genes carried over" in (folder / "lifted" / "report.html").read_text()
    assert "\tCDS\t" in (folder / "moved.gff3").read_text()
