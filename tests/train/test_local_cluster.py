"""Servers of one cluster in one process share what is placed on a task; golden: what TensorFlow 1.15.5 does in this program."""

import threading

import pytest

import tfcompat as tf


@pytest.fixture
def workers():
    return tf.test.create_local_cluster(num_workers=2, num_ps=1)[0]


def test_what_is_placed_on_a_task_is_shared_by_the_sessions_of_the_cluster(workers):
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:0"):
            shared = tf.get_variable("shared", initializer=1.0)
        with tf.device("/job:worker/task:1"):
            other = tf.get_variable("other", initializer=5.0)
        increased = shared.assign_add(1.0)
        initialize = tf.global_variables_initializer()
    with tf.Session(workers[0].target, graph=graph) as first, tf.Session(workers[1].target, graph=graph) as second:
        first.run(initialize)
        assert second.run(increased) == 2.0
        assert first.run([shared, other]) == [2.0, 5.0]


def test_workers_keep_variables_of_one_name_apart(workers):
    def graph_of(task, value):
        with tf.Graph().as_default() as graph, tf.device(f"/job:worker/task:{task}"):
            variable = tf.get_variable("local", initializer=value)
            return graph, variable

    values = []
    for task, worker in enumerate(workers):
        graph, variable = graph_of(task, float(task + 1))
        with tf.Session(worker.target, graph=graph) as session:
            session.run(variable.initializer)
            values.append((worker, graph, variable))
    found = []
    for worker, graph, variable in values:
        with tf.Session(worker.target, graph=graph) as session:
            found.append(session.run(variable))
    assert found == [1.0, 2.0]


def test_a_queue_joins_sessions_and_closing_one_frees_only_its_own_threads(workers):
    def graph_of():
        with tf.Graph().as_default() as graph, tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(10, [tf.float32], shapes=[()], shared_name="joint")
            return graph, queue.enqueue(3.0), queue.dequeue()

    (one, put, _), (two, _, take) = graph_of(), graph_of()
    errors = []
    giver, taker, waiter = (
        tf.Session(worker.target, graph=graph)
        for worker, graph in ((workers[0], one), (workers[1], two), (workers[1], two))
    )
    giver.run(put)
    assert taker.run(take) == 3.0
    started = threading.Event()

    def wait():
        started.set()
        try:
            waiter.run(take)
        except (tf.errors.CancelledError, RuntimeError) as error:  # the latter where the session was closed first
            errors.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    started.wait()
    waiter.close()
    thread.join(timeout=30)
    assert not thread.is_alive() and errors
    giver.run(put)
    assert taker.run(take) == 3.0
