"""concurrent.futures, with processes of the start method that is named."""

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import tensorflow as tf


def work(x):
    with tf.Graph().as_default(), tf.Session() as session:
        return float(session.run(tf.constant(x) + 1.0))


if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as executor:
        print(list(executor.map(work, [1.0, 2.0, 3.0])))
