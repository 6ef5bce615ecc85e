# Supplied lines:
import os
from tensorflow.examples.tutorials.mnist import input_data
mnist = input_data.read_data_sets("MNIST_data/", one_hot=True, validation_size=100, seed=0)
# The program:
import tensorflow as tf

x = tf.placeholder(tf.float32, shape=[None, 784])

# There are 10 neurons.
W = tf.Variable(tf.zeros([784,10]))

b = tf.Variable(tf.zeros([10]))

I = tf.matmul(x,W) + b

# There are 10 possible outputs. [0,9]
y_true = tf.placeholder(tf.float32, [None, 10])

individual_loss = tf.nn.softmax_cross_entropy_with_logits(labels=y_true, logits=I)

loss_function = tf.reduce_mean(individual_loss)

optimizer = tf.train.GradientDescentOptimizer(learning_rate=0.1)

train = optimizer.minimize(loss_function)

init = tf.global_variables_initializer()

with tf.Session() as sess:
  sess.run(init)
  for step in range(1000):
    batch_x, batch_y = mnist.train.next_batch(100)
    sess.run(train, feed_dict={x:batch_x, y_true:batch_y})
# Supplied lines:
  correct = tf.equal(tf.argmax(I, 1), tf.argmax(y_true, 1))
  print(sess.run(tf.reduce_mean(tf.cast(correct, tf.float32)), {x: mnist.test.images, y_true: mnist.test.labels}))
