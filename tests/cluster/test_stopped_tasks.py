"""What a task that is stopped, as one behind a network that carries nothing any more, does to the others: deadlines end their waits."""

import contextlib
import os
import signal

import children
import numpy as np
import pytest
from cluster import processes

import tfcompat as tf
from tfcompat._src.cluster import lines

WORKER, PS = "/job:worker/task:0", "/job:ps/task:0"


@pytest.fixture(scope="module")
def cluster():
    ps, worker = processes.free_addresses(2)
    tasks = {"ps": [ps], "worker": [worker]}
    with processes.server(tasks, "ps", 0) as process:
        yield tf.train.Server(tasks, "worker", 0).target, process._process.pid


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)  # until it has stopped
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


LIMITED = tf.ConfigProto(operation_timeout_in_ms=300)
LARGE = np.zeros(20_000_000, np.float32)
"""More than what a connection takes for a process that reads nothing."""


class Model:
    def __init__(self):
        with tf.device(PS):
            self.fed = tf.placeholder(tf.float32, [None])
            self.v = tf.Variable(1.0)
            self.more, self.total = self.v + 1.0, tf.reduce_sum(self.fed)
        with tf.device(WORKER):
            made = tf.fill(tf.shape(LARGE[:1]) * LARGE.size, 0.0 * self.v)
        with tf.device(PS):
            self.pushed = tf.reduce_sum(made)


def new_session(target):
    return tf.Session(target, config=LIMITED)


CALLS = {
    "step": lambda m, session, target: session.run(m.v),
    "registration": lambda m, session, target: session.run(m.more),
    "feed": lambda m, session, target: session.run(m.total, {m.fed: LARGE}),
    "push": lambda m, session, target: session.run(m.pushed),
    "creation": lambda m, session, target: new_session(target).run(m.v),
    "devices": lambda m, session, target: new_session(target).list_devices(),
    "reset": lambda m, session, target: tf.Session.reset(target, config=LIMITED),
}


def after(target, model):
    """What a new session gives, which may see the end of the old connections first."""
    while True:
        with tf.Session(target) as session, contextlib.suppress(tf.errors.UnavailableError):
            session.run(model.v.initializer)
            return session.run([model.v, model.total, model.pushed], {model.fed: LARGE[:2]})


@pytest.mark.parametrize("name", CALLS)
def test_a_deadline_ends_the_wait_for_a_task_that_answers_no_more(cluster, name):
    target, pid = cluster
    with tf.Graph().as_default():
        model = Model()
        with tf.Session(target) as session:
            session.run(model.v.initializer)
            warm = [session.run(model.v), session.run(model.total, {model.fed: LARGE[:2]}), session.run(model.pushed)]
            assert warm == [1.0, 0.0, 0.0]
            session._remote._config = LIMITED
            with stopped(pid):
                with pytest.raises(tf.errors.DeadlineExceededError):
                    CALLS[name](model, session, target)
        assert after(target, model) == [1.0, 0.0, 0.0]


def test_closing_does_not_wait_for_a_task_that_answers_no_more(cluster):
    target, pid = cluster
    with tf.Graph().as_default():
        session = tf.Session(target)
        session.run(Model().v.initializer)
        with stopped(pid):
            session.close()


def test_a_deadline_ends_the_wait_for_a_task_that_has_died(monkeypatch):
    monkeypatch.setattr(lines, "_ANSWER_SECONDS", float(children.HANG))
    ps, worker = processes.free_addresses(2)
    tasks = {"ps": [ps], "worker": [worker]}
    with tf.Graph().as_default():
        model = Model()
        with processes.server(tasks, "ps", 0):
            session = tf.Session(tf.train.Server(tasks, "worker", 0).target)
            session.run(model.v.initializer)
        session._remote._config = LIMITED
        for _ in range(2):  # the first time it may still have been told something
            with pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)):
                session.run(model.v.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(model.v.initializer)
        session.close()
