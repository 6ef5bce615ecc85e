"""When a program is interpreted and when it is compiled: after the same number of runs each time, or in the middle of a long loop."""

import re

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.interpreter.limit import LIMIT, OverLimit, spend
from tfcompat._src.runtime.engines import choice


@pytest.fixture(autouse=True)
def chooses(monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "choose")


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_program_is_compiled_after_as_many_runs_as_explain_says(session, compile_counter):
    x = tf.placeholder(tf.float32, [300, 300])
    v = tf.get_variable("v", initializer=np.zeros((300, 300), np.float32))
    up = tf.assign_add(v, tf.matmul(tf.sin(x), tf.matmul(x, x)))
    fed = np.random.RandomState(0).randn(300, 300).astype(np.float32)
    session.run(v.initializer)
    session.run(up.op, {x: fed})
    (runs,) = map(int, re.findall(r"interpreted in (\d+) more runs", session.explain(up.op, {x: fed})))
    assert runs > 3
    before = compile_counter.count
    for _ in range(runs):
        session.run(up.op, {x: fed})
    assert compile_counter.count == before
    session.run(up.op, {x: fed})
    assert compile_counter.count == before + 1
    assert ": compiled" in session.explain(up.op, {x: fed})
    each = np.sin(fed.astype(np.float64)) @ (fed.astype(np.float64) @ fed)
    np.testing.assert_allclose(session.run(v), (runs + 2) * each, rtol=2e-3, atol=2e-2 * runs)


def test_a_loop_that_goes_round_too_often_is_compiled_before_anything_has_changed(session, compile_counter):
    n = tf.placeholder(tf.int32, [])
    v = tf.get_variable("v", initializer=np.zeros(3, np.float32))
    rounds = tf.while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x + 1), [0, v.read_value()])[1]
    up = tf.assign(v, rounds)
    session.run(v.initializer)
    before = compile_counter.count
    session.run(up.op, {n: 10})
    assert compile_counter.count == before and session.run(v).tolist() == [10] * 3
    before = compile_counter.count
    session.run(up.op, {n: 100000})
    assert compile_counter.count == before + 1 and session.run(v).tolist() == [100010] * 3


def test_what_is_spent_is_counted():
    LIMIT.left = 3
    spend(1)
    spend(2)
    with pytest.raises(OverLimit):
        spend(1)


@pytest.mark.parametrize("engine", ["choose", "compile"])
def test_a_program_gives_the_same_bits_twice(engine, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", engine)
    monkeypatch.setattr(choice, "OF_AN_EQUATION", 10**5)
    found = []
    for _ in range(2):
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            w = tf.get_variable("w", [200, 200])
            loss = tf.reduce_sum(tf.tanh(tf.matmul(w + tf.random_normal([200, 200]), w)) ** 2)
            train = tf.train.MomentumOptimizer(1e-3, 0.9).minimize(loss)
            session.run(tf.global_variables_initializer())
            found.append([session.run([loss, train])[0] for _ in range(150)])
            if engine == "choose":
                assert ": compiled" in session.explain([loss, train])
    assert found[0] == found[1]
