"""What `tfcompat run` restores of NumPy for a program costs its steps nothing."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = """
import numpy as np
import tensorflow as tf

restored, called = np.asarray, []
def counted(*arguments, **options):
    called.append(arguments)
    return restored(*arguments, **options)

x = tf.placeholder(tf.float32, [])
v = tf.Variable(1.0)
up = tf.assign_add(v, x)
session = tf.Session()
session.run(v.initializer)
for _ in range(3):
    session.run(up, {x: np.float32(1.0)})
np.asarray = np.array = counted
print(session.run(up, {x: np.float32(1.0)}), len(called))
"""


def test_a_step_calls_no_restored_function():
    command = [sys.executable, "-m", "tfcompat", "run", "-c", PROGRAM]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TFCOMPAT_ENGINE": "compile"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout == "5.0 0\n", done.stdout + done.stderr
