"""Workers that load NumPy arrays, forked before and after a session ran."""

import multiprocessing

import numpy as np
import tensorflow as tf


def load(i):
    return float(np.arange(i).dot(np.arange(i)))


def loader(tasks, results):
    for i in iter(tasks.get, None):
        results.put((i, load(i)))


if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    before = context.Pool(2)
    x = tf.placeholder(tf.float32, [None, None])
    total = tf.reduce_sum(tf.matmul(x, x))
    session = tf.Session()
    print(session.run(total, {x: np.ones([300, 300])}))
    after = context.Pool(2)
    print(before.map(load, range(5)), after.map(load, range(5)))
    tasks, results = context.Queue(), context.Queue()
    workers = [context.Process(target=loader, args=(tasks, results)) for _ in range(2)]
    for worker in workers:
        worker.daemon = True
        worker.start()
    for i in [*range(6), None, None]:
        tasks.put(i)
    print(sorted(results.get() for _ in range(6)))
    print(session.run(total, {x: np.ones([300, 300])}))
    for worker in workers:
        worker.join()
        print(worker.exitcode)
