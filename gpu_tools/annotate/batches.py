"""Results of batches of targets in a folder, so that a run that ended goes on."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from zlib import crc32

from gpu_tools.annotate.options import Alignment
from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import open_output
from gpu_tools.model.resources import installed_version
from gpu_tools.model.results import ProteinAlignment, SplicedAlignment

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
        It is made if it is missing; without one nothing is stored.

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
        """Return the results of a key, computed and stored if they are not there."""
        if self._folder is None:
            return compute()
        path = self._folder / f"{key}.json"
        found = _stored(path, key)
        if found is None:
            found = compute()
            write_found(path, key, found)
        return found


def write_found(path, key: str, found: Found, part: str = "") -> None:
    """Write numbers of targets and alignments, which hold for a key, in JSON."""
    content = {"format": FORMAT, "key": key, "part": part, "found": list(_to_json(found))}
    with open_output(path) as stream:
        stream.write(_dumped({**content, "crc32": _checksum(content)}))


def read_found(path) -> tuple[str, str, Found]:
    """Return key, part and content of a file that `write_found` wrote."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        content = json.loads(text)
        # several texts may be one number
        is_own = content["format"] == FORMAT and _dumped(content) == text
        if not is_own or content.pop("crc32") != _checksum(content):
            raise ValueError
        found = [(number, _from_json(kind, values)) for number, kind, values in content["found"]]
        return content["key"], content["part"], found
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path=path) from None
    except (ValueError, LookupError, TypeError):
        raise InputError("no hits", path=path, expected="a whole file of hits") from None


def _checksum(content: dict) -> int:
    """Return a number that a changed file does not have; JSON gives numbers and texts back."""
    return crc32(_dumped(content).encode())


def _dumped(content: dict) -> str:
    return json.dumps(content, default=lambda number: number.item())  # numpy's numbers


def _to_json(found: Found) -> Iterator[list]:
    for number, alignment in found:
        kind = "protein" if isinstance(alignment, ProteinAlignment) else "cDNA"
        yield [
            number,
            kind,
            {each.name: getattr(alignment, each.name) for each in fields(alignment)},
        ]


def _stored(path: Path, key: str) -> Found | None:
    """Return a batch's results, None if there are none that can be read."""
    if not path.exists():
        return None
    try:
        known, _, found = read_found(path)
    except InputError:
        known, found = "", []
    if known != key:
        _log.warning("%s: damaged, or no results of a batch; they are computed again", path)
        return None
    return found


def _from_json(kind: str, values: dict) -> Alignment:
    return _CLASSES[kind](**{name: _tuples(value) for name, value in values.items()})


def _tuples(value: object) -> object:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
