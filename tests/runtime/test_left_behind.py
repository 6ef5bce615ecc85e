"""State of the process and of threads after an error: nothing stays that the next run, another thread or the program's own JAX would see."""

import os
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base.recent import Recent
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY, GROWTH
from tfcompat._src.runtime.engines import choice
from tfcompat._src.runtime.lowering.lower import STOPPING


def failing_session():
    x = tf.placeholder(tf.float32, [2])
    return tf.Session(), tf.check_numerics(x, "bad"), {x: [np.nan, 1.0]}


def test_a_failed_run_inside_a_jit_leaves_its_trace_open():
    session, y, feeds = failing_session()

    @jax.jit
    def doubled(a):
        b = a + 1.0
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, feeds)
        assert isinstance(jnp.zeros(()) + b, jax.core.Tracer)
        return jnp.sin(b) * 2.0

    with session:
        np.testing.assert_allclose(doubled(jnp.zeros(3)), 2.0 * np.sin(np.ones(3)), rtol=1e-6)
        np.testing.assert_allclose(jax.grad(lambda a: doubled(a).sum())(jnp.zeros(3)), 2.0 * np.cos(np.ones(3)), rtol=1e-6)


def test_a_constant_made_in_a_jit_after_a_failed_run_is_traced():
    """`jnp.arange` has no tracer among its arguments: it is a part of the program only if JAX's trace is still that of the jit."""
    session, y, feeds = failing_session()
    with session:

        def numbers(a):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(y, feeds)
            return a + jnp.arange(3.0)

        assert any(e.primitive.name == "iota" for e in jax.make_jaxpr(numbers)(jnp.zeros(3)).jaxpr.eqns)


def test_blocks_without_the_interpreter_end_in_any_order():
    before = choice.decide(choice.NOTHING_KNOWN, choice.NO_RECORD)
    first, second = choice.without_interpreter(), choice.without_interpreter()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert choice._Compiling.blocks == 0 and choice.ENGINE == (choice.os.environ.get("TFCOMPAT_ENGINE") or "choose")
    with pytest.raises(KeyError), choice.without_interpreter():
        assert choice._Compiling.blocks == 1
        raise KeyError
    assert choice._Compiling.blocks == 0 and choice.decide(choice.NOTHING_KNOWN, choice.NO_RECORD) == before


@pytest.mark.parametrize("fails", [False, True])
def test_a_trace_leaves_no_tracer(fails, monkeypatch):
    monkeypatch.setattr(choice, "ENGINE", "compile")
    x, n = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.int32, [])
    array = tf.TensorArray(tf.float32, 0, dynamic_size=True)

    def body(i, v, a):
        v = tf.reshape(v, [2, 2]) if fails else v
        return i + 1, v, a.write(i, v)

    array = tf.while_loop(lambda i, *_: i < n, body, [0, x, array], [tf.TensorShape([]), tf.TensorShape(None), array.flow.shape])[2]
    found = []

    # A run in the main thread traces in another, one in another thread there.
    def run(session):
        try:
            session.run(array.stack(), {x: [1.0, 2.0], n: 100})
        except tf.errors.InvalidArgumentError:
            found.append("failed")
        found.append((STOPPING.flag, GROWTH.capacity))

    with tf.Session() as session:
        thread = threading.Thread(target=run, args=(session,))
        thread.start()
        thread.join()
    assert found == ["failed"] * fails + [(None, FIRST_CAPACITY)]


class _SlowKey:
    """A key whose comparison lets other threads run, as that of keys of Python classes may."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number % 7

    def __eq__(self, other):
        os.sched_yield()
        return self.number == other.number


def test_threads_share_what_is_kept():
    kept = Recent(8)
    failures = []

    def use(seed):
        draw = np.random.RandomState(seed)
        try:
            for _ in range(4000):
                number = int(draw.randint(24))
                if kept.get(_SlowKey(number)) is None:
                    kept[_SlowKey(number)] = number
        except Exception as e:  # noqa: BLE001  (each is a failure of the test)
            failures.append(e)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    assert len(kept) == len(list(kept)) == 8 and all(key.number == value for key, value in kept.items())
