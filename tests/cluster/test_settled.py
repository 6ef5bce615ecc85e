"""Parts of TensorFlow's masters, some of whose tensors are not there: branches that are not taken, and what is sent in them."""

import pytest
from cluster.test_phases import PLACES, transfer

import tfcompat as tf
from tfcompat._src.base import errors, run_limits
from tfcompat._src.cluster.cancellation import Cancellation
from tfcompat._src.cluster.rendezvous import Arrived, Key
from tfcompat._src.graph.graph import Graph
from tfcompat._src.runtime.devices import local_servers


@pytest.fixture
def worker():
    server = tf.train.Server.create_local_server()
    worker = local_servers.find(server.target).services.worker
    worker.create_session("session", ("/job:ps/replica:0/task:0", {}), False, [])
    yield worker
    worker.delete_session("session")


def key(name):
    return str(Key(PLACES["send_device"], 1, PLACES["recv_device"], name))


def arrived(value):
    return Arrived(value, tf.float32, value is None)


def sent(worker, graph_def, number, received, names):
    """What a part has sent in a step, by name, None where that is not there; `received` the same way."""
    step = worker.steps.step(number)
    for name, value in received.items():
        step.arrive({key(name): arrived(value)})
    handle = worker.register("session", graph_def, tf.GraphOptions())
    worker.run_graph("session", handle, number, {}, tf.RunOptions(), Cancellation())
    found = {name: step.take(key(name)) for name in names}
    worker.cleanup(number)
    return {name: None if one.is_dead else one.value.tolist() for name, one in found.items()}


def test_a_branch_whose_tensor_is_not_there_does_not_run(worker):
    with Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v", collections=[])
        on, off = transfer(graph, "_Recv", "on", None), transfer(graph, "_Recv", "off", None)
        with tf.control_dependencies([off]):
            two = tf.constant(2.0)
        merged, index = tf.raw_ops.Merge(inputs=[v.assign_sub(off * two), v.assign_add(on)])
        transfer(graph, "_Send", "merged", None, merged + 0.0)
        transfer(graph, "_Send", "index", None, tf.cast(index, tf.float32))
        transfer(graph, "_Send", "two", None, two)
    names = ["merged", "index", "two"]
    part = graph.as_graph_def()
    assert part.node[2].name == "v/Assign"
    del part.node[2]
    with Graph().as_default() as start:
        tf.Variable(1.0, name="v", collections=[])
    sent(worker, start.as_graph_def(), 1, {}, [])
    assert sent(worker, part, 2, {"on": 5.0, "off": None}, names) == {"merged": 6.0, "index": 1.0, "two": None}
    assert sent(worker, part, 3, {"on": None, "off": 3.0}, names) == {"merged": 0.0, "index": 0.0, "two": 2.0}


def test_one_side_of_a_conditional_is_sent_before_another_part_answers(worker):
    with Graph().as_default() as graph:
        x = transfer(graph, "_Recv", "x", None)
        off, on = tf.raw_ops.Switch(data=x * 2.0, pred=x > 0.0)
        for name, side in (("off", off), ("on", on)):
            transfer(graph, "_Send", name, None, side)
        back, forth = transfer(graph, "_Recv", "back", None), transfer(graph, "_Recv", "forth", None)
        transfer(graph, "_Send", "end", None, tf.raw_ops.Merge(inputs=[back, forth])[0] + x)
    found = sent(worker, graph.as_graph_def(), 1, {"x": 3.0, "back": None, "forth": 7.0}, ["off", "on", "end"])
    assert found == {"off": None, "on": 6.0, "end": 10.0}
    found = sent(worker, graph.as_graph_def(), 2, {"x": -3.0, "back": 8.0, "forth": None}, ["off", "on", "end"])
    assert found == {"off": -6.0, "on": None, "end": 5.0}


def test_a_step_of_several_calls_sends_as_soon_as_it_can(worker):
    with Graph().as_default() as graph:
        a, b = transfer(graph, "_Recv", "a", None), transfer(graph, "_Recv", "b", None)
        transfer(graph, "_Send", "first", None, a + 1.0)
        transfer(graph, "_Send", "second", None, a * b)
    step = worker.steps.step(1)
    handle = worker.register("session", graph.as_graph_def(), tf.GraphOptions())

    def call(is_last):
        return worker.run_partly("session", handle, 1, is_last, tf.RunOptions(), Cancellation())

    step.arrive({key("a"): arrived(2.0)})
    assert call(False) == ({}, None)
    assert waited_for(step, "first") == 3.0
    step.arrive({key("b"): arrived(5.0)})
    assert waited_for(step, "second") == 10.0
    assert [call(False), call(False), call(True)] == [({}, None)] * 3  # which does not run it again
    worker.cleanup(1)


def waited_for(step, name):
    """A value that another thread sends."""
    with run_limits.within(0, lambda: False):
        return float(step.take(key(name)).value)


def test_partial_runs_that_could_wait_for_each_other_are_refused(worker):
    with Graph().as_default() as graph:
        queue = tf.FIFOQueue(1, [tf.float32], [[]])
        transfer(graph, "_Send", "element", None, queue.dequeue())
        transfer(graph, "_Send", "first", None, transfer(graph, "_Recv", "a", None) + 1.0)
    handle = worker.register("session", graph.as_graph_def(), tf.GraphOptions())
    with pytest.raises(NotImplementedError, match="partial_run"):
        worker.run_partly("session", handle, 1, False, tf.RunOptions(), Cancellation())
    with pytest.raises(errors.AbortedError):
        worker.run_partly("session", "other", 1, False, tf.RunOptions(), Cancellation())
