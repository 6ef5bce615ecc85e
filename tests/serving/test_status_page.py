"""The page at `/`: what it is told, and that it needs nothing from elsewhere."""

import http.client
import json
import re

import pytest

from tfcompat._src.serving import metrics
from tfcompat._src.serving.http_server import HttpServer
from tfcompat._src.serving.page import HTML


def get(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    try:
        connection.request(method, path)
        reply = connection.getresponse()
        return reply.status, reply.headers["Content-Type"], reply.read()
    finally:
        connection.close()


def test_the_page_is_whole():
    text = HTML.read_text()
    assert set(re.findall(r"https?://[^\"' ]*", text)) == {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(r"\b(src|href|@import|innerHTML)\b", text)
    used = set(re.findall(r'\$\("(\w+)"\)', text))
    assert used and used == set(re.findall(r'id="(\w+)"', text))


def test_it_is_served(server):
    assert get(server.http.port, "/") == (200, "text/html; charset=utf-8", HTML.read_bytes())
    assert get(server.http.port, "/", "POST")[0] == 404


def test_what_it_shows(server):
    assert server.http.api.answer("POST", "/v1/models/half:predict", b'{"instances": [1.0]}').status == 200
    assert server.http.api.answer("POST", "/v1/models/half:predict", b"{}").status == 400
    status, kind, body = get(server.http.port, "/status.json")
    assert (status, kind) == (200, "application/json")
    found = json.loads(body)
    half, types = found["models"]
    assert (half["name"], types["name"], found["bounds"]) == ("half", "types", metrics.BOUNDS)
    assert half["versions"] == [{"version": 3, "state": "AVAILABLE", "error": ""}, {"version": 2, "state": "AVAILABLE", "error": ""}]
    assert half["requests"]["OK"] >= 1 and half["requests"]["INVALID_ARGUMENT"] >= 1 and sum(half["latency"]) >= 1
    assert sorted(half["signatures"]) == ["classify", "regress", "scores", "serving_default"]
    assert half["signatures"]["regress"] == {
        "method": "regress", "inputs": {"inputs": {"dtype": "string", "shape": [-1]}}, "outputs": {"outputs": {"dtype": "float", "shape": [-1, 1]}},
    }  # fmt: skip
    assert types["signatures"]["serving_default"]["inputs"]["f"] == {"dtype": "float", "shape": [-1, 2]}


@pytest.mark.parametrize("path", ["/", "/status.json"])
def test_it_can_be_off(path):
    server = HttpServer(("127.0.0.1", 0), None)
    server.start()
    assert get(server.port, path)[0] == 404
    server.stop()
