"""What is said where JAX lacks a name that is used, and what JAX says and does while it traces."""

import gc

import children
import jax
import numpy as np
import pytest

from tfcompat._src.base import jax_compat

LACKING = """
import importlib
import sys

module, _, name = sys.argv[1].rpartition(".")
delattr(importlib.import_module(module), name)
import tfcompat
"""


@pytest.mark.parametrize("name", ["jax._src.xla_bridge.backends_are_initialized", "jax._src.compilation_cache.get_file_cache", "jax.extend.core.JaxprEqn"])
def test_a_name_that_jax_lacks_is_said(name):
    done = children.python("-c", LACKING, name)
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith(f"ImportError: JAX {jax.__version__} does not have a name that tfcompat uses: ")
    assert name.rpartition(".")[2] in said and "tfcompat works with jax>=" in said


def test_the_collector_of_garbage_waits_for_a_trace_and_goes_on_as_before():
    seen = []
    function = jax.jit(lambda x: seen.append(gc.isenabled()) or x + 1)
    for enabled, dtype in ((True, np.float32), (False, np.int32)):
        (gc.enable if enabled else gc.disable)()
        try:
            jax_compat.traced(function, (np.zeros(2, dtype),))
            assert gc.isenabled() is enabled
        finally:
            gc.enable()
    assert seen == [False, False]


def test_the_collector_of_garbage_goes_on_where_a_trace_fails():
    with pytest.raises(ZeroDivisionError):
        jax_compat.traced(jax.jit(lambda x: 1 // 0), (np.zeros(2),))
    assert gc.isenabled()


LOUD = """
import logging

import tfcompat as tf

logging.basicConfig(level=logging.DEBUG)
x = tf.Variable(0.5)
_, y = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(x * y)), (0, x))
with tf.Session() as session:
    session.run(x.initializer)
    session.run(tf.gradients(y, x))
logging.debug("the program's")
"""


def test_jax_says_nothing_of_traces_where_a_program_turns_on_all_logs():
    assert children.python("-m", "tfcompat", "run", "-c", LOUD).stderr.splitlines() == ["DEBUG:root:the program's"]


def test_jax_says_what_its_own_setting_asks_for():
    assert "jax" in children.python("-c", LOUD, JAX_LOGGING_LEVEL="DEBUG").stderr
