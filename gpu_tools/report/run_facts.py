"""What a page says of the run that made its results: date, command, limits, digests of inputs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

_LIMITS = {
    "max_evalue": "E-value at most", "min_identity": "identity at least",
    "min_coverage": "coverage at least", "min_confidence": "confidence at least",
}  # fmt: skip
MOST_INPUTS = 20
"""Files that are listed; the summary has all."""
_INPUT = {"file": str, "bytes": int, "sha256": str}


class RunFact(NamedTuple):
    """A line on a run: what it is, and the text; code is shown as such."""

    name: str
    text: str
    is_code: bool = False


def run_of(found: dict) -> dict:
    """Return what a summary says of its run, or raise `ValueError` if that is malformed."""
    texts = [found.get(name, "") for name in ("version", "command", "configuration")]
    by_method, inputs = found.get("limits", {}), found.get("inputs", [])
    limits = [own.get(name) or 0 for own in (found, *by_method.values()) for name in _LIMITS]
    whole = all(type(each[name]) is kind for each in inputs for name, kind in _INPUT.items())
    if not (whole and all(type(t) is str for t in texts)
            and all(type(n) in (int, float) for n in limits)):  # fmt: skip
        raise ValueError("no record of a run")
    return found


def run_facts(made: Path, summary: dict | None = None) -> list[RunFact]:
    """Return what a summary tells of a run, whose results are dated by the file `made`."""
    date, summary = datetime.fromtimestamp(made.stat().st_mtime, UTC), summary or {}
    run = summary.get("run", {})
    inputs = run.get("inputs", [])
    accepted: dict[str, list[str]] = {}
    for method, own in run.get("limits", {"": run}).items():
        limits = [f"{words} {own[name]:g}" for name, words in _LIMITS.items() if own.get(name)]
        accepted.setdefault(", ".join(limits), []).append(method)
    facts = [
        RunFact("results of", f"{date:%Y-%m-%d %H:%M} UTC"),
        RunFact("made by", f"gpu-tools {run['version']}" if "version" in run else ""),
        RunFact("command", run.get("command", ""), True),
        RunFact("configuration", run.get("configuration", ""), True),
        RunFact("site model", str(summary.get("site_model") or "")),
        *(
            RunFact("accepted" if len(accepted) == 1 else f"accepted ({', '.join(of)})", text)
            for text, of in accepted.items()
        ),
        *(
            RunFact("input", f"{each['file']} ({each['bytes']:,} bytes, SHA-256 {each['sha256']})")
            for each in inputs[:MOST_INPUTS]
        ),
        RunFact("", f"and {len(inputs) - MOST_INPUTS:,} more" if inputs[MOST_INPUTS:] else ""),
    ]  # fmt: skip
    return [fact for fact in facts if fact.text]
