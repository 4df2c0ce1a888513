"""How Sphinx makes the site of all pages: ``make docs`` writes it to ``site/``.

The pages are plain Markdown, with links that also work in the repository. So the sources are the
repository itself, and this file adds what Markdown lacks: the navigation, which follows the links
of docs/guide/index.md and docs/design/index.md, and the reference, made from the docstrings of the
names that docs/api.md lists. The site needs no network when it is viewed.
"""

import re
import sys
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import gpu_tools  # noqa: E402

project, author = "gpu-tools", "The gpu-tools authors"
copyright = author
version = release = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M)[1]

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
root_doc = "README"
include_patterns = [
    "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "config/README.md", "docs/**.md",
    "benchmarks/README.md", "benchmarks/notes/*.md", "resources/**/README.md",
]  # fmt: skip
exclude_patterns = [".*", "site", "results", "logs", "tests", "gpu_tools", "workflow", "build"]

myst_heading_anchors = 4
suppress_warnings = ["misc.highlighting_failure"]
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what the types mean
toc_object_entries = False  # headings name them

html_theme = "furo"
html_title = f"gpu-tools {release}"
html_extra_path = ["site"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False

LISTED = re.compile(r"^\| \[`(\w+)`\]\(.*\n", re.M)
INDEX = "docs/guide/index.md", "docs/design/index.md"
FURTHER = (
    "docs/interface", "docs/glossary", "config/README", "CHANGELOG", "CONTRIBUTING",
    "benchmarks/README", "resources/*/README",
)  # fmt: skip
BELOW = {"benchmarks/README": ["benchmarks/notes/*"]}
"""Pages that the side bar shows below others."""


def linked(page: str, text: str) -> list[str]:
    """Return the pages beside `page` that a part of its text links to, in order, without suffix."""
    found = re.findall(r"\]\(([\w-]+)\.md\)", text)
    return list(dict.fromkeys(f"{Path(page).parent}/{name}" for name in found))


def navigation() -> dict[str, list[str]]:
    """Return the pages of the side bar by caption."""
    guide, design = INDEX
    pages, commands = (ROOT / guide).read_text(encoding="utf-8").split("\n## Commands\n")
    own = linked(guide, commands)
    return {
        "Guide": [guide[:-3], *(p for p in linked(guide, pages) if p not in own), "docs/api"],
        "Commands": own,
        "Design": [design[:-3], *linked(design, (ROOT / design).read_text(encoding="utf-8"))],
        "Further": list(FURTHER),
    }


def toctree(caption: str, pages: list[str]) -> str:
    """Return a part of the side bar, in MyST's Markdown."""
    lines = "\n".join(f"/{page}" for page in pages)
    return f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n:glob:\n:maxdepth: 1\n{lines}\n```\n"


def directive(name: str) -> str:
    """Return what makes the reference of a public name from its docstring."""
    thing = getattr(gpu_tools, name)
    kind = "autofunction" if not isinstance(thing, type) else "autoclass"
    members = "   :members:\n" if kind == "autoclass" and not issubclass(thing, Exception) else ""
    return f"### {name}\n\n```{{eval-rst}}\n.. {kind}:: gpu_tools.{name}\n{members}```\n\n"


def with_reference(text: str) -> str:
    """Return docs/api.md with the reference of each name behind the table that lists it."""
    parts = re.split(r"(?m)^(?=## )", text)
    made = ("".join(map(directive, LISTED.findall(part))) for part in parts)
    linked_here = (re.sub(r"(?m)^\| \[`(\w+)`\]\([^)]*\)", in_page, part) for part in parts)
    return "".join(f"{part}\n{more}" for part, more in zip(linked_here, made, strict=True))


def in_page(row: re.Match) -> str:
    """Return the beginning of a row whose link leads to the reference below."""
    return f"| [`{row[1]}`](#gpu_tools.{row[1]})"


def read(app: Sphinx, page: str, content: list[str]) -> None:
    """Add the navigation to the first page, and the reference to the page of the API."""
    if page == root_doc:
        content[0] += "".join(toctree(*part) for part in navigation().items())
    if page in BELOW:
        content[0] += toctree("Notes", BELOW[page])
    if page == "docs/api":
        content[0] = with_reference(content[0])


def setup(app: Sphinx) -> None:
    """Have Sphinx call `read`."""
    app.connect("source-read", read)
