"""The data shipped with the project, and the project's version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_HERE = Path(__file__).parent.parent


def resource_path(*parts: str) -> Path:
    """Return the path of a shipped file, say ``resource_path("models", "vertebrate.json")``.

    A wheel carries the files inside the package, a checkout beside it.
    """
    inside = _HERE.joinpath("data", *parts)
    return inside if inside.exists() else _HERE.parent.joinpath("resources", *parts)


def installed_version() -> str:
    """Return the version of gpu-tools, ``unknown`` in a checkout that is not installed."""
    try:
        return version("gpu-tools")
    except PackageNotFoundError:
        return "unknown"
