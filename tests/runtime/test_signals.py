"""Signals that come while a program runs, and what a run that was interrupted leaves.

Each kind of run gets its interrupts at bytecodes drawn at random.
"""

import pathlib
import signal
import threading

import children
import numpy as np
import pytest
from long_run import count

import tfcompat as tf
from tests.runtime.interrupted import PROGRAMS, at_bytecode
from tfcompat._src.base import jax_threads, run_limits
from tfcompat._src.base.helper_threads import Work
from tfcompat._src.runtime.engines import choice

ROOT = pathlib.Path(__file__).parents[2]
COUNT = count(10, 50)


def run_python(*arguments, **settings):
    return children.python(*arguments, TFCOMPAT_VIRTUAL_GPUS="2", **settings)


@pytest.mark.parametrize("kind", PROGRAMS)
def test_interrupted_run_happens_wholly_or_not_at_all(kind):
    done = run_python(str(ROOT / "tests/runtime/interrupted.py"), kind, str(COUNT), "1")
    assert done.stdout.split()[:1] == [kind], done.stderr
    assert int(done.stdout.split()[1]) > 0


def test_signal_at_any_bytecode_of_what_counts_threads_comes_through():
    """A handler that raises there is what the block raises, and the outermost block leaves nothing behind."""

    def blocks():
        with jax_threads.Using():
            with jax_threads.Using(), jax_threads.Waiting():
                pass

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax_threads, "_depths", {})
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            length, _ = at_bytecode(-1, blocks)
            assert sum(at_bytecode(number, blocks)[1] for number in range(length)) > length / 2
            blocks()
        finally:
            signal.signal(signal.SIGINT, previous)


TRAINING = """
import os, signal, sys, threading
import numpy as np
import tfcompat as tf

kind = sys.argv[1]
v = tf.Variable(np.zeros(1000, np.float32))
w = tf.Variable(np.zeros(1000, np.float32), use_resource=True)
train = tf.group(tf.assign_add(v, tf.ones(1000)), w.assign_add(tf.ones(1000)))
saver = tf.train.Saver()
sess = tf.Session()
sess.run(tf.global_variables_initializer())

def exit(*_):
    sys.exit(1)

if kind == "exit":
    signal.signal(signal.SIGTERM, exit)
number = signal.SIGTERM if kind == "exit" else signal.SIGINT
delays = np.random.RandomState(0)
for _ in range(int(sys.argv[2])):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, exit if kind == "exit" else signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, delays.uniform(1e-3, 2e-2), 2.0)  # again, as what a handler raises in a finalizer is lost
        while True:
            sess.run(train)
    except (KeyboardInterrupt, SystemExit):
        signal.setitimer(signal.ITIMER_REAL, 0)
        saver.save(sess, sys.argv[3])
        a, b = sess.run([v, w])
        assert np.array_equal(a, b), (a, b)
        saver.restore(sess, sys.argv[3])
sess.run(tf.global_variables_initializer())
print("ended")
"""


@pytest.mark.parametrize("kind", ["interrupt", "exit"])
def test_variables_are_saved_after_a_signal(kind, tmp_path):
    done = run_python("-c", TRAINING, kind, str(COUNT), str(tmp_path / "m"))
    assert done.stdout == "ended\n", done.stderr


LONG = """
import os, signal, threading
import tfcompat as tf
from tfcompat._src.base import run_limits

n = tf.placeholder(tf.float32, [])
v = tf.Variable(1.0)
r = tf.random_uniform([], seed=3)
up = tf.assign_add(v, tf.while_loop(lambda x: x < n, lambda x: x + tf.nn.relu(tf.sin(x)) * 1e-30 + 1e-3 * tf.cast(x < 10.0, tf.float32), [0.0]))
both = [up, r]
sess = tf.Session()
sess.run(tf.global_variables_initializer())
sess.run(both, {n: 0.01})
before, second = sess.run(v), None
never = threading.Event()

def interrupt():
    while not run_limits.is_running(sess.context.life):
        never.wait(0.01)
    os.kill(os.getpid(), signal.SIGINT)

thread = threading.Thread(target=interrupt)
thread.start()
try:
    sess.run(both, {n: 1e9})  # has no end of its own
except KeyboardInterrupt:
    print("interrupted")
print(sess.run(v) == before)
print(sess.run(both, {n: 0.01})[0] > before)
"""


def test_interrupt_ends_a_long_loop():
    done = run_python("-c", LONG)
    assert done.stdout == "interrupted\nTrue\nTrue\n", done.stderr


