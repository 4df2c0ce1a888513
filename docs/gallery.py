"""Make the pictures of docs/guide/gallery.md again: run the page's commands, take what they draw.

``python docs/gallery.py`` needs the command ``gpu-tools`` with the extra ``workflow``.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
PAGE = DOCS / "guide" / "gallery.md"
PICTURES = DOCS / "gallery"
READ_ALOUD = re.compile(r' (?:aria-[a-z]+|role)="[^"]*"')
"""What Vega writes for screen readers, half of a file; the pages have texts instead."""


def commands(page: str) -> list[str]:
    """Return the shell commands of a page."""
    return re.findall(r"^```sh\n(.*?)^```$", page, re.M | re.S)


def pictures(page: str) -> list[str]:
    """Return the names of the pictures that a page shows from docs/gallery/."""
    return re.findall(r"\]\(\.\./gallery/([^)]+)\)", page)


def main() -> None:
    """Run the commands in a folder of their own and copy the pictures."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "resources").symlink_to(DOCS.parent / "resources")
        for command in commands(page):
            subprocess.run(["sh", "-e", "-c", command], cwd=folder, check=True)
        shutil.rmtree(PICTURES, ignore_errors=True)
        PICTURES.mkdir()
        for name in pictures(page):
            (found,) = Path(folder).glob(f"**/{name}")
            text = READ_ALOUD.sub("", found.read_text(encoding="utf-8"))
            (PICTURES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
