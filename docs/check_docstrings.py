"""Check the docstrings of the public API with numpydoc: what gpu_tools names in ``__all__``.

The checks are those of ``[tool.numpydoc_validation]`` in pyproject.toml. Exits with 1 if one fails.
"""

import inspect
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from numpydoc.validate import validate

import gpu_tools

CONFIGURATION = Path(__file__).parents[1] / "pyproject.toml"


def public_names() -> Iterator[str]:
    """Yield the dotted names of the public functions, classes and the classes' own methods."""
    for name in gpu_tools.__all__:
        thing = getattr(gpu_tools, name)
        yield f"gpu_tools.{name}"
        if inspect.isclass(thing):
            yield from (f"gpu_tools.{name}.{member}" for member in public_methods(thing))


def public_methods(thing: type) -> Iterator[str]:
    """Yield the names of a class's own public methods and class methods."""
    for member, value in vars(thing).items():
        if not member.startswith("_") and isinstance(value, classmethod | staticmethod):
            yield member


def failures(checks: set[str]) -> Iterator[str]:
    """Yield a line for each check that fails."""
    for name in public_names():
        for code, text in validate(name)["errors"]:
            if code in checks:
                yield f"{name}: {code} {text}"


if __name__ == "__main__":
    configuration = tomllib.loads(CONFIGURATION.read_text(encoding="utf-8"))
    found = list(failures(set(configuration["tool"]["numpydoc_validation"]["checks"])))
    sys.exit("\n".join(found) or 0)
