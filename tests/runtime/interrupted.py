"""Programs that a signal interrupts at any bytecode: what their state is afterwards.

`python tests/runtime/interrupted.py KIND COUNT SEED` prints how many of COUNT interrupts of a kind of run came, or raises where one
has lost something. The interrupts are SIGINTs that this process sends itself at bytecodes of a run.
"""

from __future__ import annotations

import gc
import random
import signal
import sys
from collections.abc import Callable

import numpy as np

import tfcompat as tf


def _variables(use_resource: bool) -> tuple:
    return tuple(tf.get_variable(n, initializer=np.zeros(3, np.float32), use_resource=use_resource) for n in "ab")


def _both(a, b, x=1.0):
    return tf.group(tf.assign_add(a, tf.fill([3], x)), tf.assign_add(b, tf.fill([3], x)))


def _pair(use_resource):
    a, b = _variables(use_resource)
    return _both(a, b), (a, b)


def _checked():
    a, b = _variables(False)
    with tf.control_dependencies([tf.assert_less(a, 1e6)]):
        return _both(a, b), (a, b)


def _random():
    a, b = _variables(False)
    one = tf.ceil(tf.random_uniform([], 0.25, 1.0, seed=1))
    return _both(a, b, one), (a, b)


def _loop():
    a, b = _variables(True)
    _, x = tf.while_loop(lambda i, _: i < 4, lambda i, x: (i + 1, x + 0.25), [0, 0.0])
    return _both(a, b, x), (a, b)


def _unbounded_loop():
    a, b = _variables(True)
    x = tf.while_loop(lambda x: x < 1.0, lambda x: x + 0.25, [tf.reduce_sum(a) * 0.0])
    return _both(a, b, x), (a, b)


def _host_loop():
    a, b = _variables(False)
    half = lambda: tf.reshape(tf.py_func(lambda: np.float32(0.5), [], tf.float32), [])
    _, x = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, x + half()), [0, 0.0])
    return _both(a, b, x), (a, b)


def _host_step():
    a, b = _variables(False)
    x = tf.py_func(lambda v: np.float32(1.0) + v[0] * 0, [a], tf.float32)
    x.set_shape([])
    return _both(a, b, x), (a, b)


def _towers():
    a, b = _variables(True)
    parts = []
    for i in range(2):
        with tf.device(f"/gpu:{i}"):
            parts.append(tf.reduce_mean(tf.ones([2]) * (1.0 + 0.0 * a[0])))
    return _both(a, b, tf.add_n(parts) / 2), (a, b)


GRAPHS: dict[str, Callable[[], tuple]] = {
    "ref": lambda: _pair(False), "resource": lambda: _pair(True), "checks": _checked, "random": _random, "loop": _loop,
    "unbounded_loop": _unbounded_loop, "host_loop": _host_loop, "host_step": _host_step, "towers": _towers,
}  # fmt: skip


def _session_program(kind: str) -> tuple[Callable, Callable]:
    step, variables = GRAPHS[kind]()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(step), lambda: session.run(variables)


def _monitored() -> tuple[Callable, Callable]:
    tf.train.get_or_create_global_step()
    step, variables = _pair(False)
    session = tf.train.MonitoredSession()
    return lambda: session.run(step), lambda: session.run(variables)


def _partial() -> tuple[Callable, Callable]:
    x = tf.placeholder(tf.float32, [])
    a, b = _variables(False)
    step, doubled = _both(a, b, x), x * 2
    session = tf.Session()
    session.run(tf.global_variables_initializer())

    def run():
        handle = session.partial_run_setup([step, doubled], [x])
        session.partial_run(handle, step, {x: 1.0})
        session.partial_run(handle, doubled)

    return run, lambda: session.run((a, b))


def _eager(as_function: bool) -> tuple[Callable, Callable]:
    tf.enable_eager_execution()
    a, b = tf.Variable(np.zeros(3, np.float32)), tf.Variable(np.zeros(3, np.float32))

    def both():
        a.assign_add(tf.ones(3))
        b.assign_add(tf.ones(3))

    if as_function:
        return tf.function(both), lambda: (a.numpy(), b.numpy())
    return lambda: a.assign_add(tf.ones(3)), lambda: (a.numpy(), a.numpy())


def _fit() -> tuple[Callable, Callable]:
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros", use_bias=False, input_shape=(1,))])
    model.compile(tf.keras.optimizers.SGD(0.5), "mse")
    x = np.ones((1, 1), np.float32)
    return lambda: model.train_on_batch(x, x), lambda: model.get_weights() * 2


PROGRAMS: dict[str, Callable[[], tuple[Callable, Callable]]] = {
    **{kind: (lambda kind=kind: _session_program(kind)) for kind in GRAPHS},
    "monitored": _monitored, "partial": _partial, "eager": lambda: _eager(False), "function": lambda: _eager(True), "fit": _fit,
}  # fmt: skip


def at_bytecode(number: int, run: Callable[[], object]) -> tuple[int, bool]:
    """Runs with SIGINT at the bytecode of that number (none for a negative one): how many there were, and whether it was interrupted.

    The collector of garbage waits meanwhile: Python loses what a handler raises in the finalizers that it calls.
    """
    seen = 0

    def trace(frame, event, arg):
        nonlocal seen
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            if seen == number:
                seen += 1
                signal.raise_signal(signal.SIGINT)
            seen += 1
        return trace

    gc.disable()
    sys._getframe().f_trace_opcodes = True  # before Python 3.13, settrace looks here whether any frame asks for opcodes
    sys.settrace(trace)
    try:
        run()
    except KeyboardInterrupt:
        return seen, True
    finally:
        sys.settrace(None)
        gc.enable()
    return seen, False


def interrupt(kind: str, count: int, seed: int) -> int:
    """Interrupts a kind of run so often, at bytecodes drawn at random: how often it was. AssertionError where something is lost."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    step, read = PROGRAMS[kind]()
    draws, came = random.Random(seed), 0
    for _ in range(3):
        step()
    length = at_bytecode(-1, step)[0]
    before = [np.array(v) for v in read()]
    for _ in range(count):
        number = draws.randrange(length)
        came += at_bytecode(number, step)[1]
        after = [np.array(v) for v in read()]
        assert np.array_equal(after[0], after[1]), (kind, number, before, after)
        step()
        later = [np.array(v) for v in read()]
        assert kind == "fit" or np.array_equal(later[0], after[0] + 1), (kind, number, before, after, later)
        assert kind == "fit" or after[0][0] - before[0][0] in (0, 1), (kind, number, before, after)
        before = later
    return came


if __name__ == "__main__":
    print(sys.argv[1], interrupt(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])), "interrupts of", sys.argv[2])
