"""Batches of targets, whose results are kept in a folder so that a run that ended goes on."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import fields
from hashlib import sha256
from pathlib import Path

from gpu_tools.annotate.options import Alignment
from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import open_output
from gpu_tools.model.protein_alignment import ProteinAlignment
from gpu_tools.model.resources import installed_version
from gpu_tools.model.results import SplicedAlignment

FORMAT = "gpu-tools annotation batch"
_log = logging.getLogger(__name__)
_CLASSES = {"cDNA": SplicedAlignment, "protein": ProteinAlignment}
Found = list[tuple[int, Alignment]]
"""Numbers of targets and alignments."""


def key_of(*content: object) -> str:
    """Return a text that differs for different content, which JSON can hold, or version."""
    text = json.dumps([installed_version(), *content], sort_keys=True)
    return sha256(text.encode()).hexdigest()[:32]


class BatchStore:
    """Results of batches in a folder, each in a file named by its key.

    Parameters
    ----------
    folder : str or PathLike or None
        It is made if it is missing; without one nothing is kept.

    Raises
    ------
    OutputError
        If the folder cannot be made.
    """

    def __init__(self, folder):
        self._folder = None if folder is None else Path(folder)
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be made ({error.strerror})") from None

    def result(self, key: str, compute: Callable[[], Found]) -> Found:
        """Return what is kept under a key, else compute and keep it."""
        if self._folder is None:
            return compute()
        path = self._folder / f"{key}.json"
        kept = _read(path, key)
        if kept is None:
            kept = compute()
            with open_output(path) as stream:
                json.dump({"format": FORMAT, "key": key, "found": list(_to_json(kept))}, stream)
        return kept


def _to_json(found: Found) -> Iterator[list]:
    for number, alignment in found:
        kind = "protein" if isinstance(alignment, ProteinAlignment) else "cDNA"
        values = {field.name: _plain(getattr(alignment, field.name)) for field in fields(alignment)}
        yield [number, kind, values]


def _plain(value: object) -> object:
    """Return a value without numpy's numbers, which JSON does not know."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def _read(path: Path, key: str) -> Found | None:
    """Return a batch's results, None if there are none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if (content["format"], content["key"]) != (FORMAT, key):
            raise ValueError
        return [(number, _from_json(kind, values)) for number, kind, values in content["found"]]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
    except (ValueError, LookupError, TypeError):
        _log.warning("%s: no results of a batch; they are computed again", path)
        return None


def _from_json(kind: str, values: dict) -> Alignment:
    return _CLASSES[kind](**{name: _tuples(value) for name, value in values.items()})


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
