"""k-means: assignments and centres kept in variables, updated under a control dependency."""
import sys

import numpy as np
import tensorflow as tf

COUNT, CLUSTERS = 200, 4
data = np.random.RandomState(6)
centres = data.uniform(-5, 5, [CLUSTERS, 2])
values = (centres[data.randint(0, CLUSTERS, COUNT)] + data.normal(0, 1.0, [COUNT, 2])).astype(np.float32)

tf.set_random_seed(8)
points = tf.Variable(values, trainable=False, name="points")
means = tf.Variable(tf.slice(tf.random_shuffle(values), [0, 0], [CLUSTERS, -1]), name="means")
assigned = tf.Variable(tf.zeros([COUNT], tf.int64), trainable=False, name="assigned")
distances = tf.reduce_sum(tf.square(tf.expand_dims(points, 1) - tf.expand_dims(means, 0)), 2)
nearest = tf.argmin(distances, 1)
total = tf.unsorted_segment_sum(points, nearest, CLUSTERS)
count = tf.unsorted_segment_sum(tf.ones([COUNT, 1]), nearest, CLUSTERS)
changed = tf.reduce_any(tf.not_equal(nearest, assigned))
loss = tf.reduce_mean(tf.reduce_min(distances, 1))
with tf.control_dependencies([changed, loss]):
    update = tf.group(means.assign(total / count), assigned.assign(nearest))

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for _ in range(20):
        losses.append(sess.run([loss, changed, update])[0])
    print(np.bincount(sess.run(assigned), minlength=CLUSTERS))
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
