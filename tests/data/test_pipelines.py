"""Elements and nodes of pipelines are those of TensorFlow 1.15."""

import json
import pathlib

import numpy as np
import pytest

import tfcompat as tf

from .pipelines import MOST, PIPELINES

GOLDEN = json.loads((pathlib.Path(__file__).parent.parent / "golden" / "data_pipelines.json").read_text())


def plain(value):
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    array = np.asarray(value)
    if array.dtype == object or isinstance(value, bytes):
        strings = np.asarray(value, object)
        return ["string", np.vectorize(bytes.decode, otypes=[object])(strings).tolist()]
    return [array.dtype.name, array.tolist()]


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_elements_and_nodes(name):
    with tf.Graph().as_default() as graph:
        element = PIPELINES[name](tf).make_one_shot_iterator().get_next()
        nodes = [[op.name, op.type] for op in graph.get_operations()]
        found = []
        with tf.Session() as session:
            while len(found) < MOST:
                try:
                    found.append(plain(session.run(element)))
                except tf.errors.OutOfRangeError:
                    break
    assert found == GOLDEN[name]["elements"]
    assert nodes == GOLDEN[name]["nodes"]


def test_sessions_of_a_server_share_an_iterator():
    with tf.Graph().as_default():
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(3).map(lambda x: x + 1), shared_name="numbers")
        element = iterator.get_next()
        server = tf.train.Server.create_local_server()
        with tf.Session(server.target) as one, tf.Session(server.target) as other:
            one.run(iterator.initializer)
            assert [one.run(element), other.run(element), one.run(element)] == [1, 2, 3]
            with pytest.raises(tf.errors.OutOfRangeError):
                other.run(element)


def test_states_of_reductions():
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = tf.data.Dataset.range(3)
        assert session.run(numbers.reduce({"a": 0}, lambda state, x: state["a"] + tf.cast(x, tf.int32))) == {"a": 3}
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"initial_state=1, output=2"):
            session.run(numbers.reduce(0, lambda state, x: (state, state)))
        with pytest.raises(TypeError, match="The element types for the new state must match the initial state"):
            numbers.reduce(0, lambda state, x: x)
