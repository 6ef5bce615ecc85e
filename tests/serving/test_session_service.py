"""SessionService: runs of any tensors and operations of a served graph; off by default."""

import numpy as np
import pytest
from serving_clients import Client, spec, status_of

import tfcompat as tf
from tfcompat._src.cluster import wire
from tfcompat._src.graph import tensor_proto
from tfcompat._src.serving import grpc_server
from tfcompat._src.serving.server import ModelServer, Settings


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("counter")
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None], name="x")
        total = tf.get_variable("total", initializer=0.0)
        tf.assign_add(total, tf.reduce_sum(x), name="add")
        y = tf.identity(x * 2.0, name="y")
        sess.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(sess, str(folder / "m" / "1"), {"x": x}, {"y": y})
    server = ModelServer(Settings(
        host="127.0.0.1", port=0, model_name="m", model_base_path=str(folder / "m"), enable_session_service=True, max_num_load_retries=0,
        file_system_poll_wait_seconds=0,
    ))  # fmt: skip
    server.start()
    client = Client(server.grpc.port, grpc_server.SESSION)
    yield client
    client.close()
    server.stop()


def feed(value, name="x"):
    return [{"name": name, "tensor": tensor_proto.make_tensor_proto(value, np.float32)}]


def test_tensors_and_targets(session):
    reply = session.SessionRun(model_spec=spec("m"), feed=feed([1.0, 2.0]), fetch=["y", "x:0"], target=["add"])
    assert [named.name for named in reply.tensor] == ["y", "x:0"]
    assert [wire.from_proto(named.tensor).tolist() for named in reply.tensor] == [[2.0, 4.0], [1.0, 2.0]]
    assert (reply.model_spec.name, reply.model_spec.version.value) == ("m", 1) and not reply.metadata.step_stats.dev_stats
    (total,) = session.SessionRun(model_spec=spec("m"), fetch=["total:0"]).tensor
    assert wire.from_proto(total.tensor).tolist() == 3.0


def test_a_trace_that_is_asked_for(session):
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    assert session.SessionRun(model_spec=spec("m"), feed=feed([1.0]), fetch=["y"], options=options).metadata.step_stats.dev_stats


@pytest.mark.parametrize("fields, code, text", [
    ({"fetch": ["z"]}, "INVALID_ARGUMENT", "Tensor z:0, specified in either feed_devices or fetch_devices was not found in the Graph"),
    ({"target": ["z"]}, "INVALID_ARGUMENT", "An operation is named that the graph does not have"),
    ({"fetch": ["y"]}, "INVALID_ARGUMENT", "You must feed a value for placeholder tensor"),
    ({"model_spec": spec("none")}, "NOT_FOUND", "Servable not found for request: Latest(none)"),
])  # fmt: skip
def test_texts_of_errors(session, fields, code, text):
    found = status_of(session.SessionRun, **{"model_spec": spec("m"), **fields})
    assert found[0] == code and text in found[1]
