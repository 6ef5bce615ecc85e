"""Queue runners without a coordinator; the end of the script."""

import tensorflow as tf

queue = tf.FIFOQueue(100, [tf.float32], [[64, 64]])
value = tf.random_uniform([64, 64])
enqueue = queue.enqueue(tf.matmul(value, value))
tf.train.add_queue_runner(tf.train.QueueRunner(queue, [enqueue] * 4))
batch = queue.dequeue_many(4)
total = tf.reduce_sum(tf.matmul(batch, batch))
sess = tf.Session()
tf.train.start_queue_runners(sess)
for _ in range(5):
    sess.run(total)
print("done")
