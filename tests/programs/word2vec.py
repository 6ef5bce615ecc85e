"""Skip-gram word vectors trained with noise-contrastive estimation."""
import math
import sys

import numpy as np
import tensorflow as tf

WORDS, SIZE, BATCH, SAMPLED = 500, 16, 32, 12
data = np.random.RandomState(2)
centres = np.minimum(data.geometric(0.02, [20, BATCH]) - 1, WORDS - 1).astype(np.int32)
contexts = ((centres + data.randint(1, 4, centres.shape)) % WORDS)[..., None].astype(np.int32)

tf.set_random_seed(3)
inputs = tf.placeholder(tf.int32, [BATCH])
labels = tf.placeholder(tf.int32, [BATCH, 1])
embeddings = tf.Variable(tf.random_uniform([WORDS, SIZE], -1.0, 1.0), name="embeddings")
embedded = tf.nn.embedding_lookup(embeddings, inputs)
nce_weights = tf.Variable(tf.truncated_normal([WORDS, SIZE], stddev=1.0 / math.sqrt(SIZE)), name="nce_weights")
nce_biases = tf.Variable(tf.zeros([WORDS]), name="nce_biases")
loss = tf.reduce_mean(tf.nn.nce_loss(nce_weights, nce_biases, labels, embedded, SAMPLED, WORDS))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    initial = {v.op.name: sess.run(v) for v in tf.trainable_variables()}
    for step in range(20):
        losses.append(sess.run([train, loss], {inputs: centres[step], labels: contexts[step]})[1])
if len(sys.argv) > 1:
    np.savez_compressed(sys.argv[1], losses=np.array(losses), **initial)
print("final loss %.3f" % losses[-1])
