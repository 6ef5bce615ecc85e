"""Default graphs and scopes of several threads, as in TensorFlow 1.15.5."""

import threading

import pytest

import tfcompat as tf


def elsewhere(function):
    """What a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


def test_each_thread_has_a_default_graph_of_its_own():
    here = tf.get_default_graph()
    assert elsewhere(lambda: tf.get_default_graph() is tf.get_default_graph())
    assert elsewhere(tf.get_default_graph) is not here
    tf.constant(0.0)
    other = elsewhere(lambda: tf.constant(1.0))
    assert other.graph is not here
    with pytest.raises(ValueError, match="is not an element of this graph"), tf.Session() as session:
        session.run(other)


def test_reset_concerns_one_thread():
    here = tf.get_default_graph()
    elsewhere(tf.reset_default_graph)
    assert tf.get_default_graph() is here


def test_name_scopes_are_of_threads_and_devices_are_seen_by_all():
    graph = tf.Graph()

    def made():
        with graph.as_default():
            first = tf.constant(1, name="c")
            with tf.name_scope("inner"), tf.device("/cpu:1"):
                return first, tf.constant(2, name="d")

    with graph.as_default(), tf.name_scope("outer"), tf.device("/cpu:0"):
        first, second = elsewhere(made)
        third = tf.constant(3, name="e")
    assert [t.name for t in (first, second, third)] == ["c:0", "inner/d:0", "outer/e:0"]
    assert [t.device for t in (first, second, third)] == ["/device:CPU:0", "/device:CPU:1", "/device:CPU:0"]


def test_threads_add_to_one_graph():
    """Scopes that threads enter and leave at the same time do not mix."""
    graph, ready = tf.Graph(), threading.Barrier(4)

    def build(number):
        with graph.as_default():
            for i in range(20):
                with tf.name_scope(f"t{number}"), tf.device(f"/cpu:{number}"), tf.control_dependencies([tf.constant(i, name="before")]):
                    ready.wait()
                    made = tf.constant(0, name="made")
                assert made.op.name.startswith(f"t{number}") and made.device == f"/device:CPU:{number}"
                assert [c.name.split("/")[0].split("_")[0] for c in made.op.control_inputs] == [f"t{number}"]
        return True

    results = [None] * 4
    threads = [threading.Thread(target=lambda n=n: results.__setitem__(n, build(n))) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
