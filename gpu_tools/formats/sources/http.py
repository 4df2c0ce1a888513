"""HTTP requests that are repeated with back-off, resumed downloads, and checked answers."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import quote_plus

import requests
import tenacity

from gpu_tools.errors import FetchError, InputError, OutputError
from gpu_tools.formats.files import check_disk
from gpu_tools.formats.sources.pace import Pace
from gpu_tools.formats.sources.partial import PartialFile
from gpu_tools.formats.sources.source import without_login
from gpu_tools.model.json_model import parse_json

_log = logging.getLogger(__name__)
_CHUNK = 1 << 16
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_SHOWN_CHARACTERS = 120
_LARGEST_JSON = 1 << 24
_HIDDEN = "***"


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
    `longest_wait` there is no further attempt. A download has at most so many bytes.
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
        # an answer as it lies there: its length is the one announced, and parts of it can be had
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

        Raises
        ------
        FetchError
            If there is no such answer, after as many attempts as patience allows.
        OutputError
            If the file cannot be written.
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
        patience = self.patience
        exponential = tenacity.wait_exponential(patience.first_wait, patience.longest_wait)

        def is_temporary(error: BaseException) -> bool:
            return isinstance(error, TemporaryError) and (
                (error.retry_after or 0) <= patience.longest_wait
            )

        def seconds_to_wait(state: tenacity.RetryCallState) -> float:
            demanded = state.outcome.exception().retry_after
            return exponential(state) if demanded is None else demanded

        def log(state: tenacity.RetryCallState) -> None:
            problem, seconds = state.outcome.exception(), state.next_action.sleep
            _log.warning("%s: %s; trying again in %.1f s", request.address, problem, seconds)

        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception(is_temporary),
            stop=tenacity.stop_after_attempt(patience.attempts),
            wait=seconds_to_wait,
            before_sleep=log,
            sleep=time.sleep,
            reraise=True,
        )
        try:
            return attempts(attempt)
        except FetchError as error:
            raise FetchError(f"{request.address}: {error}") from None

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

    @contextlib.contextmanager
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
                _check_encryption(request, response)
                _check_status(request, response)
                yield response
        # the texts of the errors of requests may hold the secrets
        except requests.Timeout:
            raise TemporaryError(f"no answer within {self.patience.timeout:g} s") from None
        except requests.exceptions.ChunkedEncodingError:
            raise TemporaryError("the connection was cut before the answer was complete") from None
        except requests.ConnectionError as error:
            if "timed out" in str(error):  # within an answer, requests calls it this way
                raise TemporaryError(f"no answer within {self.patience.timeout:g} s") from None
            raise TemporaryError("no connection, or it broke") from None
        except UnicodeDecodeError:
            raise FetchError("the server redirects to an address that is no text") from None
        except requests.RequestException as error:
            raise FetchError(f"cannot be requested ({type(error).__name__})") from None


def _check_encryption(request: Request, response: requests.Response) -> None:
    if request.url.lower().startswith("https:") and not response.url.startswith("https:"):
        raise FetchError("the server redirects to an address without encryption")


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
    with contextlib.suppress(ValueError):
        return max(float(text), 0.0)
    with contextlib.suppress(ValueError, OverflowError):
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    return None


def shown(text: bytes) -> str:
    """Return the beginning of a text in one line and in quotes."""
    line = " ".join(text[: 4 * _SHOWN_CHARACTERS].decode("utf-8", "replace").split())
    return repr(line[:_SHOWN_CHARACTERS] + ("..." if len(line) > _SHOWN_CHARACTERS else ""))
