"""Write the tables of docs/api.md: the public names of `gpu_tools`, with what each is.

``python docs/api_table.py`` rewrites the page; with ``--check`` it changes nothing and exits with 1
if the page is out of date. ``make docs`` makes the whole reference from the same docstrings.
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import gpu_tools

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"
HEAD = """\
# API reference

The public names of `gpu_tools`, with links to their docstrings. `make docs` makes a site of all
pages, in which this page holds the whole reference; `help(gpu_tools.spliced_align)` shows the same.
Intervals are 0-based and half-open. [The pages of the commands](guide/index.md) have examples.
"""
FAMILIES = {
    "Spliced alignment": (
        "spliced",
        "sites",
        "splicing",
        "model.exon_set",
        "model.significance",
        "model.evidence",
        "formats.junctions",
    ),
    "Estimates": ("estimate",),
    "Genes of genomes": ("annotate", "lift"),
    "Search of genomes": ("search", "model.locus"),
    "Local and global alignment": ("local",),
    "Pattern matching": ("matching",),
    "Segments and submatrices": ("segments",),
    "Sequences, scores and results": ("model",),
    "Errors": ("errors",),
}
"""Titles of the tables, and the modules whose names they list: the first that fits."""


def family_of(module: str) -> str:
    """Return the title of the table that lists a module's names."""
    inside = module.removeprefix("gpu_tools.")
    for title, beginnings in FAMILIES.items():
        if any(inside == b or inside.startswith(f"{b}.") for b in beginnings):
            return title
    raise ValueError(f"{module} belongs to none of the families")


def row(name: str) -> str:
    """Return the row of a public name: a link to its source, and its docstring's first sentence."""
    thing = getattr(gpu_tools, name)
    source = Path(inspect.getsourcefile(inspect.unwrap(thing))).resolve().relative_to(ROOT)
    summary = " ".join(inspect.getdoc(thing).split("\n\n")[0].split())
    return f"| [`{name}`](../{source}) | {summary.replace('|', chr(92) + '|')} |\n"


def sections() -> Iterator[str]:
    """Yield the title and table of each family; functions first, then classes."""
    named = sorted(gpu_tools.__all__, key=lambda n: (n[0].isupper(), n))
    for title in FAMILIES:
        own = [n for n in named if family_of(getattr(gpu_tools, n).__module__) == title]
        yield f"\n## {title}\n\n| name | what |\n|---|---|\n{''.join(map(row, own))}"


def main(arguments: list[str]) -> int:
    """Rewrite or check the page; return the exit code."""
    text = HEAD + "".join(sections())
    if arguments == ["--check"]:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
