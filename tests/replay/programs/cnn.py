"""Convolution, pooling and batch normalization, training and evaluating by a fed flag."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(10)
x = tf.placeholder(tf.float32, [None, 8, 8, 2], name="x")
training = tf.placeholder(tf.bool, [], name="training")
net = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
net = tf.layers.max_pooling2d(tf.layers.batch_normalization(net, training=training), 2, 2)
logits = tf.layers.dense(tf.layers.flatten(net), 3)
labels = tf.placeholder(tf.int32, [None], name="labels")
loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    step = tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True).minimize(loss)
numbers = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for size in (2, 3):
        fed = {x: numbers.rand(size, 8, 8, 2), labels: numbers.randint(0, 3, size)}
        session.run([loss, step], {**fed, training: True})
        session.run([loss, logits], {**fed, training: False})
