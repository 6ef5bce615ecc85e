"""`tfcompat serve` beside TensorFlow 1.15's Session behind HTTP: `python -m benchmarks.serving --tf1-python PATH`.

Requests a second, and p50 and p99 of the time that one takes, for four models. Without `--tf1-python`, tfcompat's own Session stands behind
the same hand-written HTTP in TensorFlow's place.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.subjects import free_ports
from tfcompat.train import Example

HERE = Path(__file__).parent
MODELS = {"mlp": "serving_default", "cnn": "serving_default", "strings": "serving_default", "wide_and_deep": "predict"}
OURS = [sys.executable, "-m", "tfcompat"]


def example(rng: random.Random) -> dict[str, str]:
    """A row for the wide-and-deep model: an Example with all features."""
    made = Example()
    texts = {f"c{i}": f"v{rng.randrange(22)}" for i in range(6)} | {f"h{i}": f"w{rng.randrange(1000)}" for i in range(3)}
    for key, text in texts.items():
        made.features.feature[key].bytes_list.value.append(text.encode())
    for key in ("age", "hours"):
        made.features.feature[key].float_list.value.append(rng.uniform(18, 70))
    return {"b64": base64.b64encode(made.SerializeToString()).decode()}


def rows(model: str, count: int, rng: random.Random) -> list:
    """`count` rows of a request."""
    if model == "mlp":
        return [[rng.gauss(0, 1) for _ in range(64)] for _ in range(count)]
    if model == "cnn":
        return [[[[rng.random() for _ in range(3)] for _ in range(32)] for _ in range(32)] for _ in range(count)]
    if model == "strings":
        return [" ".join(f"w{rng.randrange(300)}" for _ in range(8)) for _ in range(count)]
    return [example(rng) for _ in range(count)]


def requests(model: str, count: int) -> list[bytes]:
    """32 different requests as they go over the wire."""
    rng, found = random.Random(1), []
    for _ in range(32):
        body = json.dumps({"signature_name": MODELS[model], "instances": rows(model, count, rng)}).encode()
        head = f"POST /v1/models/{model}:predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        found.append(head.encode() + body)
    return found


def ask(connection: socket.socket, request: bytes) -> None:
    """Sends a request and reads the reply; RuntimeError where its status is not 200."""
    connection.sendall(request)
    reply = b""
    while (end := reply.find(b"\r\n\r\n")) < 0:
        part = connection.recv(1 << 16)
        if not part:
            raise RuntimeError("the server has closed the connection")
        reply += part
    missing = end + 4 + int(re.search(rb"(?i)content-length: (\d+)", reply)[1]) - len(reply)
    while missing > 0:
        missing -= len(part := connection.recv(missing))
        reply += part
    if not reply.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(reply.decode(errors="replace"))


def load(port: int, bodies: list[bytes], clients: int, seconds: float) -> tuple[float, list[float]]:
    """Requests a second of clients that each ask again when they are answered, and the seconds of each request."""
    times: list[list[float]] = [[] for _ in range(clients)]

    def client(number: int) -> None:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stop, i = time.perf_counter() + seconds, number
            while (start := time.perf_counter()) < stop:
                ask(connection, bodies[i % len(bodies)])
                times[number].append(time.perf_counter() - start)
                i += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = sorted(t for each in times for t in each)
    return len(found) / seconds, found


@contextlib.contextmanager
def server(command: list[str]) -> Iterator[int]:
    """The port of a server that runs in the block; it prints or logs "port N"."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if match := re.search(r"(?:HTTP/REST API at:\S*:|port )(\d+)", line):
                threading.Thread(target=process.stdout.read, daemon=True).start()
                yield int(match[1])
                return
        raise RuntimeError("".join(said))
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS), help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--tf1-python", default=os.environ.get("TF1_PYTHON"), help="interpreter with TensorFlow 1.15; or TF1_PYTHON")
    parser.add_argument("--rows", type=int, default=8, help="rows of a request (8)")
    parser.add_argument("--clients", type=int, default=2, help="clients at the same time (2)")
    parser.add_argument("--seconds", type=float, default=4, help="of each measurement (4)")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each server, in turn (3)")
    parser.add_argument("--processes", type=int, default=1, help="processes of `tfcompat serve` (1); TensorFlow's one uses all cores")
    options = parser.parse_args()
    other = [options.tf1_python] if options.tf1_python else [*OURS, "run"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*other, str(HERE / "exports.py"), folder], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        print("| model | tfcompat serve, requests/s | p50, p99, ms | Session, requests/s | p50, p99, ms | ratio |\n|---|---|---|---|---|---|")
        for model in options.models:
            compare(model, f"{folder}/{model}", other, options)


def compare(model: str, folder: str, other: list[str], options: argparse.Namespace) -> None:
    """Prints the row of one model; both servers run all the time, and are asked in turn."""
    bodies = requests(model, options.rows)
    ours = [*OURS, "serve", f"--model_name={model}", f"--model_base_path={folder}", "--port=0", f"--rest_api_port={free_ports(1)[0]}", f"--processes={options.processes}"]
    theirs = [*other, str(HERE / "shell.py"), f"{folder}/1", MODELS[model]]
    with server(ours) as a, server(theirs) as b:
        for port in (a, b):
            load(port, bodies, options.clients, min(2, options.seconds))
        turns = [(load(a, bodies, options.clients, options.seconds), load(b, bodies, options.clients, options.seconds)) for _ in range(options.rounds)]
    cells = []
    for side in zip(*turns):
        times = sorted(t for _, each in side for t in each)
        cells.append(f"{statistics.median(rate for rate, _ in side):.0f} | {times[len(times) // 2] * 1e3:.2f}, {times[len(times) * 99 // 100] * 1e3:.2f}")
    ratio = statistics.median(mine[0] / its[0] for mine, its in turns)
    print(f"| {model} | {cells[0]} | {cells[1]} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
