"""An engine is one class: one of a test's own computes what the others compute, and sees what every engine sees."""

import math
from concurrent import futures

import jax
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.runtime.engines import choice, xla


class ByJax:
    """An engine and its only executable at once: JAX evaluates the equations of the trace one by one, and nothing is compiled as a whole."""

    takes_kept, is_used_up = True, False

    def __init__(self):
        self.calls = 0

    def prepare(self, tracing, arguments):
        self.tracing, self.trace = tracing, tracing.trace(arguments)
        return self

    def fits(self, arguments):
        return True

    def make(self, call):
        call.here(self.evaluate)

    def evaluate(self, *arguments):
        self.calls += 1
        flat = jax.core.eval_jaxpr(self.trace.jaxpr.jaxpr, self.trace.jaxpr.consts, *jax.tree.leaves(arguments))
        return jax.tree.unflatten(jax.tree.structure(self.trace.out_info), flat)

    def describe(self):
        return "one equation after another"


@pytest.fixture
def engine(monkeypatch):
    made = ByJax()
    monkeypatch.setattr(choice, "engine_for", lambda tracing, arguments, was_used_up: made)
    return made


def test_an_engine_of_ones_own_trains(engine):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        w = tf.Variable([[1.0], [2.0], [3.0]])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(w.initializer)
        calls, fed = engine.calls, np.array([[1, 0, 0], [0, 1, 0]], np.float32)
        assert session.run([loss, train], {x: fed})[0] == 2.5
        np.testing.assert_allclose(session.run(w), [[0.9], [1.8], [3]], rtol=1e-6)  # gradients [1, 2, 0]
        assert engine.calls > calls
        assert "one equation after another" in session.explain([loss, train], {x: fed})


def test_an_engine_of_ones_own_gives_checks_and_random_numbers(engine):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2])
        v = tf.Variable([0.0, 0.0])
        drawn = tf.random_uniform([2], seed=3)
        checked = tf.assign_add(v, tf.check_numerics(x, "no number") + drawn)
        with tf.Session() as session:
            session.run(v.initializer)
            ours = [session.run(drawn) for _ in range(2)]
            with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
                session.run(checked, {x: [1, np.nan]})
            assert session.run(v).tolist() == [0, 0]
    assert ours[0].tolist() != ours[1].tolist()


def test_the_rule_that_chooses(monkeypatch):
    found = []
    engine_for = choice.engine_for

    def noted(tracing, arguments, was_used_up):
        found.append(engine_for(tracing, arguments, was_used_up))
        return found[-1]

    monkeypatch.setattr(choice, "engine_for", noted)
    wanted = {"choose": lambda e: 0 < e.price < math.inf, "interpret": lambda e: e.price == math.inf, "compile": lambda e: e is xla.XLA}
    for setting, holds in wanted.items():
        monkeypatch.setattr(choice, "ENGINE", setting)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [2])
            session.run(tf.exp(x), {x: [1, 2]})
        assert holds(found.pop()) and not found


def test_a_thread_in_haste_compiles_in_the_second_run(monkeypatch, compile_counter):
    monkeypatch.setattr(choice, "ENGINE", "choose")

    def run_twice():
        counts = [compile_counter.count]
        with tf.Graph().as_default(), tf.Session() as session, choice.decided_at_once():
            x = tf.placeholder(tf.float32, [500, 500])
            y = tf.matmul(tf.exp(x), x)
            for _ in range(2):
                session.run(y, {x: np.ones((500, 500))})
                counts.append(compile_counter.count)
        return [after - before for before, after in zip(counts, counts[1:])]

    with futures.ThreadPoolExecutor(1) as threads:
        assert threads.submit(run_twice).result() == [0, 1]


def test_an_engine_that_takes_no_kept_values_gets_arrays_of_jax_from_the_first_call_on(engine):
    engine.takes_kept = False
    given = []
    evaluate = engine.evaluate
    engine.evaluate = lambda *arguments: (given.append(arguments[2] + arguments[3]), evaluate(*arguments))[1]
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(np.array([1.0, 2.0], np.float32))
        session.run(v.initializer)
        x = tf.placeholder(tf.float32, [2])
        assert session.run(tf.exp(x) * v, {x: [0, 0]}).tolist() == [1, 2]
    ((variable,),) = given
    assert isinstance(variable, jax.Array)
