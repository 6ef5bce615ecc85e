"""Two towers share variables; their gradients are averaged."""
import numpy as np
import tensorflow as tf

tf.set_random_seed(7)
x = tf.placeholder(tf.float32, [4, 3], name="x")
optimizer, gradients, losses = tf.train.GradientDescentOptimizer(0.1), [], []
for number, part in enumerate(tf.split(x, 2)):
    with tf.device("/gpu:%d" % number), tf.name_scope("tower_%d" % number), tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        losses.append(tf.reduce_mean(tf.square(tf.layers.dense(part, 2, tf.nn.tanh) - 1.0)))
        gradients.append(optimizer.compute_gradients(losses[-1]))
averaged = [(tf.reduce_mean(tf.stack([g for g, _ in both]), 0), both[0][1]) for both in zip(*gradients)]
step = optimizer.apply_gradients(averaged)
numbers = np.random.RandomState(0)
with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
    session.run(tf.global_variables_initializer())
    for _ in range(3):
        session.run([losses, step], {x: numbers.rand(4, 3)})
