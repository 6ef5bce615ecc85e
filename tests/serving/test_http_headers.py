"""Request lines and headers of HTTP (RFC 9112), byte by byte."""

import json
import socket

import numpy as np
import pytest
from serving_golden import X

BODY = json.dumps({"instances": X}).encode()
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LINE = b"POST /v1/models/half:predict HTTP/1.1\r\n"


@pytest.fixture
def send(server):
    """Sends bytes and reads until the server closes the connection; what it says."""

    def sent(data):
        with socket.create_connection(("127.0.0.1", server.http.port)) as connection:
            connection.sendall(data)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    return sent


@pytest.mark.parametrize("head", [
    LINE + LENGTH + b"Connection: close\r\n",
    LINE + b"CONTENT-LENGTH:%d\r\ncONNECTION:   Close  \r\n" % len(BODY),
    LINE + LENGTH + b"X-Name: \xe9: :\r\nX-Name: 2\r\nConnection: close\r\n",  # the first of several holds
    LINE.replace(b"\r", b"") + LENGTH.replace(b"\r", b"") + b"Connection: close\n",
    LINE.replace(b" /v1", b" //v1") + LENGTH + b"Connection: close\r\n",
    LINE.replace(b"HTTP/1.1", b"HTTP/1.0") + LENGTH,
])  # fmt: skip
def test_requests_that_are_answered(send, head, values):
    top, _, body = send(head + b"\r\n" + BODY).partition(b"\r\n\r\n")
    assert top.startswith(b"HTTP/1.1 200 OK\r\n") and b"\r\nConnection: close" in top
    np.testing.assert_array_equal(np.float32(json.loads(body)["predictions"]), np.float32(values["half_plus"]["3"]["y"]))


@pytest.mark.parametrize("head, status", [
    (LINE + b" Content-Length: 1\r\n", 400), (LINE + b"Content-Length : 1\r\n", 400), (LINE + b"no colon\r\n", 400), (LINE + b": no name\r\n", 400),
    (LINE + LENGTH + LENGTH + b"\r\n", 400), (LINE + LENGTH + b"Content-Length: 1\r\n\r\n", 400), (LINE + b"Content-Length: 0x1\r\n\r\n", 400),
    (LINE.replace(b"1.1", b"1.0") + LENGTH + LENGTH + b"\r\n", 400), (LINE + LENGTH + CHUNKED + b"\r\n", 400),
    (LINE + CHUNKED + b"\r\n0x13\r\n", 400), (LINE + CHUNKED + b"\r\n1_3\r\n", 400), (LINE + CHUNKED + b"\r\n-1\r\n", 400),
    (LINE + CHUNKED + b"\r\n+1\r\n", 400), (LINE + CHUNKED.replace(b"chunked", b"gzip, chunked") + b"\r\n", 400),
    (LINE + b"X: " + bytes(65536).replace(b"\0", b"x") + b"\r\n", 431), (LINE + b"X: y\r\n" * 101, 431),
])  # fmt: skip
def test_requests_that_are_refused(send, head, status):
    assert send(head).split(b" ", 2)[1] == b"%d" % status


def test_a_client_that_asks_before_it_sends_a_body(server):
    with socket.create_connection(("127.0.0.1", server.http.port)) as connection, connection.makefile("rb") as replies:
        connection.sendall(LINE + LENGTH + b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
        assert replies.readline() == b"HTTP/1.1 100 Continue\r\n"
        connection.sendall(BODY)
        assert b"HTTP/1.1 200 OK" in replies.read()
