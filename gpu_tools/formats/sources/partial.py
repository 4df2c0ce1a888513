"""A download that may have been cut: its beginning in a hidden file, and a note of what it is.

The note has the size and a checksum of what a later run goes on with. A process that is killed may
leave more bytes, which are dropped; what was changed since then is downloaded anew.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

from gpu_tools.errors import InputError, OutputError
from gpu_tools.formats.files import is_stream
from gpu_tools.formats.unfinished import new_file
from gpu_tools.hardware.checksums import checksum_of
from gpu_tools.hardware.own_files import open_own
from gpu_tools.model.json_model import parse_json

_log = logging.getLogger(__name__)
_NOTED_EVERY = 1 << 24
"""So many bytes may come before the note is written again."""
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


@contextmanager
def partial_file(output: str | os.PathLike) -> Iterator[PartialFile]:
    """Give the hidden file that a download for `output` goes into.

    It lies beside the output under a name that the next run knows, which goes on with it. A name
    that another process downloads into, or that is not a file of this user alone, is left as it
    is: then the file has a name of its own, which no other run goes on with.

    Raises
    ------
    OutputError
        If there can be no such file.
    """
    target = Path(output).absolute()
    shared = None if is_stream(output) else _open_shared(target.with_name(f".{target.name}.part"))
    try:
        part = shared or _private(target, is_stream(output))
    except OSError as error:
        raise OutputError(f"{output}: cannot be written ({error.strerror})") from None
    with part.stream:
        try:
            yield part
        finally:
            if part.complete or not part.note:
                part.remove()


class PartialFile:
    """What has been downloaded up to now, and a note that identifies the answer it begins.

    Attributes
    ----------
    path : Path
    stream : binary file
        Open for reading and writing.
    complete : bool
        Whether the download is complete: then the file is not needed by a later run.
    note : dict
        ``address`` and ``validator`` of the answer, ``size`` and ``crc32`` of what there is of it;
        empty if the file cannot be continued.
    """

    def __init__(self, path: Path, stream: BinaryIO):
        self.path, self.stream, self.complete = path, stream, False
        self._note_path = Path(f"{path}.json")
        self.note = _read_note(self._note_path)
        if self.note and not self._is_as_noted():
            _log.warning("%s: damaged; the download begins anew", path)
            self.note = {}

    def _is_as_noted(self) -> bool:
        """Drop what is not noted, and tell whether the rest is what was downloaded."""
        size, checksum = self.note["size"], self.note["crc32"]
        if not 0 <= size <= self.size:
            return False
        self.stream.truncate(size)
        return checksum_of(self.path) == [size, checksum]

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self.stream.fileno()).st_size

    def headers(self, address: str) -> dict[str, str]:
        """Return the headers that ask for the rest only, none if that is not possible."""
        if self.note.get("address") != address or not self.size:
            return {}
        return {"Range": f"bytes={self.size}-", "If-Range": self.note["validator"]}

    def rest(self, headers: Mapping[str, str]) -> int | None:
        """Return how long the whole is by an answer 206; None if that does not begin here."""
        match = _CONTENT_RANGE.fullmatch(headers.get("Content-Range", ""))
        same = _validator(headers) in (None, self.note.get("validator"))
        if not match or not same or int(match[1]) != self.size or not self.note:
            return None
        return int(match[3])

    def begin(self, address: str, headers: Mapping[str, str]) -> None:
        """Empty the file for a new answer, then note what identifies this version of it."""
        self.restart()
        if validator := _validator(headers):
            self.note = {"address": address, "validator": validator, "size": 0, "crc32": 0}
            self._write_note()

    def restart(self) -> None:
        """Drop the note, then what is in the file."""
        self._drop_note()
        self.stream.seek(0)
        self.stream.truncate()

    def append(self, chunks: Iterator[bytes]) -> None:
        """Write to the file's end, so that it can be read by its name."""
        self.stream.seek(0, os.SEEK_END)
        not_noted = 0
        try:
            for chunk in chunks:
                self.stream.write(chunk)
                not_noted += len(chunk)
                if self.note:
                    self.note["size"] += len(chunk)
                    self.note["crc32"] = crc32(chunk, self.note["crc32"])
                if not_noted >= _NOTED_EVERY:
                    self.stream.flush()
                    self._write_note()
                    not_noted = 0
        finally:
            self.stream.flush()
            self._write_note()

    def remove(self) -> None:
        """Remove the file and its note."""
        self._drop_note()
        self.path.unlink(missing_ok=True)

    def _drop_note(self) -> None:
        self.note = {}
        with suppress(OSError):  # what is not a file of this user alone is no note
            self._note_path.unlink()

    def _write_note(self) -> None:
        if not self.note:
            return
        with suppress(OSError):  # without a note the next run begins anew
            self._note_path.unlink(missing_ok=True)
            with open(_new_file(self._note_path), "w", encoding="utf-8") as stream:
                json.dump(self.note, stream)


def _new_file(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def _open_shared(path: Path) -> PartialFile | None:
    """Open and lock a file that is this user's alone; None if it is in use or is not."""
    try:
        stream = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "r+b")
    except OSError:
        return None
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(stream.fileno()), os.lstat(path)):
            return PartialFile(path, stream)
    except OSError:
        pass
    stream.close()
    return None


def _private(target: Path, anywhere: bool) -> PartialFile:
    beside = Path(tempfile.gettempdir(), target.name) if anywhere else target
    handle, path = new_file(beside, ".part")
    return PartialFile(path, open(handle, "r+b"))


def _read_note(path: Path) -> dict:
    try:
        with open(open_own(path, os.O_RDONLY), encoding="utf-8") as stream:
            note = parse_json(stream.read())
    except (OSError, InputError, UnicodeDecodeError):
        return {}
    kinds = {"address": str, "validator": str, "size": int, "crc32": int}
    whole = isinstance(note, dict) and all(type(note.get(k)) is kind for k, kind in kinds.items())
    return note if whole else {}


def _validator(headers: Mapping[str, str]) -> str | None:
    """Return what identifies a version of an answer, None if nothing does."""
    tag = headers.get("ETag")
    if not tag or tag.startswith("W/"):  # a weak tag does not promise equal bytes
        return headers.get("Last-Modified")
    return tag
