"""Write the table of configuration keys in config/README.md from the schema.

``python docs/config_table.py`` rewrites the table; with ``--check`` it changes nothing and exits
with 1 if the table is out of date.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "config" / "README.md"
SCHEMA = ROOT / "workflow" / "schemas" / "config.schema.yaml"
BEGIN, END = "<!-- config table -->\n", "<!-- end of config table -->\n"


def rows(schema: dict, prefix: str = "") -> Iterator[str]:
    """Yield a row for each key of a schema that holds a value."""
    for key, part in schema["properties"].items():
        if "properties" in part:
            yield from rows(part, f"{prefix}{key}.")
        else:
            cells = (f"`{prefix}{key}`", values(part), default(part), part["description"])
            yield f"| {' | '.join(cells)} |\n"


def values(part: dict) -> str:
    """Return what a key may hold."""
    return (
        ", ".join(f"`{v}`" for v in part["enum"] if v is not None)
        if "enum" in part
        else part["expected"]
    )


def default(part: dict) -> str:
    """Return a key's default."""
    return "none" if part.get("default") is None else f"`{part['default']}`"


def updated(page: str) -> str:
    """Return the page with a table of the schema as it is now."""
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    table = "".join(rows(yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))))
    titles = "| key | values | default | what |\n|---|---|---|---|\n"
    return f"{head}{BEGIN}{titles}{table}{END}{tail}"


def main(arguments: list[str]) -> int:
    """Rewrite or check the page; return the exit code."""
    page = PAGE.read_text(encoding="utf-8")
    if arguments == ["--check"]:
        return 0 if updated(page) == page else 1
    PAGE.write_text(updated(page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
