"""HTTP requests that are repeated with back-off, resumed downloads, and checked answers."""

from __future__ import annotations

import json
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote_plus
from zlib import crc32

import requests

from gpu_tools.errors import FetchError, InputError, OutputError
from gpu_tools.formats.files import check_disk, is_stream, new_file
from gpu_tools.hardware.own_files import checksum_of, open_own, private_folder
from gpu_tools.hardware.system import lock
from gpu_tools.model.json_model import parse_json

_log = logging.getLogger(__name__)
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_CHUNK = 1 << 16
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_SHOWN_CHARACTERS = 120
_LARGEST_JSON = 1 << 24
_HIDDEN = "***"


def without_login(text: str) -> str:
    """Return a text with its addresses, but without the user and the password in them."""
    return _LOGIN.sub("", text)


class TemporaryError(FetchError):
    """A failure that may pass. `retry_after` is the wait in seconds that the server demands."""

    def __init__(self, problem: str, retry_after: float | None = None):
        super().__init__(problem)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Request:
    """What to ask for; `secrets` are parameters that are neither shown nor recorded."""

    url: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    accept: str = "*/*"
    secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        """The full address without the secrets."""
        try:
            url = requests.Request("GET", self.url, params=self.parameters).prepare().url
        except (requests.RequestException, ValueError):  # no address; the request says so
            url = self.url
        return without_login(url)

    def hide(self, text: bytes) -> bytes:
        """Return what a server says without the secrets."""
        for secret in self.secrets.values():
            for spelling in (secret, quote_plus(secret)):
                text = text.replace(spelling.encode(), _HIDDEN.encode())
        return text


@dataclass(frozen=True)
class Patience:
    """How often to try, and how long to wait, in seconds.

    `timeout` is for a connection and for each further part of an answer; `first_wait` doubles
    with each retry, up to `longest_wait`. After a server that demands more than
    `longest_wait` there is no further attempt. `most_bytes` limits a download.
    """

    attempts: int = 5
    timeout: float = 60.0
    first_wait: float = 1.0
    longest_wait: float = 120.0
    most_bytes: int = 100 << 30


