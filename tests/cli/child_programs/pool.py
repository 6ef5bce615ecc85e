"""Pools and processes of the start method that is named, whose children import this script again, and start children."""

import multiprocessing
import sys

import numpy as np
import tensorflow as tf


class Square:
    def __init__(self, x):
        self.x = x


def work(square):
    from distutils.version import LooseVersion

    assert LooseVersion("1.15.5") > LooseVersion("1.9")
    with tf.Graph().as_default(), tf.Session() as session:
        return float(session.run(tf.constant(square.x) ** 2)), np.zeros(1, np.int).dtype.kind


def child(results):
    with multiprocessing.get_context(METHOD).Pool(1) as pool:
        results.put(pool.map(work, [Square(3.0)]))


METHOD = sys.argv[1]
if __name__ == "__main__":
    context = multiprocessing.get_context(METHOD)
    with context.Pool(2) as pool:
        print(pool.map(work, [Square(1.0), Square(2.0)]))
    results = context.Queue()
    process = context.Process(target=child, args=(results,))
    process.start()
    print(results.get())
    process.join()
    print(process.exitcode)
