"""The mode that checks hits of caches finds plans, constants and traces that are not those of the run."""

import dataclasses

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.debugging import cache_checks
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.latency import folded_numbers, trace_family
from tfcompat._src.runtime.passes import plan_guards
from tfcompat._src.runtime.state import run_context


@pytest.fixture(autouse=True)
def checks(monkeypatch):
    monkeypatch.setattr(cache_checks.Switch, "is_on", True)


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_plan_of_another_branch(session, monkeypatch):
    monkeypatch.setattr(plan_guards.Decides, "holds", lambda self, feeds, variables: True)
    training = tf.placeholder(tf.bool, [])
    x = tf.constant([1.0, 2.0])
    value = tf.cond(training, lambda: tf.exp(x), lambda: tf.log(x))
    session.run(value, {training: True})
    with pytest.raises(cache_checks.WrongHit, match="cond/Exp.*cond/Log"):
        session.run(value, {training: False})


def test_a_plan_with_another_number(session, monkeypatch):
    monkeypatch.setattr(plan_guards.HasValue, "holds", lambda self, feeds, variables: True)
    v = tf.Variable(1.0)
    value = tf.cast(tf.is_variable_initialized(v), tf.float32) + tf.placeholder_with_default(1.0, [])
    session.run(value)
    session.run(v.initializer)
    with pytest.raises(cache_checks.WrongHit, match="knows .* as 0.0, and a new one as 1.0"):
        session.run(value)


def test_a_constant_of_another_plan(session, monkeypatch):
    class ByPlace(run_context.PlacedConstants):
        def get(self, value, place):
            return super().get(self.__dict__.setdefault("first", value), place)

    v = tf.Variable(1.0)
    x = tf.placeholder(tf.float32, [2000])
    value = tf.where(tf.fill([2000], tf.is_variable_initialized(v)), x, -x)
    session.context = dataclasses.replace(session.context, large_constants=ByPlace())
    monkeypatch.setattr(choice, "ENGINE", "compile")
    assert set(session.run(value, {x: np.ones(2000)})) == {-1.0}
    session.run(v.initializer)
    with pytest.raises(cache_checks.WrongHit, match="A constant on .* is not the one of the plan"):
        session.run(value, {x: np.ones(2000)})


def test_a_trace_of_another_size(session, monkeypatch):
    monkeypatch.setattr(trace_family, "FEW_EQUATIONS", 1)
    monkeypatch.setattr(choice, "ENGINE", "interpret")
    monkeypatch.setattr(folded_numbers.FoldedNumbers, "agree", lambda self, sizes: True)
    x = tf.placeholder(tf.float32, [None, 4])
    value = tf.equal(tf.shape(x)[0], 20), tf.reduce_sum(x * 2.0)
    with pytest.raises(cache_checks.WrongHit, match="computes other values"):
        for n in (11, 12, 13, 14, 15, 16, 17, 20):
            session.run(value, {x: np.ones([n, 4])})


def test_hits_that_are_right_pass(session):
    training, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None])
    v = tf.Variable(2.0)
    value = tf.cond(training, lambda: x * v, lambda: x + v)
    session.run(v.initializer)
    for n in range(4):
        np.testing.assert_array_equal(session.run(value, {training: n % 2, x: np.ones(n)}), np.full(n, 2.0 if n % 2 else 3.0))
