"""The HTTP port of a model server: the REST interface, metrics for Prometheus, and a page."""

from __future__ import annotations

import contextlib
import email.utils
import functools
import http.server
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from tfcompat._src.serving import json_replies, metrics
from tfcompat._src.serving.grpc_server import MOST_WAITING
from tfcompat._src.serving.page import Page
from tfcompat._src.serving.rest import Reply, RestApi

DEFAULT_METRICS_PATH = "/monitoring/prometheus/metrics"
LARGEST_BODY = 2**31 - 1
LARGEST_INFLATED = 2**26
MOST_CONNECTIONS, HEADER_SECONDS = 1000, 10.0
_IDLE_SECONDS = 60
_CHUNK_HEADER = 1024
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
_PIECE = 1 << 16
_REQUEST_LINE = re.compile(rb"([A-Z]+) ([!-~]+) (HTTP/1\.1)\r?\n")
_LONGEST_HEADER, _MOST_HEADERS = 65536, 100


class BadBody(Exception):
    """A body that is not read, and what to answer."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.reply = Reply(status, "application/json", json_replies.error(text))


class HttpServer(http.server.ThreadingHTTPServer):
    """Listens at a port, with a thread for each connection.

    Args:
      address: host and port; port 0 for a free one. api: what answers. metrics_path: where metrics are, or None.
      threads: how many requests are answered at the same time, and `waiting` how many more may wait. largest_body: bytes that a body may
      have. tls: of a port with TLS, or None. page: what is at `/`, or None.
      totals: gives the metrics. is_shared: whether other processes listen at this port too.
      largest_inflated: bytes that a compressed body may have when it is inflated. most_connections: that are open at the same time; the
      one that has waited longest for a request gives its place to a new one. header_seconds: how long the head of a request may take.

    Raises:
      OSError: it cannot listen there.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], api: RestApi, metrics_path: str | None = None, threads: int = 16, waiting: int = MOST_WAITING,
        largest_body: int = LARGEST_BODY, tls: ssl.SSLContext | None = None, page: Page | None = None,
        totals: Callable[[], metrics.Totals] = metrics.totals, is_shared: bool = False, largest_inflated: int = LARGEST_INFLATED,
        most_connections: int = MOST_CONNECTIONS, header_seconds: float = HEADER_SECONDS,
    ) -> None:  # fmt: skip
        self.allow_reuse_port = is_shared
        super().__init__(address, _Handler, bind_and_activate=False)
        try:
            self.server_bind()
        except OSError:
            self.server_close()
            raise
        self.api, self._metrics_path, self.largest_body = api, metrics_path, largest_body
        self._tls, self._page, self._totals = tls, page, totals
        self.largest_inflated, self.header_seconds, self._most_connections = largest_inflated, header_seconds, most_connections
        self._connections: set[socket.socket] = set()
        self._deadlines: dict[socket.socket, float] = {}  # of the connections that wait for the head of a request, oldest first
        self.places, self.admissions = threading.BoundedSemaphore(threads), threading.BoundedSemaphore(threads + waiting)
        self.is_draining = False
        self._under_way = 0
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="tfcompat-serving-http", daemon=True)

    @property
    def port(self) -> int:
        return self.server_address[1]

    def get_request(self) -> tuple[Any, Any]:
        """A connection. Its thread shakes hands, in its first read, so that a client that is slow to does not hold up others."""
        connection, address = super().get_request()
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def beside(self, path: str) -> Reply | None:
        """The reply to a GET for what is beside the REST interface, metrics and the page; None where the path is none of that."""
        if path == self._metrics_path:
            return Reply(200, "text/plain", metrics.text(self._totals()).encode())
        if self._page is not None and path == "/":
            return Reply(200, "text/html; charset=utf-8", self._page.html())
        if self._page is not None and path == "/status.json":
            return Reply(200, "application/json", self._page.status())
        return None

    def start(self) -> None:
        """Begins to listen and to answer."""
        self.server_activate()
        self._thread.start()

    def stop(self, seconds: float | None = None) -> None:
        """Accepts nothing more, and returns when what is under way is answered; after `seconds` it closes the connections that are left."""
        self.is_draining = True
        self.shutdown()
        self._thread.join()
        with self._changed:
            self._changed.wait_for(lambda: not self._under_way, seconds)
            left = list(self._connections)
        for connection in left:
            _shut(connection)
        self.server_close()

    # ---- connections ----

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is a place for a connection: where all are taken, the one that has waited longest for a request is closed."""
        with self._changed:
            if len(self._connections) >= self._most_connections:
                if not self._deadlines:
                    return False
                oldest = next(iter(self._deadlines))
                self._forget(oldest)
                _shut(oldest)
            self._connections.add(request)
        return True

    def shutdown_request(self, request: Any) -> None:
        with self._changed:
            self._forget(request)
        super().shutdown_request(request)

    def _forget(self, connection: socket.socket) -> None:
        self._connections.discard(connection)
        self._deadlines.pop(connection, None)

    def awaits(self, connection: socket.socket, seconds: float) -> None:
        """Notes that a connection waits for the head of a request, for so many seconds."""
        with self._changed:
            self._deadlines.pop(connection, None)
            if connection in self._connections:
                self._deadlines[connection] = time.monotonic() + seconds

    def received(self, connection: socket.socket) -> None:
        """Notes that the head of a request has come."""
        with self._changed:
            self._deadlines.pop(connection, None)

    def service_actions(self) -> None:
        """Closes connections whose time is over, between two looks for new ones."""
        now = time.monotonic()
        with self._changed:
            late = [connection for connection, deadline in self._deadlines.items() if deadline < now]
            for connection in late:
                self._forget(connection)
        for connection in late:
            _shut(connection)

    def answered(self, work: Callable[[], None]) -> None:
        """Does the work for one request, which `stop` waits for."""
        with self._changed:
            self._under_way += 1
        try:
            work()
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: the client has gone."""