class Client:
    """Sends requests to one service, with patience, and at its pace if it has one."""

    def __init__(self, patience: Patience, pace: Pace | None = None):
        self.patience = patience
        self.pace = pace
        self.session = requests.Session()
        # without compression, so that lengths and parts are those of the file
        self.session.headers.update({"User-Agent": "gpu-tools", "Accept-Encoding": "identity"})

    def json(self, request: Request):
        """Return an answer in JSON; without one after all attempts, raise `FetchError`."""

        def attempt():
            with self._answer(request, {}) as response:
                text = request.hide(next(response.iter_content(_LARGEST_JSON), b""))
            try:
                return parse_json(text.decode("utf-8"))
            except (InputError, UnicodeDecodeError):
                raise TemporaryError(f"no JSON but {shown(text)}") from None

        return self._patiently(request, attempt)

    def download(self, request: Request, part: PartialFile, check: Callable[[Path], None]) -> None:
        """Write an answer to a file, going on where an earlier attempt left off.

        What an earlier call left in the file is continued if the server says that it is a part of
        the same answer. `check` gets the complete file; it raises `TemporaryError` for what is to
        be repeated, `FetchError` for what is not.
        """

        def attempt() -> None:
            self._receive(request, part)
            try:
                check(part.path)
            except FetchError:
                part.restart()
                raise

        try:
            self._patiently(request, attempt)
        except OSError as error:
            raise OutputError(f"{part.path}: cannot be written ({error.strerror})") from None
        part.complete = True

    def _patiently(self, request: Request, attempt: Callable):
        """Return what an attempt returns; one that fails for now is repeated after a wait.

        urllib3's Retry repeats requests alone; here the checks of an answer belong to an attempt.
        """
        patience, following = self.patience, self.patience.first_wait
        for number in range(1, max(patience.attempts, 1) + 1):
            try:
                return attempt()
            except FetchError as error:
                wait = getattr(error, "retry_after", None)
                wait = min(following, patience.longest_wait) if wait is None else wait
                last = number >= patience.attempts or not wait <= patience.longest_wait  # NaN
                if last or not isinstance(error, TemporaryError):
                    raise FetchError(f"{request.address}: {error}") from None
                _log.warning("%s: %s; trying again in %.1f s", request.address, error, wait)
            time.sleep(wait)
            following = min(2 * following, patience.longest_wait)

    def _receive(self, request: Request, part: PartialFile) -> None:
        headers = part.headers(request.address)
        with self._answer(request, headers) as response:
            status, whole = response.status_code, None
            if status == 200:
                part.begin(request.address, response.headers)
            else:
                whole = part.rest(response.headers) if headers and status == 206 else None
                if whole is None:  # the file is complete already, or of another version
                    part.restart()
                    raise TemporaryError(f"an answer {status} without the requested part", 0.0)
            length = response.headers.get("Content-Length", "")
            self._check_size(part, int(length) if length.isdecimal() and len(length) < 19 else 0)
            part.append(self._bounded(part, response.iter_content(_CHUNK)))
        if whole is not None and part.size != whole:
            raise TemporaryError(f"{part.size} bytes of {whole}", 0.0)

    def _check_size(self, part: PartialFile, more: int) -> None:
        """Raise an error before a download that is too large for patience or for the disk."""
        whole = part.size + more
        if whole > self.patience.most_bytes:
            raise FetchError(f"{whole:,} bytes; expected at most {self.patience.most_bytes:,}")
        check_disk(part.path, more)

    def _bounded(self, part: PartialFile, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield chunks until there are too many: a server need not say how much it sends."""
        size = part.size
        for chunk in chunks:
            size += len(chunk)
            if size > self.patience.most_bytes:
                part.restart()
                raise FetchError(f"more than {self.patience.most_bytes:,} bytes")
            yield chunk

    @contextmanager
    def _answer(self, request: Request, headers: dict[str, str]) -> Iterator[requests.Response]:
        if self.pace:
            self.pace.wait()
        try:
            with self.session.get(
                request.url,
                params={**request.parameters, **request.secrets},
                headers={"Accept": request.accept, **headers},
                timeout=self.patience.timeout,
                stream=True,
            ) as response:
                if request.url.lower().startswith("https:") and response.url[:6] != "https:":
                    raise FetchError("the server redirects to an address without encryption")
                _check_status(request, response)
                yield response
        # the texts of the errors of requests may hold the secrets
        except requests.Timeout:
            raise TemporaryError(f"no answer within {self.patience.timeout:g} s") from None
        except requests.exceptions.ChunkedEncodingError:
            raise TemporaryError("the connection was cut before the answer was complete") from None
        except requests.ConnectionError as error:
            if "timed out" in str(error):  # requests raises this within an answer
                raise TemporaryError(f"no answer within {self.patience.timeout:g} s") from None
            raise TemporaryError("no connection, or it broke") from None
        except UnicodeDecodeError:
            raise FetchError("the server redirects to an address that is no text") from None
        except requests.RequestException as error:
            raise FetchError(f"cannot be requested ({type(error).__name__})") from None


def _check_status(request: Request, response: requests.Response) -> None:
    status = response.status_code
    if status in (200, 206, 416):
        return
    reason = request.hide((response.reason or "").encode("utf-8")).decode("utf-8")
    problem = f"the server answers {status} {reason}".rstrip()
    if status in _BUSY:
        seconds = _retry_after(response)
        demand = "" if seconds is None else f" and asks to wait {seconds:g} s"
        raise TemporaryError(problem + demand, seconds)
    detail = request.hide(next(response.iter_content(_CHUNK), b""))
    raise FetchError(f"{problem}: {shown(detail)}" if detail.strip() else problem)


def _retry_after(response: requests.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    with suppress(ValueError):
        return max(float(text), 0.0)
    with suppress(ValueError, OverflowError):
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    return None


def shown(text: bytes) -> str:
    """Return the beginning of a text in one line and in quotes."""
    line = " ".join(text[: 4 * _SHOWN_CHARACTERS].decode("utf-8", "replace").split())
    return repr(line[:_SHOWN_CHARACTERS] + ("..." if len(line) > _SHOWN_CHARACTERS else ""))


class Pace:
    """Leaves at least `seconds` between the beginnings of two requests to one service.

    The processes of one user on one machine share a service's pace by the time of a file.
    """

    def __init__(self, service: str, seconds: float):
        self.path, self.seconds = private_folder() / f"{service}.pace", seconds

    def wait(self) -> None:
        """Return when the next request may begin."""
        try:
            with open(self.path, "ab") as file:
                lock(file)  # the others queue here while this one sleeps
                state = os.fstat(file.fileno())
                passed = time.time() - state.st_mtime
                if state.st_size and 0 <= passed < self.seconds:  # a new file is empty
                    time.sleep(self.seconds - passed)
                file.truncate(0)
                file.write(b"\n")
        except OSError as error:
            raise FetchError(f"{self.path}: no pace can be kept ({error.strerror})") from None


# A download that may have been cut: its beginning in a hidden file, and a note of what it is.
#
# The note holds size and checksum of what a later run continues. A process that is killed may leave
# more bytes, which are cut off; a file that was changed is downloaded anew.


_NOTED_EVERY = 1 << 24
"""Bytes of a download between two writings of the note."""
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")


@contextmanager
def partial_file(output: str | os.PathLike) -> Iterator[PartialFile]:
    """Yield the hidden file for the download of `output`.

    It lies beside the output under a fixed name, so that the next run continues it. If another
    process downloads into a file of this name, or it is not a file of this user alone, the download
    gets a file of another name, which no later run continues.
    """
    target = Path(output).absolute()
    shared = None if is_stream(output) else _open_shared(target.with_name(f".{target.name}.part"))
    beside = Path(tempfile.gettempdir(), target.name) if is_stream(output) else target
    try:
        handle, path = (None, None) if shared else new_file(beside, ".part")
    except OSError as error:
        raise OutputError(f"{output}: cannot be written ({error.strerror})") from None
    part = shared or PartialFile(path, os.fdopen(handle, "r+b"))
    with part.stream:
        try:
            yield part
        finally:
            if part.complete or not part.note:
                part.remove()


class PartialFile:
    """What has been downloaded up to now, and a note that identifies the answer it begins.

    `note` has ``address`` and ``validator`` of the answer, ``size`` and ``crc32`` of what there is
    of it; it is empty if the download cannot be continued. A `complete` file is removed at the end.
    """

    def __init__(self, path: Path, stream: BinaryIO):
        self.path, self.stream, self.complete = path, stream, False
        self._note_path = Path(f"{path}.json")
        self.note = _read_note(self._note_path)
        if self.note and not self._is_as_noted():
            _log.warning("%s: damaged; the download begins anew", path)
            self.note = {}

    def _is_as_noted(self) -> bool:
        """Cut off what is not noted; return whether the rest is what was downloaded."""
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
        """Remove the note, then what is in the file."""
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
            with open(self._note_path, "x", encoding="utf-8", opener=_private) as stream:
                json.dump(self.note, stream)


def _open_shared(path: Path) -> PartialFile | None:
    """Open and lock a file that is this user's alone; None if it is in use or is not."""
    try:
        stream = os.fdopen(open_own(path, os.O_RDWR | os.O_CREAT), "r+b")
    except OSError:
        return None
    try:
        lock(stream, wait=False)
        if os.path.samestat(os.fstat(stream.fileno()), os.lstat(path)):
            return PartialFile(path, stream)
    except OSError:
        pass
    stream.close()
    return None


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


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
