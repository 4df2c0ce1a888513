"""Make the pictures of the guide again: run the commands of two pages, take what they draw.

``python docs/gallery.py`` needs the command ``gpu-tools`` with the extra ``workflow``. Pictures of
other pages, whose data are not shipped, stay. docs/report.png is what a browser of 1380 by 1000
pixels shows of the demo's page.
"""

import re
import subprocess
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = [DOCS / "guide" / name for name in ("tutorial.md", "gallery.md")]
PICTURES = DOCS / "gallery"
READ_ALOUD = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')
"""What Vega writes for screen readers, half of a file; the pages have texts instead."""


def commands(page: str) -> list[str]:
    """Return the shell commands of a page."""
    return re.findall(r"^```(?:sh|console)\n(.*?)^```$", page, re.M | re.S)


def pictures(page: str) -> list[str]:
    """Return the names of the pictures that a page shows from docs/gallery/."""
    return re.findall(r"\]\(\.\./gallery/([^)]+)\)", page)


def drawn(page: str) -> dict[str, str]:
    """Return the pictures of a page by name; its commands run in a folder of their own."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "resources").symlink_to(DOCS.parent / "resources")
        for command in commands(page):
            subprocess.run(["sh", "-e", "-c", command], cwd=folder, check=True)
        found = {path.name: path for path in Path(folder).glob("**/*.svg")}
        names = [name for name in pictures(page) if name in found]
        return {name: READ_ALOUD.sub("", found[name].read_text(encoding="utf-8")) for name in names}


def main() -> None:
    """Write the pictures of all pages."""
    made: dict[str, str] = {}
    for page in PAGES:
        made |= drawn(page.read_text(encoding="utf-8"))
    for name, text in made.items():
        (PICTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
