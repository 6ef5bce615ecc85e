"""The benchmark of serving: its requests are whole, and its clients read replies to their ends."""

import http.server
import json
import threading

import pytest

from benchmarks.serving import __main__ as benchmark


class Echo(http.server.BaseHTTPRequestHandler):
    """Counts the rows of requests; one without rows is an error."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["instances"]
        self.server.counts.append(len(rows))
        body = b"x" * 200_000
        self.send_response(200 if rows else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def echo():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        server.counts, server.daemon_threads, server.block_on_close = [], True, False
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("model", benchmark.MODELS)
def test_requests_have_their_rows(model, echo):
    rate, times = benchmark.load(echo.server_address[1], benchmark.requests(model, 3), clients=2, seconds=0.1)
    assert set(echo.counts) == {3}
    assert len(times) == len(echo.counts) == round(rate * 0.1)


def test_a_request_that_fails_ends_the_measurement(echo):
    with benchmark.socket.create_connection(echo.server_address) as connection, pytest.raises(RuntimeError, match="HTTP/1.1 400"):
        benchmark.ask(connection, benchmark.requests("mlp", 0)[0])
