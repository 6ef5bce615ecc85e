"""What tfcompat changes in its process: nothing by its import, and then what docs/library.md lists."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

from tfcompat._src.base import process_settings

ROOT = pathlib.Path(__file__).parents[2]
STOCK = """
import gc, json, logging, os, signal, sys, threading, warnings
import numpy as np
import jax
jax.numpy.zeros(3).block_until_ready()

def stock():
    return {
        "gc callbacks": [repr(each) for each in gc.callbacks], "gc threshold": gc.get_threshold(), "gc is on": gc.isenabled(),
        "warnings": [str(each) for each in warnings.filters],
        "loggers": {name: (each.level, len(each.handlers)) for name, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger) and (each.level or each.handlers)},
        "root logger": (logging.root.level, len(logging.root.handlers)), "threads": sorted(each.name for each in threading.enumerate()),
        "environment": {name: value for name, value in os.environ.items() if name != "KMP_DUPLICATE_LIB_OK"}, "numpy": [str(np.geterr()), str(np.get_printoptions()), repr(np.asarray), hasattr(np, "float")],
        "jax": {name: str(value) for name, value in jax.config.values.items()}, "signals": {each.name: str(signal.getsignal(each)) for each in signal.Signals},
        "hooks": [repr(sys.excepthook), repr(sys.unraisablehook), repr(threading.excepthook)], "limits": [sys.getrecursionlimit(), sys.getswitchinterval()],
        "path": sys.path, "finders": [repr(each) for each in sys.meta_path if not type(each).__module__.startswith("absl.")],
    }

def changes(before, after):
    return sorted(name for name in before if before[name] != after[name])

start = stock()
import tfcompat as tf
imported = stock()
v = tf.Variable(1.0)
with tf.Session() as session:
    session.run([v.initializer])
    session.run(v.assign_add(1.0))
ran = stock()
options = [name for name in ran["jax"] if ran["jax"][name] != start["jax"].get(name)]
print(json.dumps([changes(start, imported), changes(imported, ran), options]))
"""


def python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT), **environment}, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_import_changes_nothing_and_a_session_what_is_listed():
    imported, ran, options = json.loads(python(STOCK))
    assert imported == []
    assert ran == ["gc callbacks", "jax", "threads"]
    assert options == ["jax_hlo_source_file_canonicalization_regex"]


def test_settings_that_are_kept():
    imported, ran, options = json.loads(python(STOCK, TFCOMPAT_KEEP_PROCESS="all"))
    assert (imported, ran, options) == ([], ["threads"], [])
    assert "gc callbacks" in json.loads(python(STOCK, TFCOMPAT_KEEP_PROCESS="source_names, malloc"))[1]


def test_the_page_lists_the_settings():
    page = (ROOT / "docs/library.md").read_text()
    assert re.findall(r"^\| `(\w+)` \|", page, re.M) == list(process_settings.OF_LIBRARY)
    assert all(f"`{name}`" in page for name in process_settings.OF_COMMAND)


BESIDE = {
    "flax": """
import flax.linen, jax, jax.numpy as jnp, optax
model = flax.linen.Dense(1)
x = jnp.arange(8.0).reshape(4, 2)
parameters = model.init(jax.random.key(0), x)
optimizer = optax.sgd(0.01)
state = optimizer.init(parameters)
@jax.jit
def step(parameters, state):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((model.apply(p, x) - 1.0) ** 2))(parameters)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(parameters, updates), state, loss
def run():
    global parameters, state
    losses = []
    for _ in range(20):
        parameters, state, loss = step(parameters, state)
        losses.append(float(loss))
    assert losses[-1] < losses[0] and loss.dtype == jnp.float32 and (jnp.arange(2) * 1.0).dtype == jnp.float32
""",
    "tfcompat": """
import tfcompat as tf
w = tf.Variable([[1.0], [2.0]])
loss = tf.reduce_mean((tf.matmul(tf.reshape(tf.range(8.0), [4, 2]), w) - 1.0) ** 2)
train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
session = tf.Session()
session.run(w.initializer)
def run_graph():
    before = session.run(loss)
    for _ in range(20):
        session.run(train)
    assert session.run(loss) < before
    try:
        session.run(tf.constant(1) // tf.constant(0))
    except tf.errors.InvalidArgumentError:
        pass
""",
}


@pytest.mark.parametrize("order", [("flax", "tfcompat"), ("tfcompat", "flax")], ids=" then ".join)
def test_a_training_loop_of_flax_in_the_same_process(order):
    python("".join(BESIDE[name] for name in order) + "for _ in range(3):\n    run()\n    run_graph()\n")
