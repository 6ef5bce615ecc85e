"""What `tfcompat run` restores of NumPy for a program costs its steps nothing."""

import children

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
    done = children.python(*children.RUN, "-c", PROGRAM, TFCOMPAT_ENGINE="compile")
    assert done.stdout == "5.0 0\n", done.stdout + done.stderr
