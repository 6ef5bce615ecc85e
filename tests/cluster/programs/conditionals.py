"""Conditionals, and partial runs, over two tasks: conditionals.py TARGET HERE THERE, the devices of the two tasks."""

import json
import sys

import tensorflow as tf

target, here, there = sys.argv[1:]


def at(device, make):
    with tf.device(device):
        return make()


with tf.device(there):
    v, w = tf.Variable(4.0), tf.Variable(1.0)
with tf.device(here):
    x = tf.placeholder(tf.float32, [])
    wide = tf.placeholder(tf.float32, [None, 2])
    product = tf.cond(x > 0, lambda: v * v * x, lambda: v - x)
    inner = lambda: tf.cond(x > 1, lambda: x * 3.0, lambda: x * 5.0)
    results = {
        "both sides there": tf.cond(x > 0, lambda: at(there, lambda: x * 3.0), lambda: at(there, lambda: x - 1.0)) + 10.0,
        "one side there": tf.cond(x > 0, lambda: at(there, lambda: x * 3.0), lambda: x - 1.0) + 10.0,
        "all there": at(there, lambda: tf.cond(x > 0, lambda: x * 3.0, lambda: x - 1.0)) + 10.0,
        "nested": tf.cond(x > 0, lambda: at(there, inner), lambda: at(there, lambda: x - 1.0)) + 10.0,
        "a matrix": tf.cond(x > 0, lambda: at(there, lambda: tf.reduce_sum(tf.matmul(wide, wide, transpose_b=True))), lambda: x) + 1.0,
        "assignments": tf.cond(x > 0, lambda: tf.assign_add(w, x), lambda: tf.assign_sub(w, 1.0)),
        "training": [product, tf.train.GradientDescentOptimizer(0.01).minimize(product)],
    }
    a, b, c = (tf.placeholder(tf.float32, []) for _ in range(3))
    first = a + 1.0
    second = at(there, lambda: first * b)
    third = at(there, lambda: w.assign_add(second)) + c
with tf.Session(target) as session:
    session.run(tf.global_variables_initializer())
    for name, fetch in results.items():
        found = [session.run(fetch, {x: value, wide: [[1.0, value]]}) for value in (2.0, -2.0, 0.5, 3.0)]
        print(json.dumps([name, [round(float(f[0] if isinstance(f, list) else f), 4) for f in found]]), flush=True)
    print(json.dumps(["variables", [round(float(value), 4) for value in session.run([v, w])]]), flush=True)
    for _ in range(2):
        handle = session.partial_run_setup([first, second, third], [a, b, c])
        found = [session.partial_run(handle, t, {f: value}) for t, f, value in ((first, a, 2.0), (second, b, 5.0), (third, c, 7.0))]
        print(json.dumps(["partial", [float(value) for value in found]]), flush=True)
