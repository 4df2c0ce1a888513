"""An HTTP server on this machine that plays a list of answers, faults among them."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Server(ThreadingHTTPServer):
    """Plays each path's answers in turn, the last one for ever, and notes the requests."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = {}
        self.seen = []
        self.released = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def play(self, path, *answers):
        self.answers[path] = list(answers)

    def next_answer(self, path):
        with self.lock:
            answers = self.answers.get(path, [status(404, b"no such path")])
            return answers.pop(0) if len(answers) > 1 else answers[0]

    def paths(self):
        return [path for path, _, _ in self.seen]

    def handle_error(self, request, client_address):
        """Say nothing of clients that went away."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        self.server.seen.append((parts.path, query, dict(self.headers)))
        self.server.next_answer(parts.path)(self)
        self.close_connection = True

    def log_message(self, *arguments):
        """Keep standard error clean."""

    def send(self, code, body, headers=None, length=None):
        self.send_response(code)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()


@contextmanager
def serving(kind=Server):
    server = kind()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def ok(body, **headers):
    return lambda handler: handler.send(200, body, headers)


def status(code, body=b"", **headers):
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.send(code, body, fields)


def cut(body, length):
    """Announce a length and close the connection before it is reached."""
    return lambda handler: handler.send(200, body, {"ETag": '"1"'}, length)


def chunked(body, end=b"0\r\n\r\n"):
    """Send an answer whose length is not announced, as efetch does; without an end it is cut."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"%x\r\n%s\r\n%s" % (len(body), body, end))

    return answer


def hangs(body=b""):
    """Send a beginning and then nothing until the test ends."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body) + 1000))
        handler.end_headers()
        handler.wfile.write(body)
        handler.wfile.flush()
        handler.server.released.wait(20)

    return answer


def ranges(body, tag='"1"'):
    """Answer as a server of files does: the part asked for if the tag still holds."""

    def answer(handler):
        asked = handler.headers.get("Range")
        if not asked or handler.headers.get("If-Range") != tag:
            handler.send(200, body, {"ETag": tag})
            return
        first = int(asked.removeprefix("bytes=").removesuffix("-"))
        if first >= len(body):
            handler.send(416, b"", {"Content-Range": f"bytes */{len(body)}"})
            return
        field = f"bytes {first}-{len(body) - 1}/{len(body)}"
        handler.send(206, body[first:], {"ETag": tag, "Content-Range": field})

    return answer
