"""The data shipped with the project, and the project's version."""

from __future__ import annotations

from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

COMMAND_LINE: ContextVar[str] = ContextVar("command line", default="")
"""The command that runs, as a shell reads it, for what is written; empty in other programs."""
_HERE = Path(__file__).parent.parent


def resource_path(*parts: str) -> Path:
    """Return the path of a shipped file, say ``resource_path("models", "vertebrate.json")``.

    A wheel carries the files inside the package, a checkout beside it.
    """
    inside = _HERE.joinpath("data", *parts)
    return inside if inside.exists() else _HERE.parent.joinpath("resources", *parts)


def how_to_install(extra: str) -> str:
    """Return how to get an extra; no index has this project, whose name there may be another's."""
    return f"pip install '.[{extra}]' in a checkout of gpu-tools"


def installed_version() -> str:
    """Return the version of gpu-tools, ``unknown`` in a checkout that is not installed."""
    try:
        return version("gpu-tools")
    except PackageNotFoundError:
        return "unknown"
