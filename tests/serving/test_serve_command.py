"""`tfcompat serve`: flags, and a process from its start to SIGTERM."""

import http.client
import json
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import children
import numpy as np
import pytest
from conftest import GOLDEN
from serving_golden import X

import tfcompat as tf
from tfcompat._src.base import errors
from tfcompat._src.serving.command import settings_of
from tfcompat._src.serving.server import ModelServer, Settings


def test_flags_are_those_of_tensorflow_model_server():
    found = settings_of(["--port=9000", "--rest_api_port", "8501", "--model_name=m", "--model_base_path=/m", "--enable_batching",
                         "--enable_model_warmup=false", "--file_system_poll_wait_seconds=0.5"])  # fmt: skip
    assert found == Settings(
        port=9000, rest_api_port=8501, model_name="m", model_base_path="/m", enable_batching=True, enable_model_warmup=False,
        file_system_poll_wait_seconds=0.5,
    )  # fmt: skip
    assert settings_of([]) == Settings() and settings_of(["--port=0"]).port is None


@pytest.mark.parametrize("argument", ["--enable_batching=maybe", "--port=x", "--prefer_tflite_model"])
def test_flags_that_are_refused(argument, capsys):
    with pytest.raises(SystemExit):
        settings_of([argument])
    assert argument.partition("=")[0] in capsys.readouterr().err


@pytest.mark.parametrize("settings, text", [
    (Settings(port=None), "There is no port to listen at"), (Settings(port=0, batching_parameters_file="b"), "is set without enable_batching"),
    (Settings(port=0, prepared_batch_sizes="1,b"), "prepared_batch_sizes is '1,b'; it is a list of positive numbers"),
    (Settings(port=0, prepared_batch_sizes="0"), "prepared_batch_sizes is '0'"),
])  # fmt: skip
def test_settings_that_contradict_each_other(settings, text):
    with pytest.raises(errors.InvalidArgumentError, match=text):
        ModelServer(settings)


@pytest.mark.parametrize("arguments, text", [
    (["--port=8500"], "Both model_base_path and model_config_file are empty"),
    (["--port=8500", "--model_base_path=/nowhere/at/all"], "Could not find base path /nowhere/at/all for servable default"),
    (["--port=8500", "--model_config_file=/nowhere/at/all"], "/nowhere/at/all"),
])  # fmt: skip
def test_a_server_that_cannot_start_says_why(arguments, text, tmp_path):
    socket = f"--grpc_socket_path={tmp_path}/socket"
    done = children.warm("-m", "tfcompat", "serve", "--port=0", socket, *arguments[1:], cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Failed to start server. Error: ") and text in done.stderr


def test_a_server_with_batches_gives_the_same_values(tmp_path, values):
    """Signatures are asked by several threads; batches are padded to allowed sizes."""
    (tmp_path / "batching").write_text("max_batch_size { value: 8 } allowed_batch_sizes: 4 allowed_batch_sizes: 8 batch_timeout_micros { value: 1000 }")
    server = ModelServer(Settings(
        host="127.0.0.1", port=None, rest_api_port=0, model_name="half", model_base_path=str(GOLDEN / "half_plus"), enable_batching=True,
        batching_parameters_file=str(tmp_path / "batching"), max_num_load_retries=0,
    ))  # fmt: skip
    server.start()
    api = server.http.api
    predict = json.dumps({"instances": X}).encode()
    regress = json.dumps({"signature_name": "regress", "examples": [{"x": x} for x in X]}).encode()
    wanted = values["half_plus"]["3"]
    with ThreadPoolExecutor(8) as threads:
        predicted = [threads.submit(api.answer, "POST", "/v1/models/half:predict", predict) for _ in range(20)]
        regressed = [threads.submit(api.answer, "POST", "/v1/models/half:regress", regress) for _ in range(20)]
        for futures, key, values in ((predicted, "predictions", wanted["y"]), (regressed, "results", wanted["regress"])):
            for future in futures:
                np.testing.assert_array_equal(np.float32(json.loads(future.result().body)[key]), np.float32(values))
    server.stop()


STARTS = """
import os, signal, sys, collections
import jax
import tfcompat
from tfcompat._src.cli import program_cache
from tfcompat._src.serving.server import ModelServer, Settings
events = collections.Counter()
jax.monitoring.register_event_listener(lambda event, **_: events.update([event.rpartition("/")[2]]))
program_cache.keep_programs(least_seconds=0)
server = ModelServer(Settings(
    port=None, rest_api_port=0, host="127.0.0.1", model_name="m", model_base_path=sys.argv[1], prepared_batch_sizes="1,4", max_num_load_retries=0
))
server.start()
for rows in (1, 4):
    reply = server.http.api.answer("POST", "/v1/models/m:predict", b'{"instances": ' + str([[0.5] * 64] * rows).encode() + b"}")
    assert reply.status == 200, reply.body
print(events["compile_requests_use_cache"], events["cache_hits"], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_that_was_killed_compiles_nothing_in_its_next_start(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 64])
        y = tf.layers.dense(tf.layers.dense(x, 256, tf.nn.relu), 10)
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(tmp_path / "m" / "1"), {"x": x}, {"y": y})
    found = []
    for _ in range(2):
        done = children.python("-c", STARTS, tmp_path / "m", cwd=tmp_path, TFCOMPAT_CACHE_DIR=str(tmp_path / "cache"), TFCOMPAT_ENGINE="compile")
        assert done.returncode == -signal.SIGKILL, done.stderr
        found.append(tuple(map(int, done.stdout.split())))
    (asked, from_disk), again = found
    assert asked > from_disk == 0
    assert again == (asked, asked)


def test_from_start_to_sigterm(tmp_path):
    """The process finds free ports, answers, and ends by SIGTERM with status 0."""
    program = "import sys; from tfcompat._src.serving import command, server; " + (
        "sys.exit(command.serve(server.Settings(port=0, rest_api_port=0, host='127.0.0.1', model_name='half', model_base_path=sys.argv[1])))"
    )
    process = children.start(sys.executable, "-c", "import os; os.dup2(1, 2); import tfcompat; " + program, GOLDEN / "half_plus", cwd=tmp_path)
    assert children.line(process).startswith("Running gRPC ModelServer at 127.0.0.1:")
    address = children.line(process).removeprefix("Exporting HTTP/REST API at:").split()[0]
    connection = http.client.HTTPConnection(address)
    connection.request("POST", "/v1/models/half:predict", json.dumps({"instances": X}))
    found = json.loads(connection.getresponse().read())["predictions"]
    np.testing.assert_array_equal(np.float32(found), np.float32(X) * np.float32(0.5) + np.float32(3))
    connection.close()
    process.send_signal(signal.SIGTERM)
    assert children.end(process) == ("", "")
    assert process.returncode == 0