def _shut(connection: socket.socket) -> None:
    """Ends a connection, also where a thread reads from it."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


class _Headers(dict[str, str]):
    """Headers of a request; the first of those that are repeated. Keys are in lower case, and are asked for in any.

    Of Content-Length and Transfer-Encoding all are kept, with commas: two lengths are none.
    """

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
        return super().get(name.lower(), default)

    def add(self, name: str, value: str) -> None:
        """Adds a header of a request."""
        name = name.lower()
        if name in self and name in _FRAMING:
            value = f"{self[name]}, {value}"
        elif name in self:
            return
        self[name] = value


_FRAMING = ("content-length", "transfer-encoding")


@functools.lru_cache(2)
def _date(seconds: int) -> str:
    return email.utils.formatdate(seconds, usegmt=True)


class _Handler(http.server.BaseHTTPRequestHandler):
    """The requests of one connection."""

    protocol_version = "HTTP/1.1"
    server_version = "tfcompat"
    sys_version = ""
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True
    wbufsize = -1
    server: HttpServer
    headers: Any
    _is_first = True

    def parse_request(self) -> bool:
        """Reads the headers of a request; whether it is one.

        The base class makes an email of them, which takes longer than the rest of a small request; it still answers unusual request lines.
        """
        is_request = self._parse_head()
        self.server.received(self.connection)
        return is_request and (self.headers.get("Expect", "").lower() != "100-continue" or self.handle_expect_100())

    def _parse_head(self) -> bool:
        match = _REQUEST_LINE.fullmatch(self.raw_requestline)
        if match is None:
            return self._parse_unusual_head()
        self.requestline = self.raw_requestline.decode("ascii").rstrip("\r\n")
        self.command, path, self.request_version = (part.decode("ascii") for part in match.groups())
        self.path = "/" + path.lstrip("/") if path.startswith("/") else path
        self.headers = headers = _Headers()
        self.close_connection = True
        for _ in range(_MOST_HEADERS):
            line = self.rfile.readline(_LONGEST_HEADER + 1)
            if line in (b"\r\n", b"\n", b""):
                break
            if len(line) > _LONGEST_HEADER:
                self.send_error(431, "A header is too long")
                return False
            name, colon, value = line.partition(b":")
            if not colon or not name or name != name.strip():
                self.send_error(400, "A header is not NAME: VALUE")
                return False
            headers.add(name.decode("latin-1"), value.strip().decode("latin-1"))
        else:
            self.send_error(431, "Too many headers")
            return False
        self.close_connection = headers.get("Connection", "").lower() == "close"
        return True

    def _parse_unusual_head(self) -> bool:
        if not super().parse_request():
            return False
        found: Iterable[tuple[str, str]] = self.headers.items()
        self.headers = _Headers()
        for name, value in found:
            self.headers.add(name, value)
        return True

    def handle_one_request(self) -> None:
        """Waits for a request and answers it. The head of the first has a time limit from the beginning, later ones from their first byte."""
        if self._is_first:
            self._is_first = False
            self.server.awaits(self.connection, self.server.header_seconds)
        else:
            self.server.awaits(self.connection, _IDLE_SECONDS)
            try:
                self.rfile.peek(1)  # type: ignore[attr-defined]  # it is buffered
            except OSError:
                self.close_connection = True
                return
            self.server.awaits(self.connection, self.server.header_seconds)
        super().handle_one_request()

    def handle_expect_100(self) -> bool:
        """Tells the client, at once, to send the body."""
        is_wanted = super().handle_expect_100()
        self.wfile.flush()
        return is_wanted

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The time as headers have it, which is the same for a second."""
        return _date(int(time.time() if timestamp is None else timestamp))

    def do_GET(self) -> None:
        self.server.answered(self._answer)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = do_GET

    def _answer(self) -> None:
        try:
            reply = self._reply()
        except BadBody as e:
            self.close_connection = True  # what is left of the body is not a request
            reply = e.reply
        self._send(reply)

    def _reply(self) -> Reply:
        """Returns the reply to this request.

        Raises:
          BadBody: the body is malformed, or too long.
        """
        path = self.path.partition("?")[0]
        if not path.startswith("/v1/"):
            self._body()
            beside = self.server.beside(path) if self.command == "GET" else None
            return Reply(404, "text/plain", b"Not Found") if beside is None else beside
        # A body is read and inflated by requests that are admitted only: their number bounds the memory that bodies take.
        if not self.server.admissions.acquire(blocking=False):
            raise BadBody(503, "Too many requests are waiting")
        try:
            body = self._body()
            with self.server.places:
                return self.server.api.answer(self.command, self.path, self._decoded(body))
        finally:
            self.server.admissions.release()

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        self.send_header("Content-Type", reply.content_type)
        self.send_header("Content-Length", str(len(reply.body)))
        if self.close_connection or self.server.is_draining:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (the name of the base class)
        """Nothing: metrics count requests."""

    # ---- bodies ----

    def _body(self) -> bytes:
        encoding = self.headers.get("Transfer-Encoding").lower()
        if encoding and (encoding != "chunked" or self.headers.get("Content-Length")):
            raise BadBody(400, f"Transfer-Encoding is {encoding!r}; it can be chunked, without a Content-Length")
        if encoding:
            body = self._chunks()
        else:
            length = self.headers.get("Content-Length", "0")
            if not length.isdecimal() or not length.isascii():
                raise BadBody(400, f"Content-Length is {length!r}; it is the number of bytes of the body")
            self._check_size(int(length[:20]))
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                raise BadBody(400, f"The body ended after {len(body)} of {length} bytes")
        return body

    def _decoded(self, body: bytes) -> bytes:
        """The body without its Content-Encoding."""
        encoding = self.headers.get("Content-Encoding", "identity").lower()
        if encoding == "gzip":
            return self._unzipped(body)
        if encoding != "identity":
            raise BadBody(415, f"Content-Encoding is {encoding!r}; it can be gzip or identity")
        return body

    def _check_size(self, size: int) -> None:
        if size > self.server.largest_body:
            raise BadBody(413, f"The body has more than {self.server.largest_body} bytes, which is the most that this server takes")

    def _chunks(self) -> bytes:
        """A body in chunks (RFC 9112, 7.1)."""
        found = bytearray()
        while True:
            line = self.rfile.readline(_CHUNK_HEADER).partition(b";")[0].rstrip(b"\r\n\t ")
            if not _CHUNK_SIZE.fullmatch(line):
                raise BadBody(400, f"A chunk of the body begins with {line[:20]!r}; it is to begin with its size in hexadecimal digits")
            size = int(line, 16)
            self._check_size(len(found) + size)
            found += self.rfile.read(size)
            if not size:
                while self.rfile.readline(_CHUNK_HEADER).strip():
                    pass  # trailers
                return bytes(found)
            self.rfile.readline(_CHUNK_HEADER)

    def _unzipped(self, body: bytes) -> bytes:
        """Inflates what gzip writes, one or several members, piece by piece up to the limit."""
        found, rest, largest = bytearray(), body, min(self.server.largest_inflated, self.server.largest_body)
        try:
            while rest:
                member = zlib.decompressobj(zlib.MAX_WBITS | 16)
                while not member.eof:
                    piece = member.decompress(rest, _PIECE)
                    rest = member.unconsumed_tail
                    if not piece and not rest and not member.eof:
                        raise BadBody(400, "The body is not what gzip writes: it ends too early")
                    found += piece
                    if len(found) > largest:
                        raise BadBody(413, f"The inflated body has more than {largest} bytes, which is the most that this server takes")
                rest = member.unused_data.lstrip(b"\0")  # padding may follow
        except zlib.error as e:
            raise BadBody(400, f"The body is not what gzip writes: {e}") from None
        return bytes(found)