HANDLED = """
import os, signal, threading
import tfcompat as tf
from tfcompat._src.base import run_limits

n = tf.placeholder(tf.int32, [])
v = tf.Variable(1)
up = tf.assign_add(v, tf.while_loop(lambda i: i < n, lambda i: i + 1, [0]))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
sess.run(up, {n: 3})
came, never, told = [], threading.Event(), os.pipe()
os.set_blocking(told[1], False)
signal.set_wakeup_fd(told[1])
signal.signal(signal.SIGUSR1, lambda *_: came.append(1))

def send():
    while not run_limits.is_running(sess.context.life):
        never.wait(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)

thread = threading.Thread(target=send)
thread.start()
print(sess.run(up, {n: 30_000_000}))
thread.join()
print(len(came), os.read(told[0], 1) == bytes([signal.SIGUSR1]), signal.set_wakeup_fd(told[1]) == told[1])
os.close(told[1])
print(sess.run(up, {n: 6}), signal.set_wakeup_fd(-1))
"""


def test_signal_whose_handler_returns_leaves_a_long_loop_its_result():
    """The handler runs once, the loop's result is filed once, and a program's own wakeup descriptor is told and kept, unless it is closed."""
    done = run_python("-c", HANDLED, TFCOMPAT_ENGINE="compile")
    assert done.stdout == "30000004\n1 True True\n30000010 -1\n", done.stderr


def endless(is_on_host):
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(0.0)
    half = lambda y: tf.reshape(tf.py_func(lambda a: a * np.float32(0.5), [y], tf.float32), []) if is_on_host else y * 0.5
    return x, v, tf.assign_add(v, tf.while_loop(lambda y: y >= 0.0, half, [x]))


@pytest.mark.parametrize("is_on_host", [False, True])
@pytest.mark.parametrize("closes", [False, True])
def test_closing_a_session_cancels_its_loops(is_on_host, closes):
    x, v, up = endless(is_on_host)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    session.run(up, {x: -1.0})
    raised = []

    def work():
        try:
            session.run(up, {x: 1.0})
        except tf.errors.OpError as e:
            raised.append(e)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while not run_limits.is_running(session.context.life):
        thread.join(0.01)
    if closes:
        session.close()
    else:
        run_limits.stop()
    thread.join(20)
    assert isinstance(raised[0], tf.errors.CancelledError)
    assert raised[0].message.split("\n\t [[")[0] in ("[_Derived_]Loop execution was cancelled.", "Session has been closed.")
    if not closes:
        assert session.run(v) == -1.0


@pytest.mark.parametrize("engine", choice.ENGINES)
@pytest.mark.parametrize("collects", [False, True])
def test_signal_handler_that_trains_while_a_run_goes_on(collects, engine):
    """Where the collector of garbage works in many calls, handlers would run in the finalizers and callbacks that it calls."""
    done = run_python("-c", "import gc; gc.set_threshold(1)\n" * collects + HANDLER, TFCOMPAT_ENGINE=engine)
    assert done.stdout == "True\n", done.stderr


HANDLER = """
import signal
import numpy as np
import tfcompat as tf

v = tf.Variable(np.zeros(10, np.float32))
train, more = tf.assign_add(v, tf.ones(10)), tf.assign_add(v, 2.0 * tf.ones(10))
sess = tf.Session()
sess.run(tf.global_variables_initializer())
for _ in range(3):
    sess.run(train)
    sess.run(more)
came = 0

def handler(*_):
    global came
    sess.run(more)
    came += 1
    signal.setitimer(signal.ITIMER_REAL, 1e-3)

signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 1e-3)
runs = 0
while came < 50:
    sess.run(train)
    runs += 1
signal.setitimer(signal.ITIMER_REAL, 0)
print(sess.run(v)[0] == 9 + runs + 2 * came)
"""


def test_use_of_jax_ends_where_a_wait_inside_was_interrupted():
    """The handler of a signal may raise in the end of the wait, before that is noted."""
    before = dict(jax_threads._depths)
    with jax_threads.Using():
        jax_threads.Waiting().__enter__()
    assert jax_threads._depths == before


def test_work_whose_handing_over_or_waiting_was_interrupted_is_done_once():
    """A handler may raise before it is noted that a helper has the work, and between a wait's taking and giving back of the lock."""
    calls = []
    work = Work(lambda: calls.append(1))
    work._hand_over()
    work._was_handed_over = False
    work.wait()
    assert calls == [1]
    work._running.acquire()
    work.join()
    assert work.is_over
