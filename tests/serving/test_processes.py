"""Several processes at the same ports: what they answer, count together, and how they end and are replaced."""

import http.client
import json
import os
import pathlib
import signal
import socket
import sys

import children
import grpc
import pytest
from conftest import GOLDEN
from serving_clients import Client
from serving_golden import X

from tfcompat._src.serving import grpc_server, metrics, processes

BODY = json.dumps({"instances": X})
PROGRAM = """
import sys, os
os.dup2(1, 2)
import tfcompat
from tfcompat._src.serving import command, server
sys.exit(command.serve(server.Settings(
    port=0, rest_api_port=0, host="127.0.0.1", model_name="half", model_base_path=sys.argv[1], processes=2, max_num_load_retries=0,
    monitoring_config_file=sys.argv[2],
)))
"""
pytestmark = pytest.mark.skipif(not pathlib.Path("/proc/self/task").exists(), reason="finds processes in /proc, as Linux has it")


def ask(address, path, body=None):
    connection = http.client.HTTPConnection(address)
    try:
        connection.request("POST" if body else "GET", path, body)
        reply = connection.getresponse()
        return reply.status, reply.read()
    finally:
        connection.close()


def counted(address):
    lines = ask(address, "/monitoring/prometheus/metrics")[1].decode().splitlines()
    return next(int(line.rpartition(" ")[2]) for line in lines if line.startswith(':tensorflow:serving:request_count{model_name="half",status="OK"}'))


def pids(process):
    return pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()


def test_two_processes(tmp_path):
    (tmp_path / "monitoring").write_text("prometheus_config { enable: true }")
    process = children.start(sys.executable, "-c", PROGRAM, GOLDEN / "half_plus", tmp_path / "monitoring", cwd=tmp_path)
    lines = sorted(children.line(process) for _ in range(4))  # two from each
    assert lines[0] == lines[1] and lines[2] == lines[3]
    address, grpc_address = (line.partition(text)[2].split()[0] for line, text in ((lines[0], "API at:"), (lines[2], "ModelServer at ")))
    for _ in range(30):
        status, body = ask(address, "/v1/models/half:predict", BODY)
        assert status == 200 and len(json.loads(body)["predictions"]) == len(X)
    assert [counted(address) for _ in range(8)] == [30] * 8  # whichever is asked
    (half,) = json.loads(ask(address, "/status.json")[1])["models"]
    assert half["requests"] == {"OK": 30} and sum(half["latency"]) == 30

    client = Client(grpc_address.rpartition(":")[2], grpc_server.MODEL)
    reply = client.HandleReloadConfigRequest()
    assert reply.status.error_code == grpc.StatusCode.FAILED_PRECONDITION.value[0]
    client.close()

    first, second = pids(process)
    os.kill(int(first), signal.SIGKILL)
    assert children.line(process) == "A process of the server was ended by SIGKILL; another is started.\n"
    assert children.line(process) and children.line(process)  # it listens
    assert second in pids(process) and len(pids(process)) == 2
    for _ in range(10):
        assert ask(address, "/v1/models/half:predict", BODY)[0] == 200
    process.send_signal(signal.SIGTERM)
    children.end(process)
    assert process.returncode == 0


def test_a_server_that_cannot_start_ends(tmp_path):
    done = children.python("-c", PROGRAM, tmp_path / "none", "", cwd=tmp_path)
    assert done.returncode == 1
    assert f"Failed to start server. Error: Could not find base path {tmp_path}/none for servable half" in done.stdout


def test_processes_end_with_the_one_that_started_them(tmp_path):
    (tmp_path / "monitoring").write_text("")
    process = children.start(sys.executable, "-c", PROGRAM, GOLDEN / "half_plus", tmp_path / "monitoring", cwd=tmp_path)
    for _ in range(4):
        children.line(process)
    process.send_signal(signal.SIGKILL)
    children.end(process)  # all that wrote to its output have ended
    assert process.returncode == -signal.SIGKILL


def test_a_port_that_another_program_has():
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(OSError):
        processes.reserve("127.0.0.1", other.getsockname()[1])


def test_sums():
    counts = [1] + [0] * len(metrics.BOUNDS)
    other = {metric.name: {} for metric in metrics.ALL}
    other[metrics.EXAMPLE_COUNT.name] = {("only there",): 3}
    other[metrics.REQUEST_LATENCY.name] = {("only there", "Predict", "REST"): (counts, 9.0)}
    found = metrics.totals([other, other])
    assert found[metrics.EXAMPLE_COUNT.name]["only there",] == 6
    assert found[metrics.REQUEST_LATENCY.name]["only there", "Predict", "REST"] == ([2] + [0] * len(metrics.BOUNDS), 18.0)
    assert ':tensorflow:serving:request_example_count_total{model="only there"} 6' in metrics.text(found).splitlines()
