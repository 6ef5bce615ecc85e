"""tf.app.run, with an iterator that prefetches and maps in parallel, and a thread that takes from it."""

import threading

import tensorflow as tf


def main(_):
    data = tf.data.Dataset.range(1000000).map(lambda i: tf.random_uniform([50, 50]) + tf.cast(i, tf.float32), 4)
    data = data.map(lambda x: tf.matmul(x, x), 2).batch(4).prefetch(2)
    following = data.make_one_shot_iterator().get_next()
    sess = tf.Session()
    sess.run(following)
    has_some = threading.Event()

    def take():
        while True:
            sess.run(following)
            has_some.set()

    thread = threading.Thread(target=take)
    thread.daemon = True
    thread.start()
    has_some.wait()
    print("done")
    return 4


tf.app.run(main)
