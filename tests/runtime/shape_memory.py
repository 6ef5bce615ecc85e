"""How much memory runs with feeds of many shapes take.

    python tests/runtime/shape_memory.py session --runs 20000 --shapes 2000    # or function, eager

prints how much the memory of the process grows, and how many compiled programs it keeps.
"""

import argparse
import gc
import time

import numpy as np

import tfcompat as tf
from tfcompat._src.runtime.engines.program import Program


def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 2**20


def compiled_calls():
    """How many compiled calls are alive."""
    gc.collect()
    return sum(len(p.executables) for p in gc.get_objects() if isinstance(p, Program))


def session_step():
    x = tf.placeholder(tf.float32, [None, 4])
    w = tf.Variable(tf.ones([4, 4]))
    y = tf.reduce_sum(tf.nn.relu(tf.matmul(x, w)))
    change = w.assign_sub(0.01 * tf.gradients(y, [w])[0])
    session = tf.Session()
    session.run(w.initializer)
    return lambda n: session.run([y, change], {x: np.ones((n, 4), np.float32)})


def function_step():
    w = tf.Variable(tf.ones([4, 4]))

    @tf.function
    def step(x):
        return tf.reduce_sum(tf.nn.relu(tf.matmul(x, w)))

    return lambda n: step(tf.constant(np.ones((n, 4), np.float32)))


def eager_step():
    w = tf.constant(np.ones((4, 4), np.float32))
    return lambda n: tf.matmul(tf.constant(np.ones((n, 4), np.float32)), w)


STEPS = {"session": session_step, "function": function_step, "eager": eager_step}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=STEPS)
    parser.add_argument("--runs", type=int, default=20000)
    parser.add_argument("--shapes", type=int, default=2000)
    options = parser.parse_args()
    if options.kind != "session":
        tf.enable_eager_execution()
    step = STEPS[options.kind]()
    for n in range(1, 11):
        step(n)
    gc.collect()
    before, start = megabytes(), time.time()
    schedule = [n for n in range(11, 11 + options.shapes) for _ in range(options.runs // options.shapes)]
    for i, n in enumerate(schedule):
        step(n)
        if i % (len(schedule) // 10) == len(schedule) // 10 - 1:
            kept, grown, passed = compiled_calls(), megabytes() - before, time.time() - start
            print(f"{i + 1} runs, {n - 10} shapes: {grown:.0f} MB more, {kept} compiled calls kept; {passed:.0f} s", flush=True)


if __name__ == "__main__":
    main()
