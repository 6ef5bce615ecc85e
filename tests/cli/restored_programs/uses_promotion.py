import threading

import numpy as np
import tensorflow as tf

found = []


def product(a=np.ones(2, np.float32)):
    found.append((a * np.float64(2)).dtype)
    return np.ones(1, np.float32)


product()
thread = threading.Thread(target=product)
thread.start()
thread.join()
pool = tf.data.Dataset.from_tensors(np.float32(1)).map(lambda v: tf.py_func(product, [[v]], tf.float32), num_parallel_calls=2).prefetch(1)
with tf.Session() as session:
    session.run(tf.py_func(product, [tf.ones([1])], tf.float32))
    session.run(pool.make_one_shot_iterator().get_next())
product()
print(*found)
